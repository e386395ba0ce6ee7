"""Blocks from columns of a table: letters, categories, bins, and checked counts."""

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise

import numpy as np
import polars as pl

from connectors.encoding import Letters, Tally, alphabet_symbols, letter_codes, letters_of
from connectors.frame_options import BinBlock, CategoryBlock, SequenceBlock
from connectors.sources import Source
from infosedd.blocks import Block, Vocabulary

MISSING = "(missing)"


def encoded_letters(
    name: str, column: pl.Series, options: SequenceBlock, tally: Tally, source: Source
) -> tuple[Block, np.ndarray]:
    """The block and (n, L) codes of a column of texts, under the policies of ``options``."""
    missing = _missing(column, options.missing, tally, source)
    texts = column.cast(pl.String).fill_null("").str.strip_chars()
    told = options.alphabet.lower() != "auto"
    symbols = alphabet_symbols(options.alphabet) if told else ""
    if options.case == "upper" or (options.case == "auto" and not any(letter.islower() for letter in symbols)):
        texts = texts.str.to_uppercase()
    letters = letters_of(texts.to_arrow())
    length = _length(letters, tally.keep & ~missing, options, column.name, tally, source)
    pads = options.lengths == "pad" and bool((letters.lengths[tally.keep] < length).any())
    pads |= bool(missing.any()) and options.missing == "keep"
    grid = letters.fitted(length, fill=ord(options.pad) if ord(options.pad) < 128 else 0)
    if not told:
        present = np.unique(grid[tally.keep & ~missing])
        symbols = "".join(chr(point) for point in present if point and chr(point) != options.pad)
    vocabulary = _vocabulary(symbols, options.pad if pads else None)
    codes = letter_codes(grid, vocabulary)
    unknown = (codes == vocabulary.mask_id) & (tally.keep & ~missing)[:, None]
    if unknown.any():
        vocabulary, codes = _unknown_letters(unknown, grid, codes, vocabulary, options, column.name, tally, source)
    if options.missing == "hide" and missing.any():
        codes[missing] = vocabulary.mask_id
        tally.hide(missing * length, f"an empty cell in {column.name}")
    return Block(name, vocabulary, length), codes


def categorical(
    name: str, columns: Sequence[pl.Series], options: CategoryBlock, tally: Tally, source: Source
) -> tuple[Block, np.ndarray]:
    """The block and (n, columns) codes of whole values; the columns share one vocabulary."""
    for column in columns:
        if column.dtype.is_nested():
            raise source.fail(
                f"column {column.name!r} holds lists or records", remedy="choose a column of plain values"
            )
    missing = _side_by_side([_missing(column, options.missing, tally, source) for column in columns])
    distinct = [column.unique().drop_nulls() for column in columns]
    symbols = options.symbols or _sorted_values(distinct)
    if not symbols:
        raise source.fail(f"column {columns[0].name!r} has no values", remedy="choose a column with values")
    keeps_missing = bool(missing.any()) and options.missing == "keep"
    if keeps_missing:
        symbols = [*symbols, MISSING]
    texts = [column if column.dtype == pl.Categorical else column.cast(pl.String) for column in columns]
    codes = _side_by_side([_codes(text, symbols, found) for text, found in zip(texts, distinct, strict=True)])
    if missing.any():
        codes[missing] = symbols.index(MISSING) if keeps_missing else -1
    unknown = (codes < 0) & ~missing & tally.keep[:, None]
    if unknown.any():
        codes, symbols = _unknown_values(unknown, texts, codes, symbols, options, tally, source)
    if options.missing == "hide" and missing.any():
        tally.hide(missing.sum(axis=1), f"an empty cell in {_names(columns)}")
    vocabulary = Vocabulary(tuple(symbols))
    if (gaps := codes < 0).any():
        codes = codes.astype(np.int64)
        codes[gaps] = vocabulary.mask_id
    return Block(name, vocabulary, len(columns)), codes


def binned(
    name: str, columns: Sequence[pl.Series], options: BinBlock, tally: Tally, source: Source
) -> tuple[Block, np.ndarray, np.ndarray]:
    """The block, the (n, columns) codes and the inner edges of numbers cut into bins [a, b)."""
    parsed = [numbers(column, source) for column in columns]
    values = _side_by_side([value for value, _ in parsed])
    missing = _side_by_side([gap for _, gap in parsed])
    for position, column in enumerate(columns):
        _apply_missing(missing[:, position], options.missing, column.name, tally, source)
    edges = _edges(values[~missing & tally.keep[:, None]], options, columns, source)
    bounds = ["-inf", *(f"{edge:.6g}" for edge in edges), "inf"]
    symbols = [f"{'[' if i else '('}{low}, {high})" for i, (low, high) in enumerate(pairwise(bounds))]
    if len(set(symbols)) < len(symbols):
        symbols = [f"bin {number}" for number in range(len(symbols))]
    codes = np.searchsorted(edges, values, side="right")
    if options.missing == "keep" and missing.any():
        symbols.append(MISSING)
        codes[missing] = len(symbols) - 1
    elif options.missing == "hide":
        codes[missing] = len(symbols)
        tally.hide(missing.sum(axis=1), f"an empty cell in {_names(columns)}")
    else:
        codes[missing] = 0
    return Block(name, Vocabulary(tuple(symbols)), len(columns)), codes, edges


def numbers(column: pl.Series, source: Source) -> tuple[np.ndarray, np.ndarray]:
    """A column as float64 and the mask of cells that are empty or NaN; a text that is no number is an error."""
    values = column.str.strip_chars().cast(pl.Float64, strict=False) if column.dtype == pl.String else column
    values = values.cast(pl.Float64, strict=False)
    wrong = values.is_null() & column.is_not_null()
    if wrong.any():
        row = int(wrong.arg_true()[0])
        raise source.fail(
            f"{column[row]!r} is not a number",
            where=f"row {row + 1}, column {column.name!r}",
            remedy="read the column as categories, or correct the cell",
        )
    array = values.fill_null(float("nan")).to_numpy().copy()
    return array, np.isnan(array)


def whole_counts(column: pl.Series, source: Source) -> np.ndarray:
    """A column of counts as float64; negative, fractional, endless or missing ones are an error."""
    counts, missing = numbers(column, source)
    with np.errstate(invalid="ignore"):
        wrong = missing | (counts < 0) | (counts != np.floor(counts)) | np.isinf(counts)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise source.fail(
            "a count is missing" if missing[row] else f"{counts[row]:g} is no count",
            where=f"row {row + 1}, column {column.name!r}",
            remedy="counts are whole numbers of at least 0; for other numbers use `weights`",
        )
    return counts


def _side_by_side(columns: list[np.ndarray]) -> np.ndarray:
    """(n, columns), without a copy where there is one column."""
    return columns[0][:, None] if len(columns) == 1 else np.stack(columns, axis=1)


def _missing(column: pl.Series, policy: str, tally: Tally, source: Source) -> np.ndarray:
    gaps = column.is_null()
    if column.dtype.is_float():
        gaps = gaps | column.is_nan().fill_null(False)
    mask = gaps.to_numpy()
    _apply_missing(mask, policy, column.name, tally, source)
    return mask


def _apply_missing(mask: np.ndarray, policy: str, column: str, tally: Tally, source: Source) -> None:
    if policy == "error" and mask.any():
        raise source.fail(
            "the cell is empty",
            where=f"row {int(np.flatnonzero(mask)[0]) + 1}, column {column!r}",
            remedy="fill it, or choose missing = drop, keep or hide",
        )
    if policy == "drop":
        tally.drop(mask, f"an empty cell in {column}")


def _length(
    letters: Letters, rows: np.ndarray, options: SequenceBlock, column: str, tally: Tally, source: Source
) -> int:
    """The block's length; rows that don't have it are refused, dropped, or left to crop and pad."""
    lengths = letters.lengths
    if not rows.any():
        raise source.fail(f"column {column!r} has no sequences", remedy="choose a column with values")
    values, counts = np.unique(lengths[rows], return_counts=True)
    common = int(values[np.argmax(counts)])
    wanted = {"crop": int(values[0]), "pad": int(values[-1])}.get(options.lengths, common)
    length = options.length or wanted
    if length < 1:
        raise source.fail(f"column {column!r} has empty sequences only", remedy="choose a column with values")
    off = rows & _misfits(lengths, length, options.lengths)
    if off.any() and options.lengths != "drop":
        row = int(np.flatnonzero(off)[0])
        raise source.fail(
            f"sequences have unequal lengths: this one has {lengths[row]} letters, the block {length}",
            where=f"row {row + 1}, column {column!r}",
            remedy="choose lengths = drop, crop or pad, and `length`",
        )
    tally.drop(off, f"a length other than {length} in {column}")
    return length


def _misfits(lengths: np.ndarray, length: int, policy: str) -> np.ndarray:
    if policy == "crop":
        return lengths < length
    return lengths > length if policy == "pad" else lengths != length


def _vocabulary(symbols: str, pad: str | None) -> Vocabulary:
    letters = dict.fromkeys(symbols)
    if pad is not None:
        letters[pad] = None
    return Vocabulary(tuple(letters), pad)


def _unknown_letters(
    unknown: np.ndarray,
    grid: np.ndarray,
    codes: np.ndarray,
    vocabulary: Vocabulary,
    options: SequenceBlock,
    column: str,
    tally: Tally,
    source: Source,
) -> tuple[Vocabulary, np.ndarray]:
    reason = f"a letter outside the alphabet in {column}"
    if options.unknown == "drop":
        tally.drop(np.asarray(unknown.any(axis=1)), reason)
    elif options.unknown == "hide":
        tally.hide(unknown.sum(axis=1), reason)
    elif options.unknown == "keep":
        added = tuple(chr(point) for point in np.unique(grid[unknown]))
        vocabulary = Vocabulary((*vocabulary.symbols, *added), vocabulary.pad)
        return vocabulary, letter_codes(grid, vocabulary)
    else:
        row, position = (int(i) for i in np.argwhere(unknown)[0])
        raise source.fail(
            f"the letter {chr(grid[row, position])!r} is not in the alphabet {' '.join(vocabulary.symbols)}",
            where=f"row {row + 1}, position {position}, column {column!r}",
            remedy="choose another alphabet, or unknown = drop, keep or hide",
        )
    return vocabulary, codes


def _unknown_values(
    unknown: np.ndarray,
    texts: Sequence[pl.Series],
    codes: np.ndarray,
    symbols: list[str],
    options: CategoryBlock,
    tally: Tally,
    source: Source,
) -> tuple[np.ndarray, list[str]]:
    row, position = (int(i) for i in np.argwhere(unknown)[0])
    reason = f"a value outside the symbols in {_names(texts)}"
    if options.unknown == "error":
        value = str(texts[position][row])
        near = get_close_matches(value, symbols, n=1)
        raise source.fail(
            f"the value {value!r} is not among the symbols",
            where=f"row {row + 1}, column {texts[position].name!r}",
            remedy=(f"did you mean {near[0]!r}? " if near else "") + "or choose unknown = drop, keep or hide",
        )
    if options.unknown == "drop":
        tally.drop(np.asarray(unknown.any(axis=1)), reason)
    elif options.unknown == "hide":
        tally.hide(unknown.sum(axis=1), reason)
    else:
        codes = codes.astype(np.int32)
        symbols = [*symbols, *sorted({str(texts[j][i]) for i, j in np.argwhere(unknown).tolist()})]
        for j, text in enumerate(texts):
            strange = text.filter(pl.Series(unknown[:, j], dtype=pl.Boolean)).cast(pl.String)
            codes[unknown[:, j], j] = _codes(strange, symbols, strange)
    return codes, symbols


def _sorted_values(distinct: Sequence[pl.Series]) -> list[str]:
    """All values that occur: numbers by size, texts by letters."""
    parts = [part.cast(pl.String) if part.dtype == pl.Categorical else part for part in distinct]
    if len({part.dtype for part in parts}) > 1:
        parts = [part.cast(pl.String) for part in parts]
    found = parts[0] if len(parts) == 1 else pl.concat(parts).unique()
    if found.dtype == pl.String:
        as_integers = found.cast(pl.Int64, strict=False)
        if found.len() and not as_integers.null_count() and (as_integers.cast(pl.String) == found).all():
            found = as_integers
    elif found.dtype.is_float():
        found = found.filter(found.is_not_nan())
    return found.sort().cast(pl.String).to_list()


def _codes(values: pl.Series, symbols: Sequence[str], distinct: pl.Series) -> np.ndarray:
    """Codes of texts or categories, -1 where a value is empty or not among the symbols."""
    if values.dtype != pl.Categorical:
        return values.cast(pl.Enum(symbols), strict=False).to_physical().cast(pl.Int32).fill_null(-1).to_numpy().copy()
    code_of = {symbol: code for code, symbol in enumerate(symbols)}
    physical = distinct.to_physical().to_numpy()
    table = np.full(int(physical.max(initial=0)) + 2, -1, np.min_scalar_type(-len(symbols) - 1))
    table[physical] = [code_of.get(text, -1) for text in distinct.cast(pl.String).to_list()]
    return table[values.to_physical().fill_null(len(table) - 1).to_numpy()]


def _edges(values: np.ndarray, options: BinBlock, columns: Sequence[pl.Series], source: Source) -> np.ndarray:
    if options.edges is not None:
        edges = np.unique(np.asarray(options.edges, float))
        if len(edges) < len(options.edges) or not np.isfinite(edges).all():
            raise source.fail(f"the edges for {_names(columns)} repeat or are endless", remedy="give rising numbers")
        return edges
    if not len(values):
        raise source.fail(f"column {columns[0].name!r} has no numbers", remedy="choose a column with values")
    quantiles = np.quantile(values, np.linspace(0, 1, options.bins + 1)[1:-1], method="inverted_cdf")
    edges = np.unique(quantiles)
    edges = edges[edges > values.min()]
    if not len(edges):
        raise source.fail(
            f"column {columns[0].name!r} is too uneven for {options.bins} bins",
            remedy="give `edges`, or read it as categories",
        )
    return edges


def _names(columns: Sequence[pl.Series]) -> str:
    return ", ".join(column.name for column in columns)
