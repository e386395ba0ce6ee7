"""Benchmarks of the connectors: time and peak memory beside the library that merely reads the file.

python benchmarks/ingest.py                 every case, median of three, as a table
python benchmarks/ingest.py --scale 0.1     a tenth of the rows
python benchmarks/ingest.py fasta ising     some cases

Each run is a fresh process, so that peak memory is its own; times leave out imports.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

REPEATS = 3
LETTERS = np.frombuffer(b"ACGT", np.uint8)
# case: rows at full size, what it is compared with, largest ratio of times (or smallest rate)
CASES = {
    "fasta": (1_000_000, "SimpleFastaParser reads it", 5.0),
    "fasta.gz": (1_000_000, "SimpleFastaParser reads it", 3.0),
    "csv": (10_000_000, "Polars scans it", 3.0),
    "ising": (256, "effective samples a second", 3000.0),
}


def write_fasta(path: Path, rows: int) -> None:
    """Records of 251 letters in lines of 60."""
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        for start in range(0, rows, 10_000):
            block = LETTERS[rng.integers(4, size=(min(10_000, rows - start), 251), dtype=np.uint8)]
            for number, row in enumerate(block, start):
                letters = row.tobytes()
                lines = b"\n".join(letters[i : i + 60] for i in range(0, 251, 60))
                file.write(b">seq%d some words\n%s\n" % (number, lines))


def write_gzip(path: Path, rows: int) -> None:
    import gzip
    import shutil

    plain = path.with_suffix("")
    if not plain.exists():
        write_fasta(plain, rows)
    with plain.open("rb") as source, gzip.open(path, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target, 1 << 20)


def write_csv(path: Path, rows: int) -> None:
    """Two categorical columns of 50 values."""
    import polars as pl

    rng = np.random.default_rng(0)
    x = rng.integers(50, size=rows)
    columns = {"x": x, "y": (x + rng.integers(3, size=rows)) % 50}
    frame = pl.DataFrame(columns).select(pl.format("k{}", "x").alias("x"), pl.format("colour{}", "y").alias("y"))
    frame.write_csv(path)


WRITERS: dict[str, Callable[[Path, int], None]] = {"fasta": write_fasta, "fasta.gz": write_gzip, "csv": write_csv}


def read_baseline(case: str, path: Path) -> None:
    """What the other library takes to read the file and no more."""
    if case == "csv":
        import polars as pl

        pl.scan_csv(path).select("x", "y").collect()
        return
    import gzip

    from Bio.SeqIO.FastaIO import SimpleFastaParser

    with gzip.open(path, "rt") if case == "fasta.gz" else path.open() as file:
        for _ in SimpleFastaParser(file):
            pass


def read_ours(case: str, path: Path) -> None:
    import connectors

    options = {"categories": {"x": "x", "y": "y"}} if case == "csv" else {}
    connectors.ingest("table" if case == "csv" else "fasta", [path], options, name=case)


def effective_samples_per_second(chains: int) -> float:
    """Swendsen-Wang at L = 16, T = 2.269: draws over twice the autocorrelation time of the energy, a second."""
    from connectors.ising_sampler import ClusterSampler, integrated_time

    sampler = ClusterSampler(16, 16, 2.269, "torus", chains, np.random.default_rng(0))
    for _ in range(60):
        sampler.sweep()
    start, energies = time.perf_counter(), []
    for _ in range(200):
        sampler.sweep()
        energies.append(sampler.energy())
    seconds = time.perf_counter() - start
    return chains * 200 / (2 * integrated_time(np.array(energies))) / seconds


def run_once(what: str, case: str, path: str) -> None:
    """In a process of its own: print seconds (or a rate) and peak memory as JSON."""
    import Bio.SeqIO.FastaIO  # noqa: F401  imported before the clock starts
    import polars  # noqa: F401

    import connectors

    connectors.connectors()
    if what == "write":
        WRITERS[case](Path(path), int(os.environ["ROWS"]))
        return
    if case == "ising":
        value = effective_samples_per_second(int(path))
    else:
        start = time.perf_counter()
        (read_baseline if what == "baseline" else read_ours)(case, Path(path))
        value = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({"value": value, "peak_mib": peak / (1 << 20 if sys.platform == "darwin" else 1)}))


def measured(what: str, case: str, path: str) -> tuple[float, float]:
    """Median value and largest peak memory (MiB) of a few runs."""
    runs = []
    for _ in range(REPEATS):
        command = [sys.executable, __file__, "--once", what, case, path]
        runs.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    return median(run["value"] for run in runs), max(run["peak_mib"] for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"some of {', '.join(CASES)}; by default all")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--once", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        run_once(*options.once)
        return
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"there is no case {min(unknown)!r}; known: {', '.join(CASES)}")
    print(f"{'case':<10}{'rows':>12}{'baseline s':>12}{'ours s':>10}{'ratio':>8}{'target':>10}{'peak MiB':>10}")
    with tempfile.TemporaryDirectory(prefix="infosedd-bench-") as folder:
        for case in options.cases or CASES:
            rows, _, target = CASES[case]
            if case == "ising":
                rate, peak = measured("ours", case, str(rows))
                print(f"{case:<10}{rows:>12,}{'':>12}{rate:>8,.0f}/s{'':>8}{f'>{target:,.0f}/s':>10}{peak:>10,.0f}")
                continue
            path = Path(folder) / case.replace("fasta", "a.fa").replace("csv", "a.csv")
            # In a process of its own too: a child's peak memory starts at its parent's size.
            count = str(int(rows * options.scale))
            command = [sys.executable, __file__, "--once", "write", case, str(path)]
            subprocess.run(command, check=True, env={**os.environ, "ROWS": count})
            baseline, _ = measured("baseline", case, str(path))
            ours, peak = measured("ours", case, str(path))
            numbers = f"{int(rows * options.scale):>12,}{baseline:>12.2f}{ours:>10.2f}{ours / baseline:>8.2f}"
            print(f"{case:<10}{numbers}{f'<{target:g}':>10}{peak:>10,.0f}", flush=True)


if __name__ == "__main__":
    main()
