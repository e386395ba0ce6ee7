"""Tasks whose answer is known: estimate against truth, beside what a user would pick instead.

    python -m benchmarks.truths [TASK ...] [--seeds 3]

Every estimate is cross-fitted over all n. One table: task, truth, the mean estimate over the seeds, the mean
error, the spread over seeds, the mean standard error and its floor (what an oracle that knows the densities
would have, where one exists), seconds a fold, peak memory, and beside it `dynkin`, the joint plug-in and the sum
of per-position plug-ins. A fixed matrix product is timed before and after, since machines differ and are noisy.

A line is met when the mean error over the seeds is within the target, each seed's within the target and two
standard errors, and the standard error at most half the target or the oracle's.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from benchmarks import oracles
from connectors import ising
from connectors.ising_exact import kl_between_temperatures
from connectors.synthetic import draw
from infosedd.corpus import Corpus
from infosedd.divergence import kl_divergence
from infosedd.model import ScoreModel
from infosedd.results import Estimate

FOLDS = 5


@dataclass(frozen=True)
class Answer:
    """One estimate, what it should be, and the standard error of an oracle on the same rows."""

    estimate: Estimate
    truth: float
    floor: float | None


@dataclass(frozen=True)
class Line:
    """One row of the table: a name, and how near the answer has to come."""

    name: str
    target_nats: float


@dataclass(frozen=True)
class Question(Line):
    """How to get the answer from a model."""

    measure: str
    ask: Callable[[ScoreModel], Estimate]
    oracle: Callable[[int], oracles.Oracle] | None = None


@dataclass(frozen=True)
class Task:
    """Data for a seed, with its truths by measure; the questions are asked of one model."""

    draw: Callable[[int], tuple[Corpus, dict[str, float]]]
    queries: tuple[dict, ...]
    questions: tuple[Question, ...]
    target_seconds: float
    """Longest time of one fold, fit and estimate."""

    def answers(self, seed: int) -> list[Answer]:
        corpus, truths = self.draw(seed)
        model = ScoreModel.fit(corpus, {"queries": self.queries, "folds": FOLDS}, seed=seed)
        out = []
        for question in self.questions:
            floor = None
            if question.oracle is not None:
                values = question.oracle(seed)(corpus)
                floor = float(values.std() / np.sqrt(len(values)))
            out.append(Answer(question.ask(model), truths[question.measure], floor))
        return out


@dataclass(frozen=True)
class Divergence:
    """KL between two temperatures of one torus: a model each, the rows of the first."""

    temperatures: tuple[float, float]
    questions: tuple[Line]
    target_seconds: float = 60
    length: int = 4
    n: int = 100_000

    def answers(self, seed: int) -> list[Answer]:
        here, there = self.temperatures
        truth = kl_between_temperatures(self.length, self.length, here, there)
        assert truth is not None
        corpora = [
            ising.read([], {"length": self.length, "temperature": t, "n": self.n, "seed": 2 * seed + i}, f"T = {t}")
            for i, t in enumerate(self.temperatures)
        ]
        config = {"queries": [{"noised": "spins"}], "folds": FOLDS}
        p, q = (ScoreModel.fit(corpus, config, seed=seed) for corpus in corpora)
        of_p, of_q = (oracles.ising_entropy(self.length, t)(corpora[0]) for t in self.temperatures)
        return [Answer(kl_divergence(p, q), truth, float((of_q - of_p).std() / np.sqrt(self.n)))]


PAIR = ({"noised": "y", "clean": "x"}, {"noised": "y"})
SERIES = ({"noised": "y", "clean": "x+z"}, {"noised": "y", "clean": "z"})


def synthetic(task: str, **options) -> Callable[[int], tuple[Corpus, dict[str, float]]]:
    def drawn(seed: int) -> tuple[Corpus, dict[str, float]]:
        corpus, truths = draw(task, seed=seed, **options)
        return corpus, {truth.measure: truth.nats for truth in reversed(truths)}

    return drawn


def pair(
    name: str, target: float, seconds: float, oracle: Callable[[int], oracles.Oracle], task: str, **options
) -> Task:
    ask = Question(name, target, "mutual_information", lambda m: m.mutual_information("x", "y"), oracle)
    return Task(synthetic(task, **options), PAIR, (ask,), seconds)


def letters(name: str, target: float, seconds: float, length: int, nats: float) -> Task:
    """The reference method's own grid: ``length`` pairs of letters of ``nats`` each."""
    options = {"n": 100_000, "length": length, "nats": nats}
    return pair(name, target, seconds, lambda seed: oracles.pairs(seed, **options), "paired_letters", **options)


def halves(block: str, length: int) -> tuple[dict, ...]:
    first, second = f"{block}[0:{length // 2}]", f"{block}[{length // 2}:{length}]"
    return ({"noised": block}, {"noised": second, "clean": first}, {"noised": second})


def between_halves(block: str, length: int) -> Callable[[ScoreModel], Estimate]:
    return lambda m: m.mutual_information(f"{block}[0:{length // 2}]", f"{block}[{length // 2}:{length}]")


def torus(temperature: float, entropy_target: float, mi_target: float) -> Task:
    options = {"length": 8, "temperature": temperature, "n": 100_000}

    def drawn(seed: int) -> tuple[Corpus, dict[str, float]]:
        asked = {**options, "seed": seed}
        return ising.read([], asked, "ising"), {t.measure: t.nats for t in ising.truths(asked)}

    def oracle(_: int) -> oracles.Oracle:
        return oracles.ising_entropy(8, temperature)

    name = f"Ising torus L=8, T={temperature}"
    return Task(
        drawn,
        halves("spins", 64),
        (
            Question(f"{name}: H", entropy_target, "entropy", lambda m: m.entropy("spins"), oracle),
            Question(f"{name}: I of halves", mi_target, "mutual_information", between_halves("spins", 64)),
        ),
        300,
    )


def tasks() -> dict[str, Task | Divergence]:
    """Every task by a short key, with the targets of the accuracy section of the README."""

    def fixed(oracle: oracles.Oracle) -> Callable[[int], oracles.Oracle]:
        return lambda _: oracle

    series = Question(
        "chain X-Z-Y, L=4: I(X;Y|Z)",
        0.02,
        "conditional_mutual_information",
        lambda m: m.mutual_information("x", "y", "z"),
        fixed(oracles.zero),
    )
    spins = (
        Question("spin chain L=32: H", 0.199, "entropy", lambda m: m.entropy("spins"), _spins("entropy")),
        Question(
            "spin chain L=32: I of halves",
            0.01,
            "mutual_information",
            between_halves("spins", 32),
            _spins("mutual_information"),
        ),
        Question(
            "spin chain L=32: TC",
            0.0688,
            "total_correlation",
            lambda m: m.total_correlation("spins"),
            _spins("total_correlation"),
        ),
    )
    none = fixed(oracles.zero)
    n = 20_000
    return {
        "pairs10": letters("paired letters, L=10", 0.1, 15, 10, 1.0),
        "pairs50": letters("paired letters, L=50", 0.5, 60, 50, 1.0),
        "pairs256": letters("paired letters, L=256", 5.12, 600, 256, 1.0),
        "weak0.5": letters("paired letters, 0.5 nats in all", 0.02, 20, 10, 0.05),
        "weak1": letters("paired letters, 1 nat in all", 0.02, 20, 10, 0.1),
        "weak2": letters("paired letters, 2 nats in all", 0.02, 20, 10, 0.2),
        "channel": pair(
            *("symmetric channel, L=8", 0.0761, 15, fixed(oracles.channel(0.1)), "symmetric_channel"),
            **{"n": n, "length": 8, "error": 0.1},
        ),
        "erasure": pair(
            *("erasure channel, L=8", 0.0776, 20, fixed(oracles.erasure()), "erasure_channel"),
            **{"n": n, "length": 8, "erased": 0.3},
        ),
        "sticky": pair(
            "sticky Markov chain, L=8", 0.0576, 45, fixed(oracles.sticky()), "sticky_channel", n=n, length=8
        ),
        "rewired": pair(
            *("rewired pairs, rho=0.5", 0.097, 60, fixed(oracles.rewired(0.5)), "rewired_pairs"),
            **{"n": n, "length": 8, "rho": 0.5},
        ),
        "parity": pair("parity, L=4", 0.0139, 60, fixed(oracles.parity()), "parity", n=n, length=4),
        "series": Task(synthetic("series_channels", n=n, length=4), SERIES, (series,), 45),
        "none2000": pair("independent, L=8, n=2,000", 0.02, 30, none, "independent", n=2_000, length=8),
        "none20000": pair("independent, L=8, n=20,000", 0.02, 30, none, "independent", n=n, length=8),
        "spins": Task(synthetic("spin_chain", n=n, length=32), halves("spins", 32), spins, 60),
        "ising2.269": torus(2.269, 0.180, 0.0347),
        "ising3.0": torus(3.0, 0.343, 0.0303),
        "kl2.5": Divergence((2.5, 3.0), (Line("KL, torus L=4, T=2.5 to 3.0", 0.00573),)),
        "kl2.269": Divergence((2.269, 3.0), (Line("KL, torus L=4, T=2.269 to 3.0", 0.01346),)),
    }


def _spins(measure: str) -> Callable[[int], oracles.Oracle]:
    return lambda _: oracles.spin_chain(measure)


def run(task: Task | Divergence, seeds: Sequence[int]) -> tuple[list[list[Answer]], float]:
    """Answers by question and seed, and the seconds a fold: the median over seeds, divided by the folds."""
    by_seed, seconds = [], []
    for seed in seeds:
        start = time.perf_counter()
        by_seed.append(task.answers(seed))
        seconds.append((time.perf_counter() - start) / FOLDS)
        for line, answer in zip(task.questions, by_seed[-1], strict=True):
            print(f"{line.name}, seed {seed}: {answer.estimate}, truth {answer.truth:.4f}", file=sys.stderr)
    return [list(answers) for answers in zip(*by_seed, strict=True)], float(np.median(seconds))


HEADER = (
    *("task", "truth", "estimate", "mean error", "spread", "std error", "oracle's", "target", "met"),
    *("s a fold", "within", "MiB", "dynkin", "plug-in", "per position"),
)


def row(line: Line, answers: Sequence[Answer], seconds: float, target_seconds: float) -> list[str]:
    estimates, truths = [a.estimate for a in answers], np.array([a.truth for a in answers])
    values, std_errors = np.array([e.nats for e in estimates]), np.array([e.std_error for e in estimates])
    errors, target = values - truths, line.target_nats
    floors = [a.floor for a in answers if a.floor is not None]
    floor = float(np.mean(floors)) if floors else None
    near = abs(errors.mean()) <= target and bool(np.all(abs(errors) <= target + 2 * std_errors))
    sharp = std_errors.mean() <= max(target / 2, 1.05 * (floor or 0.0))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    beside = [_mean_of(estimates, name) for name in ("dynkin", "plug_in", "per_position_plug_in")]
    return [
        *(line.name, f"{truths.mean():.4f}", f"{values.mean():.4f}", f"{errors.mean():+.4f}"),
        *(f"{values.std(ddof=1):.4f}" if len(values) > 1 else "-", f"{std_errors.mean():.4f}"),
        *("-" if floor is None else f"{floor:.4f}", f"{target:.4g}", "yes" if near and sharp else "NO"),
        *(f"{seconds:.0f}", f"{target_seconds:.0f}", f"{peak:.0f}", *beside),
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
    parser = argparse.ArgumentParser(description="Tasks whose answer is known: estimate against truth.")
    everything = tasks()
    parser.add_argument(
        "tasks", nargs="*", choices=[[], *everything], help="keys of the tasks; default: all but pairs256"
    )
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    print(f"a product of two 1024 x 1024 matrices: {gflops():.0f} GFLOP/s, {torch.get_num_threads()} threads\n")
    print("| " + " | ".join(HEADER) + " |")
    print("|" + "---|" * len(HEADER), flush=True)
    for name in asked.tasks or [n for n in everything if n != "pairs256"]:
        task = everything[name]
        answers, seconds = run(task, range(asked.seeds))
        for line, of_line in zip(task.questions, answers, strict=True):
            print("| " + " | ".join(row(line, of_line, seconds, task.target_seconds)) + " |", flush=True)
    print(f"\na product of two 1024 x 1024 matrices at the end: {gflops():.0f} GFLOP/s")


if __name__ == "__main__":
    main()
