"""Benchmarks of the warehouse, printed as tables.

python benchmarks/warehouse.py speed                    writing, reading, publishing; append cost over 100 runs
python benchmarks/warehouse.py concurrent --seconds 60  two writers and ten readers at once
python benchmarks/warehouse.py kills --kills 50         kill -9 while writing, migrating and publishing
python benchmarks/warehouse.py damage                   bad files, full disk, no rights, hostile names
python benchmarks/warehouse.py all
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from infosedd.blocks import Block, Vocabulary  # noqa: E402
from infosedd.corpus import Corpus  # noqa: E402
from infosedd.results import Estimate  # noqa: E402
from warehouse import Warehouse, queries, schema  # noqa: E402
from warehouse.connect import PUBLISHED_FILE, WRITER_FILE, Deadline, connect_patiently, writing  # noqa: E402
from warehouse.merging import rebuild_latest  # noqa: E402

STUDY = "benchmark"


@dataclass(frozen=True)
class Card:
    """A model's card as the warehouse reads it."""

    corpus_id: str
    model_id: str = "model"
    process: str = "absorbing"
    network: str = "pairwise"
    n_parameters: int = 1
    train_steps: int = 1
    train_seconds: float = 1.0
    held_out_loss_nats: float | None = 1.0
    weights_sha256: str = ""
    parent_model_id: str | None = None
    created_at: str = "2025-01-01T00:00:00+00:00"

    @property
    def config(self) -> dict:
        return {}


def corpus() -> Corpus:
    """A corpus of 1,000 letters a row, so that there are many windows."""
    letters = np.random.default_rng(0).integers(0, 4, (10, 1000))
    return Corpus("data", (Block("x", Vocabulary(tuple("ACGT")), 1000),), {"x": letters})


def windows(n: int, value: float) -> list[Estimate]:
    """n estimates of a profile."""
    return [
        Estimate("mutual_information", value, 0.01, value - 1, value + 1, 100, mode="keep", x=f"x[{i}]", y="y")
        for i in range(n)
    ]


def new_home(folder: Path) -> tuple[Warehouse, str]:
    """A home with a corpus and a model; returns its warehouse and the corpus's id."""
    warehouse, data = Warehouse(folder / "home"), corpus()
    warehouse.record_corpus(data)
    warehouse.record_model(Card(data.corpus_id), folder / "home" / "models" / "model")
    return warehouse, data.corpus_id


def record(warehouse: Warehouse, corpus_id: str, run_id: str, seed: int, estimates: Sequence[Estimate]) -> None:
    """One run of a study, without publishing."""
    warehouse.start_run(run_id, STUDY)
    warehouse.record_estimates(run_id, STUDY, corpus_id, "model", seed, estimates)
    warehouse.finish_run(run_id)


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def show(title: str, rows: list[dict]) -> None:
    """Print a table in full."""
    print(f"\n{title}")
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=160,
        fmt_str_lengths=60,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
    ):
        print(pl.DataFrame(rows))


def speed() -> None:
    """Seconds of each operation, the median of three, beside the target."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [*_writing_speed(Path(folder) / "small"), *_large_speed(Path(folder) / "large")]
        show("speed (median of three)", rows)
        show("append cost: seconds to record 1,000 estimates, publishing aside", _append_cost(Path(folder) / "append"))


def _writing_speed(folder: Path) -> list[dict]:
    warehouse, corpus_id = new_home(folder)
    for seed in range(3):
        warehouse.start_run(f"run-{seed}", STUDY)

    def thousand(seed: int) -> None:
        warehouse.record_estimates(f"run-{seed}", STUDY, corpus_id, "model", seed, windows(1000, 0.5))

    values = np.random.default_rng(1).normal(size=1_000_000)

    def million(seed: int) -> None:
        answer = Estimate("entropy", 0.0, 1.0, -9.0, 9.0, len(values), x="x", pointwise=values)
        warehouse.record_estimates(f"run-{seed}", STUDY, corpus_id, "model", seed, [answer])

    return [
        _row("write 1,000 estimates", [seconds_of(lambda s=s: thousand(s)) for s in range(3)], 0.2),
        _row("write 1,000,000 pointwise rows", [seconds_of(lambda s=s: million(s)) for s in range(3)], 3.0),
    ]


def _large_speed(folder: Path) -> list[dict]:
    """A million estimates (two thirds of them of an earlier run), then ten million pointwise rows."""
    warehouse, corpus_id = new_home(folder)
    home = warehouse.home
    for run in range(3):
        warehouse.start_run(f"run-{run}", STUDY)
    with writing(home) as con:
        con.execute(
            """
            INSERT INTO estimates
            SELECT 'e' || i, 'study-' || (i % 333333) // 1000, 'mutual_information', 'keep',
                   'x[' || i % 333333 % 1000 || ']', 'y', '', 'loss_difference', random(), 0.01, -1, 2, 100, ?,
                   'model', NULL, NULL, i // 333333, 0, [], MAP {'ln_n': 4.6}, now()::TIMESTAMP
            FROM range(1000000) AS t(i)
            """,
            [corpus_id],
        )
        con.execute("INSERT INTO run_estimates SELECT 'run-' || seed % 3, estimate_id, false FROM estimates")
        rebuild_latest(con)
    warehouse.publish()
    rows = [
        _row(label, [seconds_of(lambda sql=sql: queries.run(home, sql)) for _ in range(3)], target)
        for label, sql, target in (
            ("count and sum over latest_estimates, 1,000,000 estimates", "SELECT count(*), sum(value_nats) "
             "FROM latest_estimates", 0.5),
            ("all rows of latest_estimates of one study", "FROM latest_estimates WHERE study = 'study-7'", 0.5),
            ("profile of one study, 1,000,000 estimates", "FROM information_profile WHERE study = 'study-7'", 0.1),
        )
    ]  # fmt: skip
    size = (home / PUBLISHED_FILE).stat().st_size / 1e6
    rows.append(_row(f"publish {size:.0f} MB", [seconds_of(warehouse.publish) for _ in range(3)], 2.0 * size / 100))
    rows.append(_ten_million(warehouse))
    return rows


def _ten_million(warehouse: Warehouse) -> dict:
    with writing(warehouse.home) as con:
        con.execute(
            "INSERT INTO pointwise SELECT 'e' || i // 1000000, i % 1000000, 'seq' || i % 1000000, random() "
            "FROM range(10000000) AS t(i)"
        )
    warehouse.publish()
    sql = next(e.sql for e in queries.examples() if e.name == "sequences_that_carry_most")
    return _row(
        "top sequences of 10,000,000 pointwise rows",
        [seconds_of(lambda: queries.run(warehouse.home, sql)) for _ in range(3)],
        None,
    )


def _append_cost(folder: Path) -> list[dict]:
    warehouse, corpus_id = new_home(folder)
    spent = []
    for run in range(100):
        spent.append(seconds_of(lambda run=run: record(warehouse, corpus_id, f"run-{run}", run, windows(1000, 0.5))))
        warehouse.publish()
    return [
        {"runs": f"{first + 1} to {first + 20}", "median seconds": round(median(spent[first : first + 20]), 3)}
        for first in range(0, 100, 20)
    ]


def _row(label: str, spent: Sequence[float], target: float | None) -> dict:
    return {"what": label, "seconds": round(median(spent), 3), "target": None if target is None else round(target, 2)}


WRITE = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from benchmarks.warehouse import STUDY, record, windows
from warehouse import Warehouse
warehouse, corpus_id, name, first = Warehouse(Path(sys.argv[2])), sys.argv[3], sys.argv[4], int(sys.argv[5])
stop, longest, number = time.time() + float(sys.argv[6]), 0.0, 0
print("begun", flush=True)
while time.time() < stop:
    start = time.time()
    record(warehouse, corpus_id, f"{name}-{number}", first + number, windows(20, 0.5))
    print(f"committed {first + number}", flush=True)
    warehouse.publish()
    longest, number = max(longest, time.time() - start), number + 1
print(f"longest {longest:.3f}", flush=True)
"""
READ = """
import sys, time
sys.path.insert(0, sys.argv[1])
from warehouse import queries
stop, n, longest, last = time.time() + float(sys.argv[3]), 0, 0.0, 0
while time.time() < stop:
    start = time.time()
    sizes = queries.run(sys.argv[2], "SELECT count(*) AS n FROM estimates GROUP BY seed")["n"].to_list()
    longest, n = max(longest, time.time() - start), n + 1
    assert set(sizes) <= {20}, "half a transaction was published"
    assert len(sizes) >= last, "something published was lost"
    last = len(sizes)
print(n, f"{longest:.3f}")
"""


def _start(script: str, *arguments: object) -> subprocess.Popen:
    command = [sys.executable, "-c", script, str(ROOT), *(str(a) for a in arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def concurrent(seconds: float, n_writers: int = 2, n_readers: int = 10) -> None:
    """Writers that publish after each run, and readers, for a while; then what was lost."""
    with tempfile.TemporaryDirectory() as folder:
        warehouse, corpus_id = new_home(Path(folder))
        warehouse.publish()
        writers = [
            _start(WRITE, warehouse.home, corpus_id, f"writer-{i}", 1_000_000 * i, seconds) for i in range(n_writers)
        ]
        readers = [_start(READ, warehouse.home, seconds) for _ in range(n_readers)]
        committed, rows, failures = set(), [], []
        for kind, processes in (("writer", writers), ("reader", readers)):
            for number, process in enumerate(processes):
                out, err = process.communicate()
                failures += [err.strip().splitlines()[-1]] if process.returncode else []
                words = [line.split() for line in out.splitlines()]
                done = [int(w[1]) for w in words if w[0] == "committed"]
                committed.update(done)
                count, longest = (len(done), words[-1][1]) if kind == "writer" else words[-1]
                rows.append({"process": f"{kind} {number}", "done": int(count), "longest wait, s": float(longest)})
        warehouse.publish()
        stored = set(queries.run(warehouse.home, "SELECT DISTINCT seed FROM estimates")["seed"].to_list())
        show(f"{n_writers} writers (runs written and published) and {n_readers} readers (queries), {seconds:g} s", rows)
        show("losses", [{"runs committed": len(committed), "lost": len(committed - stored), "errors": len(failures)}])
        for failure in failures:
            print(failure)


MIGRATE = """
import shutil, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import duckdb
from warehouse import schema
home, migrations = Path(sys.argv[2]), Path(sys.argv[3])
print("begun", flush=True)
while True:
    con = duckdb.connect(str(home / "warehouse.writer.duckdb"))
    schema.migrate(con, home, folder=migrations)
    print("committed -1", flush=True)
    con.close()
    shutil.copyfile(home / "before.duckdb", home / "again.duckdb")
    (home / "again.duckdb").rename(home / "warehouse.writer.duckdb")
"""
PUBLISH = """
import sys
sys.path.insert(0, sys.argv[1])
from warehouse import Warehouse
print("begun", flush=True)
while True:
    Warehouse(sys.argv[2]).publish()
"""


def kills(n: int) -> None:
    """kill -9 at n random moments of each activity; after each both files must open, whole, with all committed."""
    dice, rows = random.Random(0), []
    for activity in ("writing", "migrating", "publishing"):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(_killed(activity, n, dice, Path(folder)))
    show(f"kill -9, {n} times each", rows)


def _killed(activity: str, n: int, dice: random.Random, folder: Path) -> dict:
    warehouse, corpus_id = new_home(folder)
    home, committed = warehouse.home, {0}
    record(warehouse, corpus_id, "first", 0, windows(20, 0.5))
    warehouse.publish()
    migrations = _one_more_migration(folder)
    shutil.copyfile(home / WRITER_FILE, home / "before.duckdb")
    row = {"activity": activity, "kills": n, "not opened": 0, "half transactions": 0, "committed": 0, "lost": 0}
    for number in range(n):
        process = {
            "writing": lambda number=number: _start(WRITE, home, corpus_id, f"w{number}", 1000 * (number + 1), 3600),
            "migrating": lambda: _start(MIGRATE, home, migrations),
            "publishing": lambda: _start(PUBLISH, home),
        }[activity]()
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(dice.uniform(0, 1.5))
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate()
        committed |= {int(line.split()[1]) for line in out.splitlines() if line.startswith("committed")} - {-1}
        _look(home, activity, committed, migrations, row)
    row["committed"] = len(committed)
    row["next run"] = _next_run(home, corpus_id, activity)
    return row


def _one_more_migration(folder: Path) -> Path:
    migrations = folder / "migrations"
    shutil.copytree(schema.MIGRATIONS, migrations)
    file = migrations / f"{schema.head() + 1:03}_more.sql"
    file.write_text("ALTER TABLE estimates ADD COLUMN remark VARCHAR; UPDATE estimates SET remark = 'x';")
    return migrations


def _look(home: Path, activity: str, committed: set[int], migrations: Path, row: dict) -> None:
    import duckdb

    for file in (WRITER_FILE, PUBLISHED_FILE):
        try:
            con = connect_patiently(
                home / file, Deadline.after(30)
            )  # a killed publisher's copying child ends by itself
            version = schema.version_of(con, home / file)
            sizes = dict(con.execute("SELECT seed, count(*) FROM estimates GROUP BY seed").fetchall())
            columns = {r[0] for r in con.execute("SELECT column_name FROM duckdb_columns()").fetchall()}
            con.close()
        except duckdb.Error as error:
            print(f"{activity}: {file}: {error}")
            row["not opened"] += 1
            continue
        row["half transactions"] += sum(size != 20 for size in sizes.values())
        row["half transactions"] += ("remark" in columns) != (version == len(schema.migrations(migrations)))
        if file == WRITER_FILE:
            row["lost"] = len(committed - set(sizes))


def _next_run(home: Path, corpus_id: str, activity: str) -> str:
    if activity == "migrating":  # back to the schema that this release knows
        shutil.copyfile(home / "before.duckdb", home / WRITER_FILE)
        (home / f"{WRITER_FILE}.wal").unlink(missing_ok=True)
    warehouse = Warehouse(home)
    record(warehouse, corpus_id, "next", 999_999, windows(20, 0.5))
    warehouse.publish()
    found = queries.run(home, "SELECT count(*) AS n FROM estimates WHERE seed = 999999")["n"][0]
    return "completes" if found == 20 else f"has {found} rows"


def damage() -> None:
    """Faults that must be refused in one line, and lose nothing."""
    from benchmarks.warehouse_damage import refusals

    with tempfile.TemporaryDirectory() as folder:
        warehouse, corpus_id = new_home(Path(folder))
        record(warehouse, corpus_id, "first", 0, windows(20, 0.5))
        warehouse.publish()
        for row in refusals(warehouse.home):
            print(f"{row['fault']}: lines {row['lines']}, lost {row['lost']}\n    {row['said']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "concurrent", "kills", "damage", "all"])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--kills", type=int, default=50)
    options = parser.parse_args()
    if options.what in ("speed", "all"):
        speed()
    if options.what in ("concurrent", "all"):
        concurrent(options.seconds)
    if options.what in ("kills", "all"):
        kills(options.kills)
    if options.what in ("damage", "all"):
        damage()


if __name__ == "__main__":
    main()
