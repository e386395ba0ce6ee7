"""Transformer: long text, large vocabularies, or a GPU.

Pre-norm blocks over all tokens of a row. The noise level enters through adaptive layer norm
(Peebles and Xie 2023), which the uniform process needs and the absorbing one leaves constant.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from infosedd.layout import Layout
from infosedd.networks.component import Component, ComponentConfig, Features, key


class TransformerConfig(ComponentConfig):
    kind: Literal["transformer"] = "transformer"
    learning_rate: float = Field(default=1e-3, gt=0, description="peak learning rate")
    weight_decay: float = Field(default=0.01, ge=0, description="decoupled weight decay")
    width: int = Field(default=64, ge=2, description="width of the residual stream")
    depth: int = Field(default=2, ge=1, description="number of layers")
    heads: int = Field(default=4, ge=1, description="attention heads; divides the width")
    positions: Literal["learned", "rotary"] = Field(default="learned", description="how positions enter")
    dropout: float = Field(default=0.0, ge=0, lt=1, description="share of units dropped in training")

    @model_validator(mode="after")
    def _divides(self) -> "TransformerConfig":
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} must be a multiple of twice the number of heads, {2 * self.heads}")
        return self


class Transformer(Component):
    config: TransformerConfig
    angles: Tensor

    def __init__(self, layout: Layout, config: TransformerConfig) -> None:
        super().__init__(layout, config)
        self.embeddings = nn.ModuleDict(
            {key(b.name): nn.Embedding(b.vocabulary.size + 1, config.width) for b in layout.blocks}
        )
        self.positions = nn.Parameter(torch.randn(layout.seq_len, config.width) * 0.5)
        self.level = nn.Sequential(nn.Linear(1, config.width), nn.SiLU())
        self.layers = nn.ModuleList(_Layer(config) for _ in range(config.depth))
        self.norm = nn.LayerNorm(config.width)
        self.heads = nn.ParameterDict(
            {key(b.name): nn.Parameter(torch.zeros(config.width, b.vocabulary.size)) for b in layout.blocks}
        )
        angles = torch.arange(layout.seq_len)[:, None] * 10000.0 ** -torch.linspace(
            0, 1, config.width // config.heads // 2
        )
        self.register_buffer("angles", angles, persistent=False)

    def forward(self, features: Features, targets: Sequence[str]) -> dict[str, Tensor]:
        parts = []
        for block in self.layout.blocks:
            there = self.layout.slice_of(block.name)
            embedding = self.embeddings[key(block.name)]
            seen = features.visibility[:, there, None]
            nothing = torch.full_like(features.tokens[:, there], block.vocabulary.mask_id)
            parts.append(seen * embedding(features.tokens[:, there]) + (1 - seen) * embedding(nothing))
        stream = torch.cat(parts, 1)
        rotary = self.config.positions == "rotary"
        if not rotary:
            stream = stream + self.positions
        level = self.level(features.noise_level[:, None])
        for layer in self.layers:
            stream = layer(features, stream, level, self.angles if rotary else None)
        final = self.norm(stream)
        return {name: final[:, self.layout.slice_of(name)] @ self.heads[key(name)] for name in targets}


class _Layer(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width = config.width
        self.n_heads, self.dropout = config.heads, config.dropout
        self.norms = nn.ModuleList(nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
        self.modulation = nn.Linear(width, 4 * width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.attention_out = nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        nn.init.zeros_(self.modulation.weight)
        nn.init.zeros_(self.modulation.bias)

    def forward(self, features: Features, stream: Tensor, level: Tensor, angles: Tensor | None) -> Tensor:
        scale_a, shift_a, scale_m, shift_m = self.modulation(level)[:, None].chunk(4, -1)
        attended = self._attend(self.norms[0](stream) * (1 + scale_a) + shift_a, angles)
        stream = stream + features.drop(attended, self.dropout)
        inner = self.mlp(self.norms[1](stream) * (1 + scale_m) + shift_m)
        return stream + features.drop(inner, self.dropout)

    def _attend(self, stream: Tensor, angles: Tensor | None) -> Tensor:
        q, k, v = self.qkv(stream).unflatten(-1, (3, self.n_heads, -1)).permute(2, 0, 3, 1, 4)
        if angles is not None:
            q, k = _rotate(q, angles), _rotate(k, angles)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.attention_out(mixed.transpose(1, 2).flatten(2))


def _rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Rotary positions (Su et al. 2021): rotate each pair of coordinates by position times frequency."""
    first, second = x.chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
