"""Convolution: motifs that move along a sequence (1-D), and lattices with periodic edges (2-D).

Each block has its own stack of residual convolutions over its own tokens, of kernel 1 for a single token.
A block's logits come from its own stack position by position, and from the others' through their mean and
maximum.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn
from torch.nn import functional as F

from infosedd.blocks import Block
from infosedd.layout import Layout
from infosedd.networks.component import BlockHeads, Component, ComponentConfig, Features, key


class ConvConfig(ComponentConfig):
    kind: Literal["conv"] = "conv"
    width: int = Field(default=32, ge=1, description="number of channels")
    depth: int = Field(default=4, ge=1, description="number of residual convolutions")
    kernel: int = Field(default=3, ge=1, description="width of each kernel, odd")

    @field_validator("kernel")
    @classmethod
    def _is_odd(cls, kernel: int) -> int:
        if kernel % 2 == 0:
            raise ValueError("a kernel needs an odd width, so that it has a middle")
        return kernel

    dropout: float = Field(default=0.0, ge=0, lt=1, description="share of channels dropped in training")


class Conv(Component):
    config: ConvConfig

    def __init__(self, layout: Layout, config: ConvConfig) -> None:
        super().__init__(layout, config)
        self.stacks = nn.ModuleDict({key(b.name): _Stack(b, config) for b in layout.blocks})
        self.own = nn.ParameterDict(
            {key(b.name): nn.Parameter(torch.zeros(config.width, b.vocabulary.size)) for b in layout.blocks}
        )
        self.across = nn.ModuleDict({name: BlockHeads(layout, 2 * config.width) for name in self.stacks})

    def forward(self, features: Features, targets: Sequence[str]) -> dict[str, Tensor]:
        out: dict[str, Tensor] = {}
        for block in self.layout.blocks:
            there = self.layout.slice_of(block.name)
            hidden = self.stacks[key(block.name)](features, there)
            pooled = torch.cat([hidden.mean(1), hidden.amax(1)], 1)
            for name, logits in self.across[key(block.name)](pooled, [t for t in targets if t != block.name]).items():
                out[name] = out.get(name, 0) + logits
            if block.name in targets:
                out[block.name] = out.get(block.name, 0) + hidden @ self.own[key(block.name)]
        return out


class _Stack(nn.Module):
    """(B, L) tokens of one block -> (B, L, width)."""

    def __init__(self, block: Block, config: ConvConfig) -> None:
        super().__init__()
        self.size = block.vocabulary.size
        self.grid = block.lattice if block.lattice is not None and len(block.lattice) == 2 else (block.length,)
        self.pad_mode = "circular" if block.periodic else "constant"
        kernel = config.kernel if block.length > 1 else 1
        self.reach = kernel // 2
        conv = nn.Conv2d if len(self.grid) == 2 else nn.Conv1d
        self.embed = conv(self.size + 1, config.width, 1, bias=False)
        self.layers = nn.ModuleList(conv(config.width, config.width, kernel) for _ in range(config.depth))
        self.dropout = config.dropout

    def forward(self, features: Features, there: slice) -> Tensor:
        tokens, visibility = features.tokens[:, there], features.visibility[:, there]
        symbols = F.one_hot(tokens.clamp(max=self.size - 1), self.size) * visibility[..., None]
        grid = torch.cat([symbols, 1 - visibility[..., None]], -1).transpose(1, 2).unflatten(2, self.grid)
        hidden = self.embed(grid)
        pad = (self.reach, self.reach) * len(self.grid)
        for layer in self.layers:
            inner = features.drop(F.gelu(hidden), self.dropout)
            hidden = hidden + layer(F.pad(inner, pad, mode=self.pad_mode))
        return F.gelu(hidden).flatten(2).transpose(1, 2)
