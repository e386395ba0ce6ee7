"""The reverse process with the exact score draws from the law itself."""

from typing import get_args

import pytest
import torch
from torch import Tensor

from infosedd.blocks import Selection
from infosedd.orders import Order
from infosedd.processes import UniformProcess
from infosedd.sampling import sample_absorbing, sample_uniform
from infosedd.schedules import LogLinearSchedule
from infosedd.scores import ExactScore
from tests.infosedd.laws import LAYOUTS, marginal, random_table

LAYOUT = LAYOUTS["mixed"]
N = 4000


def everything() -> Selection:
    return Selection.parse("a+b+c", LAYOUT.blocks)


def frequencies(tokens: Tensor) -> Tensor:
    counts = torch.zeros(tuple(LAYOUT.vocab_sizes.tolist()), dtype=torch.float64)
    counts.index_put_(tuple(tokens.T), torch.ones(len(tokens), dtype=torch.float64), accumulate=True)
    return counts / len(tokens)


def close(found: Tensor, law: Tensor, stated_bias: float = 0.0) -> bool:
    error = (law * (1 - law) / N).sqrt()
    return bool(((found - law).abs() <= 4 * error + stated_bias).all())


@pytest.mark.parametrize("order", get_args(Order))
def test_unmasking_one_by_one_is_exact(order: Order) -> None:
    table = random_table(LAYOUT, 31)
    table[0] = 0  # half of the states never happen
    table /= table.sum()
    tokens = sample_absorbing(ExactScore(LAYOUT, table), everything(), N, order, torch.Generator().manual_seed(1))
    assert close(frequencies(tokens), table)
    assert bool((tokens[:, 0] == 1).all())


def test_the_rest_stays_hidden() -> None:
    table = random_table(LAYOUT, 32)
    chosen = Selection.parse("a[1]+b", LAYOUT.blocks)
    tokens = sample_absorbing(ExactScore(LAYOUT, table), chosen, N, "random", torch.Generator().manual_seed(2))
    assert torch.equal(tokens[:, [0, 3]], LAYOUT.vocab_sizes[[0, 3]].expand(N, -1))
    law = marginal(table, [1, 2])
    tokens[:, [0, 3]] = 0
    assert close(frequencies(tokens)[0, :, :, 0], law[0, :, :, 0])


def test_leaping_from_uniform_noise_comes_close() -> None:
    """Of 64 steps each leaves an error of order 1/64 squared: in all a few thousandths of a state's chance."""
    table = random_table(LAYOUT, 33, floor=0.1)
    tokens = sample_uniform(
        ExactScore(LAYOUT, table),
        everything(),
        N,
        UniformProcess(),
        LogLinearSchedule(),
        torch.Generator().manual_seed(3),
        n_steps=64,
    )
    assert close(frequencies(tokens), table, stated_bias=0.005)
