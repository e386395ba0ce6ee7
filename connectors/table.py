"""Tables: CSV, TSV, Parquet, Arrow (IPC) and JSONL through Polars.

One row of the file is one row of the corpus, but for wide counts, where each count that is not zero
makes a row. Text cells are read as they are written; numbers are parsed only where they are asked for.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from connectors.errors import TableError
from connectors.frames import columns_needed, corpus_of_frame
from connectors.info import ConnectorInfo
from connectors.options import parse_options
from connectors.sources import Source, joint_sha256, joint_uri, resolve
from connectors.table_files import needed, polars_errors, scanned
from connectors.table_guess import guessed_blocks
from connectors.table_options import TableOptions
from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus, Provenance


def read(sources: Sequence[str], options: Mapping[str, object], name: str) -> Corpus:
    """Read one table, or several with the same columns, as a corpus."""
    asked = parse_options(TableOptions, options, TableError, "table")
    files = resolve(sources, TableError)
    notes: list[str] = []
    if not (asked.sequences or asked.categories or asked.bins or asked.texts):
        asked, notes = guessed_blocks(files[0], asked)
    frame, heights = _read_frames(files, asked)
    provenance = Provenance(
        connector="table",
        source_uri=joint_uri(files),
        source_sha256=joint_sha256(files),
        options=asked.model_dump(exclude_defaults=True),
        notes=tuple(notes),
    )
    labels = [_labels(files, heights, asked.label_block)] if files[0].label else []
    return corpus_of_frame(frame, asked, files[0], provenance, name, extra=labels)


def _read_frames(files: Sequence[Source], asked: TableOptions) -> tuple[pl.DataFrame, list[int]]:
    """The needed columns of all files, one under the other, and the number of rows of each."""
    columns = columns_needed(asked)
    categories = _only_categories(asked) if len(files) == 1 else ()
    frames = []
    for source in files:
        with scanned(source, asked, categories) as frame:
            frames.append(needed(frame, columns, source, asked.missing_values))
    with polars_errors(files[-1]):
        frame = frames[0] if len(frames) == 1 else pl.concat(frames, how="vertical_relaxed")
    if not frame.height:
        raise files[0].fail("the table has no rows", remedy="check that it was written whole")
    return frame, [part.height for part in frames]


def _only_categories(asked: TableOptions) -> list[str]:
    """Columns that are read as categories and as nothing else."""
    others = columns_needed(asked.model_copy(update={"categories": {}}))
    named = [column for block in asked.categories.values() for column in block.columns]
    return [column for column in named if column not in others]


def _labels(files: Sequence[Source], heights: list[int], name: str) -> tuple[Block, np.ndarray]:
    symbols = tuple(sorted({source.label for source in files}))
    code_of_file = np.array([symbols.index(source.label) for source in files])
    return Block(name, Vocabulary(symbols), 1), np.repeat(code_of_file, heights)[:, None]


INFO = ConnectorInfo(
    name="table",
    summary="columns of a table: sequences, categories, bins of numbers, texts, counts, groups and splits",
    formats=("CSV", "TSV", "Parquet", "Arrow (IPC)", "JSONL", "each also .gz .bgz .xz .bz2 .zst"),
    options_model=TableOptions,
    read=read,
)
