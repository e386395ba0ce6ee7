"""Windows of fixed length along records, a few megabytes at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from connectors.encoding import Letters

_PIECE = 1 << 25


@dataclass(frozen=True)
class Piece:
    """Some windows: their letters, the record of each, its start there, and letters that no window covers."""

    letters: Letters
    rows: np.ndarray
    starts: np.ndarray
    uncovered: int


def windows(letters: Letters, keep: np.ndarray, window: int, step: int) -> Iterator[Piece]:
    """Windows [start, start + window) at every ``step`` letters of the kept records, in order."""
    records = np.flatnonzero(keep)
    counts = (letters.lengths[records] - window) // step + 1
    uncovered = int((letters.lengths[records] - ((counts - 1) * step + window)).sum())
    rows = np.repeat(records, counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    starts = (np.arange(len(rows)) - first) * step
    base = letters.starts[rows] + starts
    per_piece = max(1, _PIECE // window)
    for low in range(0, len(rows), per_piece):
        part = slice(low, low + per_piece)
        flat = letters.flat[base[part, None] + np.arange(window)].ravel()
        lengths = np.full(len(base[part]), window)
        yield Piece(Letters(flat, lengths), rows[part], starts[part], uncovered if low == 0 else 0)
