"""The same engine for every study: sections appear when their data does; what is missing is said."""

from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pytest

from flows.report import facts, write_report
from flows.report.page import read_context
from flows.report.pictures import pictures
from flows.report.rows import read_run
from flows.report.tables import tables
from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus
from infosedd.errors import InputError, SurroundingsError
from infosedd.results import Estimate
from tests.report.report_homes import RUN, make_estimate, promoter_corpus, promoter_estimates, record
from warehouse import Truth, Warehouse


def slugs(page: Path) -> set[str]:
    return {file.stem for file in page.parent.glob("*.svg")}


def spins(temperature: float, seed: int) -> Corpus:
    codes = np.random.default_rng(seed).integers(0, 2, (60, 16))
    block = Block("spins", Vocabulary(("-", "+")), 16, (4, 4), True)
    return Corpus(f"ising-{temperature}", (block,), {"spins": codes})


def test_a_lattice_study_shows_entropies_beside_exact_answers(tmp_path):
    corpora = [spins(2.0, 0), spins(3.0, 1)]
    parts = [(c, [make_estimate("entropy", 9.0 + i, 0.1, n=60, x="spins")]) for i, c in enumerate(corpora)]
    truths = [Truth("ising", c.corpus_id, "entropy", 9.1 + i, "Kaufman", x="spins") for i, c in enumerate(corpora)]
    page = write_report(record(tmp_path, "ising", parts, truths=truths), RUN)
    text = page.read_text()
    assert {"quantities", "draws", "pairs", "composition"} == slugs(page)
    assert "Where the information is" not in text
    assert "in ising-2.0" in text
    assert ">9.10<" in text.replace("9.100", "9.10") and ">10.10<" in text.replace("10.100", "10.10")
    assert "so read it as at most this much" in text


def test_a_study_of_texts_shows_words_and_lengths(tmp_path):
    rng = np.random.default_rng(0)
    words = Vocabulary(("<pad>", *(f"w{i}" for i in range(30))), "<pad>")
    codes = rng.integers(1, 31, (80, 12))
    lengths = rng.integers(4, 13, 80)
    codes[np.arange(12) >= lengths[:, None]] = 0
    blocks = Block("document", words, 12), Block("summary", words, 3)
    corpus = Corpus("texts", blocks, {"document": codes, "summary": codes[:, :3]})
    pair = {"x": "document", "y": "summary", "n": 80}
    points = rng.normal(5, 1, 80)
    information = make_estimate("mutual_information", float(points.mean()), 0.2, **pair)
    information = replace(information, pointwise=points, rows=np.arange(80))
    others = [make_estimate(name, 0.5, 0.1, x="summary") for name in ("o_information", "total_correlation")]
    page = write_report(record(tmp_path, "texts", [(corpus, [information, *others])]), RUN)
    text = page.read_text()
    assert {"quantities", "sequences", "composition", "lengths"} == slugs(page)
    assert "it is no bound" in text
    assert " ".join(f"w{code - 1}" for code in codes[int(points.argmax())] if code) in text


def test_a_run_that_failed_has_a_page_that_says_why(tmp_path):
    warehouse = Warehouse(tmp_path)
    warehouse.start_run(RUN, "mine")
    warehouse.finish_run(RUN, "failed", "no column is called 'seq'")
    warehouse.publish()
    text = write_report(tmp_path, RUN).read_text()
    assert "This run stored no estimate." in text
    assert "The run did not complete: failed, no column is called &#39;seq&#39;." in text


def test_without_the_stored_corpus_the_profile_is_still_drawn(tmp_path):
    corpus = promoter_corpus()
    page = write_report(record(tmp_path, "promoters", [(corpus, promoter_estimates(corpus))], store=False), RUN)
    assert "profile-promoter-4" in slugs(page) and "logo" not in slugs(page)
    assert "Corpus promoters could not be opened" in page.read_text()


def test_an_unknown_run_is_refused_with_the_known_ones(tmp_path):
    corpus = promoter_corpus(n=30)
    record(tmp_path, "promoters", [(corpus, [make_estimate("entropy", 1.0, 0.1, x="label")])])
    with pytest.raises(InputError, match="no run is called 'run-2'") as caught:
        write_report(tmp_path, "run-2")
    assert RUN in caught.value.remedy


def test_a_folder_that_cannot_be_made_is_a_failure_of_the_surroundings(tmp_path):
    corpus = promoter_corpus(n=30)
    record(tmp_path, "promoters", [(corpus, [make_estimate("entropy", 1.0, 0.1, x="label")])])
    (tmp_path / "reports").write_text("in the way")
    with pytest.raises(SurroundingsError, match="could not write the report"):
        write_report(tmp_path, RUN)


def test_baselines_without_a_model_belong_to_each_model(tmp_path):
    corpus = promoter_corpus(n=30)
    record(tmp_path, "promoters", [(corpus, [make_estimate("entropy", 1.0, 0.1, x="label", n=30)])])
    count = make_estimate("entropy", 0.69, 0.01, x="label", n=30, estimator="plug_in", diagnostics={"ln_n": log(30)})
    warehouse = Warehouse(tmp_path)
    warehouse.record_estimates(RUN, "promoters", corpus.corpus_id, None, 0, [count])
    warehouse.publish()
    (quantity,) = read_run(tmp_path, RUN).quantities
    assert quantity.estimate.estimator == "loss_difference"
    assert [other.estimator for other in quantity.estimate.others] == ["plug_in"]


def test_two_widths_and_two_corpora_have_a_profile_each(tmp_path):
    corpora = [promoter_corpus(n=60), promoter_corpus(n=61)]

    def windows(width: int, n: int) -> list[Estimate]:
        spans = [f"promoter[{i}:{i + width}]" for i in range(0, 20 - width + 1, width)]
        return [make_estimate("mutual_information", 0.1, 0.02, x=x, y="label", mode="keep", n=n) for x in spans]

    parts = [(c, [*windows(2, c.n), *windows(5, c.n)]) for c in corpora]
    context = read_context(record(tmp_path, "promoters", parts), RUN, None)
    found = [p for p in pictures(context) if p.slug.startswith("profile")]
    assert [p.slug for p in found] == [
        "profile-promoter-2",
        "profile-promoter-2-2",
        "profile-promoter-5",
        "profile-promoter-5-2",
    ]
    assert all(p.title.endswith("in promoters") for p in found)
    assert [p.title.split(", ")[1] for p in found] == [f"in windows of {n} in promoters" for n in (2, 2, 5, 5)]
    assert [any(name.startswith("positions") for name in p.data) for p in found] == [True, True, False, False]
    names = [name for p in found for name in p.data]
    assert len(names) == len(set(names))
    slugs = [table.slug for table in tables(context)]
    assert len(slugs) == len(set(slugs)) == 4


def test_warnings_that_differ_in_numbers_only_are_told_once(tmp_path):
    corpus = promoter_corpus(n=60)
    windows = [
        make_estimate(
            "mutual_information",
            0.1,
            0.02,
            x=f"promoter[{i}]",
            y="label",
            mode="keep",
            warnings=(f"they differ by 0.{i} nats",),
        )
        for i in range(1, 8)
    ]
    (said,) = facts.warnings(read_context(record(tmp_path, "promoters", [(corpus, windows)]), RUN, None))
    assert said.startswith("I(promoter[1]; label), I(promoter[2]; label)")
    assert said.endswith("and 3 more: they differ by 0.1 nats (so the first; 6 more have other numbers)")
