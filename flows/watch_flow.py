"""The Prefect flow of a watch: one task a file, on threads, processes or a Dask cluster.

Import this module after ``server.prepare``.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.futures import as_completed
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from flows.home import Home
from flows.hooks import close_in_prefect, tell_failure
from flows.leash import leash
from flows.ledger import Content
from flows.liveness import mark_left_runs
from flows.runners import Runner
from flows.settings import settings
from flows.study import Study
from flows.tasks import as_task
from flows.watching import FileResult, Watched, failed_file, run_file, watch

FILE = as_task(run_file, "file", "{path.name}", aloud=False)


def _run_name() -> str:
    parameters = flow_run.parameters
    return f"{Study.model_validate(parameters['study']).name} on new files of {parameters['place']}"


@flow(name="watch", flow_run_name=_run_name, persist_result=False, on_failure=[tell_failure], on_crashed=[tell_failure])
def watch_flow(
    study: Study,
    place: str,
    home: Path | None = None,
    runner: str | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    command: str = "",
) -> State[Any]:
    """Run a study on each file of a folder or pattern whose content it has not had; one failure stops none.

    Args:
        study: What to ask of each file, and how to read and model it
        place: A folder, or a pattern such as /data/**/*.csv
        home: Folder for data, models and results; default: the setting INFOSEDD_HOME
        runner: threads, processes, dask or dask=ADDRESS; default: the setting INFOSEDD_RUNNER
        workers: How many files at once; default: the setting INFOSEDD_WORKERS
        retry_failed: Try files again that were refused before
        command: What resumes the run, shown where it fails
    """
    chosen = settings(runner=runner, workers=workers)
    pool = Runner.parse(chosen.runner, chosen.workers)
    place_of_results = Home.create(home or chosen.home)
    close_in_prefect(mark_left_runs(place_of_results))
    device = None if pool.address else chosen.device  # a cluster's machines have settings of their own
    run_all = partial(_run_all, pool, command)
    watched = watch(study, place, place_of_results, run_all, retry_failed=retry_failed, device=device)
    if watched.results:
        create_table_artifact(_rows(watched), key="watch-files", description=f"{study.name} on {place}")
    return _state(watched)


def _run_all(
    pool: Runner, command: str, study: Study, new: Sequence[Content], home: Home
) -> Iterable[tuple[Content, FileResult]]:
    if not new:
        return
    with pool.task_runner() as runner, leash(home) as held:  # let go of first: then the workers stop
        common = {"study": study, "home": home, "command": command, "leash": held}
        waiting = {runner.submit(FILE, {**common, "path": c.path, "name": c.name}): c for c in new}
        for future in as_completed(list(waiting)):
            content = waiting[future]
            result = future.result(raise_on_failure=False)
            yield content, failed_file(content.path, result) if isinstance(result, Exception) else result


def _state(watched: Watched) -> State[Any]:
    done = len(watched.results) - len(watched.failed)
    summary = f"{done} of {len(watched.results)} new files done, {watched.n_seen} of {watched.n_files} seen before"
    if not watched.failed:
        return Completed(message=summary, data=watched)
    first = watched.failed[0]
    return Failed(message=f"{summary}; {len(watched.failed)} failed, first {first.path}: {first.error}", data=watched)


def _rows(watched: Watched) -> list[dict[str, Any]]:
    return [
        {
            "file": str(r.path), "nats": r.nats, "std error": r.std_error_nats, "corpus": r.corpus_id,
            "model": r.model_id, "seconds": round(r.seconds, 2), "process": r.process_id, "error": r.error,
        }
        for r in watched.results
    ]  # fmt: skip
