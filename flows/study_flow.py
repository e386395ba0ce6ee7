"""The Prefect flow of a study: tasks over the plain functions of ``steps``.

Import this module after ``server.prepare``.
"""

from pathlib import Path

from prefect import flow
from prefect.runtime import flow_run

from flows import artifacts, comparing, steps
from flows.home import Home
from flows.hooks import close_in_prefect, tell_failure
from flows.liveness import mark_left_runs
from flows.pipeline import Outcome, Steps, carry_out
from flows.runners import Runner
from flows.settings import settings
from flows.spreading import spread
from flows.study import Study
from flows.tasks import as_task

TASKS = Steps(
    ingest=as_task(steps.ingest, "ingest"),
    train=as_task(steps.train, "train"),
    answer=as_task(steps.answer, "estimate", "estimate {spec.label} {spec.mode}"),
    ingest_sides=as_task(comparing.ingest_sides, "ingest both"),
    answer_between=as_task(comparing.answer_between, "compare", "estimate {spec.label} of {here.name}"),
    report=as_task(steps.report, "report"),
)


def _run_name() -> str:
    study = Study.model_validate(flow_run.parameters["study"])
    return f"{study.name} on {study.corpus_name}, seed {study.seed}"


@flow(name="study", flow_run_name=_run_name, persist_result=False, on_failure=[tell_failure], on_crashed=[tell_failure])
def study_flow(
    study: Study,
    home: Path | None = None,
    corpus_ids: list[str] | None = None,
    command: str = "",
    runner: str | None = None,
    workers: int | None = None,
) -> Outcome:
    """Read a study's data, train or reuse its model, estimate, store, report.

    Args:
        study: What to read, how to model it, what to ask
        home: Folder for data, models and results; default: the setting INFOSEDD_HOME
        corpus_ids: The corpora, where they were read already
        command: What resumes the run, shown where it fails
        runner: threads, processes, dask or dask=ADDRESS; default: the setting INFOSEDD_RUNNER
        workers: How many networks or measures at once; default: the setting INFOSEDD_WORKERS
    """
    chosen = settings(runner=runner, workers=workers)
    pool, place = Runner.parse(chosen.runner, chosen.workers), Home.create(home or chosen.home)
    close_in_prefect(mark_left_runs(place))
    with spread(TASKS, pool, place) as does:
        outcome = carry_out(study, place, does, corpus_ids=corpus_ids, flow_run_id=str(flow_run.id), command=command)
    artifacts.show(outcome)
    return outcome
