"""Set operations of the writer: which estimate is the latest, and taking over the rows of another file."""

from pathlib import Path

import duckdb

from warehouse import schema

_QUANTITY = "e.study, {corpus}, e.measure, e.mode, e.x, e.y, e.z, e.estimator"
_UPSERT_LATEST = """
INSERT INTO latest_index
SELECT quantity_id, scope, estimate_id, shown_at, created_at
FROM (
    SELECT md5({key}) AS quantity_id, '{scope}' AS scope, e.estimate_id, r.started_at AS shown_at, e.created_at
    FROM run_estimates AS s
    JOIN runs AS r ON r.run_id = s.run_id
    JOIN estimates AS e ON e.estimate_id = s.estimate_id
    JOIN corpora AS c ON c.corpus_id = e.corpus_id
    {only}
) AS shown
QUALIFY row_number() OVER (PARTITION BY quantity_id ORDER BY shown_at DESC, created_at DESC, estimate_id DESC) = 1
ON CONFLICT (quantity_id) DO UPDATE SET
    estimate_id = excluded.estimate_id, shown_at = excluded.shown_at, created_at = excluded.created_at
WHERE excluded.shown_at > shown_at
    OR (excluded.shown_at = shown_at AND excluded.created_at > created_at)
    OR (excluded.shown_at = shown_at AND excluded.created_at = created_at AND excluded.estimate_id > estimate_id)
"""


def update_latest(con: duckdb.DuckDBPyConnection, run_id: str | None = None) -> None:
    """Bring ``latest_index`` up to date with what one run (or every run) showed."""
    only = "" if run_id is None else "WHERE s.run_id = ?"
    for scope, corpus in (("corpus", "e.corpus_id"), ("name", "c.name")):
        sql = _UPSERT_LATEST.format(key=_unambiguous(_QUANTITY.format(corpus=corpus), scope), scope=scope, only=only)
        con.execute(sql, [] if run_id is None else [run_id])


def count_rows(con: duckdb.DuckDBPyConnection, table: str) -> int:
    """Number of rows of a table of this warehouse."""
    return schema.single_value(con, f"SELECT count(*) FROM main.{table}")


def merge_tables(con: duckdb.DuckDBPyConnection, file: Path) -> dict[str, int]:
    """Add the rows of another warehouse file whose keys are not here yet; rows that are here stay as they are."""
    con.execute(f"ATTACH {_quoted(str(file))} AS incoming (READ_ONLY)")
    added = {}
    for table in schema.TABLES:
        columns = ", ".join(_columns(con, table))
        how, only = "INSERT OR IGNORE", ""
        if table == "pointwise":  # it has no index: an estimate's values are all here, or none of them
            how, only = "INSERT", "WHERE estimate_id NOT IN (SELECT DISTINCT estimate_id FROM main.pointwise)"
        before = count_rows(con, table)
        con.execute(f"{how} INTO main.{table} ({columns}) SELECT {columns} FROM incoming.main.{table} {only}")
        added[table] = count_rows(con, table) - before
    update_latest(con)
    return added


def _unambiguous(columns: str, scope: str) -> str:
    """SQL that joins columns to one text, each with its length before it, so that no two keys look alike."""
    return " || ".join([f"'{scope}'", *(f"length({c}) || ':' || {c}" for c in columns.split(", "))])


def _columns(con: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    found = con.execute(
        "SELECT column_name FROM duckdb_columns() WHERE database_name = current_database() AND table_name = ? "
        "ORDER BY column_index",
        [table],
    )
    return [row[0] for row in found.fetchall()]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
