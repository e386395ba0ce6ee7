"""``infosedd sql``: read-only queries on the published warehouse."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import HomeFolder
from flows.files import written_whole
from infosedd.errors import InputError, SurroundingsError


class Format(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"


def register(app: typer.Typer) -> None:
    app.command("sql")(sql)


def sql(
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="A query, or - to read it from stdin.")] = None,
    format: Annotated[
        Format | None, typer.Option("--format", help="How to print the rows.", show_default="table")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", help="Write the rows to a .parquet file instead.")] = None,
    examples: Annotated[bool, typer.Option("--examples", help="Print useful queries instead.")] = False,
    home: HomeFolder = None,
) -> None:
    """Query the results in SQL (read-only); `show tables` lists tables and views."""
    from flows.cli.run import home_of
    from warehouse import queries

    if examples:
        print("\n\n".join(f"/* {e.name}: {e.question} */\n{e.sql};" for e in queries.examples()))
        return
    if query is None:
        raise InputError("no query is given", remedy="write it in quotes, - for stdin, or see --examples")
    if output is not None:
        _check_output(output, format)
    text = sys.stdin.read() if query == "-" else query
    rows = queries.run(home_of(home).path, text)
    if output is not None:
        _write_parquet(rows, output)
        return
    if format is Format.csv:
        sys.stdout.write(queries.with_text_columns(rows).write_csv())
    elif format is Format.json:
        print(queries.with_text_columns(rows, only_bytes=True).write_json())
    else:
        from flows.show import show_rows

        show_rows(rows)


def _check_output(output: Path, format: Format | None) -> None:
    if format is not None:
        raise InputError(
            f"--format {format} says how rows are printed, and --output {output} writes them as Parquet",
            remedy="give one of the two; `--format csv > FILE.csv` makes a CSV file",
        )
    if output.suffix != ".parquet":
        raise InputError("the output is not a Parquet file", where=str(output), remedy="name it FILE.parquet")


def _write_parquet(rows, output: Path) -> None:
    try:
        with written_whole(output) as partial:
            rows.write_parquet(partial)
    except OSError as error:
        raise SurroundingsError(
            f"can't write the rows ({error.strerror or error})",
            where=str(output),
            remedy="check the folder and its rights",
        ) from error
    print(f"{rows.height} rows written to {output}", file=sys.stderr)
