"""Draws of noise for the integrals, each with its weight: subsets, times, or all of them.

The draws are stratified: the noise levels of a row's draws fall into equal strata, and their places
within a stratum follow a low-discrepancy sequence over the rows. Each row alone stays unbiased,
so the spread over rows gives an honest standard error, as long as rows of one estimate have numbers
of their own: those of the corpus, not of a fold.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Protocol

import torch
from torch import Tensor

from infosedd.processes import AbsorbingProcess, NoiseProcess
from infosedd.randomness import torch_stream
from infosedd.schedules import Schedule

GOLDEN = 0.6180339887498949


@dataclass(frozen=True)
class Draw:
    """What one draw of noise made of a batch."""

    tokens: Tensor
    """(B, L) tokens after noise."""
    visibility: Tensor
    """(B, L) visibility of the noised tokens."""
    scored: Tensor
    """(B, L) bool: the tokens whose moves count."""
    weight: Tensor
    """(B,) weight of the sum over scored tokens."""
    process: NoiseProcess
    sigma_bar: Tensor | None = None
    """(B, 1); None in the subset form, which needs no time."""


class Noise(Protocol):
    def draws(self, tokens: Tensor, noised: Tensor, vocab_sizes: Tensor, rows: Tensor) -> Iterator[Draw]:
        """Draws for a batch: ``tokens`` (B, L), ``noised`` and ``vocab_sizes`` (L,), ``rows`` (B,) row numbers."""
        ...

    def terminal_factor(self, size: int) -> float:
        """Bound of KL(p_1 || q_1), which the integral leaves out, as a share of KL(p_0 || q_0)."""
        ...


@dataclass(frozen=True)
class SubsetNoise:
    """``n_draws`` masked subsets a row, their sizes k spread evenly over 1..|A|.

    With ``n_draws`` at least |A| it is the per-sample chain: nested subsets in one random order a row,
    each scored on the token that the next smaller one reveals. That is the chain rule, with each token
    scored once: its only chance is the order, and where tokens are independent there is none.
    """

    n_draws: int = 1
    seed: int = 0

    def draws(self, tokens: Tensor, noised: Tensor, vocab_sizes: Tensor, rows: Tensor) -> Iterator[Draw]:
        generator = _stream(self.seed, rows)
        if self.n_draws >= int(noised.sum()):
            yield from _chain(tokens, noised, vocab_sizes, generator)
            return
        for stratum in range(self.n_draws):
            level = (spread(rows, self.seed) + stratum) / self.n_draws
            yield subset_draw(tokens, noised, vocab_sizes, level, 1 / self.n_draws, generator)

    def terminal_factor(self, size: int) -> float:
        return 0.0


@dataclass(frozen=True)
class AllSubsets:
    """Every subset with its exact weight: no chance at all, 2^|A| - 1 draws.

    Where a row's own tokens are unknown, the weights of the subsets that agree on its known ones add up to
    the weight among the known ones alone, so unknown tokens are just not scored.
    """

    def draws(self, tokens: Tensor, noised: Tensor, vocab_sizes: Tensor, rows: Tensor) -> Iterator[Draw]:
        positions = torch.nonzero(noised).flatten().tolist()
        for k in range(1, len(positions) + 1):
            weight = torch.full((len(tokens),), 1 / (k * comb(len(positions), k)), dtype=torch.float64)
            for subset in combinations(positions, k):
                masked = torch.zeros(tokens.shape, dtype=torch.bool)
                masked[:, list(subset)] = True
                yield _masked_draw(tokens, masked & (tokens != vocab_sizes), vocab_sizes, weight)

    def terminal_factor(self, size: int) -> float:
        return 0.0


@dataclass(frozen=True)
class TimeNoise:
    """``n_draws`` times a row in [0, 1], drawn as the square of an even spread.

    The square puts more draws near t = 0, where the absorbing integrand is of order 1/t with
    probability t: its variance is finite for the square and infinite for an even spread.
    """

    process: NoiseProcess
    schedule: Schedule
    n_draws: int = 1
    seed: int = 0

    def draws(self, tokens: Tensor, noised: Tensor, vocab_sizes: Tensor, rows: Tensor) -> Iterator[Draw]:
        generator = _stream(self.seed, rows)
        for stratum in range(self.n_draws):
            level = (spread(rows, self.seed) + stratum) / self.n_draws
            yield time_draw(
                self.process, self.schedule, tokens, noised, vocab_sizes, level, 1 / self.n_draws, generator
            )

    def terminal_factor(self, size: int) -> float:
        return 1.0 - (1.0 - self.schedule.terminal) ** size


def _stream(seed: int, rows: Tensor) -> torch.Generator:
    """The generator of a batch, of its own for any other batch of rows."""
    return torch_stream("noise", seed, int(rows[0]), int(rows.sum()))


def _chain(tokens: Tensor, noised: Tensor, vocab_sizes: Tensor, generator: torch.Generator) -> Iterator[Draw]:
    """The known noised tokens of each row revealed one at a time in a random order, each scored before it is."""
    known = noised & (tokens != vocab_sizes)
    lot = torch.rand(tokens.shape, generator=generator).masked_fill_(~known, 2.0)
    place = lot.argsort(1).argsort(1)
    for k in range(int(known.sum(1).max())):
        draw = _masked_draw(tokens, known & (place <= k), vocab_sizes, torch.ones(len(tokens)))
        yield replace(draw, scored=known & (place == k))


def subset_draw(
    tokens: Tensor,
    noised: Tensor,
    vocab_sizes: Tensor,
    level: Tensor,
    share: float,
    generator: torch.Generator,
) -> Draw:
    """Mask k of the |A| known noised tokens of each row, k = floor(level |A|) + 1; weight |A| / k times ``share``."""
    known = noised & (tokens != vocab_sizes)
    size = known.sum(1)
    k = (level * size).long() + 1
    masked = known if int(size.max()) <= 1 else known & _smallest(known, k, generator)
    return _masked_draw(tokens, masked, vocab_sizes, size / k * share)


def _smallest(known: Tensor, k: Tensor, generator: torch.Generator) -> Tensor:
    """(B, L) bool: k random ones of each row's known tokens."""
    lot = torch.rand(known.shape, generator=generator).masked_fill_(~known, 2.0)
    last = lot.sort(1).values.gather(1, (k - 1).clamp(max=known.shape[1] - 1)[:, None])
    return lot <= last


def time_draw(
    process: NoiseProcess,
    schedule: Schedule,
    tokens: Tensor,
    noised: Tensor,
    vocab_sizes: Tensor,
    level: Tensor,
    share: float,
    generator: torch.Generator,
) -> Draw:
    """Noise each row at time t = level^2; weight sigma(t) dt / dlevel times ``share``."""
    level = level.clamp(min=1e-9)
    sigma_bar = schedule.sigma_bar(level**2)[:, None]
    xt = torch.where(noised, process.sample(tokens, sigma_bar, vocab_sizes, generator), tokens)
    weight = schedule.sigma(level**2) * 2 * level * share
    return draw_at(process, tokens, xt, noised, vocab_sizes, sigma_bar, weight)


def draw_at(
    process: NoiseProcess,
    tokens: Tensor,
    xt: Tensor,
    noised: Tensor,
    vocab_sizes: Tensor,
    sigma_bar: Tensor,
    weight: Tensor,
) -> Draw:
    """The draw of a given x_t at a given time: which moves are scored depends on the process."""
    known = noised & (tokens != vocab_sizes)
    if isinstance(process, AbsorbingProcess):
        masked = xt == vocab_sizes
        return Draw(xt, (~masked).double(), known & masked, weight, process, sigma_bar)
    visibility = torch.exp(-sigma_bar).expand(tokens.shape)
    return Draw(xt, visibility, known, weight, process, sigma_bar)


def spread(rows: Tensor, seed: int) -> Tensor:
    """(B,) float64 numbers in [0, 1) that fill the interval evenly over any run of rows."""
    start = torch.rand((), dtype=torch.float64, generator=torch_stream("spread", seed))
    return ((rows + 1).double() * GOLDEN + start) % 1


def _masked_draw(tokens: Tensor, masked: Tensor, vocab_sizes: Tensor, weight: Tensor) -> Draw:
    return Draw(torch.where(masked, vocab_sizes, tokens), (~masked).double(), masked, weight, AbsorbingProcess())
