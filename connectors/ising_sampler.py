"""Swendsen-Wang draws of the Ising model, over many independent chains at once.

Equal neighbours are joined with probability 1 - exp(-2/T); every cluster then takes a random sign
(R. H. Swendsen, J.-S. Wang, Phys. Rev. Lett. 58, 86, 1987). Chains start half ordered, half random.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from connectors.ising_exact import Boundary

_PILOT = 32
_BURN_IN_TIMES = 20
_THIN_TIMES = 3
_MAX_PILOT = 1 << 16


@dataclass(frozen=True)
class Run:
    """Draws (n, spins) with the chain of each, and how they were spaced."""

    spins: np.ndarray
    chains: np.ndarray
    burn_in: int
    thin: int
    autocorrelation_time: float


class ClusterSampler:
    """State of ``chains`` lattices; ``sweep`` updates every cluster of each."""

    def __init__(
        self, rows: int, width: int, temperature: float, boundary: Boundary, chains: int, rng: np.random.Generator
    ) -> None:
        self.rng = rng
        self.probability = -np.expm1(-2 / temperature)
        self.spins = rng.integers(2, size=(chains, rows * width), dtype=np.uint8)
        self.spins[::2] = self.spins[::2, :1]
        self.source, self.target = neighbours(rows, width, boundary)
        self._offsets = np.arange(chains, dtype=np.int32)[:, None] * np.int32(rows * width)

    def sweep(self) -> None:
        chains, sites = self.spins.shape
        joined = self.spins[:, self.source] == self.spins[:, self.target]
        joined &= self.rng.random(joined.shape, np.float32) < self.probability
        targets = (self.target.astype(np.int32) + self._offsets)[joined]
        counts = np.zeros(chains * sites + 1, np.int32)
        sources = (self.source.astype(np.int32) + self._offsets)[joined]
        counts[1:] = np.cumsum(np.bincount(sources, minlength=chains * sites))
        graph = csr_array((np.ones(len(targets), np.float64), targets, counts), shape=(chains * sites,) * 2)
        n_clusters, cluster = connected_components(graph, directed=False)
        signs = self.rng.integers(2, size=n_clusters, dtype=np.uint8)
        self.spins = signs[cluster].reshape(chains, sites)

    def energy(self) -> np.ndarray:
        """(chains,) energies."""
        unequal = (self.spins[:, self.source] != self.spins[:, self.target]).sum(1)
        return 2.0 * unequal - len(self.source)


def neighbours(rows: int, width: int, boundary: Boundary) -> tuple[np.ndarray, np.ndarray]:
    """The two ends of every bond, in order of the first."""
    site = np.arange(rows * width).reshape(rows, width)
    pairs = []
    if width > 1:
        right = np.roll(site, -1, axis=1)
        keep = width if boundary != "open" else width - 1
        pairs.append(np.stack([site[:, :keep].ravel(), right[:, :keep].ravel()]))
    if rows > 1:
        below = np.roll(site, -1, axis=0)
        keep = rows if boundary == "torus" else rows - 1
        pairs.append(np.stack([site[:keep].ravel(), below[:keep].ravel()]))
    ends = np.concatenate(pairs, axis=1)
    order = np.argsort(ends[0], kind="stable")
    return ends[0, order], ends[1, order]


def integrated_time(series: np.ndarray) -> float:
    """Integrated autocorrelation time of a (sweeps, chains) series, 1/2 + SUM of correlations.

    The sum stops at the first lag past six times itself (Sokal's window); a constant series has 1/2.
    """
    centred = series - series.mean()
    variance = float((centred**2).mean())
    if variance == 0:
        return 0.5
    time = 0.5
    for lag in range(1, len(series)):
        time += float((centred[:-lag] * centred[lag:]).mean()) / variance
        if lag >= 6 * time:
            break
    return max(time, 0.5)


def draw(
    n: int,
    sampler: ClusterSampler,
    burn_in: int | None = None,
    thin: int | None = None,
) -> Run:
    """n draws, evenly over the chains; burn-in and thinning follow the autocorrelation time where not given."""
    done, time = 0, float("nan")
    if burn_in is None or thin is None:
        done, time = _pilot(sampler)
    for _ in range(max(0, (burn_in or 0) - done)):
        sampler.sweep()
    spacing = thin or max(1, int(np.ceil(_THIN_TIMES * time)))
    chains, sites = sampler.spins.shape
    rounds = -(-n // chains)
    spins = np.empty((rounds, chains, sites), np.uint8)
    for number in range(rounds):
        for _ in range(spacing):
            sampler.sweep()
        spins[number] = sampler.spins
    chain = np.tile(np.arange(chains), rounds)
    return Run(spins.reshape(-1, sites)[:n], chain[:n], max(done, burn_in or 0), spacing, time)


def _pilot(sampler: ClusterSampler) -> tuple[int, float]:
    """Sweep until the second half is long against the autocorrelation time of energy and magnetisation."""
    energies, magnetisations = [], []
    length = _PILOT
    while True:
        while len(energies) < length:
            sampler.sweep()
            energies.append(sampler.energy())
            magnetisations.append(np.abs(sampler.spins.mean(1) - 0.5))
        half = length // 2
        time = max(integrated_time(np.array(series)[half:]) for series in (energies, magnetisations))
        if half >= _BURN_IN_TIMES * time or length >= _MAX_PILOT:
            return length, time
        length *= 2
