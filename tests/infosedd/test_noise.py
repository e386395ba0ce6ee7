"""Draws of noise: spread, sizes and weights of subsets, what is never masked."""

from collections import Counter
from math import comb

import pytest
import torch

from infosedd.noise import AllSubsets, SubsetNoise, TimeNoise, draw_at, spread, subset_draw, time_draw
from infosedd.processes import PROCESSES, AbsorbingProcess, UniformProcess
from infosedd.schedules import LogLinearSchedule

SIZES = torch.tensor([2, 3, 3, 4, 2])
NOISED = torch.tensor([True, True, False, True, True])


def rows_of(n: int) -> torch.Tensor:
    return torch.stack([torch.arange(n) % int(size) for size in SIZES], dim=1)


@pytest.mark.parametrize("seed", [0, 5])
def test_levels_fill_the_interval_over_any_run_of_rows(seed: int) -> None:
    levels = spread(torch.arange(300), seed)
    assert levels.dtype == torch.float64
    assert bool(((levels >= 0) & (levels < 1)).all())
    for start in (0, 57, 200):
        counts = torch.histc(levels[start : start + 100].float(), bins=10, min=0, max=1)
        assert bool(((counts - 10).abs() <= 2).all())
    assert not torch.equal(levels, spread(torch.arange(300), seed + 1))


def test_subsets_have_the_size_of_their_level_and_stay_within_the_noised() -> None:
    tokens = rows_of(200)
    levels = spread(torch.arange(200), 0)
    draw = subset_draw(tokens, NOISED, SIZES, levels, 0.5, torch.Generator().manual_seed(1))
    k = (levels * 4).long() + 1
    assert torch.equal(draw.scored.sum(1), k)
    assert not bool(draw.scored[:, 2].any())
    torch.testing.assert_close(draw.weight, 4 / k * 0.5)
    assert torch.equal(draw.tokens, torch.where(draw.scored, SIZES, tokens))
    assert torch.equal(draw.visibility, (~draw.scored).double())
    assert draw.sigma_bar is None


def test_subsets_of_a_size_are_equally_likely() -> None:
    n = 12_000
    levels = torch.full((n,), 0.3, dtype=torch.float64)  # size 2 of 4
    draw = subset_draw(rows_of(n), NOISED, SIZES, levels, 1.0, torch.Generator().manual_seed(2))
    seen = Counter(tuple(torch.nonzero(row).flatten().tolist()) for row in draw.scored)
    assert len(seen) == comb(4, 2)
    error = (n / 6 * (1 - 1 / 6)) ** 0.5
    assert all(abs(count - n / 6) <= 4 * error for count in seen.values())


def test_unknown_tokens_are_never_masked_and_shrink_the_set() -> None:
    tokens = rows_of(50)
    tokens[:, 1] = SIZES[1]
    tokens[7] = SIZES  # nothing known
    levels = spread(torch.arange(50), 0)
    draw = subset_draw(tokens, NOISED, SIZES, levels, 1.0, torch.Generator().manual_seed(3))
    assert not bool(draw.scored[:, 1].any())
    others = torch.arange(50) != 7
    k = (levels * 3).long() + 1
    assert torch.equal(draw.scored.sum(1)[others], k[others])
    torch.testing.assert_close(draw.weight[others], (3 / k)[others])
    assert draw.scored[7].sum() == 0
    assert draw.weight[7] == 0


def test_enough_draws_bring_every_size_to_every_row() -> None:
    tokens = rows_of(30)
    draws = list(SubsetNoise(n_draws=9).draws(tokens, NOISED, SIZES, torch.arange(30)))
    assert len(draws) == 4
    sizes = torch.stack([(draw.tokens == SIZES).sum(1) for draw in draws])
    assert torch.equal(sizes, torch.tensor([1, 2, 3, 4])[:, None].expand(-1, 30))
    assert torch.equal(torch.stack([draw.scored for draw in draws]).sum(0), NOISED.expand(30, -1).long())
    assert all(bool((draw.weight == 1).all()) for draw in draws)


def test_the_weights_of_all_subsets() -> None:
    """A token is scored with total weight 1 in expectation over k: SUM_k (1/k) k/|A| = 1."""
    tokens = rows_of(3)
    total = torch.zeros(tokens.shape, dtype=torch.float64)
    seen = set()
    for draw in AllSubsets().draws(tokens, NOISED, SIZES, torch.arange(3)):
        total += draw.scored * draw.weight[:, None]
        seen.add(tuple(draw.scored[0].tolist()))
    assert len(seen) == 2**4 - 1
    torch.testing.assert_close(total, NOISED.double().expand(3, -1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", PROCESSES)
def test_seeds_fix_the_draws(name: str) -> None:
    process, schedule = PROCESSES[name](), LogLinearSchedule()
    tokens, rows = rows_of(40), torch.arange(40)
    for make in (lambda seed: TimeNoise(process, schedule, 2, seed), lambda seed: SubsetNoise(2, seed)):
        first, again, other = (list(make(seed).draws(tokens, NOISED, SIZES, rows)) for seed in (1, 1, 2))
        assert all(torch.equal(a.tokens, b.tokens) for a, b in zip(first, again, strict=True))
        assert any(not torch.equal(a.tokens, b.tokens) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("name", PROCESSES)
def test_a_draw_in_time_changes_noised_tokens_alone_and_carries_the_rate(name: str) -> None:
    process, schedule = PROCESSES[name](), LogLinearSchedule()
    tokens, levels = rows_of(64), spread(torch.arange(64), 0)
    generator = torch.Generator().manual_seed(0)
    draw = time_draw(process, schedule, tokens, NOISED, SIZES, levels, 1.0, generator)
    assert torch.equal(draw.tokens[:, 2], tokens[:, 2])
    assert not bool(draw.scored[:, 2].any())
    assert draw.sigma_bar is not None
    torch.testing.assert_close(draw.sigma_bar[:, 0], schedule.sigma_bar(levels**2))
    torch.testing.assert_close(draw.weight, schedule.sigma(levels**2) * 2 * levels)  # t = level^2


def test_only_masks_have_moves_under_absorbing_noise_and_all_known_tokens_under_uniform() -> None:
    tokens = torch.tensor([[0, 1, 2, 3, 2]])  # the last one is unknown
    xt = torch.tensor([[2, 1, 2, 4, 2]])
    level, weight = torch.full((1, 1), 0.5, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    absorbing = draw_at(AbsorbingProcess(), tokens, xt, NOISED, SIZES, level, weight)
    assert absorbing.scored.tolist() == [[True, False, False, True, False]]
    assert absorbing.visibility.tolist() == [[0, 1, 1, 0, 0]]
    xt = torch.tensor([[1, 1, 2, 0, 2]])
    uniform = draw_at(UniformProcess(), tokens, xt, NOISED, SIZES, level, weight)
    assert uniform.scored.tolist() == [[True, True, False, True, False]]


@pytest.mark.parametrize("size", [1, 3, 50])
def test_the_share_that_noise_leaves_out(size: int) -> None:
    assert SubsetNoise().terminal_factor(size) == AllSubsets().terminal_factor(size) == 0
    noise = TimeNoise(UniformProcess(), LogLinearSchedule(terminal=0.01))
    assert noise.terminal_factor(size) == pytest.approx(1 - 0.99**size)


def test_rows_of_other_folds_have_noise_of_their_own() -> None:
    tokens, noised, sizes = torch.zeros(400, 8, dtype=torch.long), torch.ones(8, dtype=torch.bool), torch.full((8,), 4)

    def masked(rows: torch.Tensor, n_draws: int) -> list[torch.Tensor]:
        return [draw.scored for draw in SubsetNoise(n_draws).draws(tokens, noised, sizes, rows)]

    first, second = torch.arange(0, 800, 2), torch.arange(1, 800, 2)
    for n_draws in (2, 8):
        here, there = masked(first, n_draws), masked(second, n_draws)
        assert all(torch.equal(a, b) for a, b in zip(here, masked(first, n_draws), strict=True))
        alike = torch.stack([(a == b).all(1) for a, b in zip(here, there, strict=True)]).float().mean()
        assert alike < 0.2
