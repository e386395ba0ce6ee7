"""Publishing: readers get a whole, checkpointed copy of the writer's file, replaced in one step."""

import os
from pathlib import Path

import duckdb

from infosedd.errors import InputError
from warehouse import schema
from warehouse.connect import (
    PUBLISHED_FILE,
    WAIT_SECONDS,
    WRITER_FILE,
    Deadline,
    gave_up,
    locked,
    open_writer,
    remove_partials,
)
from warehouse.copying import copy_checkpointed
from warehouse.failures import explained


def publish(home: Path, wait_seconds: float = WAIT_SECONDS) -> Path:
    """Replace the published copy by the writer's file as it is now; a home without one gets both."""
    target = home / PUBLISHED_FILE
    with locked(home, wait_seconds) as deadline, explained(target):
        _copy_writer(home, target, deadline)
    return target


def backup(home: Path | str, target: Path, wait_seconds: float = WAIT_SECONDS) -> Path:
    """Write all that is committed to a new file, while flows run; an existing file is an InputError."""
    home, target = Path(home), Path(target)
    if target.exists():
        raise InputError("the backup would overwrite a file", where=str(target), remedy="name a new file")
    if not (home / WRITER_FILE).exists() and not (home / PUBLISHED_FILE).exists():
        raise InputError("there is no warehouse to back up", where=str(home), remedy="check --home")
    with explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    with locked(home, wait_seconds) as deadline, explained(target):
        _copy_writer(home, target, deadline)
    return target


def _copy_writer(home: Path, target: Path, deadline: Deadline) -> None:
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    remove_partials(target.parent, target.name)
    try:
        while True:
            _checkpoint(home, deadline)
            if copy_checkpointed(home / WRITER_FILE, partial):
                break
            if deadline.passed:
                raise gave_up(home / WRITER_FILE, "another program", deadline.seconds)
            deadline.pause()
        _verify(partial)
        # Whoever opened the last copy for writing left a log that must not be replayed into this one.
        target.with_name(target.name + ".wal").unlink(missing_ok=True)
        os.replace(partial, target)
        _flush_folder(target.parent)
    finally:
        partial.unlink(missing_ok=True)


def _checkpoint(home: Path, deadline: Deadline) -> None:
    """Merge the write-ahead log into the file, and close the file."""
    con = open_writer(home, deadline)
    try:
        con.execute("CHECKPOINT")
    finally:
        con.close()


def _verify(copy: Path) -> None:
    """A copy that does not open is never published."""
    con = duckdb.connect(str(copy), read_only=True)
    try:
        schema.version_of(con, copy)
    finally:
        con.close()


def _flush_folder(folder: Path) -> None:
    """Make the new name itself survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
