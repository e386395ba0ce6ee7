"""Noise schedules: the rate sigma(t) and its integral sigma_bar(t), for t in [0, 1].

All start at ``sigma_bar(0) = 0``, so that t = 0 is the data itself. A schedule that starts at a
positive sigma_bar measures data that is already noised.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from infosedd.errors import InputError

ScheduleName = Literal["log_linear", "geometric", "cosine"]


@dataclass(frozen=True)
class Schedule(ABC):
    """``terminal`` is the chance exp(-sigma_bar(1)) that a token is still unchanged at t = 1."""

    terminal: float = 1e-4

    def __post_init__(self) -> None:
        if not 0 < self.terminal < 1:
            raise InputError(f"terminal is {self.terminal}", remedy="it is a probability between 0 and 1")

    @property
    def total(self) -> float:
        """sigma_bar(1)."""
        return -math.log(self.terminal)

    @abstractmethod
    def sigma_bar(self, t: Tensor) -> Tensor:
        """Integral of the rate from 0 to t."""

    @abstractmethod
    def sigma(self, t: Tensor) -> Tensor:
        """The rate d sigma_bar / dt."""


@dataclass(frozen=True)
class LogLinearSchedule(Schedule):
    """1 - exp(-sigma_bar) = (1 - terminal) t: the share of changed tokens grows evenly (Lou et al. 2024)."""

    def sigma_bar(self, t: Tensor) -> Tensor:
        return -torch.log1p(-(1 - self.terminal) * t)

    def sigma(self, t: Tensor) -> Tensor:
        return (1 - self.terminal) / (1 - (1 - self.terminal) * t)


@dataclass(frozen=True)
class GeometricSchedule(Schedule):
    """sigma_bar = smallest ((1 + total / smallest)^t - 1): geometric growth, moved to start at 0."""

    smallest: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.smallest < math.inf:
            raise InputError(f"smallest is {self.smallest}", remedy="it is the scale of sigma_bar near t = 0, above 0")

    @property
    def _ratio(self) -> float:
        return math.log1p(self.total / self.smallest)

    def sigma_bar(self, t: Tensor) -> Tensor:
        return self.smallest * torch.expm1(self._ratio * t)

    def sigma(self, t: Tensor) -> Tensor:
        return self.smallest * self._ratio * torch.exp(self._ratio * t)


@dataclass(frozen=True)
class CosineSchedule(Schedule):
    """exp(-sigma_bar) = terminal + (1 - terminal) cos(pi t / 2) (after Nichol and Dhariwal 2021)."""

    def _unchanged(self, t: Tensor) -> Tensor:
        return self.terminal + (1 - self.terminal) * torch.cos(math.pi / 2 * t)

    def sigma_bar(self, t: Tensor) -> Tensor:
        # 1 - cos(a) = 2 sin(a/2)^2 keeps the digits near t = 0
        return -torch.log1p(-2 * (1 - self.terminal) * torch.sin(math.pi / 4 * t) ** 2)

    def sigma(self, t: Tensor) -> Tensor:
        return (1 - self.terminal) * math.pi / 2 * torch.sin(math.pi / 2 * t) / self._unchanged(t)


SCHEDULES: dict[str, type[Schedule]] = {
    "log_linear": LogLinearSchedule,
    "geometric": GeometricSchedule,
    "cosine": CosineSchedule,
}
