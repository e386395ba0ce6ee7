"""Each view against its stated key and invariants, on data made for it."""

import math
import shutil
from pathlib import Path

import polars as pl
import pytest

from infosedd.results import Estimate
from warehouse import Truth, Warehouse, queries, schema

QUANTITY = "study, {corpus}, measure, mode, x, y, z, estimator"


@pytest.fixture(scope="module")
def history(make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two corpora of one name, three models, four runs; the last run shows old estimates again."""
    home = tmp_path_factory.mktemp("history") / "home"
    warehouse = Warehouse(home)
    first, second = make.corpus("data", seed=1), make.corpus("data", seed=2)
    for corpus in (first, second):
        warehouse.record_corpus(corpus)
    models = {"a": first, "b": first, "c": second}
    for name, corpus in models.items():
        warehouse.record_model(make.Card(name, corpus.corpus_id, {"b": "a", "c": "lost"}.get(name)), home / name)
    shown = [("r1", "a", 0.1, False), ("r2", "b", 0.2, False), ("r3", "c", 0.3, False), ("r4", "a", 0.1, True)]
    for run_id, model, value, reused in shown:
        warehouse.start_run(run_id, "s")
        answers = [
            make.estimate(value),
            make.window(value / 2, "promoter[2:5]"),
            make.window(value / 3, "promoter[11]"),
            make.window(value, "promoter", "remove"),
            make.window(value, "promoter[0:2]+bin"),
            make.estimate(value, "bin", y="promoter[0]", z="promoter[1]", measure="conditional_mutual_information"),
            Estimate("entropy", 11.0 + value, 0.5, 10.0, 13.0, 40, x="promoter[0]+promoter[2:5]+bin"),
            Estimate("entropy", 2.0 + value, 0.5, 0.0, 3.0, 40, x="promoter", z="bin"),
        ]
        corpus_id = models[model].corpus_id
        warehouse.record_estimates(run_id, "s", corpus_id, model, 0, answers, reused, pointwise="none")
        warehouse.finish_run(run_id)
    truth = Truth("s", first.corpus_id, "mutual_information", 0.11, "known", "promoter", "bin")
    warehouse.record_truths([truth, Truth(**{**vars(truth), "bound": "upper", "value_nats": 0.05})])
    warehouse.publish()
    return home


@pytest.fixture(scope="module")
def compared(make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One corpus against two references in each of two runs, with truths and scores; see make_fixture."""
    home = tmp_path_factory.mktemp("compared") / "home"
    make.fill_compared(Warehouse(home))
    Warehouse(home).publish()
    return home


KEYS = {
    "latest_estimates": QUANTITY.format(corpus="corpus_name") + ", reference_corpus_id",
    "information_profile": "study, corpus_id, mode, x, y, estimator",
    "entropy_per_token": "study, corpus_name, mode, x, z, estimator",
    "estimate_changes": "run_id, estimate_id",
    "estimates_against_truths": QUANTITY.format(corpus="corpus_id") + ", reference_corpus_id, bound",
    "summariser_ranking": "study, measure, x, y, z, reference_corpus_id, score, corpus_name",
    "model_lineage": "model_id",
    "run_history": "run_id",
    "failed_runs": "run_id",
    "run_costs": "run_id",
}


def test_every_view_has_its_key_here() -> None:
    assert set(KEYS) == {view.name for view in schema.views()}


@pytest.mark.parametrize("view", KEYS)
def test_the_key_is_unique_and_the_one_that_is_stated(filled: Path, history: Path, compared: Path, view: str) -> None:
    sql = next(v.sql for v in schema.views() if v.name == view)
    assert f"-- Key: {KEYS[view]}." in sql
    rows = 0
    for home in (filled, history, compared):
        total, different = queries.run(
            home,
            f"SELECT (SELECT count(*) FROM {view}), (SELECT count(*) FROM (SELECT DISTINCT {KEYS[view]} FROM {view}))",
        ).row(0)
        assert total == different
        rows += total
    assert rows


LATEST = """
SELECT e.estimate_id FROM run_estimates s JOIN runs r USING (run_id) JOIN estimates e USING (estimate_id)
JOIN corpora c USING (corpus_id) LEFT JOIN corpora o ON o.corpus_id = e.reference_corpus_id
QUALIFY row_number() OVER (
    PARTITION BY e.study, {corpus}, {reference}, e.measure, e.mode, e.x, e.y, e.z, e.estimator
    ORDER BY r.started_at DESC, e.created_at DESC, e.estimate_id DESC) = 1
"""


SCOPES = [("name", "c.name", "o.name"), ("corpus", "e.corpus_id", "e.reference_corpus_id")]


@pytest.mark.parametrize(("scope", "corpus", "reference"), SCOPES)
def test_the_index_of_the_latest_is_what_its_definition_says(
    filled: Path, history: Path, compared: Path, scope: str, corpus: str, reference: str
) -> None:
    for home in (filled, history, compared):
        kept = queries.run(home, "SELECT estimate_id FROM latest_index WHERE scope = ?", [scope])["estimate_id"]
        assert sorted(kept) == sorted(
            queries.run(home, LATEST.format(corpus=corpus, reference=reference))["estimate_id"]
        )


def test_the_latest_is_what_the_last_run_showed_even_if_it_is_old(history: Path) -> None:
    rows = queries.run(
        history, "SELECT * FROM latest_estimates WHERE mode = 'whole' AND x = 'promoter' AND measure LIKE 'mutual%'"
    )
    assert rows.height == 3
    main = rows.filter(pl.col("estimator") == "loss_difference").to_dicts()[0]
    assert (main["model_id"], main["value_nats"], main["corpus_name"]) == ("a", pytest.approx(0.1), "data")
    assert main["value_bits"] == pytest.approx(0.1 / math.log(2))


def test_the_profile_reads_windows_off_x(history: Path, make) -> None:
    rows = queries.run(history, "SELECT * FROM information_profile WHERE estimator = 'loss_difference'")
    first, second = (make.corpus("data", seed=s).corpus_id for s in (1, 2))
    found = {(r["corpus_id"], r["mode"], r["x"]): r for r in rows.to_dicts()}
    assert {key[1:] for key in found} == {
        ("keep", "promoter[2:5]"),
        ("keep", "promoter[11]"),
        ("remove", "promoter"),
    }
    assert len(found) == 6  # each corpus keeps its own profile
    spans = {x: (r["window_start"], r["window_stop"]) for (_, _, x), r in found.items()}
    assert spans == {"promoter[2:5]": (2, 5), "promoter[11]": (11, 12), "promoter": (0, 12)}
    assert found[first, "keep", "promoter[2:5]"]["value_nats"] == pytest.approx(0.05)
    assert found[second, "keep", "promoter[2:5]"]["value_nats"] == pytest.approx(0.15)


def test_entropy_is_divided_by_the_tokens_that_x_names(history: Path) -> None:
    rows = {r["x"]: r for r in queries.run(history, "SELECT * FROM entropy_per_token").to_dicts()}
    mixed = rows["promoter[0]+promoter[2:5]+bin"]
    assert mixed["n_tokens"] == 5
    assert mixed["value_nats_per_token"] == pytest.approx(11.1 / 5)
    assert mixed["std_error_nats_per_token"] == pytest.approx(0.1)
    assert mixed["value_bits_per_token"] == pytest.approx(11.1 / 5 / math.log(2))
    assert mixed["ceiling_nats_per_token"] == pytest.approx((4 * math.log(4) + math.log(3)) / 5)
    assert (rows["promoter"]["n_tokens"], rows["promoter"]["z"]) == (12, "bin")


def test_a_change_is_against_the_run_before(history: Path) -> None:
    rows = queries.run(
        history,
        "SELECT * FROM estimate_changes WHERE x = 'promoter' AND mode = 'whole' AND measure = 'mutual_information' "
        "AND estimator = 'loss_difference' ORDER BY started_at",
    ).to_dicts()
    assert [(r["run_id"], r["previous_run_id"]) for r in rows] == [
        ("r1", None),
        ("r2", "r1"),
        ("r3", "r2"),
        ("r4", "r3"),
    ]
    assert [r["change_nats"] for r in rows] == [None, *(pytest.approx(v) for v in (0.1, 0.1, -0.2))]
    assert rows[1]["change_std_error_nats"] == pytest.approx(0.01 * math.sqrt(2))


def test_an_estimate_shown_twice_has_not_changed(home: Path, make) -> None:
    warehouse = Warehouse(home)
    warehouse.start_run("run-9", make.STUDY)
    warehouse.record_estimates(
        "run-9", make.STUDY, make.corpus().corpus_id, "model-b", 0, [make.estimate(0.55)], reused=True
    )
    warehouse.publish()
    rows = queries.run(home, "SELECT * FROM estimate_changes WHERE run_id = 'run-9'").to_dicts()
    assert len(rows) == 3
    assert {(r["previous_run_id"], r["change_nats"], r["change_std_error_nats"]) for r in rows} == {("run-2", 0.0, 0.0)}


def test_estimates_stand_beside_what_is_known(history: Path) -> None:
    rows = queries.run(
        history, "SELECT * FROM estimates_against_truths WHERE estimator = 'loss_difference' ORDER BY bound"
    ).to_dicts()
    exact, upper = rows
    assert (exact["bound"], exact["truth_nats"], exact["agrees"]) == ("exact", 0.11, True)
    assert exact["error_nats"] == pytest.approx(-0.01)
    assert exact["relative_error"] == pytest.approx(-0.01 / 0.11)
    assert exact["error_in_std_errors"] == pytest.approx(-1.0)
    assert (upper["bound"], upper["agrees"]) == ("upper", False)
    plug_in = queries.run(
        history, "SELECT agrees, error_in_std_errors FROM estimates_against_truths WHERE estimator = 'plug_in'"
    )
    assert set(plug_in.rows()) == {(None, None)}


def test_summarisers_are_ranked_by_both(filled: Path) -> None:
    rows = queries.run(filled, "SELECT * FROM summariser_ranking ORDER BY corpus_name").to_dicts()
    assert [(r["corpus_name"], r["rank_by_information"], r["rank_by_score"]) for r in rows] == [
        ("M1", 1, 1),
        ("M2", 3, 3),
        ("M3", 2, 2),
    ]
    assert {r["n_ranked"] for r in rows} == {3}


def test_lineage_goes_to_the_first_model_that_is_known(history: Path) -> None:
    rows = queries.run(history, "SELECT model_id, root_model_id, generation FROM model_lineage ORDER BY 1").rows()
    assert rows == [("a", "a", 0), ("b", "a", 1), ("c", "c", 0)]


def test_history_costs_and_failures(filled: Path, history: Path) -> None:
    rows = queries.run(history, "SELECT * FROM run_costs ORDER BY run_number").to_dicts()
    assert [r["n_models_trained"] for r in rows] == [1, 1, 1, 0]
    assert [r["n_models_reused"] for r in rows] == [0, 0, 0, 1]
    assert [r["train_seconds"] for r in rows] == [2.5, 2.5, 2.5, 0.0]
    assert [r["n_estimates_computed"] for r in rows] == [20, 20, 20, 0]
    assert [r["n_estimates_reused"] for r in rows] == [0, 0, 0, 20]
    assert rows[3]["seconds_per_estimate"] is None
    failed = queries.run(filled, "SELECT * FROM failed_runs").to_dicts()
    assert [(r["run_id"], r["status"], r["completed_since"]) for r in failed] == [("run-3", "failed", False)]
    assert failed[0]["error"] == "the file is gone, data.csv; name another"
    runs = queries.run(filled, "SELECT run_id, run_number, n_estimates, run_seconds FROM run_history ORDER BY run_id")
    assert runs["run_number"].to_list() == [1, 2, 3, 1]
    assert runs["n_estimates"].to_list() == [13, 13, 0, 9]
    assert all(seconds >= 0 for seconds in runs["run_seconds"])


def test_divergences_from_two_references_are_two_quantities(compared: Path) -> None:
    latest = queries.run(
        compared,
        "SELECT o.name, e.value_nats FROM latest_estimates AS e JOIN corpora AS o "
        "ON o.corpus_id = e.reference_corpus_id WHERE estimator = 'loss_difference' ORDER BY 1",
    ).rows()
    assert latest == [("hot", pytest.approx(0.35)), ("warm", pytest.approx(0.25))]  # of the second run
    changes = queries.run(
        compared,
        "SELECT reference_name, change_nats FROM estimate_changes "
        "WHERE previous_run_id IS NOT NULL AND estimator = 'loss_difference' ORDER BY 1",
    ).rows()
    assert changes == [("hot", pytest.approx(0.05)), ("warm", pytest.approx(0.05))]
    truths = queries.run(
        compared,
        "SELECT o.name, truth_nats FROM estimates_against_truths AS e JOIN corpora AS o "
        "ON o.corpus_id = e.reference_corpus_id WHERE estimator = 'loss_difference' ORDER BY 1",
    ).rows()
    assert truths == [("hot", pytest.approx(0.31)), ("warm", pytest.approx(0.21))]
    assert set(queries.run(compared, "SELECT n_ranked FROM summariser_ranking")["n_ranked"]) == {1}


def test_new_content_under_the_names_of_a_comparison_replaces_the_old(compared: Path, tmp_path: Path, make) -> None:
    warehouse = Warehouse(Path(shutil.copytree(compared, tmp_path / "home")))
    make.compare(warehouse, "compare-3", seed=50, shift=0.4)
    warehouse.publish()
    latest = queries.run(
        warehouse.home, "SELECT value_nats FROM latest_estimates WHERE estimator = 'loss_difference' ORDER BY 1"
    )
    assert latest["value_nats"].to_list() == [pytest.approx(0.6), pytest.approx(0.7)]
