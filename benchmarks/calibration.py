"""Do 95 % intervals hold the truth as often as they say? Small replicates of tasks whose answer is known.

    python -m benchmarks.calibration [TASK ...] [--replicates 40]

Each replicate is drawn from a seed of its own and cross-fitted over four folds with a pairwise map and a budget of
steps, so that it takes seconds. One table: task, truth, how many intervals hold it, how many an oracle's would (the
mean of the true pointwise values of the same rows, +- 1.96 of its standard errors: what the draws themselves allow),
the mean estimate, the spread of the estimates over the replicates beside the mean standard error that they state
(the two should agree), and whether that is small: under 5 % of the truth, or under 0.03 nats.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import oracles
from connectors.synthetic import draw
from infosedd.model import ScoreModel
from infosedd.results import Estimate

NETWORK = ({"kind": "pairwise", "sparsity": 3.0, "learning_rate": 0.1},)
TRAINING = {"budget": "steps", "steps": 400, "batch_size": 256}
PAIR = ({"noised": "y", "clean": "x"}, {"noised": "y"})
LABEL = ({"noised": "label", "clean": "x"},)
SMALL_SHARE, SMALL_NATS = 0.05, 0.03


@dataclass(frozen=True)
class Task:
    """What is drawn, what its true pointwise values are, what the model learns, and what is asked."""

    task: str
    options: dict
    n: int
    oracle: oracles.Oracle
    queries: tuple[dict, ...] = PAIR
    y: str = "y"


TASKS = {
    "channel": Task("symmetric_channel", {"length": 2, "error": 0.1}, n=2000, oracle=oracles.channel(0.1)),
    "erasure": Task("erasure_channel", {"length": 2, "erased": 0.3}, n=2000, oracle=oracles.erasure()),
    "independent": Task("independent", {"length": 4}, n=1000, oracle=oracles.zero),
    "label": Task(
        "label_noise", {"length": 3, "redrawn": 0.3}, n=1500, oracle=oracles.label(0.3), queries=LABEL, y="label"
    ),
}


@dataclass(frozen=True)
class Calibration:
    """The estimates of a task's replicates, an oracle's means and standard errors, and the truth, in nats."""

    estimates: tuple[Estimate, ...]
    oracle: np.ndarray
    truth: float
    seconds: float

    @property
    def held(self) -> int:
        """Number of intervals that hold the truth."""
        return sum(e.ci_low <= self.truth <= e.ci_high for e in self.estimates)

    @property
    def oracle_held(self) -> int:
        """Number of an oracle's intervals that hold the truth."""
        means, std_errors = self.oracle.T
        return int((np.abs(means - self.truth) <= 1.96 * std_errors).sum())

    @property
    def small(self) -> bool:
        """Are the standard errors no vague ones?"""
        return self.std_error < max(SMALL_SHARE * self.truth, SMALL_NATS)

    @property
    def nats(self) -> np.ndarray:
        return np.array([e.nats for e in self.estimates])

    @property
    def std_error(self) -> float:
        return float(np.mean([e.std_error for e in self.estimates]))


def calibrate(task: Task, replicates: Sequence[int], name: str = "") -> Calibration:
    """Draw, fit and ask once for each replicate; the replicate is the seed of all three."""
    config = {"folds": 4, "queries": task.queries, "network": NETWORK, "training": TRAINING}
    estimates, oracle, truth, start = [], [], 0.0, time.perf_counter()
    for replicate in replicates:
        corpus, known = draw(task.task, n=task.n, seed=replicate, **task.options)
        truth = next(t.nats for t in known if (t.measure, t.x, t.y) == ("mutual_information", "x", task.y))
        values = task.oracle(corpus)
        oracle.append((values.mean(), values.std(ddof=1) / np.sqrt(corpus.n)))
        estimates.append(ScoreModel.fit(corpus, config, seed=replicate).mutual_information("x", task.y))
        print(f"{name}, replicate {replicate}: {estimates[-1]} of {truth:.4f}", file=sys.stderr, flush=True)
    return Calibration(tuple(estimates), np.array(oracle), truth, time.perf_counter() - start)


HEADER = ("task", "n", "truth", "held", "oracle", "mean estimate", "spread", "mean std error", "small", "s each")


def row(name: str, task: Task, found: Calibration) -> list[str]:
    spread = f"{found.nats.std(ddof=1):.4f}" if len(found.estimates) > 1 else "-"
    return [
        *(name, f"{task.n:,}", f"{found.truth:.4f}", f"{found.held} of {len(found.estimates)}"),
        str(found.oracle_held),
        *(f"{found.nats.mean():.4f}", spread, f"{found.std_error:.4f}", "yes" if found.small else "NO"),
        f"{found.seconds / len(found.estimates):.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", choices=[[], *TASKS], help="default: all")
    parser.add_argument("--replicates", type=int, default=40)
    asked = parser.parse_args()
    print("| " + " | ".join(HEADER) + " |")
    print("|" + "---|" * len(HEADER), flush=True)
    held, total = 0, 0
    for name in asked.tasks or TASKS:
        found = calibrate(TASKS[name], range(asked.replicates), name)
        print("| " + " | ".join(row(name, TASKS[name], found)) + " |", flush=True)
        held, total = held + found.held, total + len(found.estimates)
    print(f"\n{held} of {total} intervals of 95 % hold the truth: {held / total:.1%}")


if __name__ == "__main__":
    main()
