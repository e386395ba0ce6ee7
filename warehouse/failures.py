"""What goes wrong below the warehouse (disk, rights, foreign or damaged files), said in one line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from infosedd.errors import SurroundingsError

_KNOWN = (
    (
        r"out of memory|could not allocate",
        "the memory is not enough",
        "ask for fewer rows or columns",
    ),
    (
        r"no space left|disk full|file too large|could not write all bytes|could not write file|quota",
        "the disk is full, or a size limit was reached",
        "free some space and run again: what was committed before is whole, this write left nothing",
    ),
    (
        r"permission denied|read-only file system|operation not permitted",
        "no right to write or read the file",
        "check the rights of the folder, or choose another one with --home",
    ),
    (
        r"database file with version number|storage version|can only read versions",
        "the file was made by a newer DuckDB than the one installed",
        "upgrade the duckdb package",
    ),
    (
        r"file exists|not a directory",
        "a file stands where a folder is needed",
        "choose another folder with --home",
    ),
    (
        r"database does not exist|no such file or directory",
        "the file or its folder is not there",
        "check --home",
    ),
    (
        r"not a valid duckdb|corrupt|checksum|could not read|is a directory|deserialize|serialization error"
        r"|attempting to read|out of range of file|could not open",
        "the file is not a DuckDB database, or is damaged",
        "move it away: a lost writer's file is made anew from the published copy, and the other way round",
    ),
)


_STATEMENT_AT_FAULT = (duckdb.ProgrammingError, duckdb.DataError, duckdb.IntegrityError, duckdb.NotSupportedError)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of DuckDB and of the disk about ``path`` into a SurroundingsError that says what to do."""
    try:
        yield
    except (duckdb.Error, OSError) as error:
        if not is_trouble(error):
            raise
        raise surroundings_error(error, path) from error


def is_trouble(error: Exception) -> bool:
    """Whether the surroundings are at fault, and not the statement or its values."""
    return not isinstance(error, _STATEMENT_AT_FAULT)


def surroundings_error(error: Exception, path: Path) -> SurroundingsError:
    """The error in plain words; one that is not known keeps its own first line."""
    text = first_line(error)
    for pattern, what, remedy in _KNOWN:
        if re.search(pattern, text, re.IGNORECASE):
            return SurroundingsError(f"{what} ({text})", where=str(path), remedy=remedy)
    return SurroundingsError(
        f"DuckDB could not do it: {text}", where=str(path), remedy="run again; if it stays, move the file away"
    )


def first_line(error: Exception) -> str:
    """The first line of an error's text, without the name of DuckDB's error class before it."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return re.sub(r"^([A-Z]\w* )*(Error|Exception): ", "", lines[0]).strip()
