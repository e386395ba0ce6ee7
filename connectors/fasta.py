"""Sequence files: FASTA, FASTQ, GenBank, aligned FASTA, and plain one sequence a line.

One pass over the files in batches; letters are set aside as bytes, in a temporary file once they are
many. Several files written LABEL=PATH become one corpus with a block of labels.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from connectors.encoding import Letters, interleaved, repeated_rows
from connectors.errors import FastaError
from connectors.fasta_finish import fixed_length, kmers, letter_tokens
from connectors.fasta_letters import REASONS, Reader, alphabet_of, byte_counts
from connectors.fasta_options import FastaOptions
from connectors.fasta_records import Batch, batches, sequence_format
from connectors.fasta_windows import windows
from connectors.info import ConnectorInfo
from connectors.options import parse_options
from connectors.sources import Source, joint_sha256, joint_uri, resolve
from connectors.store import ByteStore
from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus, Provenance

_FEW_RECORDS = 20
_STRETCH = 20


@dataclass
class _Gathered:
    """Rows gathered so far: letters one after the other, and one entry a row of everything else."""

    store: ByteStore = field(default_factory=ByteStore)
    lengths: list[np.ndarray] = field(default_factory=list)
    ids: list[pa.Array] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    label_of: dict[str, int] = field(default_factory=dict)
    group_of: dict[str, int] = field(default_factory=dict)
    label_codes: list[np.ndarray] = field(default_factory=list)
    groups: list[np.ndarray] = field(default_factory=list)
    numbers: list[np.ndarray] = field(default_factory=list)
    """Number of each window in its record."""
    dropped: dict[str, int] = field(default_factory=dict)
    n_read: int = 0
    n_records: int = 0
    spaces: int = 0
    uncovered: int = 0

    def drop(self, count: int, reason: str) -> None:
        if count:
            self.dropped[reason] = self.dropped.get(reason, 0) + count


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
    alphabet = asked.alphabet.lower() if asked.alphabet.lower() in ("dna", "rna", "protein", "auto") else asked.alphabet
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
        _add_rows(gathered, records, _rows(batch.letters, keep), np.flatnonzero(keep), None, reader, asked)
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


def _rows(letters: Letters, keep: np.ndarray) -> Letters:
    if keep.all():
        return letters
    return Letters(letters.flat[np.repeat(keep, letters.lengths)], letters.lengths[keep])


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
    keep = np.ones(len(rows), bool)
    counts = byte_counts(letters.flat)
    for reason, mask, position in reader.special_rows(letters, counts):
        if reader.policy(reason) == "error":
            row = int(np.searchsorted(np.cumsum(letters.lengths), position, side="right"))
            raise reader.refusal(reason, letters, position, records.where(int(rows[row])), records.source)
        gathered.drop(int((mask & keep).sum()), REASONS[reason])
        keep &= ~mask
    if not keep.all():
        letters, rows = _rows(letters, keep), rows[keep]
        counts = byte_counts(letters.flat)
    letters = reader.read(letters, counts)
    ids = records.batch.ids
    if starts is None:
        ids = ids if len(rows) == len(ids) else [ids[row] for row in rows]
    else:
        starts = starts[keep]
        ids = [f"{ids[row]}:{start}-{start + (asked.window or 0)}" for row, start in zip(rows, starts, strict=True)]
    times = 1
    if asked.reverse_complement != "none":
        turned = reader.reverse_complement(letters)
        times = 2 if asked.reverse_complement == "add" else 1
        letters = interleaved(letters, turned) if times == 2 else turned
    gathered.store.append(letters.flat)
    gathered.lengths.append(letters.lengths)
    gathered.ids.append(pa.array([text for text in ids for _ in range(times)] if times > 1 else ids, pa.string()))
    gathered.groups.append(np.repeat(records.groups[rows], times))
    if starts is not None:
        gathered.numbers.append(np.repeat(starts // (asked.window_step or asked.window or 1), times))
    if records.labels is not None:
        gathered.label_codes.append(np.repeat(records.labels[rows], times))


def _corpus(
    gathered: _Gathered, files: Sequence[Source], reader: Reader, asked: FastaOptions, notes: list[str], name: str
) -> Corpus:
    lengths = np.concatenate(gathered.lengths) if gathered.lengths else np.empty(0, np.int64)
    _check_some_left(len(lengths), gathered, files)
    ids = pa.chunked_array(gathered.ids).combine_chunks()
    gathered_letters = Letters(gathered.store.array(), lengths)
    letters, kept = fixed_length(gathered_letters, asked, files, gathered.drop, lambda row: ids[row].as_py())
    labels = _sorted_labels(gathered)
    if asked.balance:
        balanced = _balanced(labels, kept, asked)
        gathered.drop(int(kept.sum() - balanced.sum()), "the balance of labels")
        letters, kept = letters[balanced[kept]], balanced
    _check_some_left(int(kept.sum()), gathered, files)
    vocabulary, codes = letter_tokens(letters, reader, asked)
    vocabulary, codes = kmers(codes, vocabulary, asked)
    blocks = [Block(asked.block, vocabulary, codes.shape[1])]
    tokens = {asked.block: codes}
    if labels is not None:
        symbols, label_codes = labels
        blocks.append(Block(asked.label_block, Vocabulary(symbols), 1))
        tokens[asked.label_block] = label_codes[kept][:, None]
    if not kept.all():
        ids = ids.filter(pa.array(kept))
    groups = _groups(gathered, asked, notes)
    return Corpus(
        name=name,
        blocks=tuple(blocks),
        tokens=tokens,
        groups=None if groups is None else groups[kept],
        sequence_ids=ids,
        provenance=Provenance(
            connector="fasta",
            source_uri=joint_uri(files),
            source_sha256=joint_sha256(files),
            options=asked.model_dump(exclude_defaults=True),
            n_read=gathered.n_read,
            dropped=gathered.dropped,
            hidden=reader.hidden(),
            notes=tuple(notes + _notes(gathered, reader, ids, codes, asked)),
        ),
    )


def _check_some_left(n: int, gathered: _Gathered, files: Sequence[Source]) -> None:
    if n:
        return
    if not gathered.n_records:
        raise files[0].fail("the file has no records", remedy="check that it was written whole")
    reasons = ", ".join(f"{count} for {reason}" for reason, count in gathered.dropped.items())
    raise files[0].fail("every sequence was dropped", remedy=f"dropped {reasons}; choose another policy")


def _sorted_labels(gathered: _Gathered) -> tuple[tuple[str, ...], np.ndarray] | None:
    if not gathered.label_codes:
        return None
    codes = np.concatenate(gathered.label_codes)
    present = sorted(text for text, code in gathered.label_of.items() if (codes == code).any())
    order = np.full(len(gathered.label_of), -1)
    for position, text in enumerate(present):
        order[gathered.label_of[text]] = position
    return tuple(present), order[codes]


def _groups(gathered: _Gathered, asked: FastaOptions, notes: list[str]) -> np.ndarray | None:
    """Codes of rows that belong together: by pattern, record, or stretches of windows within a record."""
    if not (asked.group_pattern or asked.window or asked.reverse_complement == "add"):
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


def _balanced(labels: tuple[tuple[str, ...], np.ndarray] | None, kept: np.ndarray, asked: FastaOptions) -> np.ndarray:
    """A mask of rows with as many of each label, drawn without replacement, each label by the same seed."""
    if labels is None:
        raise FastaError("there are no labels to balance", remedy="write LABEL=PATH, or give `label_pattern`")
    _, codes = labels
    by_label = [np.flatnonzero(kept & (codes == code)) for code in np.unique(codes[kept])]
    smallest = min(map(len, by_label))
    mask = np.zeros(len(kept), bool)
    for rows in by_label:
        whole = len(rows) == smallest
        mask[rows if whole else np.random.default_rng(asked.seed).choice(rows, smallest, replace=False)] = True
    return mask


def _notes(gathered: _Gathered, reader: Reader, ids: pa.Array, codes: np.ndarray, asked: FastaOptions) -> list[str]:
    notes = [f"{count} letters kept as read though each was {reason}" for reason, count in reader.kept().items()]
    repeated = len(ids) - len(ids.unique())
    if repeated and asked.reverse_complement != "add":
        notes.append(f"{repeated} ids repeat an earlier one")
    if same := repeated_rows(codes):
        notes.append(f"{same} sequences repeat an earlier one")
    if gathered.spaces:
        notes.append(f"{gathered.spaces} spaces between letters were skipped")
    if gathered.uncovered:
        notes.append(f"{gathered.uncovered} letters at the ends of records are in no window")
    return notes


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
