"""Opening the two files of a home: the writer's, one process at a time, and the published copy, shut in."""

import json
import os
import random
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from infosedd.errors import InputError, SurroundingsError
from warehouse import schema
from warehouse.copying import copy_checkpointed
from warehouse.failures import explained, first_line

WRITER_FILE = "warehouse.writer.duckdb"
PUBLISHED_FILE = "warehouse.duckdb"
LOCK_FILE = "warehouse.lock"
HOLDER_FILE = "warehouse.lock.holder"
WAIT_SECONDS = 60.0
WRITER_CONFIG: dict = {"storage_compatibility_version": "v1.2.0", "autoinstall_known_extensions": "false"}
_READER_CONFIG: dict = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}


@dataclass(frozen=True)
class Deadline:
    """When to give up waiting for another process."""

    seconds: float
    at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(seconds, time.monotonic() + seconds)

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self.at

    def pause(self) -> None:
        """Sleep for a random moment, so that processes that wait don't meet again."""
        time.sleep(random.uniform(0.005, 0.08))


@contextmanager
def locked(home: Path, wait_seconds: float = WAIT_SECONDS) -> Iterator[Deadline]:
    """Hold the home's own lock, which every writer and publisher takes; a lock never won is a SurroundingsError."""
    deadline = Deadline.after(wait_seconds)
    with explained(home):
        home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / LOCK_FILE)
    while True:
        with explained(home / LOCK_FILE):
            try:
                lock.acquire(timeout=0)
                break
            except Timeout:
                if deadline.passed:
                    raise gave_up(home / LOCK_FILE, _holder(home), wait_seconds) from None
        deadline.pause()
    try:
        with explained(home / HOLDER_FILE):
            (home / HOLDER_FILE).write_text(json.dumps({"pid": os.getpid(), "command": _command()}))
        yield deadline
    finally:
        lock.release()


@contextmanager
def writing(home: Path, wait_seconds: float = WAIT_SECONDS) -> Iterator[duckdb.DuckDBPyConnection]:
    """One transaction on the writer's file, migrated to the newest schema: committed whole, or nothing of it.

    What is committed is safe in the write-ahead log, which publishing merges into the file. Merging at each close
    would rewrite the last 122,880 rows of every table that grew, so that each append would cost more than the last.
    """
    path = home / WRITER_FILE
    with locked(home, wait_seconds) as deadline, explained(path):
        con = open_writer(home, deadline)
        try:
            con.execute("BEGIN TRANSACTION")
            yield con
            con.execute("COMMIT")
        finally:
            con.close()  # without a COMMIT this drops the transaction


def open_writer(home: Path, deadline: Deadline) -> duckdb.DuckDBPyConnection:
    """Open the writer's file under the home's lock, make it where it isn't there yet, and migrate it."""
    path = home / WRITER_FILE
    if not path.exists():
        _make_writer_file(home, deadline)
    con = connect_patiently(path, deadline)
    try:
        con.execute("PRAGMA disable_checkpoint_on_shutdown")  # the log is merged when publishing: see writing()
        schema.migrate(con, path)
    except BaseException:
        con.close()
        raise
    return con


def connect_patiently(path: Path, deadline: Deadline) -> duckdb.DuckDBPyConnection:
    """Open for writing; while another program holds the file try again, then say which one it is."""
    while True:
        try:
            return duckdb.connect(str(path), config=WRITER_CONFIG)
        except duckdb.IOException as error:
            if "Could not set lock" not in str(error):
                raise
            if deadline.passed:
                raise gave_up(path, _holder_in(first_line(error)), deadline.seconds) from None
        deadline.pause()


def copy_patiently(source: Path, target: Path, deadline: Deadline) -> None:
    """Copy a checkpointed file; while another program has it open for writing, try again."""
    while not copy_checkpointed(source, target):
        if deadline.passed:
            raise gave_up(source, "another program", deadline.seconds)
        deadline.pause()


@contextmanager
def reading(home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The published copy, read-only and shut in: no files, no ATTACH, no extensions, no settings."""
    path = home / PUBLISHED_FILE
    if not path.exists():
        raise InputError(
            "there is no warehouse yet", where=str(path), remedy="run a study first: `infosedd run lac-promoter`"
        )
    with explained(path):
        con = duckdb.connect(str(path), read_only=True, config=_READER_CONFIG)
    try:
        with explained(path):
            schema.refuse_newer(schema.version_of(con, path), path)
        yield con
    finally:
        con.close()


def _make_writer_file(home: Path, deadline: Deadline) -> None:
    """Make the writer's file under another name and rename it, so that a half-made one never has its name.

    Where only the published copy is left, the file starts from that copy: results are never published over.
    """
    path = home / WRITER_FILE
    log = path.with_name(path.name + ".wal")
    if log.exists():
        raise SurroundingsError(
            "a write-ahead log is left without its database", where=str(log), remedy="move it away and run again"
        )
    partial = home / f".{WRITER_FILE}.{os.getpid()}.partial"
    remove_partials(home, WRITER_FILE)
    try:
        if (home / PUBLISHED_FILE).exists():
            copy_patiently(home / PUBLISHED_FILE, partial, deadline)
        con = duckdb.connect(str(partial), config=WRITER_CONFIG)
        try:
            schema.migrate(con, home / PUBLISHED_FILE)
        finally:
            con.close()
        os.replace(partial, path)
    finally:
        remove_partials(home, WRITER_FILE)


def remove_partials(home: Path, name: str) -> None:
    """Remove what a killed process left behind; only under the home's lock."""
    for left in home.glob(f".{name}.*.partial*"):
        left.unlink(missing_ok=True)


def gave_up(path: Path, holder: str, seconds: float) -> SurroundingsError:
    return SurroundingsError(
        f"the warehouse was in use by {holder} for all of {seconds:g} s",
        where=str(path),
        remedy="wait until it is done or close it, then run again; to read, open warehouse.duckdb, which nobody locks",
    )


def _holder(home: Path) -> str:
    """The process that holds the home's lock, as it wrote itself down."""
    try:
        holder = json.loads((home / HOLDER_FILE).read_text())
        return f"process {holder['pid']} ({holder['command']})"
    except (OSError, ValueError, KeyError):  # it is just being written, or its writer is of another release
        return "another process"


def _holder_in(message: str) -> str:
    """The process that DuckDB's own message about its lock names."""
    match = re.search(r"lock is held in (.*?) \(PID (\d+)\)", message)
    return f"process {match.group(2)} ({match.group(1)})" if match else "another process"


def _command() -> str:
    return " ".join([Path(sys.argv[0] or "python").name, *sys.argv[1:]])[:120]
