"""The reference part of docs/warehouse.md, made from the schema's own comments and from the example queries.

``python -m warehouse.reference docs/warehouse.md`` writes it between the two markers of the page.
"""

import re
import sys
from pathlib import Path

import duckdb

from warehouse import schema
from warehouse.examples import examples

BEGIN = "<!-- made by `python -m warehouse.reference`: do not edit below -->"
END = "<!-- end of the made part -->"


def reference() -> str:
    """Tables, views and example queries as Markdown."""
    con = duckdb.connect()
    schema.migrate(con, Path("memory"))
    tables, views = _relations(con, "duckdb_tables", "table_name"), _relations(con, "duckdb_views", "view_name")
    results = [name for name in schema.TABLES]
    rest = sorted(set(tables) - set(results))
    parts = ["## Tables", *(_relation(con, name, tables[name]) for name in [*results, *rest])]
    parts += ["## Views", *(_relation(con, name, views[name], _header(name)) for name in sorted(views))]
    parts += ["## Ten queries", "`infosedd sql --examples` prints these; each runs as it stands."]
    parts += [f"### {e.name}\n\n{e.question}\n\n```sql\n{e.sql}\n```" for e in examples()]
    return "\n\n".join(parts)


def rewritten(page: str) -> str:
    """The page with its made part made anew."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{reference()}\n\n{END}{rest.partition(END)[2]}"


def _relations(con: duckdb.DuckDBPyConnection, catalog: str, column: str) -> dict[str, str]:
    return dict(con.execute(f"SELECT {column}, comment FROM {catalog}() WHERE NOT internal").fetchall())


def _relation(con: duckdb.DuckDBPyConnection, name: str, comment: str, header: str = "") -> str:
    found = con.execute(
        "SELECT column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal AND table_name = ? "
        "ORDER BY column_index",
        [name],
    ).fetchall()
    lines = [f"| {column} | {_escaped(kind)} | {_escaped(text)} |" for column, kind, text in found]
    head = "| column | type | meaning |\n|---|---|---|"
    return "\n\n".join(part for part in (f"### {name}", comment, header, "\n".join([head, *lines])) if part)


def _header(view: str) -> str:
    """Key and invariants of a view, from the comment at the head of its file."""
    sql = next(v.sql for v in schema.views() if v.name == view)
    text = " ".join(line.removeprefix("--").strip() for line in sql.splitlines() if line.startswith("--"))
    parts = re.search(r"(Key: .*?) (Invariants: .*?) Reads:", text)
    return f"{parts.group(1)} {parts.group(2)}" if parts else ""


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(rewritten(page.read_text()))
