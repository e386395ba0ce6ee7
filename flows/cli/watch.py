"""``infosedd watch``: a study over the files of a folder, the new ones only."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import AsJson, Device, HomeFolder, Overrides, RunnerName, Seed, StudyName, WarmStart, Workers
from flows.cli.run import chosen_study, created_home, typed_command, use_device
from infosedd.errors import InfoseddError, InputError, SurroundingsError

if TYPE_CHECKING:
    from flows.watching import Watched


def register(app: typer.Typer) -> None:
    app.command("watch")(watch)


def watch(
    study: StudyName,
    place: Annotated[str, typer.Argument(metavar="PLACE", help="A folder, or a pattern in quotes: 'data/**/*.csv'.")],
    overrides: Overrides = None,
    seed: Seed = None,
    warm_start: WarmStart = False,
    runner: RunnerName = None,
    workers: Workers = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try files again that were refused.")] = False,
    device: Device = None,
    home: HomeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Run a study on each file of a folder whose content it has not had; schedule it with `infosedd serve`."""
    from flows.launch import launch_watch
    from flows.runners import Runner

    chosen = chosen_study(study, overrides, seed, warm_start=warm_start)
    use_device(device)
    where = Runner.chosen(runner, workers)
    watched = launch_watch(chosen, place, created_home(home), where, retry_failed, typed_command())
    if as_json:
        print(json.dumps({**asdict(watched), "n_failed": len(watched.failed)}, indent=1, default=str))
    else:
        _show(watched)
    if watched.failed:
        raise _failure(watched)


def _show(watched: "Watched") -> None:
    from flows.show import show_table
    from infosedd.progress import duration

    rows = [
        [r.path.name, "failed", "", "", "", r.error]
        if r.error
        else [r.path.name, f"{r.nats:.4f}", f"{r.std_error_nats:.4f}", r.model_id, f"{r.seconds:.1f}", ""]
        for r in watched.results
    ]
    if rows:
        show_table(["file", "nats", "std error", "model", "seconds", "error"], rows)
    new = len(watched.results) - len(watched.failed)
    print(f"{watched.n_files} files: {new} new, {watched.n_seen} seen before, {len(watched.failed)} failed; ", end="")
    print(duration(watched.seconds))


def _failure(watched: "Watched") -> InfoseddError:
    first = watched.failed[0]
    kinds = {error.exit_code: error for error in (InputError, SurroundingsError)}
    kind = kinds.get(max(r.exit_code for r in watched.failed), InfoseddError)
    rest = "the results of the others are stored"
    return kind(
        f"{len(watched.failed)} of {len(watched.results)} files failed, first {first.path}: {first.error}; {rest}"
    )
