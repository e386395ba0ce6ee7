"""The Prefect flow of the checks of a study: tasks over the plain functions of ``checking``.

Import this module after ``server.prepare``.
"""

from pathlib import Path

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.runtime import flow_run

from flows import checking, steps
from flows.checking import Checked, CheckSteps, Wanted, carry_out_checks
from flows.home import Home
from flows.hooks import close_in_prefect, tell_failure
from flows.liveness import mark_left_runs
from flows.settings import settings
from flows.study import Study
from flows.tasks import as_task

TASKS = CheckSteps(
    ingest=as_task(steps.ingest, "ingest"),
    train=as_task(steps.train, "train"),
    answer=as_task(steps.answer, "estimate", "estimate {spec.label}"),
    refer=as_task(checking.refer, "reference"),
    cost=as_task(checking.cost, "cost"),
    check=as_task(checking.check, "check", "check {name}"),
)


def _run_name() -> str:
    study = Study.model_validate(flow_run.parameters["study"])
    return f"checks of {study.name} on {study.corpus_name}, seed {study.seed}"


@flow(name="check", flow_run_name=_run_name, persist_result=False, on_failure=[tell_failure], on_crashed=[tell_failure])
def check_flow(
    study: Study,
    home: Path | None = None,
    rows: int | None = None,
    curve: bool = False,
    null: int = 0,
    only: list[str] | None = None,
    corpus_id: str | None = None,
    command: str = "",
) -> Checked:
    """Check a study's mutual information on its own data: what must hold whatever the truth is.

    Args:
        study: Whose number is checked
        home: Folder for data, models and results; default: the setting INFOSEDD_HOME
        rows: Use so many draws of the data, picked at random; default: all, at most 200,000
        curve: Also train on a quarter and a half of the rows
        null: Also refit so many times on shuffled pairs
        only: Names of the checks to carry out; default: all
        corpus_id: The corpus, where it was read already
        command: What resumes the run, shown where it fails
    """
    place = Home.create(home or settings().home)
    close_in_prefect(mark_left_runs(place))
    wanted = Wanted(rows, curve, null, tuple(only or ()))
    checked = carry_out_checks(
        study, place, wanted, TASKS, corpus_id=corpus_id, flow_run_id=str(flow_run.id), command=command
    )
    _show(checked)
    return checked


def _show(checked: Checked) -> None:
    rows = [
        {
            "check": v.name, "what must hold": v.claim, "outcome": "pass" if v.passed else "FAIL",
            "seen, nats": v.observed, "expected, nats": v.expected, "may differ by, nats": v.tolerance,
        }
        for v in checked.verdicts
    ]  # fmt: skip
    key = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in checked.study.name.lower())
    failed = f"{len(checked.failed)} of {len(rows)} checks failed" if checked.failed else f"all {len(rows)} checks held"
    create_table_artifact(rows, key=f"{key.strip('-')}-checks", description=f"{checked.study.name}: {failed}")
