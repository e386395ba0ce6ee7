"""Blocks from columns of texts: tokens, vocabulary, and the length and unknown policies."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from connectors.encoding import Letters, Tally
from connectors.frame_options import TextBlock
from connectors.sources import Source
from connectors.tokens import PAD, UNKNOWN, extended, prepared, token_counts, tokenizer_for, vocabulary_for
from infosedd.blocks import Block

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
        for column in columns:
            coded = Letters(table[column.tokens.flat], column.tokens.lengths)
            yield _block(column, coded, symbols, tally, source, notes)


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


def _block(
    column: _Column, coded: Letters, symbols: list[str], tally: Tally, source: Source, notes: list[str]
) -> tuple[Block, np.ndarray]:
    options = column.options
    empty = (coded.lengths == 0) & ~column.missing
    tally.drop(empty, f"an empty text in {options.column}")
    live = tally.keep & ~column.missing
    if not live.any():
        raise source.fail(f"column {options.column!r} has no texts", remedy="choose a column with texts")
    length = _length(coded.lengths, live, options, tally, source, notes)
    grid = coded.fitted(length, _PAD_CODE)
    unknown = (grid == -1) & tally.keep[:, None]
    if unknown.any():
        _apply_unknown(unknown, options, tally, source, notes)
    vocabulary = extended(
        symbols,
        bool(unknown.any()) and options.unknown == "keep",
        bool((grid[tally.keep] == _PAD_CODE).any()),
    )
    code_of_unknown = vocabulary.code_of[UNKNOWN] if options.unknown == "keep" and unknown.any() else vocabulary.mask_id
    codes = np.where(grid == -1, code_of_unknown, grid)
    codes = np.where(grid == _PAD_CODE, vocabulary.code_of.get(PAD, vocabulary.mask_id), codes)
    if options.missing == "hide" and column.missing.any():
        codes[column.missing] = vocabulary.mask_id
        tally.hide(int(column.missing[tally.keep].sum()) * length, f"an empty cell in {options.column}")
    return Block(column.name, vocabulary, length), codes.astype(vocabulary.dtype)


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
        tally.hide(int(unknown.sum()), reason)
    else:
        notes.append(f"{int(unknown.sum())} tokens of {options.column} are outside the vocabulary and read {UNKNOWN}")
