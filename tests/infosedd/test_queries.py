"""Training queries: what a batch noises and shows."""

import pytest
import torch

from infosedd.errors import InputError
from infosedd.queries import QueryMix, TrainingQuery
from tests.infosedd.laws import layout_of

LAYOUT = layout_of(x=(8, 4), y=(1, 2))


def mix(*queries: TrainingQuery, order: str = "random") -> QueryMix:
    return QueryMix(queries, LAYOUT, order)


def draw(made: QueryMix, n: int = 600, seed: int = 0):
    return made.draw(n, torch.Generator().manual_seed(seed))


def test_rows_are_dealt_by_weight() -> None:
    made = mix(TrainingQuery(noised="y", clean="x", weight=3), TrainingQuery(noised="x[0:2]"))
    dealt = draw(made)
    first = dealt.noised[:, 8]
    assert abs(int(first.sum()) - 450) <= 1
    assert torch.equal(dealt.clean[first], torch.tensor([True] * 8 + [False]).expand(int(first.sum()), -1))
    assert torch.equal(dealt.noised[~first], torch.tensor([True] * 2 + [False] * 7).expand(int((~first).sum()), -1))
    assert not bool(dealt.clean[~first].any())
    assert bool((dealt.weight == 1).all())
    assert made.target_blocks == ("x", "y")


def test_windows_are_runs_that_start_anywhere() -> None:
    clean = draw(mix(TrainingQuery(noised="y", clean="x[1:7]", show="window", window=3))).clean
    assert bool((clean.sum(1) == 3).all())
    starts = {tuple(torch.nonzero(row).flatten().tolist()) for row in clean}
    assert starts == {(i, i + 1, i + 2) for i in range(1, 5)}


def test_all_but_a_window_is_the_rest() -> None:
    clean = draw(mix(TrainingQuery(noised="y", clean="x", show="all_but_window", window=3))).clean
    assert bool((clean.sum(1) == 5).all())
    hidden = {tuple(torch.nonzero(~row[:8]).flatten().tolist()) for row in clean}
    assert hidden == {(i, i + 1, i + 2) for i in range(6)}


def test_a_window_as_wide_as_the_block_is_the_block() -> None:
    wide = {"noised": "y", "clean": "x[0:4]", "window": 4}
    assert bool((draw(mix(TrainingQuery(**wide, show="window"))).clean.sum(1) == 4).all())
    assert not bool(draw(mix(TrainingQuery(**wide, show="all_but_window"))).clean.any())


@pytest.mark.parametrize("show", ["window", "all_but_window"])
def test_a_window_wider_than_its_block_is_refused(show: str) -> None:
    with pytest.raises(InputError, match=r"window of 9 but 4 clean positions, clean = 'x\[0:4\]'"):
        mix(TrainingQuery(noised="y", clean="x[0:4]", window=9, show=show))


def test_subsets_have_every_size() -> None:
    sizes = draw(mix(TrainingQuery(noised="y", clean="x", show="subset"))).clean.sum(1)
    counts = torch.bincount(sizes, minlength=9)
    assert len(counts) == 9
    # a share that is uniform on [0, 1] gives each of 9 sizes the chance 1/9
    assert bool(((counts - 600 / 9).abs() <= 4 * (600 / 9 * 8 / 9) ** 0.5).all())


def test_levels_share_the_rows_and_stand_for_the_whole_loss() -> None:
    made = mix(TrainingQuery(noised="x", clean="y"), order="coarse_to_fine")
    dealt = draw(made, n=4000)
    kinds = {tuple(row.tolist()) for row in dealt.noised}
    assert len(kinds) > 1
    assert torch.equal(torch.tensor(sorted(kinds)).sum(0), torch.tensor([1] * 8 + [0]))
    for kind in kinds:
        rows = (dealt.noised == torch.tensor(kind)).all(1)
        assert float((dealt.weight * rows).mean()) == pytest.approx(1, abs=0.01)
        assert bool(dealt.clean[rows][:, 8].all())


def test_the_seed_fixes_the_draw() -> None:
    made = mix(TrainingQuery(noised="y", clean="x", show="subset"))
    assert torch.equal(draw(made, seed=1).clean, draw(made, seed=1).clean)
    assert not torch.equal(draw(made, seed=1).clean, draw(made, seed=2).clean)


def test_a_small_batch_still_has_every_row_filled() -> None:
    made = mix(*(TrainingQuery(noised=f"x[{i}]") for i in range(8)))
    for n in (1, 3):
        assert bool((draw(made, n).noised.sum(1) == 1).all())


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"noised": "x[0:3]", "clean": "x[2:5]"}, "overlap|named twice"),
        ({"noised": "z"}, "no block is called 'z'"),
        ({"noised": ""}, "can't read the block expression"),
        ({"noised": "y", "clean": "x[9]"}, "out of range"),
    ],
)
def test_queries_that_can_not_be_asked(query: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        mix(TrainingQuery(**query))


def mask(*positions: int) -> torch.Tensor:
    out = torch.zeros(9, dtype=torch.bool)
    out[list(positions)] = True
    return out


@pytest.mark.parametrize(
    ("query", "order", "targets", "clean", "taught"),
    [
        ({"clean": "x"}, "random", [8], range(8), True),
        ({"clean": "x"}, "random", [8], range(7), False),
        ({"clean": "x"}, "random", [8], [], False),
        ({"clean": "x", "show": "subset"}, "random", [8], [0, 5], True),
        ({"clean": "x", "show": "prefix"}, "random", [8], [0, 1], True),
        ({"clean": "x", "show": "prefix"}, "random", [8], [1, 2], False),
        ({"clean": "x", "show": "window", "window": 2}, "random", [8], [1, 2], True),
        ({"clean": "x", "show": "window", "window": 2}, "random", [8], [1, 3], False),
        ({"clean": "x", "show": "window", "window": 2}, "random", [8], [1, 2, 3], False),
        ({"clean": "x", "show": "all_but_window", "window": 6}, "random", [8], [0, 7], True),
        ({"clean": "x", "show": "all_but_window", "window": 6}, "random", [8], [0, 1, 7], False),
        ({"clean": "x[0:4]", "show": "subset", "given": "x[4:8]"}, "random", [8], [0, 4, 5, 6, 7], True),
        ({"clean": "x[0:4]", "show": "subset", "given": "x[4:8]"}, "random", [8], [0], False),
        ({"noised": "x+y"}, "random", [8], [0, 3], True),
        ({"noised": "x[0:4]"}, "random", [8], [], False),
        ({"noised": "x"}, "coarse_to_fine", [1, 3, 5, 7], [0, 2, 4, 6], True),
        ({"noised": "x"}, "coarse_to_fine", [1], [0], False),
    ],
)
def test_what_training_teaches(query: dict, order: str, targets, clean, taught: bool) -> None:
    made = mix(TrainingQuery(**{"noised": "y", **query}), order=order)
    assert made.teaches(mask(*targets), mask(*clean)) is taught
