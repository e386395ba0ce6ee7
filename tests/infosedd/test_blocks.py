"""Vocabularies, blocks and block expressions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infosedd.blocks import EMPTY, Block, Selection, Vocabulary, near_names
from infosedd.errors import InputError

DNA = Vocabulary(tuple("ACGT"))
BLOCKS = (Block("promoter", DNA, 12), Block("bin", Vocabulary(("low", "high")), 1), Block("a.b-c_2", DNA, 3))


@pytest.mark.parametrize(
    ("expression", "parts", "text"),
    [
        ("promoter", {"promoter": range(12)}, "promoter"),
        ("promoter[0:12]", {"promoter": range(12)}, "promoter"),
        ("promoter[:]", {"promoter": range(12)}, "promoter"),
        ("promoter[3]", {"promoter": [3]}, "promoter[3]"),
        ("promoter[3:6]", {"promoter": [3, 4, 5]}, "promoter[3:6]"),
        ("promoter[9:]", {"promoter": [9, 10, 11]}, "promoter[9:12]"),
        ("promoter[:2]", {"promoter": [0, 1]}, "promoter[0:2]"),
        ("  promoter [ 1 : 2 ]  +  bin ", {"promoter": [1], "bin": [0]}, "promoter[1:2]+bin"),
        ("bin+promoter[5]+promoter[1]", {"promoter": [1, 5], "bin": [0]}, "bin+promoter[5]+promoter[1]"),
        ("a.b-c_2[1]", {"a.b-c_2": [1]}, "a.b-c_2[1]"),
    ],
)
def test_expressions(expression: str, parts: dict, text: str) -> None:
    selection = Selection.parse(expression, BLOCKS)
    assert {name: list(positions) for name, positions in selection.parts} == {k: list(v) for k, v in parts.items()}
    assert str(selection) == text
    assert selection.size == sum(len(v) for v in parts.values())
    assert Selection.parse(text, BLOCKS).parts == selection.parts
    assert hash(selection) == hash(Selection.parse(expression, BLOCKS))


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "can't read the block expression"),
        ("promoter[", "can't read"),
        ("promoter[]", "can't read"),
        ("promoter[1 2]", "can't read"),
        ("promoter[-1]", "can't read"),
        ("promoter[1:2:3]", "can't read"),
        ("promoter+", "can't read"),
        ("promoter[x]", "can't read"),
        ("promotor", "did you mean 'promoter'"),
        ("zzz", "no block is called 'zzz'"),
        ("promoter[12]", "out of range"),
        ("promoter[3:3]", "empty or out of range"),
        ("promoter[6:3]", "empty or out of range"),
        ("promoter[0:13]", "positions 0 to 11"),
        ("promoter[0:3]+promoter[2]", "position 2 of block 'promoter' is named twice"),
        ("bin+bin", "named twice"),
    ],
)
def test_bad_expressions_say_what_where_and_what_to_do(expression: str, said: str) -> None:
    with pytest.raises(InputError, match=said.replace("[", r"\[")) as raised:
        Selection.parse(expression, BLOCKS)
    assert repr(expression) in str(raised.value)
    assert "\n" not in str(raised.value)


positions_of = st.dictionaries(
    st.sampled_from([b.name for b in BLOCKS]), st.sets(st.integers(0, 11), min_size=1), min_size=1
).map(lambda d: {b.name: sorted(i for i in d[b.name] if i < b.length) for b in BLOCKS if b.name in d})


@settings(max_examples=60, deadline=None, derandomize=True)
@given(positions_of)
def test_positions_survive_their_shortest_expression(parts: dict) -> None:
    parts = {name: chosen for name, chosen in parts.items() if chosen}
    selection = Selection.of(parts, BLOCKS)
    assert {name: list(chosen) for name, chosen in selection.parts} == parts
    if parts:
        assert Selection.parse(selection.text, BLOCKS).parts == selection.parts
    else:
        assert selection.size == 0


def test_shortest_expressions() -> None:
    assert Selection.of({"promoter": [4, 1, 2, 3, 7], "bin": [0]}, BLOCKS).text == "promoter[1:5]+promoter[7]+bin"
    assert Selection.of({"promoter": list(range(12))}, BLOCKS).text == "promoter"


def test_unions_and_overlaps() -> None:
    left, right = Selection.parse("promoter[0:3]", BLOCKS), Selection.parse("promoter[6]+bin", BLOCKS)
    both = left + right
    assert both.positions("promoter") == (0, 1, 2, 6)
    assert both.positions("a.b-c_2") == ()
    assert left + EMPTY == left == EMPTY + left
    assert not left.overlaps(right)
    assert left.overlaps(Selection.parse("promoter", BLOCKS))
    with pytest.raises(InputError, match="overlap"):
        left + Selection.parse("promoter[2:4]", BLOCKS)
    assert Selection.parse(left, BLOCKS) is left


def test_vocabularies() -> None:
    assert (DNA.size, DNA.mask_id, DNA.code_of["G"]) == (4, 4, 2)
    assert DNA.decode(np.array([[0, 3, 4], [2, 2, 1]])) == ["AT?", "GGC"]
    assert DNA.decode(np.array([1, 1]), mask="-") == ["CC"]
    assert DNA.dtype == np.uint8
    assert Vocabulary(tuple(map(str, range(255)))).dtype == np.uint8  # 255 symbols and the mask
    assert Vocabulary(tuple(map(str, range(256)))).dtype == np.uint16


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Vocabulary(()), "at least one symbol"),
        (lambda: Vocabulary(("a", "b", "a")), "repeats a symbol"),
        (lambda: Vocabulary(("a",), pad="-"), "pad symbol '-'"),
        (lambda: Block("", DNA, 3), "can't name a block"),
        (lambda: Block("1st", DNA, 3), "can't name a block"),
        (lambda: Block("a+b", DNA, 3), "can't name a block"),
        (lambda: Block("a[0]", DNA, 3), "can't name a block"),
        (lambda: Block("a", DNA, 0), "no positions"),
        (lambda: Block("a", DNA, 6, lattice=(2, 2)), "not the \\(2, 2\\)"),
    ],
)
def test_what_can_not_be_a_vocabulary_or_a_block(make, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()


def test_largest_entropy_of_a_block() -> None:
    assert BLOCKS[0].max_entropy == pytest.approx(12 * math.log(4))


def test_near_names() -> None:
    assert near_names("promotor", ["bin", "promoter"]) == "did you mean 'promoter'? known: bin, promoter"
    assert near_names("x", []) == "known: none"
