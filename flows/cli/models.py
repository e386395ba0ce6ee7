"""``infosedd models`` and ``infosedd models prune``: the trained models of a home, and making room."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import AsJson, HomeFolder

if TYPE_CHECKING:
    from flows.pruning import Stored


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="List the trained models of the home; `models prune` makes room.")
    group.callback(invoke_without_command=True)(models)
    group.command("prune")(prune)
    app.add_typer(group, name="models")


def models(context: typer.Context, home: HomeFolder = None, as_json: AsJson = False) -> None:
    """List the trained models of the home; `models prune` makes room."""
    context.obj = home
    if context.invoked_subcommand is not None:
        return
    from dataclasses import asdict

    from flows.cli.run import home_of
    from flows.pruning import stored_models
    from flows.show import show_table

    found = stored_models(home_of(home))
    if as_json:
        print(json.dumps([asdict(model.card) for model in found], indent=1, default=str))
        return
    rows = [
        [
            m.card.model_id,
            m.card.corpus_name,
            ", ".join(m.studies) or "-",
            m.card.network,
            f"{m.card.n_parameters:,}",
            f"{m.card.held_out_loss_nats:.4f}",
            f"{m.card.train_seconds:.0f}",
            m.card.created_at[:16].replace("T", " "),
            f"{m.n_bytes / 1e6:.1f}",
        ]
        for m in found
    ]
    columns = ["model", "corpus", "studies", "network", "parameters", "held-out loss, nats", "seconds", "made", "MB"]
    show_table(columns, rows)


def prune(
    context: typer.Context,
    keep: Annotated[int, typer.Option("--keep", min=1, help="How many models of each study and corpus stay.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and remove nothing.")] = False,
    home: HomeFolder = None,
) -> None:
    """Remove all but the newest models of each study and corpus; results stay, and so do the models' cards.

    A run that needs a removed model trains it again.
    """
    from flows.cli.run import home_of
    from flows.pruning import CARDS, carry_out, plan

    place = home_of(_first(home, context.obj))
    planned = plan(place, keep)
    if not dry_run:
        carry_out(place, planned)
    if planned.gone:
        _show(planned.gone)
    verb = "would be removed" if dry_run else "removed"
    print(f"{len(planned.gone)} {_models(len(planned.gone))} {verb}, {planned.n_bytes / 1e6:.1f} MB; "
          f"{len(planned.kept)} {_models(len(planned.kept))} kept")  # fmt: skip
    if planned.gone:
        print("results stay in the warehouse; a run that needs such a model trains it again")
        print(f"cards: {place.models / CARDS}")


def _first(*folders: Path | None) -> Path | None:
    return next((folder for folder in folders if folder is not None), None)


def _show(gone: "tuple[Stored, ...]") -> None:
    from flows.show import show_table

    rows = [
        [
            m.card.model_id,
            m.card.corpus_name,
            ", ".join(m.studies) or "-",
            m.card.created_at[:16].replace("T", " "),
            f"{m.n_bytes / 1e6:.1f}",
            "; ".join(m.named_by) or "-",
        ]
        for m in gone
    ]
    show_table(["model", "corpus", "studies", "made", "MB", "still named by"], rows)


def _models(n: int) -> str:
    return "model" if n == 1 else "models"
