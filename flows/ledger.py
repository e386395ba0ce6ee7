"""What a watch has seen: files by content, for each study, in one small SQLite file of the home.

Grain: one row for each study and content. A file whose size and time of change are the same as last
time is not read again; one that was copied or touched is told by its hash.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from flows.home import Home
from flows.study import Study
from infosedd.errors import SurroundingsError

WAIT_SECONDS = 30.0
_TABLES = """
CREATE TABLE IF NOT EXISTS hashes (path TEXT PRIMARY KEY, size INTEGER, changed_ns INTEGER, sha256 TEXT);
CREATE TABLE IF NOT EXISTS seen (
    study TEXT, sha256 TEXT, path TEXT, outcome TEXT, run_id TEXT, at TEXT, PRIMARY KEY (study, sha256)
);
"""
# What changes no result of a study; all else is part of the key of what was seen.
_TEXTS = {"title", "description", "citation", "report", "sites"}


@dataclass(frozen=True)
class Content:
    """A file, the hash of what it holds, and what its corpus is called; the hash is empty where it can't be read."""

    path: Path
    sha256: str
    name: str = ""


@dataclass(frozen=True)
class Ledger:
    """The files that the watches of a home have seen."""

    path: Path

    @classmethod
    def of(cls, home: Home) -> "Ledger":
        return cls(home.path / "watch.sqlite")

    def unseen(self, study: Study, files: Sequence[Path], retry_failed: bool = False) -> list["Content"]:
        """The contents that this study has not had, in the order of the files; of equal files the first."""
        query = "SELECT sha256 FROM seen WHERE study = ?" + (" AND outcome = 'done'" if retry_failed else "")
        with self._open() as db:
            seen = {row[0] for row in db.execute(query, (fingerprint(study),))}
            known = {path: tuple(row) for path, *row in db.execute("SELECT * FROM hashes")}
        new: dict[str, Content] = {}
        hashed: list[tuple[str, int, int, str]] = []
        for path in files:  # takes long: the ledger is open to others meanwhile
            size, changed_ns, sha256 = row = _hash_row(path, known.get(str(path)))
            if sha256 and row != known.get(str(path)):
                hashed.append((str(path), size, changed_ns, sha256))
            if sha256 not in seen:
                new.setdefault(sha256 or str(path), Content(path, sha256))
        if hashed:
            with self._open() as db:
                db.executemany("INSERT OR REPLACE INTO hashes VALUES (?, ?, ?, ?)", hashed)
        return list(new.values())

    def note(self, study: Study, content: "Content", outcome: str, run_id: str = "") -> None:
        """Remember that a content was done, or refused for what it holds."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        row = (fingerprint(study), content.sha256, str(content.path), outcome, run_id, at)
        with self._open() as db:
            db.execute("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?, ?)", row)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=WAIT_SECONDS)) as db, db:
                db.executescript(_TABLES)
                yield db
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise SurroundingsError(
                    f"another command has held the list of seen files for {WAIT_SECONDS:.0f} s",
                    where=str(self.path),
                    remedy="wait for that command, or end it, and run this one again",
                ) from error
            raise SurroundingsError(
                f"the list of seen files can't be used ({error})",
                where=str(self.path),
                remedy="free space, check rights, or move it away (then every file is new)",
            ) from error


def fingerprint(study: Study) -> str:
    """Hash of all of a study that its results depend on, but for the data."""
    content = study.model_dump_json(exclude={**dict.fromkeys(_TEXTS, True), "source": {"path", "name"}})
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _hash_row(path: Path, known: tuple | None) -> tuple[int, int, str]:
    """Size, time of change and hash of a file, the ``known`` ones where the first two are as they were.

    The hash is "" where the file can't be read.
    """
    try:
        state = path.stat()
        if known is not None and known[:2] == (state.st_size, state.st_mtime_ns):
            return known
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return 0, 0, ""  # whoever reads it next says why
    return state.st_size, state.st_mtime_ns, digest
