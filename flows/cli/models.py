"""``infosedd models`` and ``infosedd models prune``: the trained models of a home, and making room."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import AsJson, HomeFolder

if TYPE_CHECKING:
    from flows.pruning import Stored

LOSS = "held-out loss, nats"


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
    from infosedd.registry import ModelRegistry

    place = home_of(home)
    found = stored_models(place)
    for fault in ModelRegistry(place.models).faults().values():
        print(f"warning: {fault}", file=sys.stderr)
    if as_json:
        print(json.dumps([asdict(model.card) for model in found], indent=1, default=str))
        return
    _show(found, "model", "corpus", "studies", "network", "parameters", LOSS, "seconds", "made", "MB")


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
        _show(planned.gone, "model", "corpus", "studies", "made", "MB", "still named by")
    verb = "would be removed" if dry_run else "removed"
    print(f"{len(planned.gone)} {_models(len(planned.gone))} {verb}, {planned.n_bytes / 1e6:.1f} MB; "
          f"{len(planned.kept)} {_models(len(planned.kept))} kept")  # fmt: skip
    if planned.gone:
        print("results stay in the warehouse; a run that needs such a model trains it again")
        print(f"cards: {place.models / CARDS}")


def _first(*folders: Path | None) -> Path | None:
    return next((folder for folder in folders if folder is not None), None)


def _show(found: "Sequence[Stored]", *columns: str) -> None:
    from flows.show import show_table

    show_table(columns, [[cells[column] for column in columns] for cells in map(_cells, found)])


def _cells(model: "Stored") -> dict[str, str]:
    """All that a table says of a model, by column."""
    card = model.card
    return {
        "model": card.model_id,
        "corpus": card.corpus_name,
        "studies": ", ".join(model.studies) or "-",
        "network": card.network,
        "parameters": f"{card.n_parameters:,}",
        LOSS: f"{card.held_out_loss_nats:.4f}",
        "seconds": f"{card.train_seconds:.0f}",
        "made": card.created_at[:16].replace("T", " "),
        "MB": f"{model.n_bytes / 1e6:.1f}",
        "still named by": "; ".join(model.named_by) or "-",
    }


def _models(n: int) -> str:
    return "model" if n == 1 else "models"
