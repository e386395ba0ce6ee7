r"""The two estimators of an information measure, as integrals over the noise of two scores.

A measure is KL(p || q) for two ways to look at the same noised tokens A: with p they are predicted
from one set of visible tokens, with q from another (mutual information: with and without B). A
*view* says which of the noised tokens it predicts and which other tokens it sees; a *side* is
the views that together predict all of A.

Subset form (absorbing; no time integral, no truncation), with k masked tokens of A:

    SUM_{k=1}^{|A|} (1/k) E_{|M|=k} SUM_{i in M} D_i
    loss_difference:  D_i = log p(x_i | seen by p) - log q(x_i | seen by q)
    dynkin:           D_i = SUM_a p(a) log(p(a) / q(a))

Time form (both processes), with scores s_p, s_q of single-token moves at rate Q_t(y -> x_t):

    INT_0^1 E SUM_{y != x_t} Q_t(y -> x_t) D(y) dt
    loss_difference:  D = (s_q - r log s_q) - (s_p - r log s_p),  r = p(y|x0) / p(x_t|x0)
    dynkin:           D = s_p log(s_p / s_q) - s_p + s_q

Source: Lou, Meng, Ermon 2024 for the denoising score entropy; Foresti et al. 2026 for the KL.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from infosedd.layout import Layout
from infosedd.networks.normalise import log_probabilities
from infosedd.noise import Draw, Noise
from infosedd.scores import Score

MOST_ROWS = 2048
"""Rows that are evaluated together."""
MOST_ENTRIES = 2**24
"""Entries, rows times all symbols of all positions, that are evaluated together: 128 MiB a table."""


@dataclass(frozen=True)
class View:
    """Predicts the noised tokens in ``targets``; sees ``noised`` ones as noise left them, ``clean`` ones whole.

    Each is a (L,) bool mask; what is in neither is hidden.
    """

    targets: Tensor
    noised: Tensor
    clean: Tensor


Side = Sequence[View]
"""Views with disjoint targets; what no view predicts follows the uniform law."""


@dataclass(frozen=True)
class Integrals:
    """Both estimators, one value a row, (n,) float64, in nats."""

    loss_difference: Tensor
    dynkin: Tensor
    terminals: tuple[Tensor, ...] = ()
    """For each KL whose terminal part the integral leaves out, (n,): the size of their mean bounds it."""

    def __add__(self, other: "Integrals") -> "Integrals":
        terminals = self.terminals + other.terminals
        return Integrals(self.loss_difference + other.loss_difference, self.dynkin + other.dynkin, terminals)

    def times(self, factor: float) -> "Integrals":
        terminals = tuple(factor * t for t in self.terminals)
        return Integrals(factor * self.loss_difference, factor * self.dynkin, terminals)

    def bounded(self, share: float) -> "Integrals":
        """The same of one KL, of which the terminal part is at most this share (below 1)."""
        return replace(self, terminals=(share / (1 - share) * self.loss_difference,)) if share > 0 else self


def integrate(
    score: Score,
    tokens: Tensor,
    p: Side,
    q: Side,
    noise: Noise,
    *,
    score_q: Score | None = None,
    rows: Tensor | None = None,
    batch_size: int | None = None,
) -> Integrals:
    """Both estimators of KL(p || q) for each row of ``tokens`` (n, L), the same noise for p and q.

    ``score_q`` is the score that q looks through, where it is another one than p's. ``rows`` (n,) are the
    numbers that a row's noise follows from: those of a corpus, so that its folds have noise of their own.
    """
    layout = score.layout
    batch_size = batch_size or batch_size_for(layout)
    numbers = torch.arange(len(tokens)) if rows is None else rows
    noised = torch.stack([view.targets for view in p]).any(0)
    names = layout.blocks_of(noised)
    loss = torch.zeros(len(tokens), dtype=torch.float64)
    dynkin = torch.zeros(len(tokens), dtype=torch.float64)
    for start in range(0, len(tokens), batch_size):
        here = slice(start, start + batch_size)
        clean = tokens[here].long()
        for draw in noise.draws(clean, noised, layout.vocab_sizes, numbers[here]):
            log_p = predict(score, clean, draw, p, names)
            log_q = predict(score_q or score, clean, draw, q, names)
            for name in names:
                there = layout.slice_of(name)
                parts = _terms(clean[:, there], draw, there, log_p[name], log_q[name])
                for total, part in zip((loss, dynkin), parts, strict=True):
                    total[here] += draw.weight * torch.where(draw.scored[:, there], part, 0.0).sum(-1)
    return Integrals(loss, dynkin)


def batch_size_for(layout: Layout) -> int:
    """Rows of a layout to evaluate together: fewer where they have many positions of many symbols."""
    return max(1, min(MOST_ROWS, MOST_ENTRIES // layout.one_hot_width))


def predict(score: Score, clean_tokens: Tensor, draw: Draw, side: Side, names: Sequence[str]) -> dict[str, Tensor]:
    """{block: (B, L_b, N_b) float64 log posterior}, each target as its own view of the draw sees it.

    A target that its view does not see, or that has no view, still has what its own noised token says.
    """
    layout = score.layout
    out = {
        block.name: torch.zeros(len(clean_tokens), block.length, block.vocabulary.size, dtype=torch.float64)
        for block in layout.blocks
        if block.name in names
    }
    unseen = torch.ones(layout.seq_len, dtype=torch.bool)
    for view in side:
        seen = torch.where(view.clean, clean_tokens, torch.where(view.noised, draw.tokens, layout.vocab_sizes))
        visibility = view.clean + (view.noised & ~view.clean) * draw.visibility
        visibility = torch.where(seen == layout.vocab_sizes, 0.0, visibility)
        for name, log_posterior in score.log_posterior(seen, visibility, layout.blocks_of(view.targets)).items():
            mine = view.targets[layout.slice_of(name)][:, None]
            out[name] = torch.where(mine, log_posterior.double(), out[name])
        unseen &= ~(view.targets & view.noised)
    if draw.sigma_bar is not None:
        for name, log_posterior in out.items():
            there = layout.slice_of(name)
            own = draw.process.log_evidence(draw.tokens[:, there], log_posterior.shape[-1], draw.sigma_bar)
            out[name] = log_posterior + own * unseen[there][:, None]
    return {name: log_probabilities(log_posterior) for name, log_posterior in out.items()}


def _terms(tokens: Tensor, draw: Draw, there: slice, log_p: Tensor, log_q: Tensor) -> tuple[Tensor, Tensor]:
    """The integrand D of both estimators for each token of one block, (B, L_b) each."""
    if draw.sigma_bar is None:
        x = tokens.clamp(max=log_p.shape[-1] - 1)[..., None]
        return (log_p - log_q).gather(-1, x).squeeze(-1), _p_log_ratio(log_p.exp(), log_p - log_q).sum(-1)
    score_of, ratio, rate = draw.process.concrete_score, draw.process.clean_ratio, draw.process.reverse_rate
    xt, size = draw.tokens[:, there], log_p.shape[-1]
    s_p, s_q = (score_of(xt, log.exp(), draw.sigma_bar) for log in (log_p, log_q))
    log_ratio = s_p.log() - s_q.log()
    r = ratio(tokens, xt, size, draw.sigma_bar)
    moves = torch.arange(size) != xt[..., None]
    loss = torch.where(moves, s_q - s_p + _p_log_ratio(r, log_ratio), 0.0)
    dynkin = torch.where(moves, s_q - s_p + _p_log_ratio(s_p, log_ratio), 0.0)
    return loss.sum(-1) * rate(size), dynkin.sum(-1) * rate(size)


def _p_log_ratio(p: Tensor, log_ratio: Tensor) -> Tensor:
    """p log(p / q) with 0 log 0 = 0."""
    return torch.where(p > 0, p * log_ratio, 0.0)
