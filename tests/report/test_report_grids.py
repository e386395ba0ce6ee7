"""Pages of a grid and of a comparison, from made-up results: curves beside exact answers, positions that differ."""

from pathlib import Path

import numpy as np
import pytest

from flows.report.comparison import Differences, comparison_tables, pair_of
from flows.report.curves import axis_of, curve_tables, curves_of
from flows.report.page import read_context
from flows.report.pictures import pictures
from flows.report.render import render
from flows.study import build_study
from flows.study import load_study as load
from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus, Provenance
from infosedd.plotting.curve import plot_curve
from tests.report.report_homes import DNA, RUN, MadeCard, make_estimate, record
from warehouse import Warehouse

TEMPERATURES = (2.0, 3.0, 4.0)


def ising_home(folder: Path) -> Path:
    parts = []
    for i, temperature in enumerate(TEMPERATURES):
        codes = np.random.default_rng(i).integers(0, 2, (60, 4))
        block = Block("spins", Vocabulary(("-", "+")), 4, (2, 2), True)
        options = {"length": 2, "temperature": temperature, "boundary": "torus"}
        provenance = Provenance("ising", "ising:2x2", options=options)
        corpus = Corpus(f"ising temperature={temperature}", (block,), {"spins": codes}, provenance=provenance)
        parts.append((corpus, [make_estimate("entropy", 1.0 + 0.5 * i, 0.05, n=60, x="spins")]))
    return record(folder, "ising", parts)


def ising_study():
    overrides = ["source.options.length=2", f"grid.temperature={list(TEMPERATURES)}"]
    measures = [{"measure": "entropy", "x": "spins"}]
    return load("ising", overrides, measures=measures)


def test_curves_stand_beside_the_exact_answers(tmp_path: Path) -> None:
    from connectors.ising_exact import exact

    context = read_context(ising_home(tmp_path), RUN, ising_study())
    entropy, energy, heat = curves_of(context)
    assert entropy.title == "Entropy H(spins) per spin, nats"
    assert list(entropy.at) == list(energy.at) == list(TEMPERATURES)
    assert entropy.values == pytest.approx([0.25, 0.375, 0.5]) and entropy.std_errors == pytest.approx(0.0125)
    known = [exact(2, 2, t, "torus") for t in TEMPERATURES]
    assert entropy.exact == pytest.approx([k.entropy / 4 for k in known if k])
    assert energy.exact == pytest.approx([k.energy / 4 for k in known if k])
    assert heat.values == pytest.approx(0.125 / np.diff(np.log(TEMPERATURES)))
    assert heat.line is not None and heat.line[1].min() > 0
    assert np.interp(heat.at, *heat.line) == pytest.approx(heat.exact, rel=0.05)

    (table,) = curve_tables(context)
    assert [row[0] for row in table.rows] == ["2", "3", "4"]
    assert table.query is not None
    rows = table.query.run(tmp_path)
    assert rows["temperature"].to_list() == list(TEMPERATURES)
    picture = pictures(context)[0]
    assert picture.slug == "curves" and "critical, 2.269" in picture.caption[0]
    assert {"curve-entropy-spins", "curve-energy", "curve-specific-heat"} == set(picture.data)
    assert render(picture).png.startswith(b"\x89PNG")


@pytest.mark.parametrize("grid", [{}, {"boundary": ["torus", "open"]}, {"temperature": [2.0, 3.0], "seed": [0, 1]}])
def test_what_is_no_line_of_numbers_has_no_curve(tmp_path: Path, grid: dict) -> None:
    study = build_study({**ising_study().model_dump(), "grid": grid}, (), "ising")
    context = read_context(ising_home(tmp_path), RUN, study)
    assert axis_of(context) is None and curves_of(context) == [] and curve_tables(context) == []


def compared_home(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    vocabularies = Block("x", DNA, 5), Block("word", Vocabulary(tuple(f"w{i}" for i in range(30))), 2)
    corpora = []
    for name, share in (("pair human", 0.9), ("pair mouse", 0.3)):
        codes, words = rng.integers(0, 4, (400, 5)), rng.integers(0, 30, (400, 2))
        codes[:, 3] = np.where(rng.random(400) < share, 0, 1)
        corpora.append(Corpus(name, vocabularies, {"x": codes, "word": words}))
    p, q = corpora
    record(folder, "compare", [(p, []), (q, [])])
    warehouse = Warehouse(folder)
    for number, (here, there) in enumerate(((p, q), (q, p))):
        warehouse.record_model(MadeCard(f"model{number}", here.corpus_id), folder / "models" / f"model{number}")
        kl = make_estimate("kl_divergence", 0.8 + number / 10, 0.05, x="x+word")
        ids = {"reference_corpus_id": there.corpus_id, "reference_model_id": f"model{1 - number}"}
        warehouse.record_estimates(RUN, "compare", here.corpus_id, f"model{number}", 0, [kl], **ids)
    warehouse.publish()
    return folder


def test_a_comparison_shows_which_positions_and_symbols_differ(tmp_path: Path) -> None:
    context = read_context(compared_home(tmp_path), RUN, None)
    pair = pair_of(context)
    assert pair is not None
    found = Differences.of(*pair, pair[0].block("x"))
    assert all(int(nats.argmax()) == 3 and nats[3] > 50 * found.chance for nats in found.nats)
    assert found.nats[0][[0, 1, 2, 4]].max() < 10 * found.chance
    titles = {table.slug: table for table in comparison_tables(context)}
    assert set(titles) == {"positions-x", "positions-word", "symbols-word"}
    assert titles["positions-x"].rows[0][0] == "3"
    shown = {picture.slug: picture for picture in pictures(context)}
    assert {"positions-x", "positions-word"} <= set(shown)
    assert "human against mouse" in shown["quantities"].alt
    assert "highest at 3" in shown["positions-x"].alt
    render(shown["positions-x"])


def test_a_run_of_one_corpus_compares_nothing(tmp_path: Path) -> None:
    context = read_context(ising_home(tmp_path), RUN, None)
    assert pair_of(context) is None and comparison_tables(context) == []


def test_a_curve_marks_what_lies_within_it() -> None:
    at = np.array([1.0, 2.0, 3.0])
    ax = plot_curve(at, at, 0.1 * at, marks={"inside": 2.5, "outside": 9.0})
    assert [text.get_text() for text in ax.texts] == ["inside"]
