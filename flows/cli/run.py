"""``infosedd run``: a study from file to report."""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flows.cli.options import (
    AsJson,
    Device,
    HomeFolder,
    MoreSources,
    MotifsFile,
    Overrides,
    RunnerName,
    Seed,
    Sources,
    StudyName,
    WarmStart,
    Workers,
)
from infosedd.errors import InputError

if TYPE_CHECKING:
    from flows.home import Home
    from flows.study import Study


def register(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    study: StudyName,
    more_sources: MoreSources = None,
    source: Sources = None,
    overrides: Overrides = None,
    motifs: MotifsFile = None,
    seed: Seed = None,
    warm_start: WarmStart = False,
    runner: RunnerName = None,
    workers: Workers = None,
    device: Device = None,
    home: HomeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Run a study: read the data, train or reuse a model, estimate, store, report."""
    from flows.launch import launch
    from flows.runners import Runner
    from flows.show import as_json_text, show_outcome
    from flows.study import with_motifs

    chosen = chosen_study(study, overrides, seed, source, more_sources, warm_start)
    if motifs is not None:
        chosen = with_motifs(chosen, str(motifs))
    use_device(device)
    where, place = Runner.chosen(runner, workers), created_home(home)
    outcome = launch(chosen, place, typed_command(), where)
    if as_json:
        print(as_json_text(outcome))
    else:
        show_outcome(outcome, place, study)


def chosen_study(
    name: str,
    overrides: list[str] | None = None,
    seed: int | None = None,
    source: list[str] | None = None,
    more_sources: list[str] | None = None,
    warm_start: bool = False,
) -> "Study":
    """The study as the options change it; files after ``--source LABEL=PATH`` are further sources."""
    from flows.study import load_study, with_source

    if more_sources and not source:
        raise InputError(
            f"unexpected argument {more_sources[0]!r}", where=f"after {name!r}", remedy="give data with --source PATH"
        )
    study = load_study(name, overrides or (), seed=seed, warm_start=warm_start or None)
    return with_source(study, [*source, *(more_sources or ())]) if source else study


def typed_command() -> str:
    """The command as it was typed, which resumes a run."""
    return shlex.join(["infosedd", *sys.argv[1:]])


def use_device(device: str | None) -> None:
    """Make the device hold for this process and those it starts; it is no part of a study."""
    if device is not None:
        os.environ["INFOSEDD_DEVICE"] = device


def created_home(folder: Path | None) -> "Home":
    """The home that the options and settings name, made if it is not there."""
    from flows.home import Home
    from flows.settings import settings

    return Home.create(settings(home=folder).home)


def home_of(folder: Path | None) -> "Home":
    """The home that the options and settings name, which must hold results."""
    from flows.home import Home
    from flows.settings import settings

    return Home.at(settings(home=folder).home).existing()
