"""In what order the tokens of a block are revealed: all at random, or coarse to fine.

H(A | C) = SUM_l H(A_l | A_1, ..., A_{l-1}, C) for any levels A_1, ..., A_m of A, so noise may take the
fine levels first and the coarse ones last. Coarse to fine, a token's neighbours on both sides are
visible when it is predicted: of a Markov chain each conditional is then a map of two neighbours, and
of a nearest-neighbour lattice the finest level, half of all sites, is one of four. A network has
far fewer and simpler conditionals to learn than for tokens from any subset of the others.
"""

from typing import Literal

import numpy as np

from infosedd.blocks import EMPTY, Block, Selection
from infosedd.layout import Layout

Order = Literal["coarse_to_fine", "random"]


def needs_random(measure: str, *, conditional: bool) -> bool:
    """Does a measure ask for a token given all the others, or alone given Z? Coarse to fine trains neither.

    A token alone without Z is its marginal law, which is counted and needs no training.
    """
    return measure in ("dual_total_correlation", "o_information") or (measure == "total_correlation" and conditional)


def levels(selection: Selection, layout: Layout, order: Order) -> list[tuple[Selection, Selection]]:
    """(level, all coarser levels) of a selection, coarsest first; one level where the order is random."""
    if order == "random" or selection.size <= 1:
        return [(selection, EMPTY)]
    by_depth: dict[int, dict[str, list[int]]] = {}
    for name, positions in selection.parts:
        depth = depths(next(b for b in layout.blocks if b.name == name))
        for i in positions:
            by_depth.setdefault(int(depth[i]), {}).setdefault(name, []).append(i)
    out, coarser = [], EMPTY
    for depth in sorted(by_depth, reverse=True):
        level = Selection.of(by_depth[depth], layout.blocks)
        out.append((level, coarser))
        coarser = coarser + level
    return out


def depths(block: Block) -> np.ndarray:
    """(L,) how often each position survives when a block is thinned out; 0 is the finest level.

    A sequence loses every second position at a time; a two-dimensional lattice the odd squares of
    its checkerboard, then those of the turned, coarser checkerboard that is left.
    """
    if block.lattice is not None and len(block.lattice) == 2:
        rows, columns = np.divmod(np.arange(block.length), block.lattice[1])
        return _lattice_depths(rows, columns, max(block.lattice))
    return _sequence_depths(np.arange(block.length), block.length)


def _sequence_depths(positions: np.ndarray, length: int) -> np.ndarray:
    depth = np.zeros(len(positions), np.int64)
    step = 2
    while step < 2 * length:
        depth += positions % step == 0
        step *= 2
    return depth


def _lattice_depths(rows: np.ndarray, columns: np.ndarray, size: int) -> np.ndarray:
    depth = np.zeros(len(rows), np.int64)
    step = 1
    while step < size:
        even = (rows % step == 0) & (columns % step == 0) & ((rows // step + columns // step) % 2 == 0)
        square = (rows % (2 * step) == 0) & (columns % (2 * step) == 0)
        depth += even.astype(np.int64) + square
        step *= 2
    return depth
