"""Copying a database file from a process of its own.

A process that closes any descriptor of a file gives up all the POSIX locks it holds on that file, DuckDB's too; so
the copy is made by a child that holds nothing else. The child takes DuckDB's kind of shared lock first, so no
program can write while it copies, and refuses a file whose write-ahead log is not merged yet. It runs by path,
without site packages, to start in a few hundredths of a second.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

DONE, FAILED, IN_USE = 0, 74, 75
_CHUNK = 8 << 20


def copy_checkpointed(source: Path, target: Path) -> bool:
    """Copy ``source`` to the new file ``target``; False where a writer has it open or its log is not merged.

    OSError where the disk says no. The target is flushed to disk before this returns.
    """
    command = [sys.executable, "-I", "-S", __file__, str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == IN_USE:
        return False
    if done.returncode != DONE:
        raise OSError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "the copying process died")
    return True


def _copy(source: str, target: str) -> int:
    descriptor = os.open(source, os.O_RDONLY)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return IN_USE
    if os.path.exists(source + ".wal"):
        return IN_USE
    with open(target, "xb", buffering=0) as sink:
        while chunk := os.read(descriptor, _CHUNK):
            view = memoryview(chunk)
            while view:
                view = view[sink.write(view) :]
        os.fsync(sink.fileno())
    return DONE


def _main() -> int:
    try:
        return _copy(sys.argv[1], sys.argv[2])
    except OSError as error:
        print(f"{error.strerror} ({error.filename or sys.argv[2]})", file=sys.stderr)
        return FAILED


if __name__ == "__main__":
    sys.exit(_main())
