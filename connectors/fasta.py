"""Sequence files: FASTA, FASTQ, GenBank, aligned FASTA, and plain one sequence a line.

One pass over the files in batches. Several files written LABEL=PATH become one corpus with a block of labels.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from connectors.encoding import Letters
from connectors.errors import FastaError
from connectors.fasta_letters import Reader, alphabet_of
from connectors.fasta_options import FastaOptions
from connectors.fasta_records import Batch, batches, sequence_format
from connectors.fasta_windows import windows
from connectors.info import ConnectorInfo
from connectors.options import parse_options
from connectors.sequence_rows import SequenceRows, kept_rows, sequence_corpus
from connectors.sources import Source, resolve
from infosedd.corpus import Corpus

_FEW_RECORDS = 20
_STRETCH = 20


@dataclass
class _Gathered(SequenceRows):
    """Rows of sequence files, and what only records have."""

    group_of: dict[str, int] = field(default_factory=dict)
    numbers: list[np.ndarray] = field(default_factory=list)
    """Number of each window in its record."""
    n_records: int = 0
    spaces: int = 0
    uncovered: int = 0


@dataclass(frozen=True)
class _Records:
    """A batch of one file, with the codes of its records' labels and groups."""

    batch: Batch
    first: int
    """Number of records of the file before these."""
    source: Source
    labels: np.ndarray | None
    groups: np.ndarray

    def where(self, row: int) -> str:
        return f"{self.first + row + 1} ({self.batch.ids[row]})"


def read(sources: Sequence[str], options: Mapping[str, object], name: str) -> Corpus:
    """Read sequence files as a corpus of one block of letters, and one of labels where there are any."""
    asked = parse_options(FastaOptions, options, FastaError, "fasta")
    files = resolve(sources, FastaError)
    kinds = [asked.format if asked.format != "auto" else sequence_format(source) for source in files]
    alphabet = asked.alphabet_name
    notes = [f"read as {', '.join(dict.fromkeys(kinds))}"]
    if alphabet == "auto":
        alphabet = alphabet_of(_histogram(files[0], kinds[0]))
        notes.append(f"the letters were taken as {alphabet}")
    if files[0].label and asked.label_pattern:
        raise FastaError("labels come from the files and from a pattern", remedy="give LABEL=PATH or `label_pattern`")
    reader = Reader(alphabet, asked)
    if asked.reverse_complement != "none" and not reader.nucleic:
        raise FastaError("only DNA and RNA have a reverse complement", remedy="give alphabet = dna or rna")
    gathered = _Gathered()
    for source, kind in zip(files, kinds, strict=True):
        first = 0
        for batch in batches(source, kind):
            _add(gathered, batch, first, source, reader, asked)
            first += len(batch.headers)
    return _corpus(gathered, files, reader, asked, notes, name)


def _histogram(source: Source, kind: str) -> np.ndarray:
    first = next(iter(batches(source, kind)), None)
    if first is None:
        raise source.fail("the file has no records", remedy="check that it was written whole")
    return np.bincount(first.letters.flat[: 1 << 20], minlength=256)


def _add(gathered: _Gathered, batch: Batch, first: int, source: Source, reader: Reader, asked: FastaOptions) -> None:
    """Take in one batch: empty records, header patterns, windows, then the letter policies."""
    gathered.n_records += len(batch.headers)
    gathered.spaces += batch.spaces
    empty = batch.letters.lengths == 0
    if empty.any() and asked.empty == "error":
        record = int(np.flatnonzero(empty)[0])
        raise source.fail("the record has no letters", where=f"record {first + record + 1}", remedy="give empty = drop")
    gathered.drop(int(empty.sum()), "an empty sequence")
    gathered.n_read += int(empty.sum())
    labels, groups, keep = _from_headers(gathered, batch, ~empty, first, source, asked)
    records = _Records(batch, first, source, labels, groups)
    if asked.window is None:
        gathered.n_read += int((~empty).sum())
        _add_rows(gathered, records, kept_rows(batch.letters, keep), np.flatnonzero(keep), None, reader, asked)
        return
    short = keep & (batch.letters.lengths < asked.window)
    gathered.drop(int(short.sum()), f"a record shorter than the window of {asked.window}")
    gathered.n_read += int((~empty & (~keep | short)).sum())
    for piece in windows(batch.letters, keep & ~short, asked.window, asked.window_step or asked.window):
        gathered.n_read += len(piece.rows)
        gathered.uncovered += piece.uncovered
        _add_rows(gathered, records, piece.letters, piece.rows, piece.starts, reader, asked)


def _from_headers(
    gathered: _Gathered, batch: Batch, keep: np.ndarray, first: int, source: Source, asked: FastaOptions
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """Codes of labels and groups of each record, in order of first sight, and which records stay."""
    n = len(batch.headers)
    labels, groups = None, gathered.n_records - n + np.arange(n)
    if source.label:
        labels = np.full(n, gathered.label_of.setdefault(source.label, len(gathered.label_of)))
    for pattern, codes_of in ((asked.label_pattern, gathered.label_of), (asked.group_pattern, gathered.group_of)):
        if pattern is None:
            continue
        codes = _matched(pattern, codes_of, batch.headers)
        missed = keep & (codes < 0)
        if missed.any() and asked.unmatched == "error":
            record = int(np.flatnonzero(missed)[0])
            raise source.fail(
                f"the header {batch.headers[record][:60]!r} does not match the pattern {pattern!r}",
                where=f"record {first + record + 1}",
                remedy="correct the pattern, or give unmatched = drop",
            )
        gathered.drop(int(missed.sum()), "a header that no pattern matches")
        keep = keep & ~missed
        if codes_of is gathered.label_of:
            labels = codes
        else:
            groups = codes
    return labels, groups, keep


def _matched(pattern: str, codes_of: dict[str, int], headers: Sequence[str]) -> np.ndarray:
    find = re.compile(pattern).search
    found = [match[1] if (match := find(header)) else None for header in headers]
    return np.array([-1 if text is None else codes_of.setdefault(text, len(codes_of)) for text in found], np.int64)


def _add_rows(
    gathered: _Gathered,
    records: _Records,
    letters: Letters,
    rows: np.ndarray,
    starts: np.ndarray | None,
    reader: Reader,
    asked: FastaOptions,
) -> None:
    """Take in rows (records, or windows that begin at ``starts``); ``rows`` are their records in the batch."""
    ids = records.batch.ids
    if starts is not None:
        ids = [f"{ids[row]}:{start}-{start + (asked.window or 0)}" for row, start in zip(rows, starts, strict=True)]
    elif len(rows) < len(ids):
        ids = [ids[row] for row in rows]
    keep = gathered.add(
        letters,
        ids,
        reader,
        lambda row: records.where(int(rows[row])),
        records.source,
        labels=None if records.labels is None else records.labels[rows],
        groups=records.groups[rows],
        turn=asked.reverse_complement,
    )
    if starts is not None:
        times = 2 if asked.reverse_complement == "add" else 1
        gathered.numbers.append(np.repeat(starts[keep] // (asked.window_step or asked.window or 1), times))


def _corpus(
    gathered: _Gathered, files: Sequence[Source], reader: Reader, asked: FastaOptions, notes: list[str], name: str
) -> Corpus:
    groups = _groups(gathered, asked, notes)
    later = []
    if gathered.spaces:
        later.append(f"{gathered.spaces} spaces between letters were skipped")
    if gathered.uncovered:
        later.append(f"{gathered.uncovered} letters at the ends of records are in no window")
    return sequence_corpus(gathered, files, reader, asked, "fasta", name, groups=groups, notes=notes, later_notes=later)


def _groups(gathered: _Gathered, asked: FastaOptions, notes: list[str]) -> np.ndarray | None:
    """Codes of rows that belong together: by pattern, record, or stretches of windows within a record."""
    if not gathered.groups or not (asked.group_pattern or asked.window or asked.reverse_complement == "add"):
        return None
    groups = np.concatenate(gathered.groups)
    stretch = asked.group_windows
    if asked.window and stretch is None and len(np.unique(groups)) < _FEW_RECORDS:
        stretch = _STRETCH
    if stretch is None:
        return groups
    notes.append(f"{stretch} neighbouring windows make a group")
    pairs = np.stack([groups, np.concatenate(gathered.numbers) // stretch], axis=1)
    return np.unique(pairs, axis=0, return_inverse=True)[1].ravel()


INFO = ConnectorInfo(
    name="fasta",
    summary="sequences of DNA, RNA, proteins or any letters, with labels from files or headers",
    formats=(
        "FASTA",
        "aligned FASTA",
        "FASTQ",
        "GenBank",
        "plain (one sequence a line)",
        "each also .gz .bgz .xz .zst",
    ),
    options_model=FastaOptions,
    read=read,
)
