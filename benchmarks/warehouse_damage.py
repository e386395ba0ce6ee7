"""Faults of the warehouse that end in a refusal, printed as a table: what was said, and whether anything was lost.

python benchmarks/warehouse.py damage
"""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb

from infosedd.errors import InfoseddError
from infosedd.results import Estimate
from warehouse import Warehouse, queries
from warehouse.connect import WRITER_FILE

ROOT = Path(__file__).resolve().parents[1]
HOSTILE = "'; DROP TABLE estimates; --\n\"); DELETE FROM runs; -- $1 ? {} ' OR '1'='1"


def overwrite(file: Path) -> None:
    file.write_text("not a database\n" * 1000)


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def foreign(file: Path) -> None:
    file.unlink()
    with duckdb.connect(str(file)) as con:
        con.execute("CREATE TABLE customers (name VARCHAR)")


def newer(file: Path) -> None:
    with duckdb.connect(str(file)) as con:
        con.execute("INSERT INTO schema_version VALUES (99, '099_later.sql', now()::TIMESTAMP)")


def fill_disk(_: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))


def take_rights(file: Path) -> None:
    """Make all read-only, and become somebody who is not root, who may do anything."""
    home = file.parent
    for entry in (home, *home.iterdir()):
        entry.chmod(0o555 if entry.is_dir() else 0o444)
    for parent in home.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o055)
    if os.geteuid() == 0:
        os.seteuid(65534)


FAULTS: dict[str, Callable[[Path], None]] = {
    "a text file at the path": overwrite,
    "half a file": cut,
    "a database of something else": foreign,
    "a newer schema": newer,
    "disk full": fill_disk,
    "a read-only home": take_rights,
}


_MEET = """
import sys
from pathlib import Path
import polars
from benchmarks.warehouse_damage import met
print(met(sys.argv[1], Path(sys.argv[2])))
"""


def met(fault: str, home: Path) -> str:
    """In this process: bring a fault about, write and publish, and give the one line that is said."""
    FAULTS[fault](home / WRITER_FILE)
    try:
        warehouse = Warehouse(home, wait_seconds=1)
        warehouse.start_run("new", "s")
        warehouse.publish()
    except InfoseddError as error:
        return str(error)
    return "NOTHING"


def rows_of(home: Path) -> int:
    return queries.run(home, "SELECT (SELECT count(*) FROM estimates) + (SELECT count(*) FROM runs)").item()


def refusals(home: Path) -> list[dict]:
    """A row for each fault, each on a copy of the home and in a process of its own; then what hostile names do."""
    before, table = rows_of(home), []
    for number, fault in enumerate(FAULTS):
        copy = Path(shutil.copytree(home, home.parent / f"fault-{number}"))
        done = subprocess.run([sys.executable, "-c", _MEET, fault, copy], cwd=ROOT, capture_output=True, text=True)
        copy.chmod(0o755)
        said = done.stdout.strip().replace(str(copy), "HOME") or done.stderr.strip().splitlines()[-1]
        table.append({"fault": fault, "said": said, "lines": said.count("\n") + 1, "lost": before - rows_of(copy)})
    table.append({"fault": "hostile names", **_hostile(home)})
    return table


def _hostile(home: Path) -> dict:
    """Names that would be SQL, as study and block: stored and read as they are."""
    warehouse, before = Warehouse(home), rows_of(home)
    corpus_id = queries.run(home, "SELECT corpus_id FROM corpora").item(0, 0)
    warehouse.start_run(HOSTILE, HOSTILE)
    answer = Estimate("entropy", 1.0, 0.1, 0.5, 1.5, 10, x=HOSTILE)
    warehouse.record_estimates(HOSTILE, HOSTILE, corpus_id, None, 0, [answer])
    warehouse.publish()
    found = queries.run(home, "SELECT study, x FROM latest_estimates WHERE study = ?", [HOSTILE]).rows()
    said = "stored and read as written" if found == [(HOSTILE, HOSTILE)] else f"read as {found}"
    return {"said": said, "lines": 1, "lost": before + 2 - rows_of(home)}
