"""An estimate: a number of nats with its error bar, its checks, and where it came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import log
from typing import Literal

import numpy as np

Mode = Literal["whole", "keep", "remove"]
EstimatorName = Literal["loss_difference", "dynkin", "plug_in", "miller_madow", "per_position_plug_in"]
MEASURES = (
    "mutual_information",
    "conditional_mutual_information",
    "entropy",
    "kl_divergence",
    "jensen_shannon_divergence",
    "total_correlation",
    "dual_total_correlation",
    "o_information",
)
NATS_PER_BIT = log(2.0)
NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class Estimate:
    """One information measure, in nats.

    ``std_error`` covers sampling (clustered by group) and, where several seeds were trained, their
    spread. ``others`` holds the same quantity by the other estimators and the classical baselines.
    ``pointwise`` has one value for each evaluated sequence, in row order; its (weighted) mean is
    ``nats``, and ``rows`` names the corpus rows they belong to.
    """

    measure: str
    nats: float
    std_error: float
    ci_low: float
    ci_high: float
    n_samples: int
    estimator: str = "loss_difference"
    mode: str = "whole"
    x: str = ""
    y: str = ""
    z: str = ""
    terminal_kl: float = 0.0
    warnings: tuple[str, ...] = ()
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    pointwise: np.ndarray | None = field(default=None, repr=False, compare=False)
    rows: np.ndarray | None = field(default=None, repr=False, compare=False)
    others: tuple["Estimate", ...] = field(default=(), repr=False, compare=False)

    @property
    def bits(self) -> float:
        return self.nats / NATS_PER_BIT

    def other(self, estimator: str) -> "Estimate | None":
        """The same quantity by another estimator, such as ``dynkin`` or ``plug_in``."""
        return next((e for e in self.others if e.estimator == estimator), None)

    def with_warning(self, *texts: str) -> "Estimate":
        return replace(self, warnings=(*self.warnings, *(t for t in texts if t not in self.warnings)))

    def plot(self, ax=None):
        """Draw the estimate, its interval and the baselines beside it; returns the matplotlib axes."""
        from infosedd.plotting import plot_estimate

        return plot_estimate(self, ax)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from infosedd.display import estimate_html

        return estimate_html(self)

    def __str__(self) -> str:
        return f"{self.nats:.4g} ± {self.std_error:.2g} nats ({self.bits:.4g} bits), n = {self.n_samples:,}"
