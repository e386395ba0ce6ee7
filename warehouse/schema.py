"""The schema: numbered forward-only migrations, and views that are made anew when their file changes."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import duckdb

from infosedd.errors import SurroundingsError

MIGRATIONS = Path(__file__).parent / "migrations"
VIEWS = Path(__file__).parent / "views"
TABLES = (
    "runs",
    "corpora",
    "score_models",
    "estimates",
    "run_estimates",
    "pointwise",
    "truths",
    "checks",
    "external_scores",
)
"""The tables of results: what is exported and merged. The others are bookkeeping, or derived from these."""


@dataclass(frozen=True)
class Migration:
    """One numbered SQL file, applied in one transaction."""

    version: int
    name: str
    sql: str


@dataclass(frozen=True)
class View:
    """One SQL file that makes a view and comments on it; ``reads`` names what it selects from."""

    name: str
    sql: str
    reads: tuple[str, ...]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@cache
def migrations(folder: Path = MIGRATIONS) -> tuple[Migration, ...]:
    """The migrations in order; their numbers must run from 1 without gaps."""
    files = sorted(folder.glob("[0-9][0-9][0-9]_*.sql"))
    found = tuple(Migration(int(file.name[:3]), file.name, file.read_text(encoding="utf-8")) for file in files)
    if [m.version for m in found] != list(range(1, len(found) + 1)) or not found:
        raise SurroundingsError(
            "the migrations are not numbered from 1 without gaps", where=str(folder), remedy="install infosedd again"
        )
    return found


@cache
def views(folder: Path = VIEWS) -> tuple[View, ...]:
    """The views, each after those it reads."""
    found = {}
    for file in sorted(folder.glob("*.sql")):
        sql = file.read_text(encoding="utf-8")
        reads = re.search(r"^-- Reads: (.*)$", sql, re.MULTILINE)
        names = tuple(name.strip() for name in reads.group(1).split(",")) if reads else ()
        found[file.stem] = View(file.stem, sql, names)
    graph = {name: [r for r in view.reads if r in found] for name, view in found.items()}
    return tuple(found[name] for name in TopologicalSorter(graph).static_order())


def head(folder: Path = MIGRATIONS) -> int:
    """The newest schema that this release knows."""
    return migrations(folder)[-1].version


def version_of(con: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Schema of an open file, 0 if it is empty; a database of something else is refused."""
    tables = {row[0] for row in con.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()}
    if not tables:
        return 0
    if not {"schema_version", "estimates"} <= tables:
        raise SurroundingsError(
            f"the DuckDB file holds something else (tables {', '.join(sorted(tables)[:5])})",
            where=str(path),
            remedy="move it away, or choose another folder with --home",
        )
    return single_value(con, "SELECT max(version) FROM schema_version") or 0


def single_value(con: duckdb.DuckDBPyConnection, sql: str, params: Sequence = ()) -> Any:
    """The first column of the only row; all is fetched, since an unfinished result blocks the connection."""
    return con.execute(sql, list(params)).fetchall()[0][0]


def refuse_newer(version: int, path: Path, newest: int | None = None) -> None:
    """A file of a schema that this release doesn't know is a SurroundingsError."""
    newest = head() if newest is None else newest
    if version > newest:
        raise SurroundingsError(
            f"the warehouse has schema {version}, this release knows schemas up to {newest}",
            where=str(path),
            remedy="upgrade infosedd, or choose another folder with --home",
        )


def migrate(con: duckdb.DuckDBPyConnection, path: Path, *, stop: int | None = None, folder: Path = MIGRATIONS) -> None:
    """Bring an open file to schema ``stop`` (the newest by default), one transaction a migration."""
    if stop is None and _is_current(con, head(folder)):
        return
    version = version_of(con, path)
    refuse_newer(version, path, head(folder))
    target = head(folder) if stop is None else stop
    for migration in migrations(folder)[version:target]:
        _in_one_transaction(con, lambda migration=migration: _apply(con, migration))
    if target == head(folder):
        _refresh_views(con)
    con.execute("CHECKPOINT")


def _is_current(con: duckdb.DuckDBPyConnection, newest: int) -> bool:
    """Whether schema and views are those of this release, by one quick query, as nearly every opening finds them."""
    sql = "SELECT (SELECT max(version) FROM schema_version), string_agg(sha256, ' ' ORDER BY name) FROM schema_views"
    try:
        found = con.execute(sql).fetchall()[0]
    except duckdb.CatalogException:  # a new file, or a foreign one
        return False
    return found == (newest, " ".join(view.sha256 for view in sorted(views(), key=lambda v: v.name)))


def _apply(con: duckdb.DuckDBPyConnection, migration: Migration) -> None:
    con.execute(migration.sql)
    con.execute("INSERT INTO schema_version VALUES (?, ?, ?)", [migration.version, migration.name, _now()])


def _refresh_views(con: duckdb.DuckDBPyConnection) -> None:
    wanted = {view.name: view.sha256 for view in views()}
    made = dict(con.execute("SELECT name, sha256 FROM schema_views").fetchall())
    if made != wanted:
        _in_one_transaction(con, lambda: _make_views(con, set(made) - set(wanted)))


def _make_views(con: duckdb.DuckDBPyConnection, gone: set[str]) -> None:
    for name in sorted(gone):
        con.execute(f'DROP VIEW IF EXISTS "{name}"')
        con.execute("DELETE FROM schema_views WHERE name = ?", [name])
    for view in views():
        con.execute(view.sql)
        con.execute("INSERT OR REPLACE INTO schema_views VALUES (?, ?, ?)", [view.name, view.sha256, _now()])


def _in_one_transaction(con: duckdb.DuckDBPyConnection, work: Callable[[], None]) -> None:
    con.execute("BEGIN TRANSACTION")
    try:
        work()
    except BaseException:
        con.execute("ROLLBACK")
        raise
    con.execute("COMMIT")


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
