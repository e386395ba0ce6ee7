"""A schedule on this machine: an embedded server with its UI, and one process that runs what falls due."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from flows.home import Home
from flows.runners import Runner
from flows.server import EmbeddedServer, api_url, prepare, surroundings
from flows.study import Study
from infosedd.errors import InputError


@dataclass(frozen=True)
class Schedule:
    """When to run: a cron expression, in a time zone."""

    cron: str
    timezone: str = "UTC"


def serve(
    study: Study,
    home: Home,
    schedule: Schedule,
    *,
    port: int,
    watched: str | None,
    runner: Runner,
    now: bool,
    other_data: bool = False,
) -> None:
    """Run a study, or a watch of new files, on a schedule until this process is stopped.

    ``other_data`` says that the study's data is not its own: then its schedule has a name of its own, too.
    """
    prepare(home)
    if api_url() is None:
        server = EmbeddedServer(home, shown(home, port), port)
        server.start()
        check_schedule(schedule)
        server.wait()
    else:
        check_schedule(schedule)
    with surroundings():
        _serve(study, home, schedule, watched, runner, now, other_data)


def shown(home: Home, port: int) -> Mapping[str, str]:
    """The environment of a server that shows the UI; its pages are unpacked into the home."""
    return {
        "PREFECT_UI_ENABLED": "1",
        "PREFECT_UI_STATIC_DIRECTORY": str(home.prefect / "ui"),
        "PREFECT_SERVER_UI_API_URL": f"http://127.0.0.1:{port}/api",
    }


def check_schedule(schedule: Schedule) -> None:
    """An InputError where the cron expression or the time zone is none."""
    from prefect.client.schemas.schedules import CronSchedule
    from pydantic import ValidationError

    try:
        CronSchedule(cron=schedule.cron, timezone=schedule.timezone)
    except ValidationError as failure:
        message = failure.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(
            f"can't read the schedule: {message}",
            where=f"in --cron {schedule.cron!r} --timezone {schedule.timezone!r}",
            remedy="write five fields, as in '0 3 * * *' for every day at three, and a zone such as Europe/Rome",
        ) from None


def deployment_name(study: Study, home: Home, watched: str | None, other_data: bool) -> str:
    """The study's name; with other data than its own, or a watched place, what tells it from its other schedules."""
    if watched is None and not other_data:
        return study.name
    place = None if watched is None else _absolute(watched)
    of = json.dumps([str(home.path), list(study.source.path), place])
    return f"{study.name}-{hashlib.sha256(of.encode()).hexdigest()[:8]}"


def _serve(
    study: Study,
    home: Home,
    schedule: Schedule,
    watched: str | None,
    runner: Runner,
    now: bool,
    other_data: bool,
) -> None:
    from prefect.client.schemas.schedules import CronSchedule
    from prefect.deployments import run_deployment
    from prefect.flows import EntrypointType
    from prefect.flows import serve as serve_deployments

    flow, parameters = _what(study, home, watched, runner)
    name = deployment_name(study, home, watched, other_data)
    deployment = flow.to_deployment(
        name=name,
        schedule=CronSchedule(cron=schedule.cron, timezone=schedule.timezone),
        parameters=parameters,
        description=study.description,
        tags=["infosedd"],
        concurrency_limit=1,
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    url = str(api_url()).removesuffix("/api")
    what = f"new files of {watched}" if watched else "its data"
    print(f"serving {study.name} on {what} at {schedule.cron!r} ({schedule.timezone}); results in {home.path}")
    print(f"UI: {url}   stop with Ctrl-C", flush=True)
    close_left(cast(UUID, deployment.apply()))
    if now:
        run_deployment(f"{flow.name}/{name}", timeout=0)
    serve_deployments(deployment, print_starting_message=False)


def close_left(deployment_id: UUID) -> None:
    """Runs that an earlier process of this schedule left as running would hold its only place for ever."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import DeploymentFilter, FlowRunFilter
    from prefect.client.schemas.objects import StateType
    from prefect.states import Crashed

    unfinished = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]
    with get_client(sync_client=True) as client:
        for run in client.read_flow_runs(
            flow_run_filter=FlowRunFilter.model_validate({"state": {"type": {"any_": unfinished}}}),
            deployment_filter=DeploymentFilter.model_validate({"id": {"any_": [deployment_id]}}),
        ):
            client.set_flow_run_state(run.id, Crashed(message="the process that served it ended"))


def _what(study: Study, home: Home, watched: str | None, runner: Runner) -> tuple[Any, dict[str, Any]]:
    common = {
        "study": study.model_dump(mode="json"), "home": str(home.path), "runner": str(runner), "workers": runner.workers
    }  # fmt: skip
    if watched is None:
        from flows.study_flow import study_flow

        return study_flow, common
    from flows.watch_flow import watch_flow

    return watch_flow, {**common, "place": _absolute(watched)}


def _absolute(place: str) -> str:
    return str(Path(place).expanduser().absolute())
