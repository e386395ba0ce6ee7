"""Vocabularies, blocks, and the expressions that name parts of blocks.

A *block* is a run of ``length`` tokens that share a vocabulary: a promoter of 75 nucleotides, an
expression bin of one token, a lattice of 64 spins. A *block expression* selects positions of
blocks: ``promoter``, ``promoter[39]``, ``promoter[39:45]`` (0-based, half open), joined by ``+``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import cached_property
from math import log, prod
from typing import Literal, get_args

import numpy as np

from infosedd.errors import InputError

Symmetry = Literal["translations", "rotations", "reflections", "symbol_flip"]
"""Moves of a periodic lattice or ring, its turns and mirror images, and codes counted from the other end."""


@dataclass(frozen=True)
class Vocabulary:
    """The symbols a token can take, in code order; code ``size`` is the mask (hidden token)."""

    symbols: tuple[str, ...]
    pad: str | None = None

    def __post_init__(self) -> None:
        if not self.symbols:
            raise InputError("a vocabulary needs at least one symbol")
        if len(set(self.symbols)) != len(self.symbols):
            raise InputError(f"a vocabulary repeats a symbol: {_shorten(self.symbols)}")
        if self.pad is not None and self.pad not in self.symbols:
            raise InputError(f"the pad symbol {self.pad!r} is not in the vocabulary {_shorten(self.symbols)}")

    @property
    def size(self) -> int:
        """Number of symbols N, the mask excluded."""
        return len(self.symbols)

    @property
    def mask_id(self) -> int:
        """Code of a hidden token: N."""
        return len(self.symbols)

    @property
    def dtype(self) -> np.dtype:
        """The smallest unsigned integer type that holds every code and the mask."""
        return np.dtype(np.min_scalar_type(len(self.symbols)))

    @cached_property
    def code_of(self) -> Mapping[str, int]:
        return {symbol: code for code, symbol in enumerate(self.symbols)}

    def decode(self, codes: np.ndarray, *, mask: str = "?") -> list[str]:
        """Texts of an (n, L) array of codes; hidden tokens show as ``mask``."""
        table = np.array([*self.symbols, mask], dtype=object)
        return ["".join(row) for row in table[np.atleast_2d(codes)]]


@dataclass(frozen=True)
class Block:
    """``length`` tokens over one vocabulary; ``lattice`` is its shape when positions form a grid.

    ``symmetries`` are those of the law of its tokens, whatever the other blocks hold: training may
    then use any row's mirror images as further rows.
    """

    name: str
    vocabulary: Vocabulary
    length: int
    lattice: tuple[int, ...] | None = None
    periodic: bool = False
    symmetries: tuple[Symmetry, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", self.name):
            raise InputError(
                f"{self.name!r} can't name a block",
                remedy="use letters, digits, '_', '-' and '.', starting with a letter",
            )
        if self.length < 1:
            raise InputError(f"block {self.name!r} has no positions", remedy="a block needs at least one token")
        if self.lattice is not None and prod(self.lattice) != self.length:
            raise InputError(f"block {self.name!r} has {self.length} positions, not the {self.lattice} of its lattice")
        if unknown := set(self.symmetries) - set(get_args(Symmetry)):
            raise InputError(
                f"block {self.name!r} can't have the symmetry {min(unknown)!r}",
                remedy=f"name some of {', '.join(get_args(Symmetry))}",
            )
        square = self.lattice is not None and len(self.lattice) == 2 and self.lattice[0] == self.lattice[1]
        if "rotations" in self.symmetries and not square:
            raise InputError(f"block {self.name!r} is no square, so its law can't be the same when it is turned")
        if "translations" in self.symmetries and not self.periodic:
            raise InputError(f"block {self.name!r} has open edges, so its law can't be the same when it is moved")

    @classmethod
    def from_dict(cls, entry: Mapping) -> "Block":
        """The block that ``to_dict`` made ``entry`` of."""
        return cls(
            entry["name"],
            Vocabulary(tuple(entry["vocabulary"]["symbols"]), entry["vocabulary"]["pad"]),
            entry["length"],
            None if entry["lattice"] is None else tuple(entry["lattice"]),
            entry["periodic"],
            tuple(entry.get("symmetries", ())),
        )

    def to_dict(self) -> dict:
        """Plain values, for cards and for the corpus's hash; symmetries only where there are some."""
        entry = asdict(self)
        if not self.symmetries:
            del entry["symmetries"]
        return entry

    @property
    def max_entropy(self) -> float:
        """L log N, in nats."""
        return self.length * log(self.vocabulary.size)


@dataclass(frozen=True)
class Selection:
    """Positions of blocks, as a block expression names them; hashable.

    Positions are in order within each block. Blocks are in the order of the corpus, but in a sum in that of its terms.
    """

    parts: tuple[tuple[str, tuple[int, ...]], ...]
    text: str

    @classmethod
    def parse(cls, expression: "str | Selection", blocks: Sequence[Block]) -> "Selection":
        """Read ``expression`` against ``blocks``; an unknown name, a bad range or a repeat is an InputError."""
        if isinstance(expression, Selection):
            return expression
        if not isinstance(expression, str):
            raise InputError(f"{expression!r} is no block expression", remedy="name blocks, as 'x' or 'x[0:6]+y'")
        by_name = {block.name: block for block in blocks}
        chosen: dict[str, list[int]] = {}
        canonical = []
        for part in expression.split("+"):
            name, positions, text = _parse_part(part.strip(), expression, by_name)
            canonical.append(text)
            taken = chosen.setdefault(name, [])
            if repeated := sorted(set(taken) & set(positions)):
                raise InputError(f"position {repeated[0]} of block {name!r} is named twice", where=f"in {expression!r}")
            taken.extend(positions)
        order = [block.name for block in blocks if block.name in chosen]
        return cls(tuple((name, tuple(sorted(chosen[name]))) for name in order), "+".join(canonical))

    @classmethod
    def of(cls, parts: Mapping[str, Sequence[int]], blocks: Sequence[Block]) -> "Selection":
        """The selection of given positions, with the shortest expression that names them."""
        kept = tuple((b.name, tuple(sorted(parts[b.name]))) for b in blocks if len(parts.get(b.name, ())))
        lengths = {block.name: block.length for block in blocks}
        text = "+".join(piece for name, positions in kept for piece in _ranges(name, positions, lengths[name]))
        return cls(kept, text)

    @property
    def size(self) -> int:
        return sum(len(positions) for _, positions in self.parts)

    def positions(self, block: str) -> tuple[int, ...]:
        return dict(self.parts).get(block, ())

    def overlaps(self, other: "Selection") -> bool:
        return any(set(positions) & set(other.positions(name)) for name, positions in self.parts)

    def one_run(self, expression: str) -> tuple[str, tuple[int, ...]]:
        """The block and positions that a window can slide over; an InputError of ``expression`` for any other."""
        block, positions = self.parts[0]
        if len(self.parts) != 1 or positions[-1] - positions[0] != len(positions) - 1:
            raise InputError(f"a profile slides over one run of positions of one block, not over {expression!r}")
        return block, positions

    def complement(self, others: "Selection", blocks: Sequence[Block]) -> "Selection":
        """The other positions of the blocks that it touches, without those of ``others``; an InputError for none."""
        lengths = {block.name: block.length for block in blocks}
        rest = {
            name: sorted(set(range(lengths[name])) - set(positions) - set(others.positions(name)))
            for name, positions in self.parts
        }
        if not any(rest.values()):
            raise InputError(f"nothing is left of {self.text!r} when it is removed", remedy="name a smaller window")
        return Selection.of(rest, blocks)

    def __add__(self, other: "Selection") -> "Selection":
        """The union of two disjoint selections."""
        if not other.parts:
            return self
        if not self.parts:
            return other
        if self.overlaps(other):
            raise InputError(f"blocks {self.text!r} and {other.text!r} overlap", remedy="name disjoint positions")
        merged = {name: list(positions) for name, positions in self.parts}
        for name, positions in other.parts:
            merged.setdefault(name, []).extend(positions)
        parts = tuple((name, tuple(sorted(positions))) for name, positions in merged.items())
        return Selection(parts, f"{self.text}+{other.text}")

    def __str__(self) -> str:
        return self.text


EMPTY = Selection((), "")


def near_names(name: str, known: Sequence[str]) -> str:
    """``did you mean 'x'? `` where a known name is close, then the list of known names."""
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}known: {', '.join(known) or 'none'}"


def _parse_part(part: str, expression: str, by_name: Mapping[str, Block]) -> tuple[str, range, str]:
    match = re.fullmatch(r"([A-Za-z_][A-Za-z0-9_.-]*)\s*(?:\[\s*(\d*)\s*(:?)\s*(\d*)\s*\])?", part)
    if not match:
        raise InputError(
            f"can't read the block expression {part!r}",
            where=f"in {expression!r}",
            remedy="write name, name[i] or name[i:j] (0-based, half open), joined by '+'",
        )
    name, first, colon, last = match.groups()
    if name not in by_name:
        raise InputError(
            f"no block is called {name!r}", where=f"in {expression!r}", remedy=near_names(name, [*by_name])
        )
    length = by_name[name].length
    if first is None:
        return name, range(length), name
    if not colon and (not first or last):
        raise InputError(
            f"can't read the block expression {part!r}", where=f"in {expression!r}", remedy="write name[i]"
        )
    start = int(first) if first else 0
    stop = (int(last) if last else length) if colon else start + 1
    if not 0 <= start < stop <= length:
        raise InputError(
            f"{part!r} is empty or out of range",
            where=f"in {expression!r}",
            remedy=f"block {name!r} has positions 0 to {length - 1}, ranges are half open",
        )
    text = name if (start, stop) == (0, length) else f"{name}[{start}:{stop}]" if colon else f"{name}[{start}]"
    return name, range(start, stop), text


def _ranges(name: str, positions: Sequence[int], length: int) -> list[str]:
    if len(positions) == length:
        return [name]
    breaks = np.flatnonzero(np.diff(positions) != 1) + 1
    runs = np.split(np.asarray(positions), breaks)
    return [f"{name}[{r[0]}]" if len(r) == 1 else f"{name}[{r[0]}:{r[-1] + 1}]" for r in runs]


def _shorten(symbols: Sequence[str]) -> str:
    shown = " ".join(symbols[:12])
    return shown + (" ..." if len(symbols) > 12 else "")
