"""Blocks from columns of texts: tokens, vocabulary, and the length and unknown policies."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from connectors.encoding import Letters, Tally
from connectors.frame_options import TextBlock
from connectors.sources import Source
from connectors.tokens import PAD, UNKNOWN, extended, prepared, token_counts, tokenizer_for, vocabulary_for
from infosedd.blocks import Block, Vocabulary

_PAD_CODE = -2


@dataclass(frozen=True)
class _Column:
    """Tokens of one column by the tokenizer's own ids, and which cells are empty."""

    name: str
    options: TextBlock
    tokens: Letters
    missing: np.ndarray


def tokenised(
    blocks: Mapping[str, TextBlock], frame: pl.DataFrame, tally: Tally, source: Source, notes: list[str]
) -> Iterator[tuple[Block, np.ndarray]]:
    """A block and (n, L) codes for each text column; those with one tokenizer share a vocabulary."""
    by_tokenizer: dict[tuple[object, ...], list[str]] = {}
    for name, options in blocks.items():
        by_tokenizer.setdefault(options.tokenizer_key, []).append(name)
    for names in by_tokenizer.values():
        first = blocks[names[0]]
        tokenizer = tokenizer_for(first)
        columns = []
        for name in names:
            texts, missing = _texts(frame[blocks[name].column], blocks[name], tally, source)
            columns.append(_Column(name, blocks[name], tokenizer.split(prepared(texts, first)), missing))
        counts = token_counts(column.tokens.flat for column in columns)
        symbols, table = vocabulary_for(tokenizer, first, counts)
        grids = [
            _grid(column, Letters(table[column.tokens.flat], column.tokens.lengths), tally, source, notes)
            for column in columns
        ]
        unknown = any(c.options.unknown == "keep" and (g == -1).any() for c, g in zip(columns, grids, strict=True))
        vocabulary = extended(symbols, unknown, any((grid[tally.keep] == _PAD_CODE).any() for grid in grids))
        for column, grid in zip(columns, grids, strict=True):
            yield Block(column.name, vocabulary, grid.shape[1]), _coded(column, grid, vocabulary, tally)


def _texts(column: pl.Series, options: TextBlock, tally: Tally, source: Source) -> tuple[list[str], np.ndarray]:
    if column.dtype.is_nested():
        raise source.fail(
            f"column {column.name!r} holds lists, not texts",
            remedy="choose another column, or unroll it with `explode`",
        )
    missing = column.is_null().to_numpy()
    if options.missing == "error" and missing.any():
        row = int(np.flatnonzero(missing)[0]) + 1
        raise source.fail("the cell is empty", where=f"row {row}, column {column.name!r}", remedy="give missing = drop")
    if options.missing == "drop":
        tally.drop(missing, f"an empty cell in {column.name}")
    return column.cast(pl.String).fill_null("").to_list(), missing


def _grid(column: _Column, coded: Letters, tally: Tally, source: Source, notes: list[str]) -> np.ndarray:
    """(n, L) codes, -1 for tokens outside the vocabulary and ``_PAD_CODE`` past the end, policies applied."""
    options = column.options
    tally.drop((coded.lengths == 0) & ~column.missing, f"an empty text in {options.column}")
    live = tally.keep & ~column.missing
    if not live.any():
        raise source.fail(f"column {options.column!r} has no texts", remedy="choose a column with texts")
    grid = coded.fitted(_length(coded.lengths, live, options, tally, source, notes), _PAD_CODE)
    unknown = (grid == -1) & tally.keep[:, None]
    if unknown.any():
        _apply_unknown(unknown, options, tally, source, notes)
    return grid


def _coded(column: _Column, grid: np.ndarray, vocabulary: Vocabulary, tally: Tally) -> np.ndarray:
    """Final codes: unknown tokens kept as a symbol or hidden, the pad's code, and hidden empty cells."""
    keeps = column.options.unknown == "keep"
    codes = np.where(
        grid == -1, vocabulary.code_of.get(UNKNOWN, vocabulary.mask_id) if keeps else vocabulary.mask_id, grid
    )
    codes = np.where(grid == _PAD_CODE, vocabulary.code_of.get(PAD, vocabulary.mask_id), codes)
    if column.options.missing == "hide" and column.missing.any():
        codes[column.missing] = vocabulary.mask_id
        tally.hide(column.missing * grid.shape[1], f"an empty cell in {column.options.column}")
    return codes.astype(vocabulary.dtype)


def _length(
    lengths: np.ndarray, live: np.ndarray, options: TextBlock, tally: Tally, source: Source, notes: list[str]
) -> int:
    values, counts = np.unique(lengths[live], return_counts=True)
    if options.lengths == "fit" and options.length is None:
        raise source.fail(f"lengths = fit needs `length` for {options.column!r}", remedy="give the number of tokens")
    wanted = {"crop": values[0], "pad": values[-1]}.get(options.lengths, values[np.argmax(counts)])
    length = options.length or int(wanted)
    if length > options.max_length:
        raise source.fail(
            f"texts of {length:,} tokens are longer than the {options.max_length:,} that a block may have",
            where=f"column {options.column!r}",
            remedy="give lengths = fit and `length`, or raise `max_length`",
        )
    long, short = live & (lengths > length), live & (lengths < length)
    refused = {"fit": short & ~short, "crop": short, "pad": long}.get(options.lengths, long | short)
    if refused.any() and options.lengths != "drop":
        row = int(np.flatnonzero(refused)[0])
        raise source.fail(
            f"texts have unequal lengths: this one has {lengths[row]:,} tokens, the block {length:,}",
            where=f"row {row + 1}, column {options.column!r}",
            remedy="give lengths = fit, crop, pad or drop, and `length`",
        )
    tally.drop(refused, f"a length other than {length} in {options.column}")
    if options.lengths in ("fit", "crop") and long.any():
        notes.append(f"{int(long.sum())} texts of {options.column} were cropped to {length} tokens")
    return length


def _apply_unknown(unknown: np.ndarray, options: TextBlock, tally: Tally, source: Source, notes: list[str]) -> None:
    reason = f"a token outside the vocabulary in {options.column}"
    if options.unknown == "error":
        row, position = (int(i) for i in np.argwhere(unknown)[0])
        raise source.fail(
            "a token is not in the vocabulary",
            where=f"row {row + 1}, token {position + 1}, column {options.column!r}",
            remedy="give a larger vocabulary or alphabet, or unknown = keep, hide or drop",
        )
    if options.unknown == "drop":
        tally.drop(np.asarray(unknown.any(axis=1)), reason)
    elif options.unknown == "hide":
        tally.hide(unknown.sum(axis=1), reason)
    else:
        notes.append(f"{int(unknown.sum())} tokens of {options.column} are outside the vocabulary and read {UNKNOWN}")
