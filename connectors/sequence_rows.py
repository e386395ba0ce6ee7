"""Rows of letters on their way to a corpus: policies, then one length, tokens, labels and their balance.

Shared by the connectors whose sequences are letters. Letters are set aside as bytes, in a temporary
file once they are many.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from connectors.encoding import Letters, interleaved, repeated_rows
from connectors.fasta_finish import fixed_length, kmers, letter_tokens
from connectors.fasta_letters import REASONS, Reader, byte_counts
from connectors.fasta_options import LetterOptions
from connectors.sources import Source, joint_sha256, joint_uri
from connectors.store import ByteStore
from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus, Provenance, handed_over


@dataclass
class SequenceRows:
    """Rows gathered so far: letters one after the other, and one entry a row of everything else."""

    store: ByteStore = field(default_factory=ByteStore)
    lengths: list[np.ndarray] = field(default_factory=list)
    ids: list[pa.Array] = field(default_factory=list)
    label_of: dict[str, int] = field(default_factory=dict)
    label_codes: list[np.ndarray] = field(default_factory=list)
    groups: list[np.ndarray] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    n_read: int = 0
    twice: bool = False
    """Whether each row stands beside its reverse complement, under the same id."""

    def drop(self, count: int, reason: str) -> None:
        if count:
            self.dropped[reason] = self.dropped.get(reason, 0) + count

    def add(
        self,
        letters: Letters,
        ids: Sequence[str],
        reader: Reader,
        where: Callable[[int], str],
        source: Source,
        *,
        labels: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        turn: str = "none",
    ) -> np.ndarray:
        """Take in rows under the letter policies; returns the mask of those that stay.

        ``where(row)`` names a row in an error; ``turn`` is none, add or replace: the reverse complement.
        """
        keep = np.ones(len(ids), bool)
        counts = byte_counts(letters.flat)
        for reason, mask, position in reader.special_rows(letters, counts):
            if reader.policy(reason) == "error":
                row = int(np.searchsorted(np.cumsum(letters.lengths), position, side="right"))
                raise reader.refusal(reason, letters, position, where(row), source)
            self.drop(int((mask & keep).sum()), REASONS[reason])
            keep &= ~mask
        if not keep.all():
            letters, ids = kept_rows(letters, keep), [text for text, stays in zip(ids, keep, strict=True) if stays]
            counts = byte_counts(letters.flat)
        letters = reader.read(letters, counts)
        times = 2 if turn == "add" else 1
        self.twice |= turn == "add"
        if turn != "none":
            turned = reader.reverse_complement(letters)
            letters = interleaved(letters, turned) if turn == "add" else turned
        self.store.append(letters.flat)
        self.lengths.append(letters.lengths)
        self.ids.append(pa.array([text for text in ids for _ in range(times)] if times > 1 else ids, pa.string()))
        if groups is not None:
            self.groups.append(np.repeat(groups[keep], times))
        if labels is not None:
            self.label_codes.append(np.repeat(labels[keep], times))
        return keep


def kept_rows(letters: Letters, keep: np.ndarray) -> Letters:
    """The rows of a mask."""
    if keep.all():
        return letters
    return Letters(letters.flat[np.repeat(keep, letters.lengths)], letters.lengths[keep])


def sequence_corpus(
    rows: SequenceRows,
    files: Sequence[Source],
    reader: Reader,
    asked: LetterOptions,
    connector: str,
    name: str,
    *,
    groups: np.ndarray | None = None,
    notes: Sequence[str] = (),
    later_notes: Sequence[str] = (),
) -> Corpus:
    """The corpus of all rows; ``groups`` has an entry for each, ``later_notes`` follow those on duplicates."""
    lengths = np.concatenate(rows.lengths) if rows.lengths else np.empty(0, np.int64)
    _check_some_left(len(lengths), rows, files)
    ids = pa.chunked_array(rows.ids).combine_chunks()
    gathered_letters = Letters(rows.store.array(), lengths)
    letters, kept = fixed_length(gathered_letters, asked, files, rows.drop, lambda row: ids[row].as_py())
    labels = _sorted_labels(rows)
    if asked.balance:
        balanced = _balanced(labels, kept, asked, files[0])
        rows.drop(int(kept.sum() - balanced.sum()), "the balance of labels")
        notes = [*notes, *_draw_notes(labels, kept, balanced, asked.seed)]
        letters, kept = letters[balanced[kept]], balanced
    _check_some_left(int(kept.sum()), rows, files)
    vocabulary, codes = letter_tokens(letters, reader, asked, files[0].error)
    vocabulary, codes = kmers(codes, vocabulary, asked, files[0].error)
    blocks = [Block(asked.block, vocabulary, codes.shape[1])]
    tokens = {asked.block: handed_over(codes)}
    if labels is not None:
        symbols, label_codes = labels
        blocks.append(Block(asked.label_block, Vocabulary(symbols), 1))
        tokens[asked.label_block] = label_codes[kept][:, None]
    if not kept.all():
        ids = ids.filter(pa.array(kept))
    return Corpus(
        name=name,
        blocks=tuple(blocks),
        tokens=tokens,
        groups=None if groups is None else groups[kept],
        sequence_ids=ids,
        provenance=Provenance(
            connector=connector,
            source_uri=joint_uri(files),
            source_sha256=joint_sha256(files),
            options=asked.model_dump(exclude_defaults=True),
            n_read=rows.n_read,
            dropped=rows.dropped,
            hidden=reader.hidden(),
            notes=(*notes, *_notes(rows, reader, ids, codes), *later_notes),
        ),
    )


def _check_some_left(n: int, rows: SequenceRows, files: Sequence[Source]) -> None:
    if n:
        return
    if not rows.n_read:
        raise files[0].fail("the file has no records", remedy="check that it was written whole")
    reasons = ", ".join(f"{count} for {reason}" for reason, count in rows.dropped.items())
    raise files[0].fail("every sequence was dropped", remedy=f"dropped {reasons}; choose another policy")


def _sorted_labels(rows: SequenceRows) -> tuple[tuple[str, ...], np.ndarray] | None:
    if not rows.label_codes:
        return None
    codes = np.concatenate(rows.label_codes)
    present = sorted(text for text, code in rows.label_of.items() if (codes == code).any())
    order = np.full(len(rows.label_of), -1)
    for position, text in enumerate(present):
        order[rows.label_of[text]] = position
    return tuple(present), order[codes]


def _balanced(
    labels: tuple[tuple[str, ...], np.ndarray] | None, kept: np.ndarray, asked: LetterOptions, source: Source
) -> np.ndarray:
    """A mask of rows with as many of each label, drawn without replacement, each label by the same seed."""
    if labels is None:
        raise source.error("there are no labels to balance", remedy="write LABEL=PATH, or give an option for labels")
    _, codes = labels
    by_label = [np.flatnonzero(kept & (codes == code)) for code in np.unique(codes[kept])]
    smallest = min(map(len, by_label))
    mask = np.zeros(len(kept), bool)
    for chosen in by_label:
        whole = len(chosen) == smallest
        mask[chosen if whole else np.random.default_rng(asked.seed).choice(chosen, smallest, replace=False)] = True
    return mask


def _draw_notes(
    labels: tuple[tuple[str, ...], np.ndarray] | None, kept: np.ndarray, balanced: np.ndarray, seed: int
) -> list[str]:
    """Which labels were drawn from, so that a reader can draw the same rows again."""
    symbols, codes = labels if labels is not None else ((), np.empty(0, np.int64))
    notes = []
    for code, symbol in enumerate(symbols):
        n, drawn = int((kept & (codes == code)).sum()), int((balanced & (codes == code)).sum())
        if drawn < n:
            notes.append(
                f"{drawn:,} of the {n:,} sequences of {symbol} were drawn, without replacement, by seed {seed}"
            )
    return notes


def _notes(rows: SequenceRows, reader: Reader, ids: pa.Array, codes: np.ndarray) -> list[str]:
    notes = [f"{count} letters kept as read though each was {reason}" for reason, count in reader.kept().items()]
    repeated = len(ids) - len(ids.unique())
    if repeated and not rows.twice:
        notes.append(f"{repeated} ids repeat an earlier one")
    if same := repeated_rows(codes):
        notes.append(f"{same} sequences repeat an earlier one")
    return notes
