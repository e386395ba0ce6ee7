"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

StudyName = Annotated[
    str, typer.Argument(metavar="STUDY", help="A study that ships (see `infosedd studies`) or a TOML file.")
]
HomeFolder = Annotated[
    Path | None,
    typer.Option("--home", help="Folder for data, models and results.  [default: $INFOSEDD_HOME or ./infosedd-home]"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change an option of the study, as in measures.1.window=4; repeatable."
    ),
]
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source", metavar="PATH", help="Use this data instead of the study's; several as LABEL=PATH LABEL=PATH."
    ),
]
MoreSources = Annotated[list[str] | None, typer.Argument(metavar="", hidden=True)]
MotifsFile = Annotated[
    Path | None,
    typer.Option("--motifs", metavar="FILE", help="Known motifs (JASPAR, MEME, TRANSFAC) for the report to place."),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of training and of every random draw.")]
Device = Annotated[str | None, typer.Option("--device", help="auto, cpu, cuda or cuda:1.")]
RunnerName = Annotated[str | None, typer.Option("--runner", help="threads, processes, dask or dask=ADDRESS.")]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="How many files, networks or measures at once.  [default: 2]")
]
WarmStart = Annotated[
    bool,
    typer.Option("--warm-start", help="Start training from the nearest model that has not seen the held-out rows."),
]
