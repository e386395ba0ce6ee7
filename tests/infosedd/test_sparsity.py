"""The penalty on absent links: zero at zero, flat once a link is large, and weaker for what is seldom scored."""

import pytest
import torch

from infosedd.networks.sparsity import FREE, concave_penalty


def penalty(norm: float, *, exposure: float = 1.0, sparsity: float = 3.0, n_rows: int = 10_000) -> float:
    square = torch.tensor([[norm**2]])
    cells = torch.tensor([[4]])
    return float(concave_penalty(square, sparsity, torch.tensor([[exposure]]), cells, 2, n_rows))


def test_it_is_off_where_nothing_is_asked_for() -> None:
    assert penalty(0.5, sparsity=0.0) == 0.0


def test_a_large_link_is_not_shrunk() -> None:
    by_chance = 3.0 * (0.5 / 10_000) ** 0.5
    free = FREE * by_chance * 4
    assert penalty(2 * free) == pytest.approx(penalty(3 * free))
    assert penalty(0.5 * free) < penalty(free)


def test_its_slope_at_zero_is_what_chance_pushes_with() -> None:
    step = 0.02
    slope = (penalty(2 * step) - penalty(step)) / step
    by_chance = 3.0 * (0.5 / 10_000) ** 0.5
    assert slope == pytest.approx(by_chance, rel=0.2)


def test_it_weighs_a_link_by_how_often_it_is_seen() -> None:
    assert penalty(0.1, exposure=0.25) == pytest.approx(penalty(0.1) / 4)


def test_more_rows_let_smaller_links_go_free() -> None:
    assert penalty(0.1, n_rows=1_000_000) < penalty(0.1, n_rows=10_000)


def test_a_target_of_one_symbol_has_nothing_to_shrink() -> None:
    square = torch.zeros(1, 1)
    assert float(concave_penalty(square, 3.0, torch.ones(1, 1), torch.tensor([[2]]), 1, 100)) == 0.0
