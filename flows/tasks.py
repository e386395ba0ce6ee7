"""Tasks of Prefect over plain functions: told to the UI, never cached, retried where a retry can help.

Import this module after ``server.prepare``.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import httpx
from prefect import Task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun

from flows.artifacts import told
from flows.settings import settings
from infosedd.errors import SurroundingsError

R = TypeVar("R")
RETRY_SECONDS = (2.0, 10.0, 60.0)


def as_task(
    function: Callable[..., R], name: str, run_name: str | None = None, *, aloud: bool = True
) -> "Task[..., R]":
    """The task of a plain function; Prefect's cache is off, what is reused is told by content.

    ``aloud`` tells its progress also to whoever listens to the flow: not where many run at once.
    """
    retries = settings().retries
    return Task(
        told(function, aloud),
        name=name,
        task_run_name=run_name,
        cache_policy=NO_CACHE,
        persist_result=False,
        retries=retries,
        retry_delay_seconds=list(RETRY_SECONDS[:retries]),
        retry_condition_fn=_a_retry_can_help,
    )


def _a_retry_can_help(_: "Task[..., Any]", __: TaskRun, state: "State[Any]") -> bool:
    """The surroundings may recover; wrong input and bugs stay."""
    return isinstance(state.result(raise_on_failure=False), (SurroundingsError, httpx.TransportError))
