"""What a score model is trained to answer: which tokens are noised, and what is shown of the others."""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from infosedd.blocks import Selection
from infosedd.layout import Layout

Shown = Literal["all", "window", "all_but_window", "subset"]


class TrainingQuery(BaseModel):
    """Noise the tokens of one block expression, given (part of) another; the rest is hidden.

    ``show`` says what is clean of ``clean``: all of it, a random run of ``window`` positions, all
    but such a run, or a random subset of random size.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    noised: str = Field(description="block expression of the tokens to predict")
    clean: str = Field("", description="block expression of the tokens that are shown")
    show: Shown = Field("all", description="all, window, all_but_window or subset of the clean tokens")
    window: int = Field(1, ge=1, description="length of the run, for window and all_but_window")
    weight: float = Field(1.0, gt=0, description="share of the training batch, relative to the other queries")


class QueryMix:
    """Deals the rows of a batch to queries and draws what each shows."""

    def __init__(self, queries: Sequence[TrainingQuery], layout: Layout) -> None:
        self.queries = tuple(queries)
        self.layout = layout
        self._noised = [layout.mask_of(Selection.parse(q.noised, layout.blocks)) for q in queries]
        self._clean = [
            layout.mask_of(Selection.parse(q.clean, layout.blocks)) if q.clean else torch.zeros(layout.seq_len).bool()
            for q in queries
        ]
        for query, noised, clean in zip(queries, self._noised, self._clean, strict=True):
            if bool((noised & clean).any()):
                Selection.parse(f"{query.noised}+{query.clean}", layout.blocks)  # names the position that repeats
        weights = torch.tensor([q.weight for q in queries], dtype=torch.float64)
        self._ends = (weights / weights.sum()).cumsum(0)

    @property
    def target_blocks(self) -> tuple[str, ...]:
        return self.layout.blocks_of(torch.stack(self._noised))

    def draw(self, n_rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """(noised, clean), each (n_rows, L) bool."""
        noised = torch.zeros(n_rows, self.layout.seq_len, dtype=torch.bool)
        clean = torch.zeros_like(noised)
        start = 0
        for i, query in enumerate(self.queries):
            stop = n_rows if i == len(self.queries) - 1 else round(float(self._ends[i]) * n_rows)
            noised[start:stop] = self._noised[i]
            clean[start:stop] = self._clean[i] & self._shown(query, self._clean[i], stop - start, generator)
            start = stop
        return noised, clean

    def _shown(self, query: TrainingQuery, clean: Tensor, n_rows: int, generator: torch.Generator) -> Tensor:
        if query.show == "all":
            return torch.ones(n_rows, len(clean), dtype=torch.bool)
        if query.show == "subset":
            share = torch.rand(n_rows, 1, generator=generator)
            return torch.rand(n_rows, len(clean), generator=generator) < share
        rank = clean.cumsum(0) - 1
        last_start = max(0, int(clean.sum()) - query.window)
        first = torch.randint(0, last_start + 1, (n_rows, 1), generator=generator)
        inside = (rank >= first) & (rank < first + query.window)
        return inside if query.show == "window" else ~inside
