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
    """A file and the hash of what it holds; the hash is empty where the file can't be read."""

    path: Path
    sha256: str


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
            new: dict[str, Content] = {}
            for path in files:
                content = Content(path, _sha256(db, path))
                if content.sha256 not in seen:
                    new.setdefault(content.sha256 or str(path), content)
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
            raise SurroundingsError(
                f"the list of seen files can't be used ({error})",
                where=str(self.path),
                remedy="free space, check rights, or move it away (then every file is new)",
            ) from error


def fingerprint(study: Study) -> str:
    """Hash of all of a study that its results depend on, but for the data."""
    content = study.model_dump_json(exclude={**dict.fromkeys(_TEXTS, True), "source": {"path", "name"}})
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _sha256(db: sqlite3.Connection, path: Path) -> str:
    """Hash of a file's bytes, from the list where size and time of change are as they were; "" if it can't be read."""
    try:
        state = path.stat()
        known = "SELECT sha256 FROM hashes WHERE path = ? AND size = ? AND changed_ns = ?"
        row = db.execute(known, (str(path), state.st_size, state.st_mtime_ns)).fetchone()
        if row:
            return row[0]
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""  # whoever reads it next says why
    row = (str(path), state.st_size, state.st_mtime_ns, digest)
    db.execute("INSERT OR REPLACE INTO hashes VALUES (?, ?, ?, ?)", row)
    return digest
