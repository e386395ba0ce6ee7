"""From one value a row to an estimate: mean, standard error, interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np

from infosedd.corpus import Corpus
from infosedd.results import NORMAL_95, Estimate


@dataclass(frozen=True)
class Sample:
    """How the rows that were evaluated count: (n,) weights and groups, or none."""

    weights: np.ndarray | None = None
    weight_kind: str = "count"
    groups: np.ndarray | None = None
    noisy: bool = False
    """A row's value has noise of its own, which its counted draws share: they are then not independent."""

    @classmethod
    def of(
        cls, corpus: Corpus, rows: np.ndarray, *, noisy: bool = False, weights: np.ndarray | None = None
    ) -> "Sample":
        """Rows of a corpus; ``weights`` (n,) in place of the corpus's own where only some of a row's draws count."""
        if weights is None and corpus.weights is not None:
            weights = corpus.weights[rows]
        return cls(
            weights,
            corpus.weight_kind,
            None if corpus.groups is None else corpus.groups[rows],
            noisy,
        )

    @property
    def independent_counts(self) -> bool:
        """Are rows counted draws, each independent of the others of its row?"""
        return self.weights is not None and self.weight_kind == "count" and not self.noisy

    def n_samples(self, n_rows: int) -> int:
        """Number of draws: the sum of counts, or the number of rows."""
        return int(self.weights.sum()) if self.weights is not None and self.weight_kind == "count" else n_rows

    def n_effective(self, n_rows: int) -> float:
        """Number of equally weighted, independent units with the same standard error (Kish), by group."""
        weights = np.ones(n_rows) if self.weights is None else self.weights
        if self.groups is not None:
            weights = np.bincount(np.unique(self.groups, return_inverse=True)[1], weights)
        elif self.weights is not None and self.weight_kind == "count":
            return float(weights.sum())
        return float(weights.sum() ** 2 / (weights**2).sum())


def mean_and_error(values: np.ndarray, sample: Sample) -> tuple[float, float]:
    """Weighted mean and its standard error, clustered by group; counts are draws of their own
    unless the values are noisy.

    The error is that of a ratio: SUM_g (SUM_{i in g} w_i (v_i - mean))^2, times G / (G - 1).
    """
    weights = np.ones(len(values)) if sample.weights is None else sample.weights
    total = weights.sum()
    mean = float((weights * values).sum() / total)
    deviation = weights * (values - mean)
    if sample.groups is not None:
        deviation = np.bincount(np.unique(sample.groups, return_inverse=True)[1], deviation)
        squares, units = (deviation**2).sum(), len(deviation)
    elif sample.independent_counts and sample.weights is not None:
        squares, units = (weights * (values - mean) ** 2).sum(), total
    else:
        squares, units = (deviation**2).sum(), len(values)
    if units < 2:
        return mean, float("inf")
    return mean, float(np.sqrt(squares * units / (units - 1)) / total)


def seed_error(values: Sequence[float]) -> float:
    """Standard error, from the training seeds, of an ensemble of M members whose own values these are.

    The standard deviation of the members' values over the root of M; 0 for fewer than two.
    """
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def estimate_of(values: np.ndarray, sample: Sample, *, seed_error: float = 0.0, **facts) -> Estimate:
    """The estimate of a measure from one value a row; ``facts`` are the other fields of ``Estimate``.

    ``seed_error`` is a standard error beside that of sampling: both are in the interval.
    """
    mean, error = mean_and_error(values, sample)
    error = hypot(error, seed_error)
    return Estimate(
        nats=mean,
        std_error=error,
        ci_low=mean - NORMAL_95 * error,
        ci_high=mean + NORMAL_95 * error,
        n_samples=sample.n_samples(len(values)),
        **facts,
    )
