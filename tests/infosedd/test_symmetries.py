"""Mirror images: as many as the group has, each one an image, and none where nothing is declared."""

import pytest
import torch

from infosedd.blocks import Block, Vocabulary
from infosedd.errors import InputError
from infosedd.layout import Layout
from infosedd.symmetries import mirrored

DIGITS = Vocabulary(tuple("0123456789"))
BITS = Vocabulary(("-", "+"))


def images(block: Block, row: list[int], n: int = 4000) -> set[tuple[int, ...]]:
    """All images seen of one row."""
    tokens = torch.tensor([row]).repeat(n, 1)
    return set(map(tuple, mirrored(tokens, Layout((block,)), torch.Generator().manual_seed(1)).tolist()))


@pytest.mark.parametrize(
    ("lattice", "symmetries", "count"),
    [
        ((3, 3), ("rotations",), 4),
        ((3, 3), ("rotations", "reflections"), 8),
        ((3, 3), ("translations",), 9),
        ((3, 3), ("translations", "rotations", "reflections"), 72),
        ((2, 3), ("reflections",), 4),
        ((6,), ("translations",), 6),
        ((6,), ("translations", "reflections"), 12),
        ((6,), ("symbol_flip",), 2),
    ],
)
def test_all_images_of_a_row_turn_up(lattice: tuple[int, ...], symmetries: tuple, count: int) -> None:
    length = torch.tensor(lattice).prod().item()
    block = Block("x", DIGITS, length, lattice, periodic=True, symmetries=symmetries)
    row = list(range(length))
    seen = images(block, row)
    assert len(seen) == count
    assert tuple(row) in seen
    if "symbol_flip" not in symmetries:
        assert all(sorted(image) == row for image in seen)


def test_images_keep_neighbours_together() -> None:
    block = Block("x", DIGITS, 9, (3, 3), periodic=True, symmetries=("translations", "rotations", "reflections"))

    def bonds(row: tuple[int, ...]) -> set[frozenset[int]]:
        grid = torch.tensor(row).reshape(3, 3)
        pairs = [(grid, grid.roll(1, axis)) for axis in (0, 1)]
        return {
            frozenset((a, b)) for x, y in pairs for a, b in zip(x.flatten().tolist(), y.flatten().tolist(), strict=True)
        }

    whole = bonds(tuple(range(9)))
    assert all(bonds(image) == whole for image in images(block, list(range(9))))


def test_hidden_tokens_stay_hidden_and_other_blocks_stay() -> None:
    spins = Block("spins", BITS, 4, symmetries=("symbol_flip",))
    other = Block("label", BITS, 1)
    tokens = torch.tensor([[0, 1, 2, 1, 0]]).repeat(200, 1)
    seen = mirrored(tokens, Layout((spins, other)), torch.Generator().manual_seed(0))
    assert set(map(tuple, seen.tolist())) == {(0, 1, 2, 1, 0), (1, 0, 2, 0, 0)}


def test_nothing_is_touched_without_symmetries() -> None:
    tokens = torch.tensor([[0, 1, 1]])
    assert mirrored(tokens, Layout((Block("x", BITS, 3),)), torch.Generator()) is tokens


def test_a_symmetry_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="can't have the symmetry 'twist'"):
        Block("x", BITS, 3, symmetries=("twist",))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no square"):
        Block("x", BITS, 6, (2, 3), symmetries=("rotations",))
    with pytest.raises(InputError, match="open edges"):
        Block("x", BITS, 3, symmetries=("translations",))


def test_symmetries_survive_the_card() -> None:
    block = Block("x", BITS, 4, (2, 2), periodic=True, symmetries=("translations", "symbol_flip"))
    assert Block.from_dict(block.to_dict()) == block
    assert "symmetries" not in Block("x", BITS, 4).to_dict()
