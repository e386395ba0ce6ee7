"""Pairwise map: one linear layer from the visible tokens to all logits.

The masked relative of a Potts (direct-coupling) model: log p(x_i = a | visible) gains W_ij[a, x_j]
from each visible token j. It learns what pairs carry in seconds.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from infosedd.layout import Layout
from infosedd.networks.component import BlockHeads, Component, ComponentConfig, Features, key
from infosedd.networks.sparsity import concave_penalty


class PairwiseConfig(ComponentConfig):
    kind: Literal["pairwise"] = "pairwise"
    learning_rate: float = Field(default=2e-2, gt=0, description="peak learning rate of the map")
    sparsity: float = Field(
        default=0.0, ge=0, description="how large a pair's link must be to count, in standard errors of an absent one"
    )
    rank: int | None = Field(default=None, ge=1, description="factor the map through this many dimensions; none: full")


class Pairwise(Component):
    config: PairwiseConfig

    def __init__(self, layout: Layout, config: PairwiseConfig) -> None:
        super().__init__(layout, config)
        width = layout.one_hot_width
        if config.rank is not None:
            self.inner = nn.Parameter(torch.randn(width, config.rank) * width**-0.5)
        self.heads = BlockHeads(layout, config.rank or width)

    def forward(self, features: Features, targets: Sequence[str]) -> dict[str, Tensor]:
        vector = features.one_hot if self.config.rank is None else features.one_hot @ self.inner
        return self.heads(vector, targets)

    @property
    def is_kept_simple(self) -> bool:
        return self.config.sparsity > 0 and self.config.rank is None

    def penalty(self, n_rows: float, exposure: Tensor) -> Tensor:
        """A concave penalty on the size of each pair's block W_ij."""
        total = torch.zeros((), device=exposure.device)
        if not self.is_kept_simple:
            return total
        sizes = self.layout.vocab_sizes.to(exposure.device)
        for block in (b for b in self.layout.blocks if b.name in self.heads.shapes):
            there, levels = self.layout.slice_of(block.name), block.vocabulary.size
            square = self._squares(self.heads.weights[key(block.name)], block.length)
            cells = (sizes * levels)[:, None]
            total = total + concave_penalty(square, self.config.sparsity, exposure[:, there], cells, levels, n_rows)
        return total

    def _squares(self, weights: Tensor, length: int) -> Tensor:
        """(L, L_b) squared Frobenius norm of the link of each position to each of a block's ``length`` positions."""
        runs = [(size, len([*run])) for size, run in groupby(self.layout.vocab_sizes.tolist())]
        parts = weights.split([size * n for size, n in runs])
        tables = [part.view(n, size, length, -1) for part, (size, n) in zip(parts, runs, strict=True)]
        # first over the rows of a table, which are long and lie apart, then over what is left
        return torch.cat([(table * table).sum(1).sum(2) for table in tables])
