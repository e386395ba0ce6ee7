"""From a table in memory to a corpus: shared by every connector whose source has columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
import pyarrow as pa

from connectors.encoding import Tally
from connectors.frame_blocks import binned, categorical, encoded_letters, numbers, whole_counts
from connectors.frame_options import FrameOptions, SplitColumn
from connectors.sources import Source
from connectors.text_blocks import tokenised
from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import SPLITS, Corpus, Provenance

SPLIT_NAMES = {
    "training": "training", "train": "training", "validation": "validation", "valid": "validation",
    "val": "validation", "dev": "validation", "test": "test",
}  # fmt: skip


@dataclass
class _State:
    """What has been made of a table so far; everything has one entry for each row of the table."""

    frame: pl.DataFrame
    source: Source
    tally: Tally
    blocks: list[Block] = field(default_factory=list)
    tokens: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, block: Block, codes: np.ndarray) -> None:
        if block.name in self.tokens:
            raise self.source.fail(f"two blocks are called {block.name!r}", remedy="give one another name")
        self.blocks.append(block)
        self.tokens[block.name] = codes


def corpus_of_frame(
    frame: pl.DataFrame,
    asked: FrameOptions,
    source: Source,
    provenance: Provenance,
    name: str,
    *,
    extra: Sequence[tuple[Block, np.ndarray]] = (),
    splits: np.ndarray | None = None,
) -> Corpus:
    """The corpus of a table; ``provenance`` lacks only what is counted here.

    ``extra`` are blocks made elsewhere, with a row for each row of the table; ``splits`` are codes that
    the source fixes where no column does.
    """
    state = _State(frame, source, Tally(frame.height), notes=list(provenance.notes))
    _add_blocks(state, asked)
    for block, codes in extra:
        state.add(block, codes)
    if asked.split is not None:
        splits = _splits(state, asked.split)
    groups = None if asked.groups is None else _groups(state, asked.groups.column)
    weights = _weights(state, asked)
    wide = None if asked.counts is None or asked.counts.columns is None else _wide(state, asked.counts.columns)
    state.tally.check_some_left(source.error, f"in {source.uri}")
    whole = bool(state.tally.keep.all())
    rows = slice(None) if whole else np.flatnonzero(state.tally.keep)
    if wide is None or asked.counts is None:
        tokens = {block: codes[rows] for block, codes in state.tokens.items()}
        weights = None if weights is None else weights[rows]
    else:
        line, symbol = np.nonzero(wide[rows])
        rows = line if isinstance(rows, slice) else rows[line]
        tokens = {block: codes[rows] for block, codes in state.tokens.items()}
        symbols = asked.counts.symbols or asked.counts.columns or ()
        state.add(Block(asked.counts.block or "", Vocabulary(tuple(symbols)), 1), symbol)
        tokens[state.blocks[-1].name] = symbol[:, None]
        weights = wide[rows, symbol]
        groups = np.arange(frame.height) if groups is None else groups
    ids = (
        None
        if asked.ids is None
        else frame[asked.ids.column].cast(pl.String).fill_null("").to_arrow().cast(pa.string())
    )
    return Corpus(
        name=name,
        blocks=tuple(state.blocks),
        tokens=tokens,
        weights=weights,
        weight_kind="weight" if asked.weights is not None else "count",
        groups=None if groups is None else groups[rows],
        splits=None if splits is None else splits[rows],
        sequence_ids=ids if ids is None or isinstance(rows, slice) else ids.take(pa.array(rows)),
        provenance=replace(
            provenance,
            n_read=frame.height,
            dropped=state.tally.dropped,
            hidden=state.tally.hidden,
            notes=tuple(state.notes),
        ),
    )


def columns_needed(asked: FrameOptions) -> list[str]:
    """Every column that the options name, once."""
    columns = [block.column for block in asked.sequences.values()]
    columns += [block.column for block in asked.texts.values()]
    for block in (*asked.categories.values(), *asked.bins.values()):
        columns += block.columns
    single = (asked.weights, asked.groups, asked.split, asked.ids)
    columns += [one.column for one in single if one is not None]
    if asked.counts is not None:
        columns += asked.counts.columns or [asked.counts.column or ""]
    return list(dict.fromkeys(columns))


def _add_blocks(state: _State, asked: FrameOptions) -> None:
    for name, sequence in asked.sequences.items():
        state.add(*encoded_letters(name, state.frame[sequence.column], sequence, state.tally, state.source))
    for name, category in asked.categories.items():
        columns = [state.frame[column] for column in category.columns]
        state.add(*categorical(name, columns, category, state.tally, state.source))
    for name, bins in asked.bins.items():
        columns = [state.frame[column] for column in bins.columns]
        block, codes, edges = binned(name, columns, bins, state.tally, state.source)
        state.add(block, codes)
        state.notes.append(f"{name} is binned at {', '.join(f'{edge:.6g}' for edge in edges)}")
    if asked.texts:
        for block, codes in tokenised(asked.texts, state.frame, state.tally, state.source, state.notes):
            state.add(block, codes)


def _splits(state: _State, asked: SplitColumn) -> np.ndarray:
    names = asked.values or SPLIT_NAMES
    column = state.frame[asked.column].cast(pl.String)
    meaning = {value: SPLITS.index(split) for value, split in names.items()}
    lowered = column if asked.values else column.str.to_lowercase()
    codes = lowered.replace_strict(meaning, default=None, return_dtype=pl.UInt8)
    if codes.null_count():
        row = int(codes.is_null().arg_true()[0])
        raise state.source.fail(
            f"{column[row]!r} is no split",
            where=f"row {row + 1}, column {asked.column!r}",
            remedy=f"known: {', '.join(meaning)}; or say what each value means with split.values",
        )
    return codes.to_numpy()


def _groups(state: _State, column: str) -> np.ndarray:
    values = state.frame[column].cast(pl.String)
    state.tally.drop(values.is_null().to_numpy(), f"no group in {column}")
    return values.fill_null("").rank("dense").to_numpy().astype(np.int64) - 1


def _weights(state: _State, asked: FrameOptions) -> np.ndarray | None:
    if asked.counts is not None and asked.counts.column is not None:
        counts = whole_counts(state.frame[asked.counts.column], state.source)
        state.tally.drop(counts == 0, "a count of 0")
        return counts
    if asked.weights is None:
        return None
    weights, missing = numbers(state.frame[asked.weights.column], state.source)
    wrong = missing | (weights < 0) | np.isinf(weights)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise state.source.fail(
            f"{state.frame[asked.weights.column][row]!r} is no weight",
            where=f"row {row + 1}, column {asked.weights.column!r}",
            remedy="weights are numbers of at least 0",
        )
    return weights


def _wide(state: _State, columns: Sequence[str]) -> np.ndarray:
    """(n, columns) counts; rows without any are dropped."""
    counts = np.stack([whole_counts(state.frame[column], state.source) for column in columns], axis=1)
    state.tally.drop(counts.sum(1) == 0, "counts that are all 0")
    return counts
