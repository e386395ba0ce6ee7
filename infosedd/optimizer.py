"""AdamW (Loshchilov and Hutter 2019), with the state in plain sight.

torch.optim does the same, but making one of its optimizers imports torch's compiler, which takes as long
as importing torch itself; and a resumable training needs the state as named tensors anyway.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class AdamW:
    """One learning rate and one weight decay for each parameter."""

    def __init__(
        self,
        parameters: Sequence[nn.Parameter],
        learning_rates: Sequence[float],
        weight_decays: Sequence[float],
        betas: tuple[float, float] = (0.9, 0.99),
        epsilon: float = 1e-8,
    ) -> None:
        self.parameters: list[Tensor] = [*parameters]
        self.learning_rates, self.weight_decays = list(learning_rates), list(weight_decays)
        self.betas, self.epsilon = betas, epsilon
        self.n_steps = 0
        self.mean = [torch.zeros_like(p) for p in self.parameters]
        self.square = [torch.zeros_like(p) for p in self.parameters]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One update at ``rate`` times the learning rates, then forget the gradients."""
        self.n_steps += 1
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        first, second = self.betas
        torch._foreach_lerp_(self.mean, gradients, 1 - first)
        torch._foreach_mul_(self.square, second)
        torch._foreach_addcmul_(self.square, gradients, gradients, 1 - second)
        root = torch._foreach_sqrt(self.square)
        torch._foreach_div_(root, (1 - second**self.n_steps) ** 0.5)
        torch._foreach_add_(root, self.epsilon)
        torch._foreach_mul_(
            self.parameters,
            [1 - rate * lr * wd for lr, wd in zip(self.learning_rates, self.weight_decays, strict=True)],
        )
        sizes = [-rate * lr / (1 - first**self.n_steps) for lr in self.learning_rates]
        torch._foreach_addcdiv_(self.parameters, self.mean, root, sizes)
        for parameter in self.parameters:
            parameter.grad = None
