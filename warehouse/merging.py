"""Set operations of the writer: which estimate is the latest, and taking over the rows of another file."""

from pathlib import Path

import duckdb
import polars as pl

from warehouse import schema

_UPSERT_LATEST = """
INSERT INTO latest_index
SELECT md5({key}) AS quantity_id, '{scope}', estimate_id, shown_at, created_at
FROM ({shown}) AS shown
{only_the_last}
ON CONFLICT (quantity_id) DO UPDATE SET
    estimate_id = excluded.estimate_id, shown_at = excluded.shown_at, created_at = excluded.created_at
WHERE excluded.shown_at > shown_at
    OR (excluded.shown_at = shown_at AND excluded.created_at > created_at)
    OR (excluded.shown_at = shown_at AND excluded.created_at = created_at AND excluded.estimate_id > estimate_id)
"""
_ONLY_THE_LAST = (
    "QUALIFY row_number() OVER (PARTITION BY quantity_id ORDER BY shown_at DESC, created_at DESC, estimate_id DESC) = 1"
)
_HOW_IT_ENDED = """
UPDATE main.runs SET status = i.status, finished_at = i.finished_at, error = i.error
FROM incoming.main.runs AS i
WHERE i.run_id = runs.run_id AND runs.status IN ('running', 'crashed') AND i.status NOT IN ('running', 'crashed')
"""
_COLUMNS = "e.*, c.name AS corpus_name, coalesce(o.name, e.reference_corpus_id) AS reference_name"
_SHOWN_BY_RUN = f"""
SELECT {_COLUMNS}, (SELECT started_at FROM runs WHERE run_id = ?) AS shown_at
FROM shown_frame AS e
JOIN corpora AS c ON c.corpus_id = e.corpus_id
LEFT JOIN corpora AS o ON o.corpus_id = e.reference_corpus_id
"""
_SHOWN_EVER = f"""
SELECT {_COLUMNS}, r.started_at AS shown_at
FROM run_estimates AS s
JOIN runs AS r ON r.run_id = s.run_id
JOIN estimates AS e ON e.estimate_id = s.estimate_id
JOIN corpora AS c ON c.corpus_id = e.corpus_id
LEFT JOIN corpora AS o ON o.corpus_id = e.reference_corpus_id
"""


def update_latest(con: duckdb.DuckDBPyConnection, run_id: str, shown: pl.DataFrame) -> None:
    """Take what a run showed into ``latest_index``: rows of ``estimates`` as stored, each quantity once."""
    con.register("shown_frame", shown.drop("warnings", "diagnostics"))
    _upsert_latest(con, _SHOWN_BY_RUN, "", [run_id])
    con.unregister("shown_frame")


def rebuild_latest(con: duckdb.DuckDBPyConnection) -> None:
    """Bring ``latest_index`` up to date with all that was ever shown."""
    _upsert_latest(con, _SHOWN_EVER, _ONLY_THE_LAST, [])


def _upsert_latest(con: duckdb.DuckDBPyConnection, shown: str, only_the_last: str, params: list) -> None:
    scopes = (("corpus", "corpus_id", "reference_corpus_id"), ("name", "corpus_name", "reference_name"))
    for scope, corpus, reference in scopes:
        key = _unambiguous("study", corpus, "measure", "mode", "x", "y", "z", "estimator")
        only_divergences = f"coalesce({_unambiguous(reference)}, '')"
        parts = {
            "key": f"'{scope}' || {key} || {only_divergences}",
            "scope": scope,
            "shown": shown,
            "only_the_last": only_the_last,
        }
        con.execute(_UPSERT_LATEST.format(**parts), params)


def count_rows(con: duckdb.DuckDBPyConnection, table: str) -> int:
    """Number of rows of a table of this warehouse."""
    return schema.single_value(con, f"SELECT count(*) FROM main.{table}")


def merge_tables(con: duckdb.DuckDBPyConnection, file: Path) -> dict[str, int]:
    """Add the rows of another warehouse file whose keys are not here yet; rows that are here stay as they are.

    But a run that came in while it was running takes over how it ended, from a file that knows.
    """
    con.execute(f"ATTACH {_quoted(str(file))} AS incoming (READ_ONLY)")
    con.execute(_HOW_IT_ENDED)
    added = {}
    for table in schema.TABLES:
        columns = ", ".join(_columns(con, table))
        how, only = "INSERT OR IGNORE", ""
        if table == "pointwise":  # it has no index: an estimate's values are all here, or none of them
            how, only = "INSERT", "WHERE estimate_id NOT IN (SELECT DISTINCT estimate_id FROM main.pointwise)"
        before = count_rows(con, table)
        con.execute(f"{how} INTO main.{table} ({columns}) SELECT {columns} FROM incoming.main.{table} {only}")
        added[table] = count_rows(con, table) - before
    rebuild_latest(con)
    return added


def _unambiguous(*columns: str) -> str:
    """SQL that joins columns to one text, each with its length before it, so that no two keys look alike."""
    return " || ".join(f"length({column}) || ':' || {column}" for column in columns)


def _columns(con: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    found = con.execute(
        "SELECT column_name FROM duckdb_columns() WHERE database_name = current_database() AND table_name = ? "
        "ORDER BY column_index",
        [table],
    )
    return [row[0] for row in found.fetchall()]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
