"""Exact values and exact draws of the Ising model, in nats, with unit coupling.

    p(s) = exp(-E(s) / T) / Z,    E(s) = - SUM over neighbours of s_i s_j,    H = ln Z + E / T

Lattices have ``rows`` x ``width`` spins. ``torus`` closes both directions, ``cylinder`` closes each row
and leaves top and bottom open, ``open`` closes none. Width 1 is a chain (a ring, on the torus). A closed
direction of two spins counts its bond twice, as everywhere in this literature.

Two ways, which agree where both apply: Kaufman's sum for the torus of any size (B. Kaufman, Phys. Rev.
76, 1232, 1949), and transfer matrices between rows of up to 10 spins for every boundary.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

Boundary = Literal["torus", "cylinder", "open"]
MAX_EXACT_WIDTH = 10


@dataclass(frozen=True)
class Exact:
    """ln Z, mean energy and entropy of one lattice at one temperature."""

    log_partition: float
    energy: float
    temperature: float

    @property
    def entropy(self) -> float:
        """H = ln Z + E / T, in nats."""
        return self.log_partition + self.energy / self.temperature


def kaufman(rows: int, width: int, temperature: float) -> Exact:
    """ln Z and E of the torus, both at least 2 spins wide.

    Z = (2 sinh 2K)^(rows width / 2) / 2 times the sum of four products over 2 cosh(rows g_l / 2) and
    2 sinh(rows g_l / 2), l odd and even, with cosh g_l = cosh 2K coth 2K - cos(pi l / width),
    g_0 = 2K + ln tanh K and K = 1/T; E is minus its derivative by K.
    """
    k = 1 / temperature
    sinh, cosh = np.sinh(2 * k), np.cosh(2 * k)
    level = np.arange(1, 2 * width)
    gamma = np.arccosh(cosh**2 / sinh - np.cos(np.pi * level / width))
    slope = 2 * cosh * (2 - (cosh / sinh) ** 2) / np.sinh(gamma)
    odd, even = level % 2 == 1, level % 2 == 0
    half, half_slope = rows * gamma / 2, rows * slope / 2
    first, first_slope = rows * (2 * k + np.log(np.tanh(k))) / 2, rows * (2 + 2 / sinh) / 2
    log_cosh = half + np.log1p(np.exp(-2 * half))
    log_sinh = half + np.log1p(-np.exp(-2 * half))
    by_tanh, by_coth = half_slope * np.tanh(half), half_slope / np.tanh(half)
    # Each product as (log of its size, its sign, its derivative over its size).
    top = abs(first)
    sinh_first = 1 - np.exp(-2 * top)
    terms = [
        (log_cosh[odd].sum(), 1.0, by_tanh[odd].sum()),
        (log_sinh[odd].sum(), 1.0, by_coth[odd].sum()),
        (
            top + np.log1p(np.exp(-2 * top)) + log_cosh[even].sum(),
            1.0,
            first_slope * np.tanh(first) + by_tanh[even].sum(),
        ),
    ]
    rest = top + log_sinh[even].sum()
    last = np.sign(first) * sinh_first
    last_slope = first_slope * (1 + np.exp(-2 * top)) + last * by_coth[even].sum()
    largest = max(rest, *(size for size, _, _ in terms))
    value = sum(sign * np.exp(size - largest) for size, sign, _ in terms) + last * np.exp(rest - largest)
    change = sum(sign * np.exp(size - largest) * d for size, sign, d in terms) + last_slope * np.exp(rest - largest)
    sites = rows * width
    log_z = sites / 2 * np.log(2 * sinh) - np.log(2) + largest + np.log(value)
    return Exact(float(log_z), float(-(sites * cosh / sinh + change / value)), temperature)


def energy_variance(rows: int, width: int, temperature: float) -> float:
    """Variance of the torus's energy, -dE/dK, by a central difference of Kaufman's energy."""
    k, step = 1 / temperature, 1e-5
    upper, lower = (kaufman(rows, width, 1 / (k + sign * step)).energy for sign in (1, -1))
    return -(upper - lower) / (2 * step)


def exact(rows: int, width: int, temperature: float, boundary: Boundary) -> Exact | None:
    """The exact values where some way gives them, else None."""
    if boundary == "torus" and width > 1 and rows > 1:
        return kaufman(rows, width, temperature)
    return RowTransfer(rows, width, temperature, boundary).exact if width <= MAX_EXACT_WIDTH else None


def kl_between_temperatures(
    rows: int, width: int, temperature: float, reference: float, boundary: Boundary = "torus"
) -> float | None:
    """KL(p_T || p_T') = ln Z' + E / T' - H, in nats."""
    here, there = exact(rows, width, temperature, boundary), exact(rows, width, reference, boundary)
    return None if here is None or there is None else there.log_partition + here.energy / reference - here.entropy


@dataclass(frozen=True)
class RowTransfer:
    """Transfer matrix between rows: T(a, b) = exp(K a.b + K (e(a) + e(b)) / 2), e the bonds within a row."""

    rows: int
    width: int
    temperature: float
    boundary: Boundary

    @cached_property
    def spins(self) -> np.ndarray:
        """(2^width, width) array of all rows, spins as -1 and 1."""
        codes = np.arange(2**self.width)
        return 2 * ((codes[:, None] >> np.arange(self.width)) & 1) - 1

    @cached_property
    def _log_end(self) -> np.ndarray:
        bonds = self.spins[:, 1:] * self.spins[:, :-1]
        inside = bonds.sum(1).astype(float)
        if self.boundary != "open" and self.width > 1:
            inside += self.spins[:, 0] * self.spins[:, -1]
        return inside / (2 * self.temperature)

    @cached_property
    def log_matrix(self) -> np.ndarray:
        between = self.spins.astype(float) @ self.spins.T / self.temperature
        return between + self._log_end[:, None] + self._log_end[None]

    @cached_property
    def _scale(self) -> float:
        return float(self.log_matrix.max())

    @cached_property
    def _matrix(self) -> np.ndarray:
        return np.exp(self.log_matrix - self._scale)

    def _power(self, exponent: int) -> tuple[np.ndarray, float]:
        """T^exponent as (array with largest entry 1, log of the factor left out)."""
        result, log_factor = np.eye(len(self._matrix)), 0.0
        base, log_base = self._matrix, self._scale
        while exponent:
            if exponent & 1:
                result, log_factor = _rescaled(result @ base, log_factor + log_base)
            base, log_base = _rescaled(base @ base, 2 * log_base)
            exponent >>= 1
        return result, log_factor

    @cached_property
    def _messages(self) -> list[tuple[np.ndarray, float]]:
        """T^k u for k = 0 .. rows - 1, u the weight of an open end."""
        shift = float(self._log_end.max())
        found = [(np.exp(self._log_end - shift), shift)]
        for _ in range(self.rows - 1):
            vector, log_factor = found[-1]
            found.append(_rescaled(self._matrix @ vector, log_factor + self._scale))
        return found

    @cached_property
    def log_partition(self) -> float:
        if self.boundary == "torus":
            power, log_factor = self._power(self.rows)
            return float(np.log(np.trace(power)) + log_factor)
        vector, log_factor = self._messages[-1]
        return float(np.log((np.exp(self._log_end) * vector).sum()) + log_factor)

    @cached_property
    def exact(self) -> Exact:
        """ln Z and E from the means of the bonds."""
        if self.boundary == "torus":
            total = self.rows * self._mean_log_bond(0)
        else:
            total = sum(self._mean_log_bond(k) for k in range(self.rows - 1))
            for vector in (self._row_law(0), self._row_law(self.rows - 1)):
                total += float((vector * self._log_end).sum())
        return Exact(self.log_partition, -self.temperature * total, self.temperature)

    def halves_information(self) -> float:
        """I(top rows; bottom rows), in nats: only the rows at the cuts count."""
        top = self.rows // 2
        bottom = self.rows - top
        if self.boundary == "torus":
            inner = self._mean_log_closure(top - 1, bottom + 1) + self._mean_log_closure(bottom - 1, top + 1)
            return self.log_partition + 2 * self._mean_log_bond(0) - inner
        below, above = self._messages[bottom], self._messages[top]
        seen_below = float((self._row_law(top - 1) * _log(below[0])).sum()) + below[1]
        seen_above = float((self._row_law(top) * _log(above[0])).sum()) + above[1]
        return self.log_partition + self._mean_log_bond(top - 1) - seen_below - seen_above

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """(n, rows * width) independent exact draws, 0 for down and 1 for up."""
        drawn = self._sample_torus(n, rng) if self.boundary == "torus" else self._sample_open(n, rng)
        bits = (self.spins > 0).astype(np.uint8)
        return bits[drawn].reshape(n, self.rows * self.width)

    def _row_law(self, row: int) -> np.ndarray:
        law = self._messages[row][0] * self._messages[self.rows - 1 - row][0]
        return law / law.sum()

    def _mean_log_bond(self, row: int) -> float:
        """E ln T(r_k, r_k+1)."""
        if self.boundary == "torus":
            law = self._matrix * self._power(self.rows - 1)[0].T
        else:
            law = self._messages[row][0][:, None] * self._matrix * self._messages[self.rows - 2 - row][0]
        return float((law * self.log_matrix).sum() / law.sum())

    def _mean_log_closure(self, inside: int, around: int) -> float:
        """E ln (T^around)(r_b, r_a) over the first and last row of a block with ``inside`` steps in it."""
        outer, log_factor = self._power(around)
        law = self._power(inside)[0] * outer.T
        return float((law * _log(outer.T)).sum() / law.sum()) + log_factor

    def _sample_open(self, n: int, rng: np.random.Generator) -> np.ndarray:
        drawn = np.empty((n, self.rows), np.int64)
        drawn[:, 0] = _pick(np.cumsum(self._row_law(0)), rng.random(n))
        for row in range(1, self.rows):
            law = self._matrix * self._messages[self.rows - 1 - row][0]
            steps = np.cumsum(law, axis=1)
            flat = (steps / steps[:, -1:] + np.arange(len(steps))[:, None]).ravel()
            found = np.searchsorted(flat, drawn[:, row - 1] + rng.random(n), side="right")
            drawn[:, row] = np.minimum(found - drawn[:, row - 1] * len(steps), len(steps) - 1)
        return drawn

    def _sample_torus(self, n: int, rng: np.random.Generator) -> np.ndarray:
        drawn = np.empty((n, self.rows), np.int64)
        diagonal = np.diag(self._power(self.rows)[0])
        drawn[:, 0] = _pick(np.cumsum(diagonal / diagonal.sum()), rng.random(n))
        chunk = max(1, 2**24 // len(self._matrix))
        for row in range(1, self.rows):
            closing = self._power(self.rows - row)[0].T
            for start in range(0, n, chunk):
                part = slice(start, start + chunk)
                law = self._matrix[drawn[part, row - 1]] * closing[drawn[part, 0]]
                steps = np.cumsum(law, axis=1)
                wanted = rng.random(len(steps)) * steps[:, -1]
                drawn[part, row] = (steps[:, :-1] <= wanted[:, None]).sum(1)
        return drawn


def _rescaled(array: np.ndarray, log_factor: float) -> tuple[np.ndarray, float]:
    largest = float(array.max())
    return array / largest, log_factor + float(np.log(largest))


def _log(array: np.ndarray) -> np.ndarray:
    """ln, with 0 for the weights that underflow: they meet a probability of 0."""
    return np.log(array, where=array > 0, out=np.zeros_like(array))


def _pick(steps: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    return np.minimum(np.searchsorted(steps, uniform, side="right"), len(steps) - 1)
