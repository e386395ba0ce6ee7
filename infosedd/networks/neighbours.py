"""Neighbour terms: what two tokens of a block a few positions apart say together about other blocks.

The logits of a label gain V_id[x_i, x_{i+d}] from each pair of visible tokens of one block at distance
d = 1, 2, ..., beside the W_i[x_i] of a pairwise map: the dinucleotides of a sequence motif. A pair with a
hidden token contributes nothing.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

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
        self.sizes = {block.name: (block.length, block.vocabulary.size) for block in layout.blocks}
        self.terms = nn.ParameterDict()
        for source in layout.blocks:
            for target in layout.blocks:
                distances = range(1, min(config.reach, source.length - 1) + 1)
                for distance in distances if source.name != target.name else ():
                    rows = (source.length - distance) * source.vocabulary.size**2
                    width = target.length * target.vocabulary.size
                    self.terms[_term(source.name, target.name, distance)] = nn.Parameter(torch.zeros(rows, width))

    def forward(self, features: Features, targets: Sequence[str]) -> dict[str, Tensor]:
        out: dict[str, Tensor] = {}
        for source, (length, size) in self.sizes.items():
            there = self.layout.slice_of(source)
            tokens, seen = features.tokens[:, there], features.visibility[:, there]
            for distance in range(1, min(self.config.reach, length - 1) + 1):
                first, second = tokens[:, :-distance], tokens[:, distance:]
                both = seen[:, :-distance] * seen[:, distance:]
                place = torch.arange(length - distance, device=tokens.device) * size**2
                rows = (place + first * size + second).clamp(max=(length - distance) * size**2 - 1)
                for target in targets:
                    if target != source:
                        weights = self.terms[_term(source, target, distance)]
                        logits = F.embedding_bag(rows, weights, mode="sum", per_sample_weights=both)
                        out[target] = out.get(target, 0) + logits.unflatten(1, self.sizes[target])
        return out

    def penalty(self, n_rows: int, exposure: Tensor) -> Tensor:
        """A concave penalty on the size of each pair's table of logits, as that of the pairwise map."""
        total = torch.zeros((), device=exposure.device)
        for source, (length, size) in self.sizes.items():
            here = self.layout.slice_of(source)
            for target, (_, levels) in self.sizes.items():
                there = self.layout.slice_of(target)
                for distance in range(1, min(self.config.reach, length - 1) + 1) if source != target else ():
                    weights = self.terms[_term(source, target, distance)]
                    square = weights.square().unflatten(1, (-1, levels)).unflatten(0, (-1, size**2)).sum((1, 3))
                    seen = exposure[here, there][: length - distance]
                    cells = torch.tensor(size**2 * levels, device=exposure.device)
                    total = total + concave_penalty(square, self.config.sparsity, seen, cells, levels, n_rows)
        return total


def _term(source: str, target: str, distance: int) -> str:
    return f"{key(source)}_to_{key(target)}_{distance}"
