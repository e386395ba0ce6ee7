"""``infosedd serve``: a study on a schedule."""

from typing import Annotated

import typer

from flows.cli.options import (
    Device,
    HomeFolder,
    MoreSources,
    Overrides,
    RunnerName,
    Seed,
    Sources,
    StudyName,
    WarmStart,
    Workers,
)
from flows.cli.run import chosen_study, created_home, use_device


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    study: StudyName,
    cron: Annotated[str, typer.Option("--cron", help="When: minute, hour, day, month, weekday, as '0 3 * * *'.")],
    more_sources: MoreSources = None,
    timezone: Annotated[str, typer.Option("--timezone", help="Time zone of the schedule.")] = "UTC",
    watch: Annotated[
        str | None, typer.Option("--watch", metavar="PLACE", help="Run on the new files of a folder.")
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="Run once right away, too.")] = False,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port of the UI on this machine.")] = 4200,
    source: Sources = None,
    overrides: Overrides = None,
    seed: Seed = None,
    warm_start: WarmStart = False,
    runner: RunnerName = None,
    workers: Workers = None,
    device: Device = None,
    home: HomeFolder = None,
) -> None:
    """Run a study on a schedule, with Prefect's UI, until this command is stopped."""
    from flows.runners import Runner
    from flows.serving import Schedule
    from flows.serving import serve as serve_study

    chosen = chosen_study(study, overrides, seed, source, more_sources, warm_start)
    use_device(device)
    where, place = Runner.chosen(runner, workers), created_home(home)
    when, other_data = Schedule(cron, timezone), bool(source)
    serve_study(chosen, place, when, port=port, watched=watch, runner=where, now=now, other_data=other_data)
