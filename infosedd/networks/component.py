"""What every part of a score network shares: its input, and the logits it adds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from infosedd.blocks import Block
from infosedd.layout import Layout


class ComponentConfig(BaseModel):
    """Options that every component has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    learning_rate: float = Field(default=2e-3, gt=0, description="peak learning rate of this component")
    weight_decay: float = Field(default=0.0, ge=0, description="decoupled weight decay of this component")
    residual: bool = Field(
        default=False,
        description="train after the others, on what they can't say, and keep it only where held-out loss gains",
    )


class Features:
    """One batch as the components see it."""

    def __init__(
        self, layout: Layout, tokens: Tensor, visibility: Tensor, generator: torch.Generator | None = None
    ) -> None:
        self.layout = layout
        self._generator = generator
        self.tokens = tokens
        """(B, L) codes, the mask's where nothing is visible."""
        self.visibility = visibility
        """(B, L) 1 clean, 0 hidden or masked, exp(-sigma_bar) noised by the uniform process."""
        self.base: dict[str, Tensor] = {}
        """{block: (B, L_b, N_b)} logits of the components that are no residual; empty where there is no residual."""
        self.surprise = torch.zeros(tokens.shape, device=tokens.device)
        """(B, L) log p(token | the other visible ones) - log marginal of each visible token, as the base has it."""

    def drop(self, hidden: Tensor, share: float) -> Tensor:
        """Dropout by the batch's own generator; without one (not training) nothing is dropped."""
        if self._generator is None or share == 0:
            return hidden
        kept = torch.rand(hidden.shape, generator=self._generator).to(hidden.device) >= share
        return hidden * kept / (1 - share)

    @cached_property
    def one_hot(self) -> Tensor:
        """(B, sum of N) one-hot codes of all positions, each times its visibility."""
        starts = self.layout.one_hot_starts.to(self.tokens.device)
        sizes = self.layout.vocab_sizes.to(self.tokens.device)
        columns = starts + self.tokens.clamp(max=sizes - 1)
        flat = torch.zeros(len(self.tokens), self.layout.one_hot_width, device=self.tokens.device)
        return flat.scatter_(1, columns, self.visibility)

    def pairs(self, block: Block, distance: int) -> tuple[Tensor, Tensor]:
        """(B, L_b - distance) codes first * N + second of a block's tokens that far apart, and their visibility."""
        size, there = block.vocabulary.size, self.layout.slice_of(block.name)
        tokens, seen = self.tokens[:, there].clamp(max=size - 1), self.visibility[:, there]
        return tokens[:, :-distance] * size + tokens[:, distance:], seen[:, :-distance] * seen[:, distance:]

    @cached_property
    def noise_level(self) -> Tensor:
        """(B,) visibility exp(-sigma_bar) of the row's noised tokens; 0 where none is partly visible."""
        partly = (self.visibility > 0) & (self.visibility < 1)
        return (self.visibility * partly).amax(1)


class Component(nn.Module, ABC):
    """Adds logits to the score network's; all of them are 0 before training."""

    def __init__(self, layout: Layout, config: ComponentConfig) -> None:
        super().__init__()
        self.layout = layout
        self.config = config

    @property
    def is_kept_simple(self) -> bool:
        """Do few weights, or a penalty, keep it from learning a few rows by heart however long it is trained?"""
        return False

    def keep(self, blocks: Sequence[str]) -> None:
        """Drop the weights of logits for any block but ``blocks``: they are never asked for."""
        for module in self.modules():
            if isinstance(module, BlockHeads):
                module.keep(blocks)

    def penalty(self, n_rows: float, exposure: Tensor) -> Tensor:
        """What training adds to the loss (nats a row) of ``n_rows`` rows to keep the component simple; 0 by default.

        ``exposure`` (L, L): the weight in the loss with which one position is seen when another is scored, on the
        network's device, as is the result. ``n_rows`` is the number of independent draws that the rows stand for.
        """
        return torch.zeros((), device=exposure.device)

    @abstractmethod
    def forward(self, features: Features, targets: Sequence[str]) -> dict[str, Tensor]:
        """{block: (B, L_block, N_block) logits} for the blocks named in ``targets``."""


class BlockHeads(nn.Module):
    """A zero-initialised linear map from one vector a row to the logits of each block."""

    def __init__(self, layout: Layout, width: int) -> None:
        super().__init__()
        self.shapes = {block.name: (block.length, block.vocabulary.size) for block in layout.blocks}
        self.weights = nn.ParameterDict(
            {key(name): nn.Parameter(torch.zeros(width, length * size)) for name, (length, size) in self.shapes.items()}
        )

    def keep(self, blocks: Sequence[str]) -> None:
        for name in set(self.shapes) - set(blocks):
            self.shapes.pop(name)
            del self.weights[key(name)]

    def forward(self, vector: Tensor, targets: Sequence[str]) -> dict[str, Tensor]:
        return {name: (vector @ self.weights[key(name)]).unflatten(1, self.shapes[name]) for name in targets}


def key(block_name: str) -> str:
    """A block's name as a parameter's name, where torch allows no dots."""
    return "block_" + block_name.replace(".", "%2E")
