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
    """Sees the visible symbols and which positions are visible."""

    config: MLPConfig

    def __init__(self, layout: Layout, config: MLPConfig) -> None:
        super().__init__(layout, config)
        self.first = nn.Parameter(torch.randn(layout.one_hot_width + layout.seq_len, config.width))
        self.first.data *= layout.seq_len**-0.5
        self.layers = nn.ModuleList(nn.Linear(config.width, config.width, bias=False) for _ in range(config.depth - 1))
        self.heads = BlockHeads(layout, config.width)

    def forward(self, features: Features, targets: Sequence[str]) -> dict[str, Tensor]:
        hidden = F.gelu(torch.cat([features.one_hot, features.visibility], 1) @ self.first)
        for layer in self.layers:
            hidden = F.gelu(layer(features.drop(hidden, self.config.dropout)))
        return self.heads(features.drop(hidden, self.config.dropout), targets)
