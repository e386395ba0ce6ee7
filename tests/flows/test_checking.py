"""Checks of a study on its own data: what is trained, told, stored, and found again."""

from pathlib import Path

import numpy as np
import pytest

from flows.checking import CheckSteps, Wanted, asked_of, carry_out_checks, work_of
from flows.checking import check as check_step
from flows.home import Home
from flows.pipeline import carry_out
from flows.progress import Remark, listening
from flows.study import Study
from infosedd.consistency import CHECKS, Verdict
from infosedd.corpus import Corpus
from infosedd.errors import InputError, SurroundingsError
from infosedd.progress import Progress
from warehouse import queries

from .conftest import study_of, write_table


def rows(home: Home, sql: str) -> list[tuple]:
    return queries.run(home.path, sql).rows()


def models(home: Home) -> int:
    return len(list(home.models.glob("[!.]*/card.json")))


@pytest.mark.slow
def test_all_checks_hold_on_good_data_and_a_second_run_trains_nothing(home: Home, tmp_path: Path) -> None:
    training = {"budget": "steps", "steps": 120, "batch_size": 128, "evaluate_every": 40}
    model = {"network": [{"kind": "pairwise", "learning_rate": 0.1}], "training": training, "folds": 2}
    study = study_of(write_table(tmp_path / "good.csv", n=800), model=model, measures=[{"x": "x", "y": "label"}])
    told: list[Progress] = []
    with listening(told.append):
        checked = carry_out_checks(study, home, Wanted(curve=True, null=2))
    names = [*CHECKS, "learning_curve", "permutation_null"]
    assert [v.name for v in checked.verdicts] == names and not checked.skipped
    assert not checked.failed, checked.failed
    assert checked.cost.n_fits == 7 + 2 + 2 and checked.cost.n_stored == 0 and checked.cost.seconds > 0
    assert models(home) == 1 + 11
    remarks = [p.stage for p in told if isinstance(p, Remark)]
    assert len(remarks) == 1 and "models to train: 11, about " in remarks[0]
    first_fit = next(i for i, p in enumerate(told) if p.stage == "check dropping")
    assert any(isinstance(p, Remark) for p in told[:first_fit])  # the cost comes before the first fit

    stored = rows(home, "select name, passed, observed_nats, tolerance_nats, corpus_id, model_id, run_id from checks")
    assert {row[0] for row in stored} == set(names)
    assert {row[4:] for row in stored} == {(checked.corpus.corpus_id, checked.model.model_id, checked.run_id)}
    by_name = {v.name: v for v in checked.verdicts}
    assert {(row[0], row[1], row[2], row[3]) for row in stored} == {
        (v.name, v.passed, v.observed, v.tolerance) for v in by_name.values()
    }
    assert by_name["additivity"].expected == pytest.approx(2 * checked.reference.estimate.nats)
    assert by_name["permutation_null"].figures["p_value"] == pytest.approx(1 / 3)
    assert rows(home, "select status from runs") == [("completed",)]

    again = carry_out_checks(study, home, Wanted(curve=True, null=2))
    assert again.model.reused and again.cost.n_stored == again.cost.n_fits == 11
    assert str(again.cost) == "models to train: none, all 11 are stored"
    assert [v.observed for v in again.verdicts] == [v.observed for v in checked.verdicts]
    assert models(home) == 12 and len(rows(home, "select * from checks")) == 9


def test_fewer_rows_have_a_reference_of_their_own(study: Study, home: Home) -> None:
    checked = carry_out_checks(study, home, Wanted(rows=200, only=("independence", "swapping")))
    assert [v.name for v in checked.verdicts] == ["independence", "swapping"]
    assert checked.reference.corpus_id != checked.corpus.corpus_id
    assert checked.reference.estimate.n_samples == 200
    assert checked.verdicts[1].expected == checked.reference.estimate.nats
    known = rows(
        home, "select c.name from corpora as c join checks using (corpus_id) join score_models using (model_id)"
    )
    assert known == [("small: 200 draws",)] * 2
    assert Corpus.load(home.corpus(checked.reference.corpus_id)).n == 200


def test_the_number_that_is_checked_is_the_studys_own(study: Study, home: Home) -> None:
    outcome = carry_out(study, home, report=False)
    checked = carry_out_checks(study, home, Wanted(only=("relabelling",)))
    assert checked.model.reused and checked.model.model_id == outcome.model.model_id
    assert checked.reference.estimate.nats == outcome.answers[0].estimates[0].nats
    windows = study.model_copy(update={"measures": study.measures[1:2]})
    assert asked_of(windows).mode == "whole"


def test_checks_that_fail_are_rows(study: Study, home: Home) -> None:
    def wrong(name: str, *others: object) -> Verdict:
        return Verdict(name, "never", False, 1.0, 0.1, 0.0, float("inf"))

    checked = carry_out_checks(study, home, Wanted(only=("relabelling",)), CheckSteps(check=wrong))
    assert checked.failed == checked.verdicts
    assert rows(home, "select passed, tolerance_nats from checks") == [(False, None)]


def test_what_was_checked_before_a_failure_is_kept(study: Study, home: Home) -> None:
    def fails_second(name: str, *others: object):
        if name == "swapping":
            raise SurroundingsError("the disk is full", where="/home", remedy="free space")
        return check_step(name, *others)  # type: ignore[arg-type]

    wanted = Wanted(only=("relabelling", "swapping"))
    with pytest.raises(SurroundingsError):
        carry_out_checks(study, home, wanted, CheckSteps(check=fails_second), command="infosedd check small")
    assert rows(home, "select name from checks") == [("relabelling",)]
    status, error = rows(home, "select status, error from runs")[0]
    assert status == "failed" and error.startswith("check swapping: the disk is full")
    assert "resume with `infosedd check small`" in error


def test_counted_rows_are_checked_draw_by_draw(home: Home, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 4, (60, 6))
    lines = ["x,a,b"]
    for row in kinds:
        many, few = int(rng.integers(3, 8)), int(rng.integers(0, 2))
        counts = (many, few) if row[0] < 2 else (few, many)
        lines.append("".join("ACGT"[i] for i in row) + f",{counts[0]},{counts[1]}")
    path = tmp_path / "counts.csv"
    path.write_text("\n".join([*lines, ""]))
    options = {"sequences": {"x": {"column": "x"}}, "counts": {"block": "bin", "columns": ["a", "b"]}}
    source = {"connector": "table", "path": str(path), "options": options}
    study = study_of(path, source=source, measures=[{"x": "x", "y": "bin"}], sites=[])
    checked = carry_out_checks(study, home, Wanted(only=("additivity", "label_noise")))
    corpus = checked.corpus
    assert corpus.n_draws > corpus.n
    assert checked.reference.corpus_id == corpus.corpus_id  # all draws: the study's own number
    work = work_of("additivity", study, asked_of(study), home, corpus.corpus_id, checked.reference, Wanted())
    doubled = next(work.fits()).corpus  # type: ignore[union-attr]
    assert doubled.weights is None and doubled.n > corpus.n


def test_what_can_not_be_checked_is_refused(study: Study, home: Home) -> None:
    with pytest.raises(InputError, match="did you mean 'additivity'"):
        carry_out_checks(study, home, Wanted(only=("additivty",)))
    entropy = study.model_copy(update={"measures": study.measures[2:]})
    with pytest.raises(InputError, match="the checks need a mutual information, study small asks for none"):
        carry_out_checks(entropy, home, Wanted())
    assert not home.corpora.exists()


def test_wanted_checks_by_name() -> None:
    assert Wanted().names == tuple(CHECKS)
    assert Wanted(curve=True, null=5).names == (*CHECKS, "learning_curve", "permutation_null")
    assert Wanted(only=("permutation_null",)).names == ("permutation_null",)
    assert Wanted(only=("permutation_null",)).n_refits == 20
    assert Wanted(only=("independence",), curve=True, null=5).names == (
        "independence", "learning_curve", "permutation_null",
    )  # fmt: skip
    assert Wanted(null=7).n_refits == 7


@pytest.mark.prefect
@pytest.mark.usefixtures("prefect_server")
def test_the_checks_run_as_a_flow(home: Home, tmp_path: Path) -> None:
    from prefect.client.orchestration import get_client

    from flows.check_flow import check_flow

    training = {"budget": "steps", "steps": 5, "batch_size": 32, "evaluate_every": 5}
    model = {"network": [{"kind": "pairwise"}], "training": training, "folds": 2}
    study = study_of(write_table(tmp_path / "tiny.csv", n=120), model=model, measures=[{"x": "x", "y": "label"}])
    checked = check_flow(study, home.path, only=["independence", "swapping"])
    assert [v.name for v in checked.verdicts] == ["independence", "swapping"]
    (flow_run_id,) = rows(home, "select flow_run_id from runs")[0]
    with get_client(sync_client=True) as client:
        seen = client.read_flow_run(flow_run_id)
        keys = {artifact.key for artifact in client.read_latest_artifacts()}
    assert seen.name == "checks of small on small, seed 0" and seen.state is not None and seen.state.is_completed()
    assert "small-checks" in keys
