"""Ladder (a): schedules against autograd and their closed inverses, float64."""

import math

import pytest
import torch

from infosedd.errors import InputError
from infosedd.schedules import SCHEDULES, CosineSchedule, GeometricSchedule, LogLinearSchedule, Schedule

ALL = [
    pytest.param(SCHEDULES[name](terminal=terminal), id=f"{name}-{terminal}")
    for name in SCHEDULES
    for terminal in (1e-4, 0.3)
]
TIMES = torch.linspace(0, 1, 41, dtype=torch.float64)


@pytest.mark.parametrize("schedule", ALL)
def test_starts_at_the_data_and_ends_at_terminal(schedule: Schedule) -> None:
    ends = schedule.sigma_bar(torch.tensor([0.0, 1.0], dtype=torch.float64))
    assert ends[0].item() == 0.0
    assert ends[1].item() == pytest.approx(schedule.total, rel=1e-10)
    assert math.exp(-schedule.total) == pytest.approx(schedule.terminal, rel=1e-10)


@pytest.mark.parametrize("schedule", ALL)
def test_rate_is_the_derivative_of_its_integral(schedule: Schedule) -> None:
    t = TIMES.clone().requires_grad_()
    (slope,) = torch.autograd.grad(schedule.sigma_bar(t).sum(), t)
    # relative: the cosine schedule's rate near t = 1 is of order 1 / terminal
    torch.testing.assert_close(schedule.sigma(TIMES), slope, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("schedule", ALL)
def test_noise_only_grows(schedule: Schedule) -> None:
    assert bool((schedule.sigma_bar(TIMES).diff() > 0).all())
    assert bool((schedule.sigma(TIMES[1:]) > 0).all())


def time_of(schedule: Schedule, sigma_bar: torch.Tensor) -> torch.Tensor:
    """The closed inverse of each schedule."""
    kept = torch.exp(-sigma_bar)
    if isinstance(schedule, LogLinearSchedule):
        return (1 - kept) / (1 - schedule.terminal)
    if isinstance(schedule, GeometricSchedule):
        return torch.log1p(sigma_bar / schedule.smallest) / math.log1p(schedule.total / schedule.smallest)
    assert isinstance(schedule, CosineSchedule)
    return torch.acos((kept - schedule.terminal) / (1 - schedule.terminal)) * 2 / math.pi


@pytest.mark.parametrize("schedule", ALL)
def test_inverse_pairs(schedule: Schedule) -> None:
    # acos loses half of the digits at t = 0, so the ends are left to the test of the ends
    inside = TIMES[1:-1]
    torch.testing.assert_close(time_of(schedule, schedule.sigma_bar(inside)), inside, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("terminal", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_terminal_must_be_a_probability(name: str, terminal: float) -> None:
    with pytest.raises(InputError, match="terminal"):
        SCHEDULES[name](terminal=terminal)


@pytest.mark.parametrize("smallest", [0.0, -1e-3, math.nan, math.inf])
def test_geometric_growth_needs_a_positive_start(smallest: float) -> None:
    with pytest.raises(InputError, match="smallest"):
        GeometricSchedule(smallest=smallest)
