"""``infosedd ingest``, ``train``, ``estimate`` and ``profile``: single steps, without a Prefect server."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import AsJson, Device, HomeFolder, MoreSources, Overrides, Seed, Sources, StudyName, WarmStart
from flows.cli.run import chosen_study, created_home, typed_command, use_device
from infosedd.errors import InputError

AnyStudy = Annotated[
    str,
    typer.Argument(metavar="STUDY", help="A study that ships, a TOML file, or data files, which may be LABEL=PATH."),
]
Measure = Annotated[str, typer.Option("--measure", help="mutual_information, entropy, total_correlation ...")]
BlockX = Annotated[str, typer.Option("--x", help="A block expression: name, name[i] or name[i:j], joined by +.")]
BlockY = Annotated[str, typer.Option("--y", help="The other block of a mutual information.")]
BlockZ = Annotated[str, typer.Option("--z", help="The block that is known (conditioned on).")]


def register(app: typer.Typer) -> None:
    app.command("ingest")(ingest)
    app.command("train")(train)
    app.command("estimate")(estimate)
    app.command("profile")(profile)


def ingest(
    source: Annotated[
        list[str] | None, typer.Argument(metavar="SOURCE...", help="A file, or several as LABEL=PATH.")
    ] = None,
    connector: Annotated[str | None, typer.Option("--connector", help="Default: told from the file.")] = None,
    options: Annotated[
        list[str] | None, typer.Option("--set", metavar="OPTION=VALUE", help="An option of the connector; repeatable.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="What the corpus is called; default: the file's name.")
    ] = None,
    home: HomeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Read data into a corpus and store it; print what was read and what was left out."""
    from flows.launch import ingest_alone
    from flows.overrides import nested_options
    from flows.show import corpus_as_json, show_corpus
    from flows.study import Source, name_of

    paths = tuple(source or ())
    data = Source(connector=connector, path=paths, name=name, options=nested_options(options or ()))
    corpus = ingest_alone(data, name or (name_of(paths) if paths else connector or "data"), created_home(home))
    if as_json:
        print(corpus_as_json(corpus))
    else:
        show_corpus(corpus)


def train(
    study: StudyName,
    more_sources: MoreSources = None,
    source: Sources = None,
    overrides: Overrides = None,
    seed: Seed = None,
    warm_start: WarmStart = False,
    device: Device = None,
    home: HomeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Train the model of a study, or find it, and ask nothing."""
    from flows.launch import run_alone
    from flows.show import as_json_text, show_model_card

    chosen = chosen_study(study, overrides, seed, source, more_sources, warm_start)
    use_device(device)
    place = created_home(home)
    outcome = run_alone(chosen, (), place, typed_command())
    if as_json:
        print(as_json_text(outcome))
    else:
        show_model_card(outcome, place)


def estimate(
    study: AnyStudy,
    x: BlockX,
    measure: Measure = "mutual_information",
    y: BlockY = "",
    z: BlockZ = "",
    more_sources: MoreSources = None,
    source: Sources = None,
    overrides: Overrides = None,
    seed: Seed = None,
    device: Device = None,
    home: HomeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Estimate one measure with the model of a study; a data file makes a study of its own."""
    question = {"measure": measure, "x": x, "y": y, "z": z}
    _ask(study, question, overrides, seed, source, more_sources, device, home, as_json)


def profile(
    study: AnyStudy,
    x: BlockX,
    y: BlockY,
    z: BlockZ = "",
    window: Annotated[int, typer.Option("--window", min=1, help="Width of the windows, in positions.")] = 6,
    step: Annotated[int, typer.Option("--step", min=1, help="Distance between window starts.")] = 1,
    mode: Annotated[str, typer.Option("--mode", help="keep (a window alone) or remove (all but it).")] = "keep",
    more_sources: MoreSources = None,
    source: Sources = None,
    overrides: Overrides = None,
    seed: Seed = None,
    device: Device = None,
    home: HomeFolder = None,
    as_json: AsJson = False,
) -> None:
    """Estimate what each window of x tells about y, with the model of a study."""
    question = {"measure": "mutual_information", "x": x, "y": y, "z": z, "window": window, "step": step, "mode": mode}
    _ask(study, question, overrides, seed, source, more_sources, device, home, as_json)


def _ask(
    name: str,
    question: Mapping[str, object],
    overrides: list[str] | None,
    seed: int | None,
    source: list[str] | None,
    more_sources: list[str] | None,
    device: str | None,
    home: Path | None,
    as_json: bool,
) -> None:
    from flows.launch import run_alone
    from flows.show import as_json_text, show_answers
    from flows.study import is_data_file, question_of, study_of_data

    spec = question_of(question)
    if is_data_file(name):
        if source:
            raise InputError(
                f"both the file {name!r} and --source give data",
                remedy="name all files without --source, or a study with it",
            )
        chosen = study_of_data([name, *(more_sources or ())], spec, overrides or (), seed)
    else:
        chosen = chosen_study(name, overrides, seed, source, more_sources)
    use_device(device)
    outcome = run_alone(chosen, (spec,), created_home(home), typed_command())
    if as_json:
        print(as_json_text(outcome))
    else:
        show_answers(outcome)
