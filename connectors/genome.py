"""The letters of regions of a genome, in one pass over its FASTA files; one sequence is in memory at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from connectors.encoding import Letters
from connectors.errors import RegionsError
from connectors.fasta_letters import OFF_END
from connectors.fasta_records import batches
from connectors.sources import Source
from connectors.store import ByteStore

_PIECE = 1 << 24


@dataclass(frozen=True)
class Spans:
    """n stretches [start, stop), which may lie partly or wholly off the ends of their sequence."""

    chromosomes: Sequence[str]
    starts: np.ndarray
    stops: np.ndarray

    def __len__(self) -> int:
        return len(self.chromosomes)


@dataclass(frozen=True)
class GenomeLetters:
    """Letters of spans as they are written, ``OFF_END`` where a span is off the end of its sequence."""

    flat: np.ndarray
    offsets: np.ndarray
    """Where each span begins in ``flat``; -1 where the genome lacks its sequence."""
    spans: Spans
    length_of: dict[str, int]
    """Number of letters of each sequence of the genome."""

    @property
    def found(self) -> np.ndarray:
        return self.offsets >= 0

    @property
    def off_end(self) -> np.ndarray:
        """Number of positions of each span that are off the ends."""
        ends = np.array([self.length_of.get(name, 0) for name in self.spans.chromosomes])
        starts, stops = self.spans.starts, self.spans.stops
        inside = np.minimum(stops, ends) - np.maximum(starts, 0)
        return np.where(self.found, stops - starts - np.maximum(inside, 0), 0)

    def pieces(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, Letters]]:
        """The letters of some spans in the order asked, a few megabytes at a time, with the rows they are of."""
        lengths = (self.spans.stops - self.spans.starts)[rows]
        per_piece = np.cumsum(lengths) // _PIECE
        for part in np.split(rows, np.flatnonzero(np.diff(per_piece)) + 1):
            sizes = (self.spans.stops - self.spans.starts)[part]
            shift = self.offsets[part] - (np.cumsum(sizes) - sizes)
            yield part, Letters(self.flat[np.repeat(shift, sizes) + np.arange(int(sizes.sum()))], sizes)


def genome_letters(files: Sequence[Source], spans: Spans) -> GenomeLetters:
    """Read the genome and keep the letters of the spans."""
    rows_of = _by_chromosome(spans.chromosomes)
    offsets = np.full(len(spans), -1, np.int64)
    store, length_of = ByteStore(), {}
    for source in files:
        for batch in batches(source, "fasta"):
            for name, start, length in zip(batch.ids, batch.letters.starts, batch.letters.lengths, strict=True):
                if name in length_of:
                    raise source.fail(f"two sequences are called {name!r}", remedy="give each a name of its own")
                length_of[name] = int(length)
                letters = batch.letters.flat[start : start + length]
                for row in rows_of.get(name, ()):
                    offsets[row] = store.size
                    store.append(_cut(letters, int(spans.starts[row]), int(spans.stops[row])))
    if not length_of:
        raise RegionsError("the genome has no sequence", where=f"in {files[0].uri}", remedy="check the FASTA file")
    return GenomeLetters(store.array(), offsets, spans, length_of)


def _by_chromosome(chromosomes: Sequence[str]) -> dict[str, list[int]]:
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(chromosomes):
        rows_of.setdefault(name, []).append(row)
    return rows_of


def _cut(letters: np.ndarray, start: int, stop: int) -> np.ndarray:
    inside = letters[max(start, 0) : max(stop, 0)]
    if len(inside) == stop - start:
        return inside
    piece = np.full(stop - start, OFF_END, np.uint8)
    first = max(0, -start)
    piece[first : first + len(inside)] = inside
    return piece
