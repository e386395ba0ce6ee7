"""Neighbour terms: what two tokens of a block a few positions apart say together about other blocks.

The logits of a label gain V_id[x_i, x_{i+d}] from each pair of visible tokens of one block at distance
d = 1, 2, ..., beside the W_i[x_i] of a pairwise map: the dinucleotides of a sequence motif. A pair with a
hidden token contributes nothing. A batch takes rows x length x symbols^2 numbers for each distance: for small
alphabets.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

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
        for source, target, distance in self._links():
            length, size = self.sizes[source]
            width = math.prod(self.sizes[target])
            self.terms[_term(source, target, distance)] = nn.Parameter(
                torch.zeros((length - distance) * size**2, width)
            )

    def _links(self) -> Iterator[tuple[str, str, int]]:
        """Every source block, target block and distance that has a term."""
        for source, (length, _) in self.sizes.items():
            for target in self.sizes:
                if source != target:
                    yield from ((source, target, d) for d in range(1, min(self.config.reach, length - 1) + 1))

    @property
    def is_kept_simple(self) -> bool:
        return self.config.sparsity > 0

    def keep(self, blocks: Sequence[str]) -> None:
        wanted = {_term(source, target, d) for source, target, d in self._links() if target in blocks}
        for name in set(self.terms) - wanted:
            del self.terms[name]

    def forward(self, features: Features, targets: Sequence[str]) -> dict[str, Tensor]:
        out: dict[str, Tensor] = {}
        seen: dict[tuple[str, int], Tensor] = {}
        for source, target, distance in self._links():
            if target in targets:
                if (source, distance) not in seen:
                    seen[source, distance] = self._pairs(features, source, distance)
                logits = seen[source, distance] @ self.terms[_term(source, target, distance)]
                out[target] = out.get(target, 0) + logits.unflatten(1, self.sizes[target])
        return out

    def _pairs(self, features: Features, source: str, distance: int) -> Tensor:
        """(B, (L - distance) N^2) one-hot codes of the pairs of one block, each times its tokens' visibility."""
        (length, size), there = self.sizes[source], self.layout.slice_of(source)
        tokens, visibility = features.tokens[:, there].clamp(max=size - 1), features.visibility[:, there]
        starts = torch.arange(0, (length - distance) * size**2, size**2, device=tokens.device)
        columns = starts + tokens[:, :-distance] * size + tokens[:, distance:]
        flat = torch.zeros(len(tokens), (length - distance) * size**2, device=tokens.device)
        return flat.scatter_(1, columns, visibility[:, :-distance] * visibility[:, distance:])

    def penalty(self, n_rows: float, exposure: Tensor) -> Tensor:
        """A concave penalty on the size of each pair's table of logits, as that of the pairwise map."""
        total = torch.zeros((), device=exposure.device)
        for source, target, distance in self._links():
            if (name := _term(source, target, distance)) in self.terms:
                (length, size), (_, levels) = self.sizes[source], self.sizes[target]
                tables = self.terms[name].square().unflatten(1, (-1, levels)).unflatten(0, (-1, size**2))
                seen = exposure[self.layout.slice_of(source), self.layout.slice_of(target)][: length - distance]
                cells = torch.tensor(size**2 * levels, device=exposure.device)
                total = total + concave_penalty(tables.sum((1, 3)), self.config.sparsity, seen, cells, levels, n_rows)
        return total


def _term(source: str, target: str, distance: int) -> str:
    return f"{key(source)}_to_{key(target)}_{distance}"
