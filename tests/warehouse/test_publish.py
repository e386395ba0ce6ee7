"""Readers are never blocked and never block; publishing and backup copy whole files only."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from infosedd.errors import InputError, SurroundingsError
from warehouse import Warehouse, publish, queries
from warehouse.connect import PUBLISHED_FILE, WRITER_FILE
from warehouse.copying import copy_checkpointed
from warehouse.disk import du

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def other_process(script: str) -> Iterator[subprocess.Popen]:
    """A Python process that has printed a line, and is killed afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"{script}\nprint('ready', flush=True)\nimport time\ntime.sleep(60)"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()


def runs(home: Path) -> int:
    return queries.run(home, "SELECT run_id FROM runs").height


def test_readers_see_what_was_published(home: Path) -> None:
    warehouse, before = Warehouse(home), runs(home)
    warehouse.start_run("new", "s")
    assert runs(home) == before
    assert warehouse.publish() == home / PUBLISHED_FILE
    assert runs(home) == before + 1
    assert not list(home.glob(".*partial*"))


def test_a_reader_keeps_its_copy_and_blocks_nobody(home: Path) -> None:
    reader = duckdb.connect(str(home / PUBLISHED_FILE), read_only=True)
    before = reader.execute("SELECT count(*) FROM runs").fetchall()
    warehouse = Warehouse(home, wait_seconds=5)
    warehouse.start_run("new", "s")
    warehouse.publish()
    assert reader.execute("SELECT count(*) FROM runs").fetchall() == before
    reader.close()
    assert runs(home) == before[0][0] + 1


def test_readers_are_not_blocked_by_a_writer(home: Path) -> None:
    script = f"import duckdb\ncon = duckdb.connect({str(home / WRITER_FILE)!r})\ncon.execute('BEGIN')"
    with other_process(script):
        assert runs(home) > 0


def test_a_writer_that_gives_up_names_the_program_that_holds_the_file(home: Path) -> None:
    with other_process(f"import duckdb\ncon = duckdb.connect({str(home / WRITER_FILE)!r})") as other:
        for act in (lambda w: w.start_run("new", "s"), lambda w: w.publish()):
            with pytest.raises(SurroundingsError, match=f"in use by process {other.pid} ") as caught:
                act(Warehouse(home, wait_seconds=0.2))
            assert caught.value.exit_code == 3
    assert Warehouse(home).start_run("new", "s")


def test_a_writer_that_gives_up_names_the_process_that_holds_the_lock(home: Path) -> None:
    script = (
        "from pathlib import Path\nfrom warehouse.connect import locked\n"
        f"held = locked(Path({str(home)!r}))\nheld.__enter__()"
    )
    with other_process(script) as other, pytest.raises(SurroundingsError, match=f"in use by process {other.pid} "):
        Warehouse(home, wait_seconds=0.2).start_run("new", "s")
    assert Warehouse(home).start_run("new", "s")  # the lock of a dead process is free


def test_a_writer_waits_for_its_turn(home: Path) -> None:
    failures: list[Exception] = []

    def write(name: str) -> None:
        try:
            for number in range(3):
                Warehouse(home).start_run(f"{name}-{number}", "s")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    Warehouse(home).publish()
    for thread in threads:
        thread.join()
    Warehouse(home).publish()
    assert failures == []
    assert queries.run(home, "SELECT run_id FROM runs WHERE study = 's'").height == 9


def test_a_file_that_is_open_for_writing_is_not_copied(home: Path, tmp_path: Path) -> None:
    with other_process(f"import duckdb\ncon = duckdb.connect({str(home / WRITER_FILE)!r})"):
        assert not copy_checkpointed(home / WRITER_FILE, tmp_path / "copy.duckdb")
    assert copy_checkpointed(home / WRITER_FILE, tmp_path / "copy.duckdb")
    with pytest.raises(OSError, match="exists"):
        copy_checkpointed(home / WRITER_FILE, tmp_path / "copy.duckdb")


def test_a_file_whose_log_is_not_merged_is_not_copied(home: Path, tmp_path: Path) -> None:
    (home / f"{WRITER_FILE}.wal").write_bytes(b"x")
    assert not copy_checkpointed(home / WRITER_FILE, tmp_path / "copy.duckdb")
    assert list(tmp_path.glob("copy*")) == []


def test_copying_leaves_the_locks_of_this_process_alone(home: Path, tmp_path: Path) -> None:
    con = duckdb.connect(str(home / WRITER_FILE))
    assert not copy_checkpointed(home / WRITER_FILE, tmp_path / "copy.duckdb")
    second = f"import duckdb\nduckdb.connect({str(home / WRITER_FILE)!r})"
    done = subprocess.run([sys.executable, "-c", second], capture_output=True, text=True)
    con.close()
    assert "Could not set lock" in done.stderr


def test_a_lost_writers_file_starts_from_the_published_copy(home: Path) -> None:
    before = runs(home)
    (home / WRITER_FILE).unlink()
    Warehouse(home).start_run("new", "s")
    Warehouse(home).publish()
    assert runs(home) == before + 1


def test_a_lost_published_copy_is_made_again(home: Path) -> None:
    before = runs(home)
    (home / PUBLISHED_FILE).unlink()
    Warehouse(home).publish()
    assert runs(home) == before


def test_a_new_home_can_be_published(tmp_path: Path) -> None:
    Warehouse(tmp_path / "deep" / "home").publish()
    assert runs(tmp_path / "deep" / "home") == 0


def test_what_somebody_wrote_into_the_published_copy_does_not_reach_the_next_one(home: Path) -> None:
    script = (
        "import duckdb, os, sys\ncon = duckdb.connect(sys.argv[1])\n"
        "con.execute('DELETE FROM pointwise')\nos.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, home / PUBLISHED_FILE], check=False)
    assert (home / f"{PUBLISHED_FILE}.wal").exists()
    Warehouse(home).publish()
    assert queries.run(home, "SELECT count(*) AS n FROM pointwise")["n"][0] > 0


def test_what_a_killed_publisher_left_is_swept(home: Path) -> None:
    left = home / f".{PUBLISHED_FILE}.99999.partial"
    left.write_bytes(b"half")
    Warehouse(home).publish()
    assert not left.exists()


def test_a_backup_holds_all_that_is_committed(home: Path, tmp_path: Path) -> None:
    Warehouse(home).start_run("new", "s")
    target = publish.backup(str(home), str(tmp_path / "safe" / "backup.duckdb"))
    con = duckdb.connect(str(target), read_only=True)
    assert con.execute("SELECT count(*) FROM runs WHERE run_id = 'new'").fetchall() == [(1,)]
    con.close()
    with pytest.raises(InputError, match="would overwrite"):
        publish.backup(home, target)
    with pytest.raises(InputError, match="no warehouse to back up"):
        publish.backup(tmp_path / "nowhere", tmp_path / "other.duckdb")


def test_disk_use_is_told_part_by_part(filled: Path, tmp_path: Path) -> None:
    parts = {row["part"]: row for row in du(filled).to_dicts()}
    assert parts[PUBLISHED_FILE]["n_bytes"] == (filled / PUBLISHED_FILE).stat().st_size
    assert parts["corpora"]["n_files"] == 2
    with pytest.raises(InputError, match="no such home"):
        du(tmp_path / "nowhere")
