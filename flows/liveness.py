"""Which runs are alive: each holds a lock that the system releases when its process ends, however it ends."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from flows.files import written_whole
from flows.home import Home


@dataclass(frozen=True)
class Left:
    """A run that is said to be running, whose process has ended."""

    run_id: str
    flow_run_id: str | None
    reason: str


@contextmanager
def alive(home: Home, run_id: str, command: str) -> Iterator[None]:
    """Hold the run's lock, with who runs it and what resumes it beside it."""
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "command": command}
    with FileLock(_lock(home, run_id)):
        with written_whole(_card(home, run_id)) as partial:
            partial.write_text(json.dumps(owner))
        try:
            yield
        finally:
            _forget(home, run_id)


def mark_left_runs(home: Home) -> list[Left]:
    """Mark runs whose process ended without a word as crashed, with the command that resumes each."""
    from warehouse import Warehouse

    warehouse = Warehouse(home.path)
    left = [_left(home, *row) for row in warehouse.unfinished_runs().select("run_id", "flow_run_id").iter_rows()]
    marked = []
    for run in (run for run in left if run is not None):
        if warehouse.finish_run(run.run_id, "crashed", run.reason, only_running=True):
            marked.append(run)
        _forget(home, run.run_id)
    return marked


def _left(home: Home, run_id: str, flow_run_id: str | None) -> Left | None:
    try:
        with FileLock(_lock(home, run_id), timeout=0):
            owner = _read(_card(home, run_id))
    except Timeout:
        return None
    who = f"process {owner['pid']} on {owner['host']}" if owner else "its process"
    resume = f"; resume with `{owner['command']}`" if owner else "; run the study again"
    return Left(run_id, flow_run_id, f"{who} ended without a word{resume}")


def _read(card: Path) -> dict[str, str] | None:
    return json.loads(card.read_text()) if card.exists() else None


def _forget(home: Home, run_id: str) -> None:
    _card(home, run_id).unlink(missing_ok=True)
    _lock(home, run_id).unlink(missing_ok=True)


def _lock(home: Home, run_id: str) -> Path:
    return home.locks / f"run-{run_id}.lock"


def _card(home: Home, run_id: str) -> Path:
    return home.locks / f"run-{run_id}.json"
