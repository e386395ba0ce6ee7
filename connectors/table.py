"""Tables: CSV, TSV, Parquet, Arrow (IPC) and JSONL through Polars.

One row of the file is one row of the corpus, but for wide counts, where each count that is not zero
makes a row. Text cells are read as they are written; numbers are parsed only where they are asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from connectors.encoding import Tally
from connectors.errors import TableError
from connectors.info import ConnectorInfo
from connectors.options import parse_options
from connectors.sources import Source, joint_sha256, joint_uri, resolve
from connectors.table_blocks import binned, categorical, encoded_letters, numbers, whole_counts
from connectors.table_files import needed, polars_errors, scanned
from connectors.table_guess import guessed_blocks
from connectors.table_options import Counts, SplitColumn, TableOptions
from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import SPLITS, Corpus, Provenance

_SPLIT_NAMES = {
    "training": "training", "train": "training", "validation": "validation", "valid": "validation",
    "val": "validation", "dev": "validation", "test": "test",
}  # fmt: skip


@dataclass
class _Columns:
    """What has been made of a table so far; everything has one entry for each row of the file."""

    frame: pl.DataFrame
    source: Source
    tally: Tally
    blocks: list[Block] = field(default_factory=list)
    tokens: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, block: Block, codes: np.ndarray) -> None:
        self.blocks.append(block)
        self.tokens[block.name] = codes


def read(sources: Sequence[str], options: Mapping[str, object], name: str) -> Corpus:
    """Read one table, or several with the same columns, as a corpus."""
    asked = parse_options(TableOptions, options, TableError, "table")
    files = resolve(sources, TableError)
    notes: list[str] = []
    if not (asked.sequences or asked.categories or asked.bins):
        asked, notes = guessed_blocks(files[0], asked)
    frame = _read_frames(files, asked)
    state = _Columns(frame, files[0], Tally(frame.height), notes=notes)
    _add_blocks(state, asked)
    if files[0].label:
        _add_labels(state, files, frame["__file"].to_numpy(), asked.label_block)
    splits = None if asked.split is None else _splits(state, asked.split)
    groups = None if asked.groups is None else _groups(state, asked.groups.column)
    weights = _weights(state, asked)
    state.tally.check_some_left(TableError, f"in {files[0].uri}")
    provenance = Provenance(
        connector="table",
        source_uri=joint_uri(files),
        source_sha256=joint_sha256(files),
        options=asked.model_dump(exclude_defaults=True),
        n_read=frame.height,
        dropped=state.tally.dropped,
        hidden=state.tally.hidden,
        notes=tuple(state.notes),
    )
    ids = None if asked.ids is None else frame[asked.ids.column].cast(pl.String).fill_null("").to_arrow()
    rows = np.flatnonzero(state.tally.keep)
    if asked.counts is not None and asked.counts.columns is not None:
        return _wide(state, asked.counts, rows, groups, splits, ids, provenance, name)
    return Corpus(
        name=name,
        blocks=tuple(state.blocks),
        tokens={block: codes[rows] for block, codes in state.tokens.items()},
        weights=None if weights is None else weights[rows],
        weight_kind="weight" if asked.weights is not None else "count",
        groups=None if groups is None else groups[rows],
        splits=None if splits is None else splits[rows],
        sequence_ids=_picked_ids(ids, rows),
        provenance=provenance,
    )


def _read_frames(files: Sequence[Source], asked: TableOptions) -> pl.DataFrame:
    columns = _columns_needed(asked)
    frames = []
    for number, source in enumerate(files):
        with scanned(source, asked) as frame:
            frames.append(needed(frame, columns, source).with_columns(pl.lit(number, pl.UInt32).alias("__file")))
    with polars_errors(files[-1]):
        frame = frames[0] if len(frames) == 1 else pl.concat(frames, how="vertical_relaxed")
    if not frame.height:
        raise files[0].fail("the table has no rows", remedy="check that it was written whole")
    return frame


def _columns_needed(asked: TableOptions) -> list[str]:
    columns = [block.column for block in asked.sequences.values()]
    for block in (*asked.categories.values(), *asked.bins.values()):
        columns += block.columns
    single = (asked.weights, asked.groups, asked.split, asked.ids)
    columns += [one.column for one in single if one is not None]
    if asked.counts is not None:
        columns += asked.counts.columns or [asked.counts.column or ""]
    return list(dict.fromkeys(columns))


def _add_blocks(state: _Columns, asked: TableOptions) -> None:
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


def _add_labels(state: _Columns, files: Sequence[Source], file_of_row: np.ndarray, name: str) -> None:
    symbols = tuple(sorted({source.label for source in files}))
    code_of_file = np.array([symbols.index(source.label) for source in files])
    state.add(Block(name, Vocabulary(symbols), 1), code_of_file[file_of_row][:, None])


def _splits(state: _Columns, asked: SplitColumn) -> np.ndarray:
    names = asked.values or _SPLIT_NAMES
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


def _groups(state: _Columns, column: str) -> np.ndarray:
    values = state.frame[column].cast(pl.String)
    state.tally.drop(values.is_null().to_numpy(), f"no group in {column}")
    return values.fill_null("").rank("dense").to_numpy().astype(np.int64) - 1


def _weights(state: _Columns, asked: TableOptions) -> np.ndarray | None:
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


def _wide(
    state: _Columns,
    asked: Counts,
    rows: np.ndarray,
    groups: np.ndarray | None,
    splits: np.ndarray | None,
    ids: pa.Array | None,
    provenance: Provenance,
    name: str,
) -> Corpus:
    """One corpus row for each non-zero count; rows of one file row are a group unless groups are given."""
    columns = asked.columns or []
    counts = np.stack([whole_counts(state.frame[column], state.source) for column in columns], axis=1)
    empty = state.tally.keep & (counts.sum(1) == 0)
    state.tally.drop(empty, "counts that are all 0")
    state.tally.check_some_left(TableError, f"in {state.source.uri}")
    rows = rows[~empty[rows]]
    line, symbol = np.nonzero(counts[rows])
    source_row = rows[line]
    block = Block(asked.block or "", Vocabulary(tuple(asked.symbols or columns)), 1)
    tokens = {known: codes[source_row] for known, codes in state.tokens.items()}
    return Corpus(
        name=name,
        blocks=(*state.blocks, block),
        tokens={**tokens, block.name: symbol[:, None]},
        weights=counts[source_row, symbol],
        weight_kind="count",
        groups=source_row if groups is None else groups[source_row],
        splits=None if splits is None else splits[source_row],
        sequence_ids=_picked_ids(ids, source_row),
        provenance=provenance,
    )


def _picked_ids(ids: pa.Array | None, rows: np.ndarray) -> pa.StringArray | None:
    return None if ids is None else ids.cast(pa.string()).take(pa.array(rows))


INFO = ConnectorInfo(
    name="table",
    summary="columns of a table: sequences, categories, bins of numbers, counts, groups and splits",
    formats=("CSV", "TSV", "Parquet", "Arrow (IPC)", "JSONL", "each also .gz .bgz .xz .bz2 .zst"),
    options_model=TableOptions,
    read=read,
)
