"""From texts to codes, and the count of what was dropped or hidden on the way."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from connectors.errors import ConnectorError
from infosedd.blocks import Vocabulary

ALPHABETS = {
    "dna": "ACGT",
    "rna": "ACGU",
    "protein": "ACDEFGHIKLMNPQRSTVWY",
}


@dataclass
class Tally:
    """Which of n rows are still in, and why the others and some tokens are not."""

    n: int
    keep: np.ndarray = field(init=False)
    dropped: dict[str, int] = field(default_factory=dict)
    _hidden: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.keep = np.ones(self.n, bool)

    def drop(self, rows: np.ndarray, reason: str) -> None:
        """Leave out the rows of a boolean mask; a row counts under the first reason that met it."""
        newly = int((rows & self.keep).sum())
        if newly:
            self.dropped[reason] = self.dropped.get(reason, 0) + newly
            self.keep &= ~rows

    def hide(self, tokens: np.ndarray, reason: str) -> None:
        """Count hidden tokens: their number in each row, which counts if the row stays."""
        self._hidden[reason] = self._hidden.get(reason, 0) + tokens

    @property
    def hidden(self) -> dict[str, int]:
        """Hidden tokens of the rows that are in, by reason."""
        totals = {reason: int(tokens[self.keep].sum()) for reason, tokens in self._hidden.items()}
        return {reason: total for reason, total in totals.items() if total}

    def check_some_left(self, error: type[ConnectorError], where: str) -> None:
        """An error where no row is left, with the reasons."""
        if not self.keep.any():
            reasons = ", ".join(f"{count} for {reason}" for reason, count in self.dropped.items())
            raise error("every row was dropped", where=where, remedy=f"dropped {reasons}; choose another policy")


def repeated_rows(*blocks: np.ndarray) -> int:
    """How many rows equal an earlier one in every block, by a 64-bit hash of each row.

    The hash is a random linear form modulo 2^64, summed over the blocks, which have the same number of rows.
    """
    import polars as pl

    rng = np.random.default_rng(0)
    hashes = np.zeros(len(blocks[0]), np.uint64)
    for codes in blocks:
        form = rng.integers(1, 2**63, size=codes.shape[1], dtype=np.uint64) * 2 + 1
        per_part = max(1, (1 << 22) // codes.shape[1])
        for low in range(0, len(codes), per_part):
            hashes[low : low + per_part] += codes[low : low + per_part].astype(np.uint64) @ form
    return len(hashes) - pl.Series(hashes).n_unique()


def alphabet_symbols(alphabet: str) -> str:
    """The letters of a named alphabet (dna, rna, protein), or the given letters themselves."""
    return ALPHABETS.get(alphabet.lower(), alphabet)


@dataclass(frozen=True)
class Letters:
    """Texts as one array of code points (or bytes, where all is ASCII) with their lengths."""

    flat: np.ndarray
    lengths: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    def fitted(self, length: int, fill: int = 0) -> np.ndarray:
        """An (n, length) array: longer texts cropped at the end, shorter ones filled with ``fill``."""
        if (self.lengths == length).all():
            return self.flat.reshape(-1, length)
        columns = np.arange(length)
        inside = columns < self.lengths[:, None]
        index = np.where(inside, self.starts[:, None] + columns, 0)
        return np.where(inside, self.flat[index], self.flat.dtype.type(fill))


def interleaved(first: Letters, second: Letters) -> Letters:
    """The rows of both by turns: first's 0, second's 0, first's 1 ...; rows of a turn are equally long."""
    lengths = np.repeat(first.lengths, 2)
    starts = np.stack([first.starts, second.starts + len(first.flat)], axis=1).ravel()
    new_starts = np.cumsum(lengths) - lengths
    index = np.repeat(starts - new_starts, lengths) + np.arange(int(lengths.sum()))
    return Letters(np.concatenate([first.flat, second.flat])[index], lengths)


def letters_of(column: pa.Array) -> Letters:
    """The letters of an Arrow array of texts without nulls."""
    column = column.cast(pa.large_string())
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    data = column.buffers()[2]
    raw = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]] if data is not None else np.empty(0, np.uint8)
    if not len(raw) or raw.max() < 128:
        return Letters(raw, np.diff(offsets))
    is_start = (raw & 0xC0) != 0x80
    before = np.concatenate([[0], np.cumsum(is_start)])
    points = np.frombuffer(raw.tobytes().decode().encode("utf-32-le"), np.uint32)
    return Letters(points, np.diff(before[offsets - offsets[0]]))


def letter_codes(letters: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    """Codes of an array of code points over single-letter symbols; unknown letters get ``mask_id``."""
    table_size = 256 if letters.dtype == np.uint8 else int(max(map(ord, vocabulary.symbols), default=0)) + 2
    table = np.full(table_size, vocabulary.mask_id, vocabulary.dtype)
    for symbol, code in vocabulary.code_of.items():
        if ord(symbol) < table_size:
            table[ord(symbol)] = code
    return table[letters if letters.dtype == np.uint8 else np.minimum(letters, table_size - 1)]
