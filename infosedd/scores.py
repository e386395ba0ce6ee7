"""Scores: what the integrals need to know of a law, learned or exact.

A concrete score of either process follows from the posterior p(x0_i = a | x_t), the *denoiser*
(see ``NoiseProcess.concrete_score``), so that is what a score model gives. Its input is one row of
tokens and their visibilities: 1 for a clean token, 0 for a hidden or masked one, exp(-sigma_bar)
for a token noised by the uniform process.
"""

from collections.abc import Mapping, Sequence
from math import log
from typing import Protocol

import torch
from torch import Tensor

from infosedd.errors import InputError
from infosedd.layout import Layout
from infosedd.networks import ScoreNetwork


class Score(Protocol):
    """Gives log p(x0_i = a | what is visible) for the positions of the blocks asked for."""

    @property
    def layout(self) -> Layout: ...

    def log_posterior(self, tokens: Tensor, visibility: Tensor, targets: Sequence[str]) -> Mapping[str, Tensor]:
        """``tokens``, ``visibility`` (B, L) -> {block: (B, L_block, N_block) log probabilities}."""
        ...


class ExactScore:
    """The score of a law given as a table, by enumeration: slow, small, and right.

    ``table`` has one axis a position, in layout order, and sums to 1. Every integral and measure is
    checked against it without training. A sight that the law rules out has no posterior; it gets the
    uniform law, since a divergence from that law is infinite already.
    """

    def __init__(self, layout: Layout, table: Tensor) -> None:
        sizes = tuple(layout.vocab_sizes.tolist())
        if tuple(table.shape) != sizes:
            raise InputError(f"the table has shape {tuple(table.shape)}, the layout asks for {sizes}")
        if not (bool((table >= 0).all()) and abs(float(table.sum()) - 1) <= 1e-9):
            raise InputError("the table is not a probability law", remedy="entries of at least 0 that sum to 1")
        self._layout = layout
        self.table = table.double()
        axes = torch.meshgrid(*[torch.arange(s) for s in sizes], indexing="ij")
        self.states = torch.stack([axis.reshape(-1) for axis in axes], dim=1)
        """(S, L) every state, in table order."""

    @property
    def layout(self) -> Layout:
        return self._layout

    def log_posterior(self, tokens: Tensor, visibility: Tensor, targets: Sequence[str]) -> dict[str, Tensor]:
        joint = self.table.reshape(1, -1).repeat(len(tokens), 1)
        sizes = self.layout.vocab_sizes
        for i in range(self.layout.seq_len):
            v = visibility[:, i, None].double()
            seen = tokens[:, i, None] == self.states[None, :, i]
            # a token that the row itself hides says nothing, whatever its visibility
            hidden = (tokens[:, i, None] == sizes[i]).double()
            joint = joint * (hidden + (1 - hidden) * ((1 - v) / sizes[i] + v * seen))
        out = {}
        for name in targets:
            columns = []
            block = next(b for b in self.layout.blocks if b.name == name)
            for i in range(self.layout.starts[name], self.layout.starts[name] + block.length):
                one_hot = torch.nn.functional.one_hot(self.states[:, i], int(sizes[i])).double()
                columns.append(joint @ one_hot)
            mass = torch.stack(columns, dim=1)
            mass = torch.where(mass.sum(-1, keepdim=True) > 0, mass, 1.0)
            out[name] = (mass / mass.sum(-1, keepdim=True)).log()
        return out

    def draw(self, n: int, generator: torch.Generator) -> Tensor:
        """(n, L) tokens drawn from the table."""
        picked = torch.multinomial(self.table.reshape(-1), n, replacement=True, generator=generator)
        return self.states[picked]


class LearnedScore:
    """The mean posterior of one or more networks."""

    def __init__(self, networks: Sequence[ScoreNetwork]) -> None:
        self.networks = tuple(networks)

    @property
    def layout(self) -> Layout:
        return self.networks[0].layout

    @torch.no_grad()
    def log_posterior(self, tokens: Tensor, visibility: Tensor, targets: Sequence[str]) -> dict[str, Tensor]:
        device = self.networks[0].device
        tokens, visibility = tokens.to(device), visibility.to(device)
        each = [network(tokens, visibility, targets) for network in self.networks]
        if len(each) == 1:
            return {name: log_posterior.cpu() for name, log_posterior in each[0].items()}
        return {name: (torch.stack([e[name] for e in each]).logsumexp(0) - log(len(each))).cpu() for name in targets}
