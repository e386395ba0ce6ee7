"""Denoising score entropy: the training loss, whose minimum over scores is the true score.

Absorbing, in the subset form: |A| / k SUM_{i in M} -log p(x_i | visible), which is the time integral
carried out. Uniform: at one time a row, SUM_y Q_t(y -> x_t) [s - r log s + r (log r - 1)].
Source: Lou, Meng, Ermon 2024.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from infosedd.layout import Layout
from infosedd.networks import ScoreNetwork
from infosedd.noise import Draw, spread, subset_draw, time_draw
from infosedd.processes import AbsorbingProcess, NoiseProcess
from infosedd.queries import Dealt
from infosedd.schedules import Schedule


def noise_batch(
    tokens: Tensor,
    noised: Tensor,
    process: NoiseProcess,
    schedule: Schedule,
    layout: Layout,
    generator: torch.Generator,
) -> Draw:
    """One draw of noise for each row, its level spread evenly over the batch; ``tokens``, ``noised`` (B, L)."""
    levels = spread(torch.arange(len(tokens)), int(torch.randint(0, 2**31, (), generator=generator)))
    if isinstance(process, AbsorbingProcess):
        return subset_draw(tokens, noised, layout.vocab_sizes, levels, 1.0, generator)
    return time_draw(process, schedule, tokens, noised, layout.vocab_sizes, levels, 1.0, generator)


def row_losses(
    network: ScoreNetwork,
    tokens: Tensor,
    dealt: Dealt,
    draw: Draw,
    targets: tuple[str, ...],
    generator: torch.Generator | None = None,
) -> Tensor:
    """(B,) denoising score entropy of each row, in nats, its expectation over the noise drawn once.

    With a ``generator``, the network's dropout is on.
    """
    layout = network.layout
    seen = torch.where(dealt.clean, tokens, torch.where(dealt.noised, draw.tokens, layout.vocab_sizes))
    visibility = torch.where(seen == layout.vocab_sizes, 0.0, dealt.clean + dealt.noised * draw.visibility)
    device = network.device
    log_posteriors: Mapping[str, Tensor] = network(seen.to(device), visibility.to(device), targets, generator)
    total = torch.zeros(len(tokens))
    for name, log_posterior in log_posteriors.items():
        there = layout.slice_of(name)
        part = _score_entropy(log_posterior, tokens[:, there], draw, there)
        total = total + torch.where(draw.scored[:, there], part, 0.0).sum(1)
    return total * draw.weight * dealt.weight


def _score_entropy(log_posterior: Tensor, x0: Tensor, draw: Draw, there: slice) -> Tensor:
    size = log_posterior.shape[-1]
    if draw.sigma_bar is None:
        codes = x0.clamp(max=size - 1)[..., None].to(log_posterior.device)
        return -log_posterior.gather(-1, codes).squeeze(-1).cpu()
    xt = draw.tokens[:, there]
    # float64: near t = 0 the scores are sums of terms that almost cancel
    score = draw.process.concrete_score(xt, log_posterior.double().cpu().exp(), draw.sigma_bar)
    r = draw.process.clean_ratio(x0, xt, size, draw.sigma_bar)
    terms = score - r * score.log() + torch.special.xlogy(r, r) - r
    moves = torch.arange(size) != xt[..., None]
    return (torch.where(moves, terms, 0.0).sum(-1) * draw.process.reverse_rate(size)).float()
