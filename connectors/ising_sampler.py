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

    Sites that are joined along a row make a run, found by one running sum over all chains; the clusters are the
    connected components of the runs, of which there are about half as many as sites.
    """

    def __init__(
        self, rows: int, width: int, temperature: float, boundary: Boundary, chains: int, rng: np.random.Generator
    ) -> None:
        self.rng = rng
        self.shape = (chains, rows, width)
        self._closed_right = boundary != "open" and width > 1
        self._closed_below = boundary == "torus" and rows > 1
        self._n_bonds = 2 * rows * width - (not self._closed_right) * rows - (not self._closed_below) * width
        self._threshold = np.uint32(min(round(-np.expm1(-2 / temperature) * 2**32), 2**32 - 1))
        spins = rng.integers(2, size=(chains, rows * width), dtype=np.uint8)
        spins[::2] = spins[::2, :1]
        self.spins = spins

    @property
    def spins(self) -> np.ndarray:
        """(chains, sites), 0 for down and 1 for up."""
        return self._lattice.reshape(self.shape[0], -1)

    @spins.setter
    def spins(self, spins: np.ndarray) -> None:
        self._lattice = spins.reshape(self.shape)
        self._equal = self._equal_bonds()

    def sweep(self) -> None:
        right, below = self._joined()
        starts = np.ones(self.shape, bool)
        np.logical_not(right[:, :, :-1], out=starts[:, :, 1:])
        run = np.cumsum(starts.ravel(), dtype=np.int32).reshape(self.shape)
        run -= 1
        n_runs = int(run[-1, -1, -1]) + 1
        graph = _graph(n_runs, (run[below], np.roll(run, -1, axis=1)[below]), _across(run, right[:, :, -1]))
        n_clusters, cluster = connected_components(graph, directed=False)
        signs = self.rng.integers(2, size=n_clusters, dtype=np.uint8)
        self.spins = signs[cluster][run]

    def energy(self) -> np.ndarray:
        """(chains,) energies."""
        right, below = self._equal
        return self._n_bonds - 2.0 * (right.sum((1, 2), dtype=np.int64) + below.sum((1, 2), dtype=np.int64))

    def _joined(self) -> tuple[np.ndarray, np.ndarray]:
        """Which bonds to the right and below are joined in this sweep: equal ones, each with the same probability."""
        draws = self.rng.integers(2**32, size=(2, *self.shape), dtype=np.uint32)
        right, below = self._equal
        return right & (draws[0] < self._threshold), below & (draws[1] < self._threshold)

    def _equal_bonds(self) -> tuple[np.ndarray, np.ndarray]:
        """(chains, rows, width) twice: is there a bond to the right, and below, and are its ends equal?"""
        lattice = self._lattice
        right, below = np.empty((2, *self.shape), bool)
        np.equal(lattice[:, :, :-1], lattice[:, :, 1:], out=right[:, :, :-1])
        np.equal(lattice[:, :-1], lattice[:, 1:], out=below[:, :-1])
        right[:, :, -1] = (lattice[:, :, -1] == lattice[:, :, 0]) & self._closed_right
        below[:, -1] = (lattice[:, -1] == lattice[:, 0]) & self._closed_below
        return right, below


def _across(run: np.ndarray, joined: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The runs at the two ends of every row whose closing bond is joined."""
    return run[:, :, -1][joined], run[:, :, 0][joined]


def _graph(n: int, below: tuple[np.ndarray, np.ndarray], across: tuple[np.ndarray, np.ndarray]) -> csr_array:
    """The graph of both lists of edges, each sorted by where its edges begin."""
    ends = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(below[0], minlength=n) + np.bincount(across[0], minlength=n), out=ends[1:])
    targets = np.insert(below[1], np.searchsorted(below[0], across[0]), across[1])
    return csr_array((np.ones(len(targets)), targets, ends), shape=(n, n))


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
