"""Score networks: one file a component, each a frozen configuration and a module.

To add one: write its file with a ``ComponentConfig`` (a new ``kind``) and a ``Component``, and add the
pair to ``COMPONENTS`` and ``AnyComponent`` below.
"""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from infosedd.layout import Layout
from infosedd.networks.component import Component, ComponentConfig
from infosedd.networks.composition import Composition, CompositionConfig
from infosedd.networks.conv import Conv, ConvConfig
from infosedd.networks.latent import Latent, LatentConfig
from infosedd.networks.mlp import MLP, MLPConfig
from infosedd.networks.neighbours import Neighbours, NeighboursConfig
from infosedd.networks.network import ScoreNetwork
from infosedd.networks.pairwise import Pairwise, PairwiseConfig
from infosedd.networks.transformer import Transformer, TransformerConfig
from infosedd.randomness import torch_seed

AnyComponent = Annotated[
    PairwiseConfig | NeighboursConfig | CompositionConfig | LatentConfig | MLPConfig | ConvConfig | TransformerConfig,
    Field(discriminator="kind"),
]

COMPONENTS: dict[type[ComponentConfig], type[Component]] = {
    PairwiseConfig: Pairwise,
    NeighboursConfig: Neighbours,
    CompositionConfig: Composition,
    LatentConfig: Latent,
    MLPConfig: MLP,
    ConvConfig: Conv,
    TransformerConfig: Transformer,
}

_GLOBAL_GENERATOR = Lock()

FULL_MAP_LIMIT = 20_000_000
"""Entries above which the pairwise map is factored."""
FULL_NEIGHBOURS_LIMIT = 20_000
"""Pairs of neighbouring symbols above which they have no terms of their own."""
FEW_ROWS = 5000
"""Rows below which long sequences have no residual: it costs more by overfitting than it is likely to find."""
SHORT = 32
"""Positions up to which few rows are enough to find what pairs can't say, such as parity."""


def build(
    layout: Layout,
    configs: Sequence[ComponentConfig],
    marginals: Mapping[str, Tensor],
    seed: int,
    learned: Sequence[str] | None = None,
) -> ScoreNetwork:
    """The network of some components, its random start fixed by ``seed`` alone.

    ``learned`` names the blocks that training predicts; by default all.

    Modules start from torch's global generator, which threads share: one at a time.
    """
    with _GLOBAL_GENERATOR, torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed("weights", seed))
        components = [COMPONENTS[type(config)](layout, config) for config in configs]
        return ScoreNetwork(layout, components, marginals, learned)


def choose(layout: Layout, target_blocks: Sequence[str], n_rows: int) -> tuple[AnyComponent, ...]:
    """The components that ``auto`` picks, by what is to be predicted, by length, vocabulary and sample size."""
    targets = [block for block in layout.blocks if block.name in target_blocks]
    n_targets = sum(block.length for block in targets)
    lattices = [block for block in layout.blocks if block.lattice is not None and len(block.lattice) == 2]
    width_in = layout.one_hot_width
    width_out = sum(block.length * block.vocabulary.size for block in targets)
    rank = None if width_in * width_out <= FULL_MAP_LIMIT else max(1, min(64, FULL_MAP_LIMIT // (width_in + width_out)))
    pairwise = PairwiseConfig(rank=rank, sparsity=3.0)
    sequences = [block for block in layout.blocks if block not in targets and block.length > 16]
    n_pairs = sum(block.length * block.vocabulary.size**2 for block in sequences)
    if lattices and layout.seq_len > 128:
        return pairwise, ConvConfig(width=48, depth=6, residual=True)
    if n_targets == 1 and sequences and n_rows < FEW_ROWS and n_pairs <= FULL_NEIGHBOURS_LIMIT:
        return (
            PairwiseConfig(learning_rate=1e-2, sparsity=0.3),
            NeighboursConfig(learning_rate=5e-3, sparsity=0.4),
            CompositionConfig(reach=3),
        )
    if n_targets == 1 and layout.seq_len > 16:
        return LatentConfig(), MLPConfig(width=64, depth=2, dropout=0.3, learning_rate=3e-3, weight_decay=0.1)
    if layout.seq_len <= 128 and width_in <= 4096:
        residual = MLPConfig(width=128, depth=2, dropout=0.1, weight_decay=0.3, residual=True)
        return (pairwise, residual) if n_rows >= FEW_ROWS or layout.seq_len <= SHORT else (pairwise,)
    return (pairwise,)


__all__ = [
    "COMPONENTS",
    "AnyComponent",
    "Component",
    "ComponentConfig",
    "CompositionConfig",
    "ConvConfig",
    "LatentConfig",
    "MLPConfig",
    "NeighboursConfig",
    "PairwiseConfig",
    "ScoreNetwork",
    "TransformerConfig",
    "build",
    "choose",
]
