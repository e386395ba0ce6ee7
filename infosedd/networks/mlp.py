"""Residual MLP: learns what pairs cannot say, such as parity; for short rows of fixed length."""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from infosedd.layout import Layout
from infosedd.networks.component import BlockHeads, Component, ComponentConfig, Features


class MLPConfig(ComponentConfig):
    kind: Literal["mlp"] = "mlp"
    width: int = Field(default=256, ge=1, description="width of each hidden layer")
    depth: int = Field(default=2, ge=1, description="number of hidden layers")
    dropout: float = Field(default=0.0, ge=0, lt=1, description="share of hidden units dropped in training")


class MLP(Component):
    """Sees the visible symbols and which positions are visible.

    As a residual it also sees how well the base explains each visible token, and may scale the base's
    logits at each position: mixtures of laws, such as pairs that hold in some rows only, need no more.
    """

    config: MLPConfig

    def __init__(self, layout: Layout, config: MLPConfig) -> None:
        super().__init__(layout, config)
        width_in = layout.one_hot_width + layout.seq_len * (2 if config.residual else 1)
        self.first = nn.Parameter(torch.randn(width_in, config.width))
        self.first.data *= layout.seq_len**-0.5
        self.layers = nn.ModuleList(nn.Linear(config.width, config.width, bias=False) for _ in range(config.depth - 1))
        self.heads = BlockHeads(layout, config.width)
        if config.residual:
            self.scales = nn.Parameter(torch.zeros(config.width, layout.seq_len))

    def forward(self, features: Features, targets: Sequence[str]) -> dict[str, Tensor]:
        seen = [features.one_hot, features.visibility] + ([features.surprise] if self.config.residual else [])
        hidden = F.gelu(torch.cat(seen, 1) @ self.first)
        for layer in self.layers:
            hidden = F.gelu(layer(features.drop(hidden, self.config.dropout)))
        hidden = features.drop(hidden, self.config.dropout)
        out = self.heads(hidden, targets)
        if self.config.residual:
            scales = hidden @ self.scales
            for name in targets:
                out[name] = out[name] + scales[:, self.layout.slice_of(name), None] * features.base[name]
        return out
