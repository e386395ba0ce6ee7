"""Low-rank latent: a linear map of the whole row to a few latents, then a small non-linear head.

For a label that a whole sequence determines: what a promoter's positions say about expression adds up
in a binding energy or two, and the energies meet in a curve (Kinney et al. 2010).
"""

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from infosedd.layout import Layout
from infosedd.networks.component import BlockHeads, Component, ComponentConfig, Features


class LatentConfig(ComponentConfig):
    kind: Literal["latent"] = "latent"
    learning_rate: float = Field(default=1e-2, gt=0, description="peak learning rate of the latents and their head")
    latents: int = Field(default=4, ge=1, description="number of latents")
    width: int = Field(default=32, ge=1, description="width of the non-linear head")


class Latent(Component):
    config: LatentConfig

    def __init__(self, layout: Layout, config: LatentConfig) -> None:
        super().__init__(layout, config)
        scale = layout.seq_len**-0.5
        self.tokens_in = nn.Parameter(torch.randn(layout.one_hot_width, config.latents) * scale)
        self.hidden_in = nn.Parameter(torch.zeros(layout.seq_len, config.latents))
        self.curve = nn.Linear(config.latents, config.width)
        self.heads = BlockHeads(layout, config.width)

    def forward(self, features: Features, targets: Sequence[str]) -> dict[str, Tensor]:
        latents = features.one_hot @ self.tokens_in + (1 - features.visibility) @ self.hidden_in
        return self.heads(torch.tanh(self.curve(latents)), targets)
