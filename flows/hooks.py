"""What happens around a run in Prefect: left runs are closed, failures are told to a notification block.

Import this module after ``server.prepare``.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from inspect import isawaitable
from typing import Any

from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.exceptions import ObjectNotFound
from prefect.logging import get_logger
from prefect.states import Crashed

from flows.liveness import Left
from flows.settings import settings


def close_in_prefect(left: Sequence[Left]) -> None:
    """Runs that were found dead are not left as Running in Prefect's own list."""
    with get_client(sync_client=True) as client:
        for run in left:
            if run.flow_run_id is None:
                continue
            try:
                client.set_flow_run_state(run.flow_run_id, Crashed(message=run.reason))
            except ObjectNotFound:
                get_logger("infosedd").info("flow run %s is not on this server", run.flow_run_id)


def tell_failure(flow: "Flow[..., Any]", flow_run: FlowRun, state: "State[Any]") -> None:
    """Send what failed, why, and what resumes it to the block that INFOSEDD_NOTIFY names, where it names one."""
    block = settings().notify
    if block is None:
        return
    from prefect.blocks.core import Block

    subject = f"{flow.name} {state.name}: {flow_run.name}"
    text = f"{subject}\n{_told(flow, flow_run, state)}"
    loaded: Any = Block.load(block)
    sent = loaded.notify(text, subject) if hasattr(loaded, "notify") else loaded.call({"text": text})
    if isawaitable(sent):
        asyncio.run(_wait_for(sent))


def _told(flow: "Flow[..., Any]", flow_run: FlowRun, state: "State[Any]") -> str:
    """Step, reason and command, as the run noted them on what it raised; else what Prefect knows."""
    failure = state.result(raise_on_failure=False) if state.is_failed() else None
    notes = getattr(failure, "__notes__", [])
    if notes:
        return notes[0]
    command = flow_run.parameters.get("command") or f"run the flow {flow.name!r} again with the same parameters"
    return f"{state.message}\nresume: {command}"


async def _wait_for(sent: Awaitable[object]) -> None:
    await sent
