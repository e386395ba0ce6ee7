"""``infosedd export``, ``import`` and ``du``: results that move, and the room they take."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import HomeFolder


def register(app: typer.Typer) -> None:
    app.command("export")(export)
    app.command("import")(import_)
    app.command("du")(du)


def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the Parquet files.")],
    home: HomeFolder = None,
) -> None:
    """Write all results to Parquet files, with a manifest."""
    from flows.cli.run import home_of
    from warehouse import transfer

    written = transfer.export(home_of(home).path, folder)
    _print_rows(written.rows, f"written to {written.folder}")


def import_(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="An exported folder, or another warehouse file.")],
    home: HomeFolder = None,
) -> None:
    """Add the results of an export or of another home; what is there already stays."""
    from flows.home import Home
    from flows.settings import settings
    from warehouse import transfer

    place = Home.create(settings(home=home).home)
    _print_rows(transfer.import_(place.path, source), f"added to {place.path}")


def du(home: HomeFolder = None) -> None:
    """Show what the home's parts take of the disk."""
    from flows.cli.run import home_of
    from flows.show import show_table
    from warehouse import disk

    parts = disk.du(home_of(home).path)
    rows = [[name, f"{n_files:,}", f"{n_bytes / 1e6:,.1f}"] for name, n_files, n_bytes in parts.iter_rows()]
    show_table(["part", "files", "MB"], rows)


def _print_rows(rows: dict[str, int], what: str) -> None:
    from flows.show import show_table

    show_table(["table", "rows"], [[table, f"{n:,}"] for table, n in rows.items()])
    print(what)
