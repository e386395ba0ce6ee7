"""Composition: what the make-up of the visible part of a block says about other blocks, wherever it lies.

The logits of a label gain U . c / (1 + k)^gamma, with the counts c of each symbol, and of each pair of
symbols a few positions apart, among the k visible tokens. A promoter is richer in A and T along its whole
length: one set of weights for all positions learns from a few hundred rows what a set for each position
can't. The exponent, learned from 1/2, allows for counts that repeat one another.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from infosedd.blocks import Block
from infosedd.layout import Layout
from infosedd.networks.component import BlockHeads, Component, ComponentConfig, Features, key


class CompositionConfig(ComponentConfig):
    kind: Literal["composition"] = "composition"
    learning_rate: float = Field(default=1e-2, gt=0, description="peak learning rate of the weights")
    reach: int = Field(default=2, ge=0, description="largest distance between the two symbols of a counted pair")


class Composition(Component):
    config: CompositionConfig

    def __init__(self, layout: Layout, config: CompositionConfig) -> None:
        super().__init__(layout, config)
        self.sources = [block for block in layout.blocks if block.length > 1]
        self.heads = nn.ModuleDict()
        for block in self.sources:
            heads = BlockHeads(layout, self._width(block))
            heads.keep([name for name in layout.names if name != block.name])
            self.heads[key(block.name)] = heads
        self.exponent = nn.Parameter(torch.tensor(0.5))

    @property
    def is_kept_simple(self) -> bool:
        return True

    def _reach(self, block: Block) -> int:
        return min(self.config.reach, block.length - 1)

    def _width(self, block: Block) -> int:
        return block.vocabulary.size + self._reach(block) * block.vocabulary.size**2

    def forward(self, features: Features, targets: Sequence[str]) -> dict[str, Tensor]:
        out: dict[str, Tensor] = {}
        for block in self.sources:
            others = [name for name in targets if name != block.name]
            if others:
                for name, logits in self.heads[key(block.name)](self._counts(features, block), others).items():
                    out[name] = out.get(name, 0) + logits
        return out

    def _counts(self, features: Features, block: Block) -> Tensor:
        """(B, N + reach N^2) faded counts of symbols, then of pairs by distance, among the visible tokens."""
        size, there = block.vocabulary.size, self.layout.slice_of(block.name)
        tokens, seen = features.tokens[:, there].clamp(max=size - 1), features.visibility[:, there]
        counts = [torch.zeros(len(tokens), size, device=tokens.device).scatter_add_(1, tokens, seen)]
        for distance in range(1, self._reach(block) + 1):
            pairs, both = features.pairs(block, distance)
            counts.append(torch.zeros(len(tokens), size**2, device=tokens.device).scatter_add_(1, pairs, both))
        return torch.cat(counts, 1) * (1 + seen.sum(1, keepdim=True)) ** -self.exponent
