"""What a score model is trained to answer: which tokens are noised, and what is shown of the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from infosedd.blocks import EMPTY, Selection
from infosedd.errors import InputError
from infosedd.layout import Layout
from infosedd.orders import Order, levels

Shown = Literal["all", "window", "all_but_window", "prefix", "subset"]


class TrainingQuery(BaseModel):
    """Noise the tokens of one block expression, given (part of) another; the rest is hidden.

    ``show`` says what is clean of ``clean``: all of it, a random run of ``window`` positions, all
    but such a run, the first few positions (a random number of them), or a random subset of random size.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    noised: str = Field(description="block expression of the tokens to predict")
    clean: str = Field(default="", description="block expression of the tokens that are shown")
    given: str = Field(default="", description="block expression of tokens that are always shown")
    show: Shown = Field(default="all", description="all, window, all_but_window, prefix or subset of the clean tokens")
    window: int = Field(default=1, ge=1, description="length of the run, for window and all_but_window")
    weight: float = Field(default=1.0, gt=0, description="share of the training batch, relative to the other queries")


class QueryMix:
    """Deals the rows of a batch to queries (and to their levels) and draws what each shows."""

    def __init__(self, queries: Sequence[TrainingQuery], layout: Layout, order: Order = "random") -> None:
        self.layout = layout
        self._parts = [part for query in queries for part in _parts_of(query, layout, order)]
        shares = torch.tensor([part.share for part in self._parts], dtype=torch.float64)
        self._ends = (shares / shares.sum()).cumsum(0).tolist()

    @property
    def target_blocks(self) -> tuple[str, ...]:
        return self.layout.blocks_of(torch.stack([part.noised for part in self._parts]))

    def teaches(self, targets: Tensor, clean: Tensor) -> bool:
        """Does some query noise the ``targets`` (L,) together, with just the ``clean`` tokens (L,) shown beside them?

        Tokens that a query noises beyond the targets may be noised to the last, or not at all, so they count as
        hidden or as shown.
        """
        return any(part.teaches(targets, clean) for part in self._parts)

    def draw(self, n_rows: int, generator: torch.Generator) -> "Dealt":
        """What is noised and clean in each of ``n_rows`` rows, and the weight of its loss."""
        noised = torch.zeros(n_rows, self.layout.seq_len, dtype=torch.bool)
        clean, weight = torch.zeros_like(noised), torch.ones(n_rows)
        offset = float(torch.rand((), generator=generator))
        start = 0
        for part, end in zip(self._parts, self._ends, strict=True):
            stop = min(n_rows, int(end * n_rows + offset)) if part is not self._parts[-1] else n_rows
            noised[start:stop] = part.noised
            clean[start:stop] = part.always | (part.clean & part.shown(stop - start, generator))
            weight[start:stop] = part.weight
            start = stop
        return Dealt(noised, clean, weight)


@dataclass(frozen=True)
class Dealt:
    noised: Tensor
    """(B, L) bool."""
    clean: Tensor
    """(B, L) bool."""
    weight: Tensor
    """(B,) factor that makes a level's loss stand for that of all levels."""


@dataclass(frozen=True)
class _Part:
    """One level of one query: (L,) masks, its share of the rows, and the weight of its loss."""

    query: TrainingQuery
    noised: Tensor
    clean: Tensor
    always: Tensor
    share: float
    weight: float

    def teaches(self, targets: Tensor, clean: Tensor) -> bool:
        """See ``QueryMix.teaches``."""
        if bool((targets & ~self.noised).any()):
            return False
        if bool((clean & ~(self.noised | self.clean | self.always)).any()) or bool((self.always & ~clean).any()):
            return False
        asked = self.clean & ~self.always
        return self._can_show((clean & asked)[self.clean], self.always[self.clean])

    def _can_show(self, clean: Tensor, always: Tensor) -> bool:
        """Can the query show just these of its clean tokens (both (n,) bool), but for those shown anyway?"""
        n = len(clean)
        if self.query.show == "subset":
            return True
        if self.query.show == "all":
            runs = [torch.ones(n, dtype=torch.bool)]
        elif self.query.show == "prefix":
            runs = [torch.arange(n) < k for k in range(n + 1)]
        else:
            width = min(self.query.window, n)
            starts = range(n - width + 1)
            inside = [(torch.arange(n) >= i) & (torch.arange(n) < i + width) for i in starts]
            runs = inside if self.query.show == "window" else [~run for run in inside]
        return any(torch.equal(run & ~always, clean) for run in runs)

    def shown(self, n_rows: int, generator: torch.Generator) -> Tensor:
        """(n_rows, L) bool: what a row shows of the query's clean tokens."""
        length = len(self.clean)
        if self.query.show == "all":
            return torch.ones(n_rows, length, dtype=torch.bool)
        if self.query.show == "subset":
            share = torch.rand(n_rows, 1, generator=generator)
            return torch.rand(n_rows, length, generator=generator) < share
        rank = self.clean.cumsum(0) - 1
        if self.query.show == "prefix":
            return rank < torch.randint(0, int(self.clean.sum()) + 1, (n_rows, 1), generator=generator)
        last_start = int(self.clean.sum()) - self.query.window
        first = torch.randint(0, last_start + 1, (n_rows, 1), generator=generator)
        inside = (rank >= first) & (rank < first + self.query.window)
        return inside if self.query.show == "window" else ~inside


def _parts_of(query: TrainingQuery, layout: Layout, order: Order) -> list[_Part]:
    """A query's levels, dealt rows in proportion to the square root of their size, weighted to be unbiased."""
    noised = Selection.parse(query.noised, layout.blocks)
    shown, given = (Selection.parse(e, layout.blocks) if e else EMPTY for e in (query.clean, query.given))
    if noised.overlaps(shown + given):
        raise InputError(
            f"a training query names {noised.text!r} as noised and {(shown + given).text!r} as shown, which overlap"
        )
    if query.show in ("window", "all_but_window") and query.window > shown.size:
        raise InputError(
            f"a training query has a window of {query.window} but {shown.size} clean positions",
            where=f"clean = {query.clean!r}",
            remedy="ask for a shorter window, or show = 'all'",
        )
    steps = levels(noised, layout, order)
    roots = [level.size**0.5 for level, _ in steps]
    return [
        _Part(
            query,
            layout.mask_of(level),
            layout.mask_of(shown),
            layout.mask_of(coarser + given),
            share=query.weight * root / sum(roots),
            weight=sum(roots) / root,
        )
        for (level, coarser), root in zip(steps, roots, strict=True)
    ]
