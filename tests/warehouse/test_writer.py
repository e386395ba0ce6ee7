"""What is written, and what a second time adds: nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from infosedd.errors import InfoseddError, InputError
from infosedd.results import Estimate
from warehouse import Check, ExternalScore, RefusedRow, Truth, Warehouse, queries
from warehouse.records import Origin
from warehouse.rows import estimate_id

KEY = ("promoter", "bin")


def test_a_corpus_is_written_with_its_source_and_blocks(filled: Path, make) -> None:
    row = queries.run(filled, "SELECT * FROM corpora WHERE name = 'lac'").to_dicts()[0]
    assert row["corpus_id"] == make.corpus().corpus_id
    assert (row["connector"], row["source_uri"], row["source_sha256"]) == ("table", "lac.csv", "ab" * 32)
    assert (row["n_sequences"], row["n_dropped"]) == (make.N, 2)
    assert row["blocks"] == [
        {"name": "promoter", "length": 12, "vocabulary_size": 4, "lattice": None},
        {"name": "bin", "length": 1, "vocabulary_size": 3, "lattice": None},
    ]


def test_a_model_is_written_with_a_path_relative_to_the_home(filled: Path) -> None:
    rows = queries.run(filled, "SELECT model_id, path, parent_model_id, created_at FROM score_models ORDER BY model_id")
    by_id = {row["model_id"]: row for row in rows.to_dicts()}
    assert by_id["model-a"]["path"] == "models/model-a"
    assert by_id["model-M1"]["path"] == "/elsewhere/M1"
    assert by_id["model-b"]["parent_model_id"] == "model-a"
    assert by_id["model-a"]["created_at"].isoformat() == "2100-01-01T00:00:00"


def test_an_estimate_is_written_with_its_others(filled: Path) -> None:
    rows = queries.run(
        filled,
        "SELECT *, diagnostics['dynkin_gap_nats'] AS gap, diagnostics['ln_n'] AS ln_n FROM estimates "
        "WHERE model_id = 'model-a' AND mode = 'whole' AND x = 'promoter' AND y = 'bin'",
    ).to_dicts()
    by_estimator = {row["estimator"]: row for row in rows}
    assert set(by_estimator) == {"loss_difference", "dynkin", "plug_in"}
    main = by_estimator["loss_difference"]
    assert (main["value_nats"], main["std_error_nats"], main["ci_low_nats"], main["ci_high_nats"]) == (
        pytest.approx(0.5),
        0.01,
        pytest.approx(0.48),
        pytest.approx(0.52),
    )
    assert main["warnings"] == ["the two estimators differ"]
    assert (main["gap"], main["ln_n"]) == (0.003, None)
    assert by_estimator["plug_in"]["ln_n"] == pytest.approx(np.log(40))
    assert by_estimator["plug_in"]["std_error_nats"] is None
    assert by_estimator["plug_in"]["ci_low_nats"] is None


def test_pointwise_values_of_whole_estimates_carry_sequence_ids(filled: Path, make) -> None:
    rows = queries.run(
        filled,
        "SELECT p.*, e.mode, e.estimator FROM pointwise p JOIN estimates e USING (estimate_id) "
        "WHERE e.model_id = 'model-a' ORDER BY sequence_index",
    )
    assert rows["sequence_index"].to_list() == list(range(make.N))
    assert rows["sequence_id"].to_list() == [f"seq{i}" for i in range(make.N)]
    assert set(rows["mode"]) == {"whole"} and set(rows["estimator"]) == {"loss_difference"}
    assert rows["value_nats"].mean() == pytest.approx(0.5)


def test_the_same_again_adds_no_row(home: Path, make, table_counts) -> None:
    before = table_counts(home)
    make.fill(home)
    assert table_counts(home) == before


def test_a_second_run_that_reuses_adds_only_that_it_showed_them(home: Path, make, table_counts) -> None:
    before = table_counts(home)
    warehouse, lac = Warehouse(home), make.corpus()
    assert not warehouse.record_corpus(lac)
    assert not warehouse.record_model(make.Card("model-b", lac.corpus_id), home / "models" / "model-b")
    assert warehouse.start_run("run-5", make.STUDY)
    written = warehouse.record_estimates(
        "run-5", make.STUDY, lac.corpus_id, "model-b", 0, [make.estimate(0.55)], reused=True
    )
    assert (written.added, written.known, written.pointwise_added, written.differing) == (0, 3, 0, ())
    after = table_counts(home)
    changed = {table: after[table] - before[table] for table in after if after[table] != before[table]}
    assert changed == {"runs": 1, "run_estimates": 3}


def test_a_stored_value_is_kept_and_the_difference_is_said(home: Path, make, writer_rows) -> None:
    lac = make.corpus()
    written = Warehouse(home).record_estimates(
        "run-2", make.STUDY, lac.corpus_id, "model-b", 0, [replace(make.estimate(0.9), others=())]
    )
    assert len(written.differing) == 1
    stored = writer_rows(home, f"SELECT value_nats FROM estimates WHERE estimate_id = '{written.differing[0]}'")
    assert stored == [(pytest.approx(0.55),)]


@pytest.mark.parametrize(
    "change",
    [
        {"study": "other"},
        {"corpus_id": "c2"},
        {"model_id": None},
        {"seed": 1},
        {"reference_corpus_id": "c3"},
        {"reference_model_id": "m3"},
    ],
)
def test_each_part_of_the_origin_is_part_of_the_key(make, change: dict) -> None:
    origin = Origin("s", "c", "m", 0)
    assert estimate_id(make.estimate(), origin) != estimate_id(make.estimate(), replace(origin, **change))


@pytest.mark.parametrize("change", [{"measure": "entropy"}, {"mode": "keep"}, {"x": "a"}, {"y": ""}, {"z": "q"}])
def test_each_part_of_the_quantity_is_part_of_the_key(make, change: dict) -> None:
    origin = Origin("s", "c", "m", 0)
    assert estimate_id(make.estimate(), origin) != estimate_id(replace(make.estimate(), **change), origin)


def test_keys_do_not_run_together(make) -> None:
    left = estimate_id(make.estimate(x="a", y="bc"), Origin("s", "c", "m", 0))
    assert left != estimate_id(make.estimate(x="ab", y="c"), Origin("s", "c", "m", 0))


BAD = [
    ({"nats": float("nan")}, "is nan"),
    ({"nats": float("inf")}, "is inf"),
    ({"std_error": float("nan")}, "standard error nan"),
    ({"std_error": -1.0}, "standard error -1"),
    ({"ci_low": 0.6}, "outside its interval"),
    ({"ci_high": float("inf")}, "interval 0.48 to inf"),
    ({"measure": "information"}, "measure"),
    ({"estimator": "guess"}, "estimator"),
    ({"n_samples": 0}, "n_samples"),
    ({"pointwise": np.array([1.0, np.nan]), "rows": None}, "1 pointwise values not finite"),
    ({"pointwise": np.array([1.0, 2.0]), "rows": np.array([3, 3])}, "two pointwise values for one row"),
    ({"pointwise": np.array([1.0, 2.0]), "rows": np.array([3])}, "2 pointwise values for 1 rows"),
    ({"pointwise": np.array([1.0]), "rows": np.array([40])}, "names row 40, there are 40 sequence ids"),
]


def record_with_a_good_one(make, home: Path, change: dict) -> None:
    good = make.estimate(0.1, "promoter[0:2]")
    bad = replace(make.estimate(0.5, "promoter[0:3]"), **change, others=())
    Warehouse(home).record_estimates("run-1", make.STUDY, make.corpus().corpus_id, "model-a", 0, [good, bad])


@pytest.mark.parametrize(("change", "said"), BAD)
def test_a_bad_estimate_is_refused(filled: Path, make, change: dict, said: str) -> None:
    with pytest.raises(RefusedRow, match=said) as caught:
        record_with_a_good_one(make, filled, change)
    assert caught.value.exit_code == 1


def test_what_came_with_a_bad_estimate_is_not_written_either(filled: Path, make, table_counts) -> None:
    before = table_counts(filled)
    for change in ({"nats": float("nan")}, {"measure": "information"}):
        with pytest.raises(RefusedRow):
            record_with_a_good_one(make, filled, change)
    assert table_counts(filled) == before


def test_one_quantity_with_two_values_is_refused(filled: Path, make) -> None:
    twice = [make.estimate(0.1, "promoter[0:2]"), make.estimate(0.2, "promoter[0:2]")]
    with pytest.raises(RefusedRow, match="comes twice with different values"):
        Warehouse(filled).record_estimates("run-1", make.STUDY, make.corpus().corpus_id, "model-a", 0, twice)


@pytest.mark.parametrize(
    ("run_id", "corpus_id", "model_id", "said"),
    [
        ("run-9", None, "model-a", "run_id 'run-9' is not in the warehouse, table runs; record the run first"),
        ("run-1", "nowhere", "model-a", "record the corpus first"),
        ("run-1", None, "model-z", "record the model first"),
    ],
)
def test_rows_that_others_point_to_come_first(filled: Path, make, run_id, corpus_id, model_id, said) -> None:
    corpus_id = corpus_id or make.corpus().corpus_id
    with pytest.raises(RefusedRow, match=said):
        Warehouse(filled).record_estimates(run_id, make.STUDY, corpus_id, model_id, 0, [make.estimate()])


def test_how_a_run_ended(home: Path, writer_rows) -> None:
    warehouse = Warehouse(home)
    warehouse.start_run("run-8", "s", "flow-8", {"torch": "2"})
    assert warehouse.unfinished_runs()["run_id"].to_list() == ["run-8"]
    warehouse.finish_run("run-8", "interrupted", "stopped")
    row = writer_rows(
        home, "SELECT status, error, finished_at >= started_at, versions FROM runs WHERE run_id = 'run-8'"
    )
    assert row == [("interrupted", "stopped", True, '{"torch": "2"}')]
    assert warehouse.unfinished_runs().height == 0
    with pytest.raises(InfoseddError, match="did you mean 'failed'"):
        warehouse.finish_run("run-8", "fail")
    with pytest.raises(RefusedRow, match="'run-99' is not in the warehouse"):
        warehouse.finish_run("run-99")


def test_windows_bring_pointwise_values_only_on_request(home: Path, make, table_counts) -> None:
    warehouse, lac = Warehouse(home), make.corpus()
    before = table_counts(home)["pointwise"]
    for mode, expected in (("none", 0), ("whole", 0), ("all", make.N)):
        warehouse.record_estimates(
            "run-1", make.STUDY, lac.corpus_id, "model-a", 0, [make.window(0.1, "promoter[4:6]")], pointwise=mode
        )
        assert table_counts(home)["pointwise"] - before == expected
    again = warehouse.record_estimates(
        "run-1", make.STUDY, lac.corpus_id, "model-a", 0, [make.window(0.1, "promoter[4:6]")], pointwise="all"
    )
    assert again.pointwise_added == 0


def test_sequence_ids_can_be_given(home: Path, make, writer_rows) -> None:
    lac = make.corpus()
    answer = make.estimate(x="promoter[0:4]", rows=np.array([5, 3]), pointwise=np.array([0.4, 0.6]))
    ids = pa.array([f"other{i}" for i in range(make.N)])
    Warehouse(home).record_estimates("run-1", make.STUDY, lac.corpus_id, "model-a", 0, [answer], sequence_ids=ids)
    rows = writer_rows(home, "SELECT sequence_index, value_nats FROM pointwise WHERE sequence_id LIKE 'other%'")
    assert sorted(rows) == [(3, 0.6), (5, 0.4)]


def test_known_answers_checks_and_scores_replace_what_has_their_key(
    home: Path, make, table_counts, writer_rows
) -> None:
    warehouse, lac = Warehouse(home), make.corpus().corpus_id
    before = table_counts(home)
    warehouse.record_truths([Truth(make.STUDY, lac, "mutual_information", 0.6, "corrected", *KEY)])
    warehouse.record_truths([Truth(make.STUDY, lac, "mutual_information", 0.4, "a bound", *KEY, bound="lower")])
    warehouse.record_checks([Check(make.STUDY, lac, "swap", "I(x;y) = I(y;x)", False, model_id="model-a")])
    warehouse.record_external_scores([ExternalScore("summaries", "M1", "consistency", 1.5, "points", "experts")])
    after = table_counts(home)
    assert {t: after[t] - before[t] for t in ("truths", "checks", "external_scores")} == {
        "truths": 1,
        "checks": 0,
        "external_scores": 0,
    }
    assert writer_rows(home, "SELECT value_nats, source FROM truths WHERE bound = 'exact'") == [(0.6, "corrected")]
    assert writer_rows(home, "SELECT passed, observed_nats FROM checks") == [(False, None)]
    with pytest.raises(RefusedRow, match="record the corpus first"):
        warehouse.record_truths([Truth("s", "nowhere", "entropy", 1.0, "x")])
    with pytest.raises(RefusedRow, match="breaks a rule"):
        warehouse.record_truths([Truth("s", lac, "entropy", float("nan"), "x")])


HOSTILE = ["'; DROP TABLE estimates; --\n名前", "\"); DELETE FROM runs; -- $1 ? {} ' OR '1'='1"]


@pytest.mark.parametrize("text", HOSTILE)
def test_names_never_become_sql(home: Path, make, table_counts, text: str) -> None:
    warehouse, before = Warehouse(home), table_counts(home)
    hostile = make.corpus(seed=3)
    object.__setattr__(hostile, "name", text)
    warehouse.record_corpus(hostile)
    warehouse.start_run(text, text, text, {text: text})
    ids = pa.array([text] * make.N)
    answer = replace(make.estimate(x=text, warnings=(text,), diagnostics={text: 1.0}), others=())
    warehouse.record_estimates(text, text, hostile.corpus_id, None, 0, [answer], sequence_ids=ids)
    warehouse.record_external_scores([ExternalScore(text, text, text, 1.0, text, text)])
    warehouse.finish_run(text, "failed", text)
    warehouse.publish()
    after = table_counts(home)
    added = {"corpora": 1, "runs": 1, "estimates": 1, "run_estimates": 1, "external_scores": 1, "latest_index": 2}
    assert {t: after[t] - n for t, n in before.items() if after[t] != n} == {**added, "pointwise": make.N}
    row = queries.run(home, "SELECT * FROM latest_estimates WHERE study = $study", {"study": text}).to_dicts()[0]
    assert (row["x"], row["corpus_name"], row["warnings"]) == (text, text, [text])
    found = queries.run(home, "SELECT DISTINCT sequence_id FROM pointwise WHERE sequence_id = ?", [text])
    assert found.height == 1
    assert len(queries.stored_estimates(home, text, hostile.corpus_id, None)) == 1


def test_stored_estimates_come_back_with_their_others(filled: Path, make) -> None:
    found = queries.stored_estimates(filled, make.STUDY, make.corpus().corpus_id, "model-a", 0)
    by_key = {(e.measure, e.mode, e.x): e for e in found}
    assert len(by_key) == 5
    main = by_key["mutual_information", "whole", "promoter"]
    assert isinstance(main, Estimate) and main.estimator == "loss_difference"
    assert (main.nats, main.std_error, main.warnings) == (0.5, 0.01, ("the two estimators differ",))
    assert main.diagnostics == {"dynkin_gap_nats": 0.003}
    dynkin, plug_in = main.other("dynkin"), main.other("plug_in")
    assert dynkin is not None and dynkin.nats == pytest.approx(0.503)
    assert plug_in is not None and np.isnan(plug_in.std_error)
    assert queries.stored_estimates(filled, make.STUDY, make.corpus().corpus_id, "model-a", 7) == []


def test_estimates_of_another_version_of_the_estimation_are_not_reused(
    home: Path, make, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse, corpus_id = Warehouse(home), make.corpus().corpus_id
    question = (home, make.STUDY, corpus_id, "model-a", 0)
    assert len(queries.stored_estimates(*question)) == 5
    monkeypatch.setattr("warehouse.rows.ESTIMATION_VERSION", 2)
    assert queries.stored_estimates(*question) == []
    warehouse.start_run("again", make.STUDY)
    written = warehouse.record_estimates("again", make.STUDY, corpus_id, "model-a", 0, [make.estimate(0.6)])
    assert (written.added, written.known) == (3, 0)
    warehouse.publish()
    assert [e.nats for e in queries.stored_estimates(*question)] == [0.6]
    latest = "SELECT value_nats FROM latest_estimates WHERE measure = 'mutual_information' AND mode = 'whole' "
    found = queries.run(home, latest + "AND estimator = 'loss_difference' AND study = ?", [make.STUDY])
    assert found["value_nats"].to_list() == [0.6]
    monkeypatch.setattr("warehouse.rows.ESTIMATION_VERSION", 1)
    assert len(queries.stored_estimates(*question)) == 5


def test_nothing_is_stored_before_the_first_run(tmp_path: Path) -> None:
    assert queries.stored_estimates(tmp_path, "s", "c", "m", 0) == []
    with pytest.raises(InputError, match="there is no warehouse yet"):
        queries.run(tmp_path, "SELECT 1")
