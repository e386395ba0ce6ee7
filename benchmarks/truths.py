"""Tasks whose answer is known: estimate against truth, beside what a user would pick instead.

    python -m benchmarks.truths [TASK ...] [--seeds 3] [--markdown]

Every estimate is cross-fitted over all n. One table: task, truth, the mean estimate over the seeds, the mean
error, the spread over seeds, the mean standard error and its floor (what an oracle that knows the densities
would have, where one exists), seconds a fit, peak memory, and beside it `dynkin`, the joint plug-in and the sum of
per-position plug-ins. A fixed matrix product is timed first, since machines differ and are noisy.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from connectors.synthetic import draw
from infosedd.corpus import Corpus
from infosedd.model import ScoreModel
from infosedd.results import Estimate


@dataclass(frozen=True)
class Line:
    """One line of the table: a task, what is asked of it, and how near the answer has to come."""

    name: str
    draw: Callable[[int], tuple[Corpus, float]]
    queries: tuple[dict, ...]
    ask: Callable[[ScoreModel], Estimate]
    target_nats: float
    """Largest mean error, in nats."""
    target_seconds: float
    """Longest time of one fold, fit and estimate."""


@dataclass(frozen=True)
class Result:
    estimates: tuple[Estimate, ...]
    truths: tuple[float, ...]
    seconds_a_fold: float
    peak_mib: float


PAIR = ({"noised": "y", "clean": "x"}, {"noised": "y"})
SERIES = ({"noised": "y", "clean": "x+z"}, {"noised": "y", "clean": "z"})


def synthetic(task: str, measure: str = "mutual_information", **options) -> Callable[[int], tuple[Corpus, float]]:
    def drawn(seed: int) -> tuple[Corpus, float]:
        corpus, truths = draw(task, seed=seed, **options)
        return corpus, next(t.nats for t in truths if t.measure == measure)

    return drawn


def pair_line(name: str, target: float, seconds: float, task: str, **options) -> Line:
    return Line(name, synthetic(task, **options), PAIR, lambda m: m.mutual_information("x", "y"), target, seconds)


def spin_line(measure: str, target: float, ask: Callable[[ScoreModel], Estimate]) -> Line:
    queries = ({"noised": "spins"}, {"noised": "spins[16:32]", "clean": "spins[0:16]"}, {"noised": "spins[16:32]"})
    drawn = synthetic("spin_chain", measure, n=20_000, length=32)
    return Line(f"spin chain L=32: {measure}", drawn, queries, ask, target, 60)


def lines() -> dict[str, Line]:
    """Every line by a short key, with the targets of the accuracy section of the README."""
    series = Line(
        "chain X-Z-Y, L=4: I(X;Y|Z)",
        synthetic("series_channels", "conditional_mutual_information", n=20_000, length=4),
        SERIES,
        lambda m: m.mutual_information("x", "y", "z"),
        0.02,
        45,
    )
    return {
        "pairs10": pair_line("paired letters L=10", 0.1, 15, "paired_letters", n=100_000, length=10),
        "pairs50": pair_line("paired letters L=50", 0.5, 60, "paired_letters", n=100_000, length=50),
        "pairs256": pair_line("paired letters L=256", 5.12, 600, "paired_letters", n=100_000, length=256),
        "weak0.5": pair_line("paired letters, 0.5 nats", 0.02, 20, "paired_letters", n=100_000, length=10, nats=0.05),
        "weak1": pair_line("paired letters, 1 nat", 0.02, 20, "paired_letters", n=100_000, length=10, nats=0.1),
        "weak2": pair_line("paired letters, 2 nats", 0.02, 20, "paired_letters", n=100_000, length=10, nats=0.2),
        "channel": pair_line("symmetric channel L=8", 0.0761, 15, "symmetric_channel", n=20_000, length=8, error=0.1),
        "erasure": pair_line("erasure channel L=8", 0.0776, 20, "erasure_channel", n=20_000, length=8, erased=0.3),
        "sticky": pair_line("sticky Markov chain L=8", 0.0576, 45, "sticky_channel", n=20_000, length=8),
        "rewired": pair_line("rewired pairs rho=0.5", 0.097, 60, "rewired_pairs", n=20_000, length=8, rho=0.5),
        "parity": pair_line("parity L=4", 0.0139, 60, "parity", n=20_000, length=4),
        "series": series,
        "none2000": pair_line("independent L=8, n=2,000", 0.02, 30, "independent", n=2_000, length=8),
        "none20000": pair_line("independent L=8, n=20,000", 0.02, 30, "independent", n=20_000, length=8),
        "spins-h": spin_line("entropy", 0.199, lambda m: m.entropy("spins")),
        "spins-i": spin_line("mutual_information", 0.01, lambda m: m.mutual_information("spins[0:16]", "spins[16:32]")),
        "spins-tc": spin_line("total_correlation", 0.0688, lambda m: m.total_correlation("spins")),
    }


def run(line: Line, seeds: Sequence[int], *, folds: int = 5) -> Result:
    """Fit and estimate once a seed; the time is the median over seeds, divided by the folds."""
    estimates, truths, seconds = [], [], []
    for seed in seeds:
        corpus, truth = line.draw(seed)
        start = time.perf_counter()
        model = ScoreModel.fit(corpus, {"queries": line.queries, "folds": folds}, seed=seed)
        estimates.append(line.ask(model))
        seconds.append((time.perf_counter() - start) / folds)
        truths.append(truth)
        print(f"{line.name}, seed {seed}: {estimates[-1]} of {truth:.4f}", file=sys.stderr, flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Result(tuple(estimates), tuple(truths), float(np.median(seconds)), peak)


HEADER = (
    *("task", "truth", "estimate", "mean error", "spread", "std error", "target", "met"),
    *("s a fold", "within", "MiB", "dynkin", "plug-in", "per position"),
)


def row(line: Line, result: Result) -> list[str]:
    values = np.array([e.nats for e in result.estimates])
    errors = values - np.array(result.truths)
    std_errors = np.array([e.std_error for e in result.estimates])
    met = abs(errors.mean()) <= line.target_nats and bool(np.all(abs(errors) <= line.target_nats + 2 * std_errors))
    beside = [_mean_of(result.estimates, name) for name in ("dynkin", "plug_in", "per_position_plug_in")]
    spread = f"{values.std(ddof=1):.4f}" if len(values) > 1 else "-"
    return [
        *(line.name, f"{np.mean(result.truths):.4f}", f"{values.mean():.4f}", f"{errors.mean():+.4f}", spread),
        *(f"{std_errors.mean():.4f}", f"{line.target_nats:.4g}", "yes" if met else "NO"),
        *(f"{result.seconds_a_fold:.0f}", f"{line.target_seconds:.0f}", f"{result.peak_mib:.0f}", *beside),
    ]


def _mean_of(estimates: Sequence[Estimate], estimator: str) -> str:
    found = [o.nats for e in estimates if (o := e.other(estimator)) is not None]
    return f"{np.mean(found):.3f}" if found else "-"


def gflops() -> float:
    """Speed of a fixed matrix product, in GFLOP/s."""
    a = torch.rand(1024, 1024)
    a @ a
    start = time.perf_counter()
    for _ in range(20):
        a @ a
    return 20 * 2 * 1024**3 / (time.perf_counter() - start) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    everything = lines()
    parser.add_argument(
        "tasks", nargs="*", choices=[[], *everything], help="keys of the lines; default: all but pairs256"
    )
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    torch.rand(1)
    print(f"a product of two 1024 x 1024 matrices: {gflops():.0f} GFLOP/s, {torch.get_num_threads()} threads\n")
    print("| " + " | ".join(HEADER) + " |")
    print("|" + "---|" * len(HEADER), flush=True)
    for name in asked.tasks or [n for n in everything if n != "pairs256"]:
        print("| " + " | ".join(row(everything[name], run(everything[name], range(asked.seeds)))) + " |", flush=True)
    print(f"\na product of two 1024 x 1024 matrices at the end: {gflops():.0f} GFLOP/s")


if __name__ == "__main__":
    main()
