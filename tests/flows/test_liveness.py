"""Runs whose process died are found, by another process, and marked once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flows.home import Home
from flows.liveness import alive, mark_left_runs
from warehouse import Warehouse, queries

ROOT = Path(__file__).resolve().parents[2]
HOLD = """
import sys, time
from flows.home import Home
from flows.liveness import alive
from warehouse import Warehouse
home = Home.create(sys.argv[1])
with alive(home, "r1", "infosedd run mine"):
    Warehouse(home.path).start_run("r1", "mine", None, {})
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / "home")


def status_of(home: Home) -> tuple[str, str]:
    Warehouse(home.path).publish()
    row = queries.run(home.path, "select status, error from runs").row(0)
    return row[0], row[1] or ""


def test_a_killed_run_is_marked_by_the_next_with_the_command_that_resumes_it(home: Home) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home.path)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    assert mark_left_runs(home) == []
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = mark_left_runs(home)
    assert [run.run_id for run in left] == ["r1"]
    status, error = status_of(home)
    assert status == "crashed"
    assert f"process {process.pid}" in error and "`infosedd run mine`" in error
    assert mark_left_runs(home) == []
    assert list(home.locks.iterdir()) == []


def test_a_run_without_a_lock_is_left_too(home: Home) -> None:
    Warehouse(home.path).start_run("r1", "mine", None, {})
    assert [run.run_id for run in mark_left_runs(home)] == ["r1"]
    assert status_of(home)[0] == "crashed"


def test_a_run_that_ends_leaves_nothing(home: Home) -> None:
    with pytest.raises(KeyboardInterrupt), alive(home, "r1", "infosedd run mine"):
        assert list(home.locks.iterdir()) != []
        raise KeyboardInterrupt
    assert list(home.locks.iterdir()) == []


def test_a_run_that_completes_while_it_is_looked_at_stays_completed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    Warehouse(home.path).start_run("r1", "mine", None, {})
    seen = Warehouse(home.path).unfinished_runs()
    Warehouse(home.path).finish_run("r1")
    monkeypatch.setattr(Warehouse, "unfinished_runs", lambda _: seen)
    assert mark_left_runs(home) == []
    assert status_of(home) == ("completed", "")
