"""Draws from a learned law by the reverse process, for judging a model against its data."""

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from infosedd.blocks import EMPTY, Selection
from infosedd.integrals import batch_size_for
from infosedd.layout import Layout
from infosedd.orders import Order, levels
from infosedd.processes import NoiseProcess
from infosedd.schedules import Schedule
from infosedd.scores import Score


def sample_absorbing(score: Score, x: Selection, n: int, order: Order, generator: torch.Generator) -> Tensor:
    """(n, L) tokens, those of ``x`` drawn one at a time from all masked, the others left hidden.

    Unmasking one token a step in the order that noise took them is exact for the model: there is no
    error of a time step.
    """
    return _in_batches(score.layout, n, lambda size: _absorbing(score, x, size, order, generator))


def _in_batches(layout: Layout, n: int, draw: Callable[[int], Tensor]) -> Tensor:
    most = batch_size_for(layout)
    return torch.cat([draw(min(most, n - start)) for start in range(0, n, most)])


def _absorbing(score: Score, x: Selection, n: int, order: Order, generator: torch.Generator) -> Tensor:
    layout = score.layout
    tokens = layout.vocab_sizes.repeat(n, 1)
    rows = torch.arange(n)
    for level, _ in levels(x, layout, order):
        mask = layout.mask_of(level)
        lots = torch.rand(n, layout.seq_len, generator=generator).masked_fill_(~mask, 2.0)
        for position in lots.argsort(1)[:, : level.size].T:
            visible = (tokens != layout.vocab_sizes).float()
            posteriors = score.log_posterior(tokens, visible, layout.blocks_of(mask))
            for name, log_posterior in posteriors.items():
                there = layout.slice_of(name)
                mine = (position >= there.start) & (position < there.stop)
                law = log_posterior[rows[mine], position[mine] - there.start].exp()
                if len(law):
                    drawn = torch.multinomial(law, 1, generator=generator).squeeze(1)
                    tokens[rows[mine], position[mine]] = drawn
    return tokens


def sample_uniform(
    score: Score,
    x: Selection,
    n: int,
    process: NoiseProcess,
    schedule: Schedule,
    generator: torch.Generator,
    n_steps: int = 256,
) -> Tensor:
    """(n, L) tokens, those of ``x`` drawn by tau-leaping from uniform noise; its error falls with ``n_steps``."""
    return _in_batches(score.layout, n, lambda size: _uniform(score, x, size, process, schedule, generator, n_steps))


def _uniform(
    score: Score,
    x: Selection,
    n: int,
    process: NoiseProcess,
    schedule: Schedule,
    generator: torch.Generator,
    n_steps: int,
) -> Tensor:
    layout = score.layout
    mask = layout.mask_of(x if x.parts else EMPTY)
    noise = (torch.rand(n, layout.seq_len, generator=generator) * layout.vocab_sizes).long()
    tokens = torch.where(mask, noise, layout.vocab_sizes)
    times = torch.linspace(1, 0, n_steps + 1, dtype=torch.float64)
    for t, s in pairwise(times):
        bar_t, bar_s = schedule.sigma_bar(t), schedule.sigma_bar(s)
        visibility = (mask * torch.exp(-bar_t)).float().expand(n, -1)
        for name, log_posterior in score.log_posterior(tokens, visibility, layout.blocks_of(mask)).items():
            there = layout.slice_of(name)
            size = log_posterior.shape[-1]
            x0 = _draw(log_posterior.double().exp(), generator)
            here = tokens[:, there].clamp(max=size - 1)
            forward, back = process.transition(size, bar_s), process.transition(size, bar_t - bar_s)
            law = forward[x0] * back.T[here]
            tokens[:, there] = torch.where(mask[there], _draw(law, generator), tokens[:, there])
    return tokens


def _draw(law: Tensor, generator: torch.Generator) -> Tensor:
    """One code for each row and position of a (n, L, N) table of weights."""
    flat = torch.multinomial(law.flatten(0, 1), 1, generator=generator)
    return flat.reshape(law.shape[:2])
