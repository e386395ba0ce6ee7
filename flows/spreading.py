"""A study's networks and measures on several processes, or on a Dask cluster.

In one process a model's folds are trained side by side on threads anyway, so ``threads`` adds nothing.

Import this module after ``server.prepare``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from prefect import Task
from prefect.task_runners import TaskRunner
from prefect.utilities.callables import get_call_parameters

from flows import comparing, steps
from flows.home import Home
from flows.leash import leash
from flows.pipeline import Awaited, Run, Steps
from flows.progress import stage
from flows.runners import Runner
from flows.tasks import as_task

ANSWER = as_task(steps.answer, "estimate", "estimate {spec.label} {spec.mode}", aloud=False)
ANSWER_BETWEEN = as_task(comparing.answer_between, "compare", "estimate {spec.label} of {here.name}", aloud=False)
TRAIN_NETWORK = as_task(steps.train_network, "train network", "train network {number} of {corpus_id}", aloud=False)


@contextmanager
def spread(does: Steps, pool: Runner, home: Home) -> Iterator[Steps]:
    """The steps, of which networks and measures are done by the workers of ``pool``."""
    if pool.kind == "threads":
        yield does
        return
    stage(f"starting {pool.workers} workers" if not pool.address else f"asking {pool.address} for workers")
    with pool.task_runner() as runner, leash(home) as held:  # let go of first: then the workers stop
        yield replace(
            does,
            answer=ANSWER,
            answer_between=ANSWER_BETWEEN,
            train_network=TRAIN_NETWORK,
            begin=partial(_submit, runner, held),
        )


def _submit(runner: TaskRunner[Any], held: Path, run: Run, step: str, task: Task[..., Any], *given: object) -> Awaited:
    """Hand a step to a worker; only paths, ids and the study travel."""
    parameters = get_call_parameters(task.fn, given, {})
    if "leash" in parameters:
        parameters["leash"] = held
    future = runner.submit(task, parameters)

    def wait() -> Any:
        stage(f"waiting: {step}")
        with run.during(step):
            return future.result()

    return wait
