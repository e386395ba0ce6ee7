"""A penalty that keeps absent links at zero and leaves the others alone."""

import torch
from torch import Tensor

FREE = 4.0
"""Size of a link, in units of what the penalty alone would move, from which it is not penalised."""


def concave_penalty(
    square: Tensor, sparsity: float, exposure: Tensor, cells: Tensor, levels: int, n_rows: float
) -> Tensor:
    """A minimax concave penalty (Zhang 2010) in nats a row, from the squared Frobenius norm of each link's table.

    A link whose source is seen when its target, of ``levels`` symbols, is scored has in the loss the weight
    ``exposure``, and its table of ``cells`` entries the curvature exposure / cells. If it is absent, its
    gradient is about exposure sqrt((1 - 1/levels) / n) by chance alone. A table that the data push with
    less than ``sparsity`` times that stays near 0; one that is larger than chance makes it is not shrunk.
    """
    if sparsity == 0 or levels == 1:
        return torch.zeros((), device=square.device)
    by_chance = sparsity * ((1 - 1 / levels) / n_rows) ** 0.5
    free = FREE * by_chance * cells
    near = torch.minimum((square + 1e-6).sqrt(), free)
    return (exposure * by_chance * (near - near.square() / (2 * free))).sum()
