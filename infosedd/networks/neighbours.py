"""Neighbour terms: what two tokens of a block a few positions apart say together about other blocks.

The logits of a label gain V_id[x_i, x_{i+d}] from each pair of visible tokens of one block at distance
d = 1, 2, ..., beside the W_i[x_i] of a pairwise map: the dinucleotides of a sequence motif. A pair with a
hidden token contributes nothing. A batch takes rows x length x symbols^2 numbers for each distance: for small
alphabets.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from infosedd.blocks import Block
from infosedd.layout import Layout
from infosedd.networks.component import Component, ComponentConfig, Features, key
from infosedd.networks.sparsity import concave_penalty


class NeighboursConfig(ComponentConfig):
    kind: Literal["neighbours"] = "neighbours"
    learning_rate: float = Field(default=1e-2, gt=0, description="peak learning rate of the terms")
    reach: int = Field(default=2, ge=1, description="largest distance between the two tokens of a term")
    sparsity: float = Field(
        default=0.0, ge=0, description="how large a term must be to count, in standard errors of an absent one"
    )


class Neighbours(Component):
    config: NeighboursConfig

    def __init__(self, layout: Layout, config: NeighboursConfig) -> None:
        super().__init__(layout, config)
        self.links = [
            (source, target, distance)
            for source in layout.blocks
            for target in layout.blocks
            if source.name != target.name
            for distance in range(1, min(config.reach, source.length - 1) + 1)
        ]
        """Every source block, target block and distance that has a term."""
        self.terms = nn.ParameterDict()
        for source, target, distance in self.links:
            rows = (source.length - distance) * source.vocabulary.size**2
            width = target.length * target.vocabulary.size
            self.terms[_term(source, target, distance)] = nn.Parameter(torch.zeros(rows, width))

    @property
    def is_kept_simple(self) -> bool:
        return self.config.sparsity > 0

    def keep(self, blocks: Sequence[str]) -> None:
        for link in self.links:
            if link[1].name not in blocks:
                del self.terms[_term(*link)]
        self.links = [link for link in self.links if link[1].name in blocks]

    def forward(self, features: Features, targets: Sequence[str]) -> dict[str, Tensor]:
        out: dict[str, Tensor] = {}
        seen: dict[tuple[str, int], Tensor] = {}
        for source, target, distance in self.links:
            if target.name in targets:
                if (source.name, distance) not in seen:
                    seen[source.name, distance] = self._pairs(features, source, distance)
                logits = seen[source.name, distance] @ self.terms[_term(source, target, distance)]
                logits = logits.unflatten(1, (target.length, target.vocabulary.size))
                out[target.name] = out.get(target.name, 0) + logits
        return out

    def _pairs(self, features: Features, source: Block, distance: int) -> Tensor:
        """(B, (L - distance) N^2) one-hot codes of the pairs of one block, each times its tokens' visibility."""
        codes, both = features.pairs(source, distance)
        size = source.vocabulary.size**2
        width = (source.length - distance) * size
        starts = torch.arange(0, width, size, device=codes.device)
        return torch.zeros(len(codes), width, device=codes.device).scatter_(1, starts + codes, both)

    def penalty(self, n_rows: float, exposure: Tensor) -> Tensor:
        """A concave penalty on the size of each pair's table of logits, as that of the pairwise map."""
        total = torch.zeros((), device=exposure.device)
        for source, target, distance in self.links:
            pairs, levels = source.vocabulary.size**2, target.vocabulary.size
            tables = self.terms[_term(source, target, distance)].square()
            square = tables.unflatten(1, (-1, levels)).unflatten(0, (-1, pairs)).sum((1, 3))
            seen = exposure[self.layout.slice_of(source.name), self.layout.slice_of(target.name)]
            cells = torch.tensor(pairs * levels, device=exposure.device)
            here = seen[: source.length - distance]
            total = total + concave_penalty(square, self.config.sparsity, here, cells, levels, n_rows)
        return total


def _term(source: Block, target: Block, distance: int) -> str:
    return f"{key(source.name)}_to_{key(target.name)}_{distance}"
