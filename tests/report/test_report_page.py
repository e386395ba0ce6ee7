"""The page itself: self-contained, safe, complete, and true to the SQL that it shows."""

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from flows.report import write_report
from flows.report.page import read_context
from flows.report.pictures import pictures
from flows.report.render import render
from flows.study import Study
from infosedd.plotting.palette import COLOURS
from tests.report.report_homes import HOSTILE, RUN, promoter_corpus, promoter_estimates, record
from warehouse import Check, queries

SHOWN = HOSTILE.replace("\x1b", "\ufffd").replace("\u202e", "\ufffd")
"""The hostile text as a reader sees it: control characters replaced, all else as it is."""


class Reader(HTMLParser):
    """Collects what a browser would see: tags with attributes, and text outside styles."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.headings: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag == "h2":
            self.headings.append("")

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if "style" in self._open:
            return
        self.texts.append(data)
        if "h2" in self._open:
            self.headings[-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(
        name="promoters",
        title="<img src=x onerror=alert(1)>",
        description="Reads `a.fa`.\n\n<i>not italic</i>",
        citation="Nobody, </style> Journal of Nothing",
        measures=[{"x": "promoter", "y": "label"}],
        sites=[
            {"name": "<b>$box_1</b>", "block": "promoter", "start": 8, "stop": 12},
            {"name": "elsewhere", "block": "other", "start": 1, "stop": 2},
        ],
        report={"positions_offset": -12},
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    corpus = promoter_corpus(classes=(HOSTILE, "$y_0^2$"))
    estimates = promoter_estimates(corpus)
    estimates[0].pointwise[3] = 9.0  # the sequence with the hostile id becomes the highest
    checks = [
        Check(
            "promoters", corpus.corpus_id, "data_processing", "a part tells no more", False, 0.4, 0.3, 0.01, run_id=RUN
        ),
        Check("promoters", corpus.corpus_id, "symmetry", "I(x;y) = I(y;x)", True, run_id=RUN),
    ]
    folder = tmp_path_factory.mktemp("home")
    return record(folder, "promoters", [(corpus, estimates)], checks=checks)


@pytest.fixture(scope="module")
def page(home, study) -> Path:
    return write_report(home, RUN, study=study)


@pytest.fixture(scope="module")
def html(page) -> str:
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def seen(html) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


def test_it_lies_where_the_contract_says(home, page):
    assert page == home / "reports" / "promoters" / RUN / "index.html"


def test_the_headline_comes_first_with_interval_bits_and_share(seen, home):
    row = queries.run(home, "select * from estimates where mode = 'whole' and estimator = 'loss_difference'").row(
        0, named=True
    )
    assert seen.headings[0].startswith("Mutual information I(promoter; label)")
    assert f"{row['value_nats']:.3f} ± 0.020 nats" in seen.text
    assert f"{row['ci_low_nats']:.3f} to {row['ci_high_nats']:.3f}" in seen.text
    assert f"{row['value_nats'] / np.log(2):.3f}" in seen.text
    assert f"{100 * row['value_nats'] / np.log(2):.1f} %" in seen.text
    assert seen.text.index("nats of uncertainty about label") < seen.text.index("Where the information is")


def test_sections_come_in_the_order_a_reader_needs(seen):
    order = ["Where the information is", "How much, and how sure", "Warnings and checks", "Method", "Provenance", "SQL"]
    places = [seen.headings.index(name) for name in order]
    assert places == sorted(places)


def test_nothing_is_fetched_and_nothing_runs(html, seen):
    tags = {tag for tag, _ in seen.tags}
    assert not tags & {"script", "iframe", "object", "embed", "img", "base", "form", "b/"}
    for tag, attributes in seen.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("src", "href", "xlink:href", "action"):
            assert not re.match(r"\s*(https?:|//|javascript:)", attributes.get(name) or "")
    for css in re.findall(r"<style>(.*?)</style>", html, re.S):
        assert "@import" not in css and "url(http" not in css
    policy = next(a["content"] for t, a in seen.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'")
    assert "script-src" not in policy


def test_hostile_texts_show_as_text(seen):
    for text in (SHOWN, "<img src=x onerror=alert(1)>", "<i>not italic</i>", "<b>$box_1</b>", "</style> Journal"):
        assert text in seen.text, text
    assert ("code", {}) in seen.tags  # the backticks of a description


def test_hostile_texts_show_as_text_inside_the_drawings(page, seen):
    for file in page.parent.glob("*.svg"):
        root = ElementTree.parse(file).getroot()
        assert not [e for e in root.iter() if e.tag.endswith(("script", "foreignObject"))]
    texts = [
        "".join(e.itertext()) for e in ElementTree.parse(page.parent / "logo.svg").iter() if e.tag.endswith("text")
    ]
    assert any(SHOWN in text for text in texts)
    profile = (page.parent / "profile-promoter-4.svg").read_text()
    assert "&lt;b&gt;$box_1&lt;/b&gt;" in profile
    assert "elsewhere" not in profile


def test_ids_are_unique_and_links_lead_somewhere(seen, page):
    ids = [a["id"] for _, a in seen.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    for tag, attributes in seen.tags:
        for name in ("href", "xlink:href", "aria-labelledby"):
            target = attributes.get(name)
            if target and name == "aria-labelledby":
                assert target in ids, tag
            elif target and target.startswith("#"):
                assert target[1:] in ids, (tag, target)
            elif target and tag == "a":
                assert (page.parent / target).is_file(), target


def test_drawings_say_what_they_show(seen):
    drawings = [a for tag, a in seen.tags if tag == "svg"]
    assert len(drawings) >= 8
    for drawing in drawings:
        assert drawing["role"] == "img"
        assert len(drawing["aria-label"] or "") > 20
        assert "width" not in drawing and drawing["viewbox"]
    profile = next(d["aria-label"] for d in drawings if "profile of promoter" in (d["aria-label"] or ""))
    assert profile is not None and "17 windows of 4 positions" in profile
    assert "<b>$box_1</b> at −4 to −1" in profile


def test_drawings_have_colours_for_light_and_dark_pages(html):
    drawn = "".join(re.findall(r"<svg.*?</svg>", html, re.S))
    used = set(re.findall(r"var\(--([a-z-]+)\)", drawn))
    assert {"ink", "muted", "model", "other", "site"} <= used
    assert not [light for light, _ in COLOURS.values() if light in drawn]
    light, dark = re.findall(r":root \{([^}]*)\}", html)[:2]
    for role in used:
        assert f"--{role}:" in light and f"--{role}:" in dark


def test_each_figure_has_drawings_and_rows_as_files(page):
    names = {file.name for file in page.parent.iterdir()}
    for slug in ("profile-promoter-4", "logo", "estimators", "pairs", "sequences", "composition"):
        assert {f"{slug}.svg", f"{slug}.png"} <= names
        assert (page.parent / f"{slug}.png").read_bytes().startswith(b"\x89PNG")
    assert not [name for name in names if name.startswith(".")]


def test_the_rows_of_the_profile_are_those_of_the_warehouse(page, home):
    rows = pl.read_csv(page.parent / "profile-keep-promoter-4.csv")
    stored = queries.run(
        home, "select window_start, value_nats from information_profile where mode = 'keep' order by window_start"
    )
    assert rows["window_start"].to_list() == stored["window_start"].to_list()
    np.testing.assert_allclose(rows["value_nats"], stored["value_nats"])
    # Bonferroni over 17 windows at 95 %: 2.9738 standard errors of 0.01
    np.testing.assert_allclose(rows["band_high_nats"] - rows["value_nats"], 0.029738, rtol=1e-4)
    np.testing.assert_allclose(rows["ci_high_nats"] - rows["value_nats"], 0.019600, rtol=1e-3)


def test_the_sql_on_the_page_gives_the_tables(html, home, seen):
    shown = re.search(r'id="sql-estimates-keep".*?<pre[^>]*>(.*?)</pre>', html, re.S)
    assert shown is not None
    found = queries.run(home, _unescaped(shown[1]))
    assert found.height == 17
    best = found.row(0, named=True)
    assert best["x"] == "promoter[8:12]"
    assert f"{best['value_nats']:.4f} ± {best['std_error_nats']:.4f}" in seen.text
    for text in re.findall(r'id="sql-[a-z-]+">.*?<pre[^>]*>(.*?)</pre>', html, re.S):
        assert queries.run(home, _unescaped(text)).height >= 1


def test_warnings_and_failed_checks_are_said_at_the_top(seen):
    assert "2 warnings to read before you use this number" in seen.text
    assert "it was trained for a moment only" in seen.text
    assert "1 of 2 failed." in seen.text


def test_provenance_tells_source_dropped_rows_and_model(seen):
    for text in ("cd" * 32, "2 (letter N)", "guessed", "model0", "1,234", "10 steps in 1.5 s", "torch 2.13.0", RUN):
        assert text in seen.text, text


def test_drawing_it_again_gives_the_same_files(home, study, page):
    context = read_context(home, RUN, study)
    picture = next(p for p in pictures(context) if p.slug == "estimators")
    drawn = render(picture)
    assert drawn.png == (page.parent / "estimators.png").read_bytes()
    assert drawn.svg == (page.parent / "estimators.svg").read_text()


def _unescaped(text: str) -> str:
    from html import unescape

    return unescape(text)
