"""Kills, full disks, missing rights, damaged and foreign files: clear errors, whole transactions, nothing lost."""

import os
import random
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from infosedd.errors import SurroundingsError
from warehouse import Warehouse, queries
from warehouse.connect import PUBLISHED_FILE, WRITER_FILE
from warehouse.failures import surroundings_error

ROOT = Path(__file__).resolve().parents[2]


def read(home: Path) -> object:
    return queries.run(home, "SELECT * FROM runs")


def write(home: Path) -> object:
    return Warehouse(home, wait_seconds=1).start_run("new", "s")


def text(path: Path) -> None:
    path.write_text("not a database\n" * 1000)


def nothing(path: Path) -> None:
    path.write_bytes(b"")


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def bad_header(path: Path) -> None:
    good = path.read_bytes()
    path.write_bytes(good[:4096] + bytes(8192) + good[12288:])


def foreign(path: Path) -> None:
    path.unlink()
    con = duckdb.connect(str(path))
    con.execute("CREATE TABLE customers (name VARCHAR)")
    con.close()


def newer(path: Path) -> None:
    con = duckdb.connect(str(path))
    con.execute("INSERT INTO schema_version VALUES (99, '099_later.sql', now()::TIMESTAMP)")
    con.close()


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE = [
    (text, "is not a DuckDB database, or is damaged"),
    (nothing, "is not a DuckDB database, or is damaged"),
    (half, "is not a DuckDB database, or is damaged"),
    (bad_header, "is not a DuckDB database, or is damaged"),
    (foreign, "holds something else (tables customers)"),
    (newer, "has schema 99, this release knows schemas up to"),
    (folder, "is not a DuckDB database, or is damaged"),
]


@pytest.mark.parametrize(("act", "file"), [(read, PUBLISHED_FILE), (write, WRITER_FILE)], ids=["read", "write"])
@pytest.mark.parametrize(("damage", "said"), DAMAGE, ids=lambda d: getattr(d, "__name__", ""))
def test_a_file_that_is_no_warehouse_is_refused_by_name(
    home: Path, act: Callable, file: str, damage: Callable, said: str
) -> None:
    damage(home / file)
    before = None if (home / file).is_dir() else (home / file).read_bytes()
    with pytest.raises(SurroundingsError) as caught:
        act(home)
    message = str(caught.value)
    assert said in message and str(home / file) in message and "\n" not in message
    assert before is None or (home / file).read_bytes() == before


def test_a_log_without_its_database_is_not_replayed_into_a_new_one(home: Path) -> None:
    (home / WRITER_FILE).unlink()
    (home / f"{WRITER_FILE}.wal").write_bytes(b"left")
    with pytest.raises(SurroundingsError, match="log is left without its database"):
        write(home)


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(SurroundingsError, match="a file stands where a folder is needed"):
        write(tmp_path / "home")


def child(script: str, *arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        **options,
    )


def test_a_home_without_rights_is_refused(home: Path) -> None:
    home.chmod(0o755)
    for file in home.iterdir():
        file.chmod(0o555 if file.is_dir() else 0o444)
    home.chmod(0o555)
    script = """
        import os, sys
        from warehouse import Warehouse, queries
        from infosedd.errors import SurroundingsError
        if os.geteuid() == 0:  # root may do anything: become somebody else, once all is imported
            import duckdb, polars
            os.seteuid(65534)
        for act in (lambda w: w.start_run("new", "s"), lambda w: w.publish()):
            try:
                act(Warehouse(sys.argv[1], wait_seconds=0.5))
            except SurroundingsError as error:
                print(error)
    """
    for parent in home.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o055)
    done = child(script, str(home))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all("no right to write or read" in line and str(home) in line for line in lines)


FULL = """
    import resource, sys
    from pathlib import Path
    import numpy as np
    import pyarrow as pa
    from infosedd.errors import SurroundingsError
    from infosedd.results import Estimate
    from warehouse import Warehouse, queries
    home, what = Path(sys.argv[1]), sys.argv[2]
    size = (home / "warehouse.writer.duckdb").stat().st_size
    corpus = queries.run(home, "SELECT corpus_id FROM corpora WHERE name = 'lac'")["corpus_id"][0]
    n = 400_000
    big = Estimate("entropy", 1.0, 0.1, 0.5, 1.5, n, x="bin", pointwise=np.random.default_rng(0).normal(size=n))
    ids = pa.array([f"sequence {i}" for i in range(n)])
    limit = size + (1 << 16) if what == "write" else size // 2
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        if what == "write":
            Warehouse(home).record_estimates("run-1", "lac-promoter", corpus, "model-a", 0, [big], sequence_ids=ids)
        else:
            Warehouse(home).publish()
    except SurroundingsError as error:
        print(error)
"""


@pytest.mark.parametrize("what", ["write", "publish"])
def test_a_full_disk_loses_nothing_and_says_so(home: Path, table_counts, what: str) -> None:
    before, published = table_counts(home), (home / PUBLISHED_FILE).read_bytes()
    done = child(FULL, str(home), what)
    assert done.returncode == 0, done.stderr
    assert "the disk is full, or a size limit was reached" in done.stdout, done.stdout
    assert "Traceback" not in done.stderr
    assert table_counts(home) == before
    assert (home / PUBLISHED_FILE).read_bytes() == published
    assert not list(home.glob(".*partial*"))
    assert write(home)


KILLED = """
    import sys
    from pathlib import Path
    from infosedd.results import Estimate
    from warehouse import Warehouse
    home, corpus, start = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    warehouse = Warehouse(home)
    print("begun", flush=True)
    for number in range(start, start + 1000):
        run = f"kill-{number}"
        warehouse.start_run(run, "kill")
        answers = [Estimate("entropy", 1.0, 0.1, 0.5, 1.5, 10, x=f"promoter[{i}]") for i in range(12)]
        warehouse.record_estimates(run, "kill", corpus, "model-a", number, answers)
        warehouse.finish_run(run)
        print(number, flush=True)
        warehouse.publish()
"""


def killed_once(home: Path, corpus_id: str, start: int, delay: float) -> list[int]:
    """Runs that a process said it had committed before it was killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(home), corpus_id, str(start)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    time.sleep(delay)
    process.kill()
    said, _ = process.communicate()
    return [int(line) for line in said.split()]


def opened(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Connected, once the process that copies for a publisher that was killed has come to its own end."""
    for _ in range(300):
        try:
            return duckdb.connect(str(path), read_only=read_only)
        except duckdb.IOException as error:
            if "Conflicting lock" not in str(error):
                raise
            time.sleep(0.1)
    raise AssertionError(f"{path} was locked for 30 s after its writer was killed")


def check_whole(home: Path, committed: list[int]) -> None:
    """Both files open, every transaction is there whole or not at all, and all that was committed is there."""
    for file in (WRITER_FILE, PUBLISHED_FILE):
        con = opened(home / file, read_only=file == PUBLISHED_FILE)
        sizes = con.execute("SELECT count(*) FROM estimates WHERE study = 'kill' GROUP BY seed").fetchall()
        seeds = {r[0] for r in con.execute("SELECT DISTINCT seed FROM estimates WHERE study = 'kill'").fetchall()}
        con.close()
        assert {size for (size,) in sizes} <= {12}
        if file == WRITER_FILE:
            assert set(committed) <= seeds


@pytest.mark.parametrize("n_kills", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_kill_9_at_any_moment(home: Path, make, n_kills: int) -> None:
    committed, dice = [], random.Random(5)
    for number in range(n_kills):
        committed += killed_once(home, make.corpus().corpus_id, 1000 * number, dice.uniform(0.0, 1.2))
        check_whole(home, committed)
    Warehouse(home).publish()
    check_whole(home, committed)


def test_a_kill_while_the_warehouse_is_being_made(tmp_path: Path) -> None:
    script = "from warehouse import Warehouse\nimport sys\nprint('begun', flush=True)\nWarehouse(sys.argv[1]).publish()"
    home = tmp_path / "home"
    process = subprocess.Popen([sys.executable, "-c", script, str(home)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    time.sleep(0.1)
    process.kill()
    process.wait()
    assert write(home)
    Warehouse(home).publish()
    assert queries.run(home, "SELECT run_id FROM runs")["run_id"].to_list() == ["new"]


def test_a_kill_between_commit_and_checkpoint_loses_nothing(home: Path) -> None:
    """The log of a committed transaction is replayed by the next writer, and is in what is published."""
    script = """
        import os, sys
        import duckdb
        con = duckdb.connect(sys.argv[1])
        con.execute("INSERT INTO runs VALUES ('log', 's', NULL, 'running', now()::TIMESTAMP, NULL, NULL, '{}')")
        os.kill(os.getpid(), 9)
    """
    assert child(script, str(home / WRITER_FILE)).returncode == -9
    assert (home / f"{WRITER_FILE}.wal").exists()
    Warehouse(home).publish()
    assert queries.run(home, "SELECT run_id FROM runs WHERE run_id = 'log'").height == 1
    assert not (home / f"{WRITER_FILE}.wal").exists()


def test_a_transaction_that_fails_midway_leaves_nothing(home: Path, table_counts, monkeypatch) -> None:
    from warehouse import writer

    def fail(*_: object) -> None:
        raise RuntimeError("midway")

    before = table_counts(home)
    monkeypatch.setattr(writer, "update_latest", fail)
    with pytest.raises(RuntimeError, match="midway"):
        corpus = queries.run(home, "SELECT corpus_id FROM corpora WHERE name = 'lac'")["corpus_id"][0]
        from infosedd.results import Estimate

        answer = Estimate("entropy", 1.0, 0.1, 0.5, 1.5, 10, x="bin")
        Warehouse(home).record_estimates("run-1", "lac-promoter", corpus, "model-a", 0, [answer])
    assert table_counts(home) == before


def test_a_copy_of_a_damaged_file_is_never_published(home: Path, monkeypatch) -> None:
    from warehouse import publish

    def damaged(source: Path, target: Path) -> bool:
        shutil.copyfile(source, target)
        os.truncate(target, 5000)
        return True

    before = (home / PUBLISHED_FILE).read_bytes()
    monkeypatch.setattr(publish, "copy_checkpointed", damaged)
    with pytest.raises(SurroundingsError, match="damaged"):
        Warehouse(home).publish()
    assert (home / PUBLISHED_FILE).read_bytes() == before


def test_a_lack_of_memory_is_no_fault_of_the_file() -> None:
    con = duckdb.connect(config={"memory_limit": "20MB", "temp_directory": "", "max_temp_directory_size": "0KiB"})
    with pytest.raises(duckdb.OutOfMemoryException) as caught:
        con.execute("SELECT list(range || 'x') FROM range(10000000)")
    said = str(surroundings_error(caught.value, Path("warehouse.duckdb")))
    assert "the memory is not enough" in said and "fewer rows or columns" in said and "move" not in said
