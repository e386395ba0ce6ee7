"""Speed of the command line and the flows, as a table: median of three, on this machine.

    python -m benchmarks.flows                  start-up, overhead, watching
    python -m benchmarks.flows study            lac-promoter from nothing and again (minutes)

Commands are timed as a user sees them, in processes of their own. A fixed matrix product is timed first,
since machines differ and are noisy.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.small import write_study, write_table

REPEATS = 3


@dataclass(frozen=True)
class Line:
    what: str
    seconds: float
    limit: str


def infosedd(*arguments: str, cwd: Path, **environment: str) -> float:
    """Seconds that one command took; a command that fails ends the benchmark."""
    start = time.perf_counter()
    result = subprocess.run(
        [sys.executable, "-m", "infosedd", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path]), **environment},
        capture_output=True,
        text=True,
    )
    if result.returncode:
        sys.exit(f"infosedd {' '.join(arguments)}: {result.stderr}")
    return time.perf_counter() - start


def repeated(run: Callable[[], float], times: int = REPEATS) -> float:
    return median(run() for _ in range(times))


def start_up(folder: Path) -> list[Line]:
    study = str(write_study(folder))

    def fresh() -> float:
        shutil.rmtree(folder / "fresh", ignore_errors=True)
        return infosedd("run", study, "--home", "fresh", cwd=folder)

    lines = [Line("infosedd --help", repeated(lambda: infosedd("--help", cwd=folder)), "1 s")]
    lines.append(Line("a small study on a fresh home", repeated(fresh), "35 s + study"))
    again = repeated(lambda: infosedd("run", study, "--home", "fresh", cwd=folder))
    lines.append(Line("the same again, everything reused", again, "20 s + report"))
    query = repeated(lambda: infosedd("sql", "select * from latest_estimates", "--home", "fresh", cwd=folder))
    return [*lines, Line("infosedd sql", query, "2 s")]


def overhead(folder: Path) -> list[Line]:
    """A flow against the plain functions, with the server up and everything to be reused."""
    from flows.home import Home
    from flows.pipeline import carry_out
    from flows.server import prepare, server_for
    from flows.study import load_study

    study, home = load_study(write_study(folder)), Home.create(folder / "overhead")
    prepare(home)
    with server_for(home):
        from flows.study_flow import study_flow

        def timed(run: Callable[[], object]) -> float:
            start = time.perf_counter()
            run()
            return time.perf_counter() - start

        timed(lambda: carry_out(study, home))
        plain = repeated(lambda: timed(lambda: carry_out(study, home)))
        study_flow(study, home.path)
        flow = repeated(lambda: timed(lambda: study_flow(study, home.path)))
    return [Line("the flow over the plain functions, server up", flow - plain, "3 s")]


def watching(folder: Path, n_files: int) -> list[Line]:
    """Many small files by one worker process and by two, start-up left out; then nothing new."""
    files = folder / "files"
    files.mkdir(exist_ok=True)
    for i in range(n_files):
        write_table(files / f"{i:03}.csv", 200, i)
    study = str(write_study(folder, name="many", windows=False))
    seconds = {}
    for workers in (1, 2):
        seconds[workers] = steady_seconds(folder, study, files, workers)
    lines = [Line(f"{n_files} small files, {w} worker process", s, "") for w, s in seconds.items()]
    lines.append(Line("  two workers are faster by", seconds[1] / seconds[2], "1.4 times"))
    for i in range(n_files, 1000):
        write_table(files / f"{i:03}.csv", 20, i)
    return [*lines, Line("1,000 unchanged files", skipped(folder, study, files), "5 s")]


def steady_seconds(folder: Path, study: str, files: Path, workers: int) -> float:
    """From the end of the first file to the end of the last, as the warehouse has it."""
    from warehouse import queries

    home = folder / f"watch-{workers}"
    infosedd(
        "watch", study, str(files), "--runner", "processes", "--workers", str(workers), "--home", str(home), cwd=folder,
        OMP_NUM_THREADS="1", INFOSEDD_THREADS="1",
    )  # fmt: skip
    rows = queries.run(home, "select epoch_ms(finished_at) as ms from runs order by 1")["ms"]
    return (rows[-1] - rows[workers - 1]) / 1000


def skipped(folder: Path, study: str, files: Path) -> float:
    """Seconds to see that none of the files is new."""
    from flows.home import Home
    from flows.ledger import Content, Ledger
    from flows.study import load_study
    from flows.watching import files_of

    ledger, loaded = Ledger.of(Home.create(folder / "skip")), load_study(study)
    for content in ledger.unseen(loaded, files_of(str(files))):
        ledger.note(loaded, Content(content.path, content.sha256), "done")
    start = time.perf_counter()
    assert ledger.unseen(loaded, files_of(str(files))) == []
    return time.perf_counter() - start


def whole_study(folder: Path) -> list[Line]:
    def fresh() -> float:
        shutil.rmtree(folder / "lac", ignore_errors=True)
        return infosedd("run", "lac-promoter", "--home", "lac", cwd=folder)

    first = repeated(fresh)
    again = repeated(lambda: infosedd("run", "lac-promoter", "--home", "lac", cwd=folder))
    return [Line("lac-promoter, fresh home", first, "180 s"), Line("lac-promoter again", again, "40 s")]


def reference() -> float:
    """Seconds of a fixed matrix product."""
    import numpy as np

    a = np.ones((1500, 1500))
    start = time.perf_counter()
    for _ in range(5):
        a = a @ a / 1500
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["start", "overhead", "watch", "study"])
    parser.add_argument("--files", type=int, default=100)
    options = parser.parse_args()
    print(f"five products of 1500 x 1500 matrices: {repeated(reference):.2f} s\n")
    print(f"{'':50} {'seconds':>8}   limit")
    with tempfile.TemporaryDirectory(prefix="infosedd-bench-") as name:
        folder = Path(name)
        parts = {
            "start": start_up, "overhead": overhead, "watch": lambda f: watching(f, options.files),
            "study": whole_study,
        }  # fmt: skip
        for what in options.what or ["start", "overhead", "watch"]:
            for line in parts[what](folder):
                print(f"{line.what:50} {line.seconds:8.2f}   {line.limit}", flush=True)


if __name__ == "__main__":
    main()
