"""Moving results: export to partitioned Parquet with a manifest, and import into another home."""

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import duckdb

from infosedd.errors import InputError, SurroundingsError
from warehouse import schema
from warehouse.connect import PUBLISHED_FILE, reading
from warehouse.copying import copy_checkpointed
from warehouse.failures import explained
from warehouse.rows import now
from warehouse.writer import Warehouse

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
_STUDY_OF = {  # how each partitioned table knows the study of a row
    "runs": "study",
    "estimates": "study",
    "run_estimates": "(SELECT r.study FROM runs AS r WHERE r.run_id = t.run_id)",
    "pointwise": "(SELECT e.study FROM estimates AS e WHERE e.estimate_id = t.estimate_id)",
    "truths": "study",
    "checks": "study",
    "external_scores": "study",
}
# Maps travel as JSON text: many readers of Parquet don't know maps.
_PACKED = {"estimates": "REPLACE (to_json(diagnostics)::VARCHAR AS diagnostics)"}
_UNPACKED = {"estimates": "REPLACE (diagnostics::JSON::MAP(VARCHAR, DOUBLE) AS diagnostics)"}


@dataclass(frozen=True)
class Exported:
    """What an export holds: the folder, and the number of rows of each table."""

    folder: Path
    rows: dict[str, int]


def export(home: Path | str, folder: Path | str) -> Exported:
    """Write the published tables to the new folder ``folder``, whole or not at all.

    ``TABLE/study=NAME/rows.parquet`` (corpora and score_models, which studies share, are one file each), and
    ``manifest.json`` with the schema, and rows and SHA-256 of each file. An existing folder is an InputError.
    """
    folder = Path(folder)
    if folder.exists():
        raise InputError("the export would overwrite something", where=str(folder), remedy="name a new folder")
    with reading(Path(home)) as con:  # says what is wrong with the home before anything is made
        version = schema.version_of(con, Path(home) / PUBLISHED_FILE)
    with explained(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            files = _write_tables(Path(home) / PUBLISHED_FILE, partial)
            manifest = {
                "format_version": FORMAT_VERSION,
                "schema_version": version,
                "exported_at": now().isoformat(timespec="seconds") + "Z",
                "files": files,
            }
            (partial / MANIFEST).write_text(json.dumps(manifest, indent=1))
            os.chmod(partial, 0o755)  # temporary folders are private
            os.rename(partial, folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    return Exported(folder, _rows_by_table(files))


def import_(home: Path | str, source: Path | str, wait_seconds: float | None = None) -> dict[str, int]:
    """Add what an exported folder, or another warehouse file, holds and this home does not; then publish.

    Returns table -> rows added. Rows that are here stay as they are, so importing twice adds nothing. Files that
    don't match their manifest, and schemas that this release doesn't know, are refused before anything is written.
    So is a warehouse file that is not checkpointed. Runs that came in as running take over how they ended.
    """
    source = Path(source)
    warehouse = Warehouse(Path(home)) if wait_seconds is None else Warehouse(Path(home), wait_seconds)
    with tempfile.TemporaryDirectory(prefix="infosedd-import-") as scratch:
        copy = Path(scratch) / "incoming.duckdb"
        if source.is_dir():
            _load_export(source, copy)
        else:
            _load_file(source, copy)
        added = warehouse.merge(copy)
    warehouse.publish()
    return added


def _write_tables(published: Path, folder: Path) -> list[dict]:
    con = duckdb.connect(str(published), read_only=True)
    try:
        files = []
        for table in schema.TABLES:
            studies = _studies(con, table)
            for study in studies:
                name = "rows.parquet" if study is None else f"study={quote(study, safe='')}/rows.parquet"
                files.append(_write_file(con, table, study, folder, f"{table}/{name}"))
        return files
    finally:
        con.close()


def _studies(con: duckdb.DuckDBPyConnection, table: str) -> list[str | None]:
    """The partitions of a table: its studies, or the one None of a table that isn't partitioned."""
    if table not in _STUDY_OF:
        return [None]
    return [r[0] for r in con.execute(f"SELECT DISTINCT {_STUDY_OF[table]} FROM {table} AS t ORDER BY 1").fetchall()]


def _write_file(con: duckdb.DuckDBPyConnection, table: str, study: str | None, folder: Path, name: str) -> dict:
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    where = "" if study is None else f"WHERE {_STUDY_OF[table]} = ?"
    rows_of = f"SELECT * {_PACKED.get(table, '')} FROM {table} AS t {where}"
    sql = f"COPY ({rows_of}) TO {_quoted(target)} (FORMAT parquet, COMPRESSION zstd)"
    rows = schema.single_value(con, sql, [] if study is None else [study])
    return {"table": table, "path": name, "rows": rows, "sha256": _sha256(target)}


def _load_export(folder: Path, copy: Path) -> None:
    """Build a database of the export's own schema from its files, then bring it to the newest one."""
    manifest = _read_manifest(folder)
    with explained(folder):
        con = duckdb.connect(str(copy))
        try:
            schema.migrate(con, folder / MANIFEST, stop=manifest["schema_version"])
            for entry in manifest["files"]:
                _load_parquet(con, folder, entry)
            schema.migrate(con, folder / MANIFEST)
        finally:
            con.close()


def _load_parquet(con: duckdb.DuckDBPyConnection, folder: Path, entry: dict) -> None:
    path = folder / entry["path"]
    if not path.is_file():
        raise InputError("a file of the export is missing", where=str(path), remedy="export again")
    if _sha256(path) != entry["sha256"]:
        raise InputError("a file of the export is not as it was written", where=str(path), remedy="export again")
    columns = f"* {_UNPACKED.get(entry['table'], '')}"
    con.execute(
        f"INSERT INTO {entry['table']} BY NAME SELECT {columns} FROM read_parquet(?, hive_partitioning = false)",
        [str(path)],
    )


def _load_file(source: Path, copy: Path) -> None:
    """Take a copy of a warehouse file (a backup, or another home's published one) and migrate it."""
    if not source.is_file():
        raise InputError(
            "there is nothing to import", where=str(source), remedy="name an exported folder or a warehouse file"
        )
    with explained(source):
        if not copy_checkpointed(source, copy):
            log = source.with_name(source.name + ".wal")
            what = f"the database has rows in its log {log} only" if log.exists() else "another program has it open"
            raise InputError(
                what,
                where=str(source),
                remedy="close the program that has it open, and open it once with DuckDB to CHECKPOINT, "
                "or name the warehouse.duckdb of its home",
            )
        con = duckdb.connect(str(copy))
        try:
            if schema.version_of(con, source) == 0:
                raise InputError("the database is empty", where=str(source), remedy="name a warehouse file")
            schema.migrate(con, source)
        finally:
            con.close()


def _read_manifest(folder: Path) -> dict:
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError("the folder is no export", where=str(path), remedy="name a folder that `infosedd export` made")
    try:
        manifest = json.loads(path.read_text())
        format_version, version = int(manifest["format_version"]), int(manifest["schema_version"])
        entries = [(str(f["table"]), str(f["path"]), str(f["sha256"])) for f in manifest["files"]]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("can't read the manifest of the export", where=str(path), remedy="export again") from error
    if format_version > FORMAT_VERSION:
        raise SurroundingsError(
            f"the export has format {format_version}, this release reads up to {FORMAT_VERSION}",
            where=str(path),
            remedy="upgrade infosedd",
        )
    schema.refuse_newer(version, path)
    for table, name, _ in entries:
        parts = PurePosixPath(name).parts
        if table not in schema.TABLES or name.startswith("/") or ".." in parts:
            raise InputError(f"the manifest names {name!r} for table {table!r}", where=str(path), remedy="export again")
    return manifest


def _rows_by_table(files: list[dict]) -> dict[str, int]:
    counts: dict[str, int] = {table: 0 for table in schema.TABLES}
    for entry in files:
        counts[entry["table"]] += entry["rows"]
    return counts


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
