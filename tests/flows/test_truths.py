"""Known answers of drawn corpora reach the warehouse, beside the estimates that they judge."""

from math import log

import numpy as np
import pytest

from flows.home import Home
from flows.launch import ingest_alone
from flows.pipeline import carry_out
from flows.steps import read
from flows.study import MeasureSpec, Source, Study, build_study
from flows.truths import known_answers, known_of_sides
from infosedd.errors import InputError
from warehouse import queries

from .conftest import TRAINING


def _parity(*measures: dict) -> Study:
    raw = {
        "name": "parity",
        "source": {"connector": "synthetic", "options": {"task": "parity", "n": 400, "length": 2, "letters": 2}},
        "model": {"network": [{"kind": "pairwise"}], "training": TRAINING, "folds": 2},
        "measures": list(measures),
    }
    return build_study(raw, (), "parity")


def test_a_study_of_a_drawn_task_is_shown_against_its_truth(home: Home) -> None:
    study = _parity(
        {"measure": "mutual_information", "x": "y", "y": "x"},
        {"measure": "mutual_information", "x": "x", "y": "y", "mode": "keep", "window": 1},
    )
    carry_out(study, home, report=False)
    rows = queries.run(
        home.path,
        "select mode, x, y, truth_nats, error_nats = value_nats - truth_nats as adds_up, truth_source"
        " from estimates_against_truths where estimator = 'loss_difference' order by mode, x",
    ).rows()
    assert [row[:3] for row in rows] == [("keep", "x[0]", "y"), ("whole", "y", "x")]
    assert [row[3] for row in rows] == pytest.approx([0, log(2)])
    assert all(row[4] for row in rows)
    assert rows[0][5] == "by construction"
    again = queries.run(home.path, "select count(*) from truths").item()
    carry_out(study, home, report=False)
    assert queries.run(home.path, "select count(*) from truths").item() == again


def test_what_is_ingested_alone_brings_its_truths(home: Home) -> None:
    source = Source(connector="ising", options={"length": 4, "temperature": 3.0, "n": 50})
    corpus = ingest_alone(source, "spins", home)
    rows = queries.run(home.path, "select study, corpus_id, measure, x, y, value_nats, source from truths").rows()
    found = {row[2]: row for row in rows}
    assert set(found) == {"entropy", "total_correlation", "mutual_information"}
    assert found["entropy"][:2] == ("spins", corpus.corpus_id)
    assert found["entropy"][5] + found["total_correlation"][5] == pytest.approx(16 * log(2))
    assert found["mutual_information"][3:5] == ("spins[0:8]", "spins[8:16]")
    assert found["entropy"][6].startswith("Kaufman; energy ")


def test_a_file_has_no_known_answer(home: Home, study: Study) -> None:
    corpus = ingest_alone(study.source, "small", home)
    assert known_answers(study.source, "small", corpus, study.measures) == ()
    assert known_answers(Source(path=study.source.path), "small", corpus) == ()
    assert queries.run(home.path, "select count(*) from truths").item() == 0


def test_a_part_asked_for_by_its_range_is_the_named_part() -> None:
    import connectors

    options = {"task": "parity", "n": 20, "length": 3}
    corpus = connectors.ingest("synthetic", [], options, name="parity")
    source = Source(connector="synthetic", options=options)
    asked = MeasureSpec(measure="total_correlation", x="y+x[0:3]")
    keys = {(t.measure, t.x) for t in known_answers(source, "parity", corpus, [asked])}
    assert {("total_correlation", "x+y"), ("total_correlation", "y+x")} <= keys


def test_nothing_to_read_is_refused(home: Home) -> None:
    with pytest.raises(InputError, match="neither a connector nor a source"):
        ingest_alone(Source(), "data", home)


def test_both_divergences_of_a_drawn_comparison_stand_beside_their_exact_values(home: Home) -> None:
    raw = {
        "name": "temperatures",
        "source": {"connector": "ising", "options": {"length": 2, "n": 400}},
        "grid": {"temperature": [2.5, 5.0]},
        "compare": {},
        "model": {"network": [{"kind": "pairwise"}], "training": TRAINING, "folds": 2},
        "measures": [
            {"measure": "kl_divergence", "x": ""},
            {"measure": "entropy", "x": "spins"},
            {"measure": "jensen_shannon_divergence", "x": ""},
        ],
    }
    outcome = carry_out(build_study(raw, (), "temperatures"), home, report=False)
    cold, hot = (part.corpus for part in outcome.parts if len(part.corpus.blocks) == 1)
    rows = queries.run(
        home.path,
        "select measure, corpus_id, reference_corpus_id, truth_nats from estimates_against_truths"
        " where estimator = 'loss_difference'",
    ).rows()
    found = {row[:3]: row[3] for row in rows}
    assert set(found) == {
        ("kl_divergence", cold.corpus_id, hot.corpus_id),
        ("kl_divergence", hot.corpus_id, cold.corpus_id),
        ("entropy", cold.corpus_id, None),
        ("entropy", hot.corpus_id, None),
    }
    states = 2 * ((np.arange(16)[:, None] >> np.arange(4)) & 1) - 1
    bonds = 2 * (states * states[:, [1, 0, 3, 2]] + states * states[:, [2, 3, 0, 1]]).sum(1) / 2
    laws = {t: np.exp(bonds / t) / np.exp(bonds / t).sum() for t in (2.5, 5.0)}
    kl = {(a, b): float((laws[a] * np.log(laws[a] / laws[b])).sum()) for a, b in ((2.5, 5.0), (5.0, 2.5))}
    assert found["kl_divergence", cold.corpus_id, hot.corpus_id] == pytest.approx(kl[2.5, 5.0])
    assert found["kl_divergence", hot.corpus_id, cold.corpus_id] == pytest.approx(kl[5.0, 2.5])


def test_two_files_have_no_known_divergence(study: Study) -> None:
    corpus = read(study.source, "small")
    assert known_of_sides(study, corpus, corpus) == ()
