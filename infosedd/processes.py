r"""Noise processes: continuous-time Markov chains that noise each token by itself.

Q is the generator of one token with rows that sum to 0, Q_t = sigma(t) Q, and the transition over
[0, t] is exp(sigma_bar(t) Q). Both processes below keep a token with probability
v = exp(-sigma_bar), its *visibility*, and otherwise redraw it: as MASK (absorbing), or uniformly
from all N symbols (uniform). A clean token has visibility 1 and a hidden one 0, so one number a
token tells a score model all it needs of role and time.
"""

from abc import ABC, abstractmethod
from typing import Literal

import torch
from torch import Tensor

ProcessName = Literal["absorbing", "uniform"]


class NoiseProcess(ABC):
    """A generator Q, the same for each token, and what follows from it."""

    name: str

    @abstractmethod
    def generator(self, vocab_size: int) -> Tensor:
        """Q, a (states, states) float64 matrix whose rows sum to 0; Q[a, b] is the rate from a to b."""

    @abstractmethod
    def transition(self, vocab_size: int, sigma_bar: Tensor) -> Tensor:
        """exp(sigma_bar Q): (..., states, states), rows sum to 1."""

    @abstractmethod
    def stationary(self, vocab_size: int) -> Tensor:
        """(states,) the law that noise ends in."""

    @abstractmethod
    def sample(self, x0: Tensor, sigma_bar: Tensor, vocab_sizes: Tensor, generator: torch.Generator) -> Tensor:
        """Draw x_t given x0, both (B, L), at sigma_bar (B, 1); ``vocab_sizes`` (L,) has the N of each position."""

    @abstractmethod
    def concrete_score(self, xt: Tensor, posterior: Tensor, sigma_bar: Tensor) -> Tensor:
        """s(x_t, y, t) = p_t(y) / p_t(x_t) for each y that differs from x_t in one token.

        ``posterior`` (B, L, N) is p(x0_i = a | x_t), ``sigma_bar`` (B, 1). Returns (B, L, N): the
        entry a is the score of the move to a, and 1 where the token is a already. For the
        absorbing process only masked tokens have moves to symbols; elsewhere the score is 0.
        """

    @abstractmethod
    def log_evidence(self, xt: Tensor, vocab_size: int, sigma_bar: Tensor) -> Tensor:
        """log p(x_t,i | x0_i = a), up to a constant: (B, L, N), what a noised token says of itself alone."""

    def clean_ratio(self, x0: Tensor, xt: Tensor, vocab_size: int, sigma_bar: Tensor) -> Tensor:
        """r = p(y | x0) / p(x_t | x0) for each single-token move, (B, L, N): its mean given x_t is the score."""
        return self.concrete_score(xt, (x0[..., None] == torch.arange(vocab_size)).double(), sigma_bar)

    @abstractmethod
    def reverse_rate(self, vocab_size: int) -> float:
        """Q(y -> x_t), the same for every scored move y of one token; times sigma(t) it is the rate Q_t."""


class AbsorbingProcess(NoiseProcess):
    """Every symbol goes to MASK (code N) at rate 1."""

    name = "absorbing"

    def generator(self, vocab_size: int) -> Tensor:
        q = torch.zeros(vocab_size + 1, vocab_size + 1, dtype=torch.float64)
        q[:vocab_size, :vocab_size] = -torch.eye(vocab_size, dtype=torch.float64)
        q[:vocab_size, vocab_size] = 1
        return q

    def transition(self, vocab_size: int, sigma_bar: Tensor) -> Tensor:
        stay = torch.exp(-sigma_bar)[..., None, None]
        eye = torch.eye(vocab_size + 1, dtype=sigma_bar.dtype)
        to_mask = torch.zeros_like(eye)
        to_mask[:, vocab_size] = 1
        return stay * eye + (1 - stay) * to_mask

    def stationary(self, vocab_size: int) -> Tensor:
        law = torch.zeros(vocab_size + 1, dtype=torch.float64)
        law[vocab_size] = 1
        return law

    def sample(self, x0: Tensor, sigma_bar: Tensor, vocab_sizes: Tensor, generator: torch.Generator) -> Tensor:
        kept = torch.rand(x0.shape, generator=generator, device=x0.device) < torch.exp(-sigma_bar)
        return torch.where(kept, x0, vocab_sizes.to(x0.dtype))

    def concrete_score(self, xt: Tensor, posterior: Tensor, sigma_bar: Tensor) -> Tensor:
        masked = (xt == posterior.shape[-1])[..., None]
        return posterior * masked / torch.expm1(sigma_bar)[..., None]

    def log_evidence(self, xt: Tensor, vocab_size: int, sigma_bar: Tensor) -> Tensor:
        return torch.zeros(*xt.shape, vocab_size, dtype=sigma_bar.dtype)  # of a masked token, the only kind scored

    def reverse_rate(self, vocab_size: int) -> float:
        return 1.0


class UniformProcess(NoiseProcess):
    """Q = (1/N) 11' - I: a changed token is a uniform draw from all N symbols."""

    name = "uniform"

    def generator(self, vocab_size: int) -> Tensor:
        eye = torch.eye(vocab_size, dtype=torch.float64)
        return torch.full_like(eye, 1 / vocab_size) - eye

    def transition(self, vocab_size: int, sigma_bar: Tensor) -> Tensor:
        stay = torch.exp(-sigma_bar)[..., None, None]
        return stay * torch.eye(vocab_size, dtype=sigma_bar.dtype) + (1 - stay) / vocab_size

    def stationary(self, vocab_size: int) -> Tensor:
        return torch.full((vocab_size,), 1 / vocab_size, dtype=torch.float64)

    def sample(self, x0: Tensor, sigma_bar: Tensor, vocab_sizes: Tensor, generator: torch.Generator) -> Tensor:
        kept = torch.rand(x0.shape, generator=generator, device=x0.device) < torch.exp(-sigma_bar)
        uniform = torch.rand(x0.shape, generator=generator, device=x0.device, dtype=torch.float64)
        drawn = (uniform * vocab_sizes).to(x0.dtype)
        hidden = x0 == vocab_sizes.to(x0.dtype)
        return torch.where(kept | hidden, x0, drawn)

    def concrete_score(self, xt: Tensor, posterior: Tensor, sigma_bar: Tensor) -> Tensor:
        # E[p(y_i | x0_i) / p(x_t,i | x0_i)]: with c = p(stay) N / (1 - p(stay)), p(b|a) is proportional to
        # 1 + c [a = b], so the ratio is (1 + c [x0 = y]) / (1 + c [x0 = x_t]).
        size = posterior.shape[-1]
        c = (size / torch.expm1(sigma_bar))[..., None]
        here = posterior.gather(-1, xt.clamp(max=size - 1)[..., None])
        unless_here = 1 - here * c / (1 + c)
        scores = unless_here + c * posterior
        return scores.scatter(-1, xt.clamp(max=size - 1)[..., None], 1.0)

    def log_evidence(self, xt: Tensor, vocab_size: int, sigma_bar: Tensor) -> Tensor:
        seen = xt[..., None] == torch.arange(vocab_size)
        return seen * torch.log1p(vocab_size / torch.expm1(sigma_bar))[..., None]

    def reverse_rate(self, vocab_size: int) -> float:
        return 1.0 / vocab_size


PROCESSES: dict[str, type[NoiseProcess]] = {"absorbing": AbsorbingProcess, "uniform": UniformProcess}
