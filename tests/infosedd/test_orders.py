"""Coarse-to-fine levels: each position in one of them, the finest apart from each other."""

from itertools import pairwise

import numpy as np
import pytest

from infosedd.blocks import Block, Selection, Vocabulary
from infosedd.layout import Layout
from infosedd.orders import depths, levels

BITS = Vocabulary(("0", "1"))


def level_sets(block: Block, expression: str | None = None) -> list[set[int]]:
    layout = Layout((block,))
    steps = levels(Selection.parse(expression or block.name, layout.blocks), layout, "coarse_to_fine")
    for (_, coarser), (level, seen) in pairwise(steps):
        assert set(coarser.positions(block.name)) < set(seen.positions(block.name))
        assert not level.overlaps(seen)
    return [set(level.positions(block.name)) for level, _ in steps]


@pytest.mark.parametrize("length", [1, 2, 3, 8, 13, 75])
def test_levels_of_a_sequence_part_its_positions(length: int) -> None:
    sets = level_sets(Block("x", BITS, length))
    assert sum(len(s) for s in sets) == length
    assert set().union(*sets) == set(range(length))
    finest = sorted(sets[-1])
    assert len(finest) == max(1, length // 2)
    assert all(b - a > 1 for a, b in pairwise(finest))


@pytest.mark.parametrize("shape", [(2, 2), (4, 4), (8, 8), (4, 8)])
def test_the_finest_level_of_a_lattice_is_a_colour_of_the_checkerboard(shape: tuple[int, int]) -> None:
    block = Block("spins", BITS, shape[0] * shape[1], lattice=shape, periodic=True)
    sets = level_sets(block)
    assert set().union(*sets) == set(range(block.length))
    rows, columns = np.divmod(sorted(sets[-1]), shape[1])
    assert len(sets[-1]) == block.length // 2
    assert len(set((rows + columns) % 2)) == 1


def test_a_window_has_levels_of_its_own_and_random_has_one() -> None:
    block = Block("x", BITS, 12)
    assert set().union(*level_sets(block, "x[3:8]")) == set(range(3, 8))
    layout = Layout((block,))
    chosen = Selection.parse("x[3:8]", layout.blocks)
    ((level, coarser),) = levels(chosen, layout, "random")
    assert level == chosen
    assert coarser.size == 0


def test_depths_halve() -> None:
    counts = np.bincount(depths(Block("x", BITS, 16)))
    assert counts.tolist()[:4] == [8, 4, 2, 1]
