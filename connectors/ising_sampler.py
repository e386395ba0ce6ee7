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
    """State of ``chains`` lattices; ``sweep`` updates every cluster of each.

    Every site has two candidate bonds, to the right and below; where an edge is open the bond leads back
    to the site itself and is never joined.
    """

    def __init__(
        self, rows: int, width: int, temperature: float, boundary: Boundary, chains: int, rng: np.random.Generator
    ) -> None:
        self.rng = rng
        self.spins = rng.integers(2, size=(chains, rows * width), dtype=np.uint8)
        self.spins[::2] = self.spins[::2, :1]
        self.targets, self.present = candidate_bonds(rows, width, boundary)
        self._probability = np.where(self.present, -np.expm1(-2 / temperature), 0).astype(np.float32)
        offsets = np.arange(chains, dtype=np.int32)[:, None, None] * np.int32(rows * width)
        self._nodes = self.targets.astype(np.int32) + offsets
        self._ends = np.zeros(chains * rows * width + 1, np.int32)

    def sweep(self) -> None:
        chains, sites = self.spins.shape
        joined = self._unequal() == 0
        joined &= self.rng.random(joined.shape, np.float32) < self._probability
        bits = joined.view(np.uint8)
        np.cumsum((bits[:, :, 0] + bits[:, :, 1]).ravel(), dtype=np.int32, out=self._ends[1:])
        targets = self._nodes[joined]
        graph = csr_array((np.ones(len(targets)), targets, self._ends), shape=(chains * sites,) * 2)
        n_clusters, cluster = connected_components(graph, directed=False)
        signs = self.rng.integers(2, size=n_clusters, dtype=np.uint8)
        self.spins = signs[cluster].reshape(chains, sites)

    def energy(self) -> np.ndarray:
        """(chains,) energies."""
        return 2.0 * self._unequal().sum((1, 2), dtype=np.int64) - int(self.present.sum())

    def _unequal(self) -> np.ndarray:
        """(chains, sites, 2): 1 where the ends of a bond differ."""
        ends = np.take(self.spins, self.targets.ravel(), axis=1).reshape(*self.spins.shape, 2)
        return ends ^ self.spins[:, :, None]


def candidate_bonds(rows: int, width: int, boundary: Boundary) -> tuple[np.ndarray, np.ndarray]:
    """(sites, 2) the sites to the right and below, and which of these bonds there are."""
    site = np.arange(rows * width).reshape(rows, width)
    right, below = np.roll(site, -1, axis=1), np.roll(site, -1, axis=0)
    has_right, has_below = np.ones(site.shape, bool), np.ones(site.shape, bool)
    if boundary == "open" or width == 1:
        has_right[:, -1] = False
    if boundary != "torus" or rows == 1:
        has_below[-1] = False
    targets = np.stack([np.where(has_right, right, site), np.where(has_below, below, site)], axis=2)
    return targets.reshape(-1, 2), np.stack([has_right, has_below], axis=2).reshape(-1, 2)


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
