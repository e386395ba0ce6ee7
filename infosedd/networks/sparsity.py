"""A penalty that keeps absent links at zero and leaves the others alone."""

import torch
from torch import Tensor

FREE = 1.0
"""Frobenius norm of a link's table of logits from which it is not penalised."""


def concave_penalty(square: Tensor, sparsity: float, n_symbols: int, n_rows: int) -> Tensor:
    """A minimax concave penalty (Zhang 2010) in nats a row, from the squared norm of each link's table.

    An absent link to a token of N symbols has a gradient of about sqrt((1 - 1/N) / n) by chance alone; a
    table that the data push with less than ``sparsity`` times that stays near 0, one that they push with
    more is not shrunk at all.
    """
    if sparsity == 0:
        return torch.zeros((), device=square.device)
    push = sparsity * ((1 - 1 / n_symbols) / n_rows) ** 0.5
    near = (square + 1e-6).sqrt().clamp(max=FREE)
    return push * (near - near.square() / (2 * FREE)).sum()
