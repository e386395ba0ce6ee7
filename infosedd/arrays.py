"""Python arrays, columns and lists of strings as blocks of a corpus."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus, Provenance
from infosedd.errors import InputError

Missing = Literal["error", "hide", "symbol"]
MISSING_SYMBOL = "<missing>"
WIDEST = 2**20
"""Range of whole numbers, or of letters, up to which they are told apart by a table and not by sorting."""
MOST_LABELS = 256
"""Distinct strings above which those of almost one length are taken for sequences, with a few of wrong length."""
PIECE = 2**20
"""Tokens that are looked up at a time."""


@dataclass(frozen=True)
class _Symbols:
    """What a column holds, told apart: sorted symbols, and the (n, L) place of each token among them."""

    found: list[str]
    codes: np.ndarray
    gone: np.ndarray
    """(n, L) bool: missing; the code there says nothing."""
    are_numbers: bool = False


def corpus_of(
    columns: dict[str, Any],
    *,
    weights: Any = None,
    groups: Any = None,
    missing: Missing = "error",
    vocabularies: dict[str, Vocabulary] | None = None,
) -> Corpus:
    """A corpus of one block a column, rows matched by order.

    A column is an (n, L) or (n,) array of integers or strings, a torch tensor, a pandas or Polars
    column, or a list of strings: strings of one length above 1 are read letter by letter, others
    as whole symbols. ``missing`` says what None and NaN are: an error, hidden tokens, or a symbol.
    """
    if missing not in get_args(Missing):
        raise InputError(f"missing is {missing!r}", remedy=f"use one of {', '.join(get_args(Missing))}")
    blocks, tokens = [], {}
    for name, values in columns.items():
        vocabulary, codes = _encode(_symbols(values, name), name, missing, (vocabularies or {}).get(name))
        codes.flags.writeable = False
        blocks.append(Block(name, vocabulary, codes.shape[1]))
        tokens[name] = codes
    lengths = {name: len(codes) for name, codes in tokens.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise InputError(f"the numbers of rows differ: {counts}", remedy="give one row a sample, in the same order")
    return Corpus(
        name="arrays",
        blocks=tuple(blocks),
        tokens=tokens,
        weights=_weights(weights),
        weight_kind="count" if weights is not None and _are_counts(weights) else "weight",
        groups=_groups(groups),
        provenance=Provenance(n_read=next(iter(lengths.values()))),
    )


def shared_vocabulary(columns: dict[str, Any], missing: Missing = "error") -> Vocabulary:
    """The symbols of several columns together, in the order that each alone would have."""
    found: set[str] = set()
    numbers = True
    for name, values in columns.items():
        symbols = _symbols(values, name)
        numbers &= symbols.are_numbers
        found |= set(_encode(symbols, name, missing, None)[0].symbols)
    return Vocabulary(tuple(sorted(found, key=int if numbers else None)))


def _symbols(values: Any, name: str) -> _Symbols:
    array = _to_numpy(values, name)
    if array.ndim not in (1, 2):
        raise InputError(f"{name} has {array.ndim} dimensions", remedy="give (n,) or (n, L)")
    if array.size == 0:
        raise InputError(f"{name} is empty", remedy="give at least one row and one position")
    if array.dtype.kind == "f":
        array = _whole_numbers(array, name)
    if array.dtype.kind in "iub":
        return _numbers(array.reshape(len(array), -1))
    if array.dtype.kind == "S":
        array = np.char.decode(array, "latin-1").reshape(len(array), -1)
        array = array[:, 0] if array.shape[1] == 1 else array
    if array.dtype.kind not in "OU":
        raise InputError(f"{name} has values of type {array.dtype}", remedy="give integers or strings")
    if array.ndim == 1:
        lengths = {len(v) for v in array if isinstance(v, str)}
        if len(lengths) == 1 and lengths != {0} and (length := lengths.pop()) > 1:
            return _letters(array, length)
        _require_symbols([v for v in array if isinstance(v, str)], name)
    array = array.reshape(len(array), -1)
    if array.dtype.kind == "U" and array.dtype.itemsize == 4:
        return _points(np.ascontiguousarray(array).view(np.uint32))
    return _objects(array)


def _require_symbols(texts: list[str], name: str) -> None:
    """Refuse strings of several lengths that are sequences, not symbols: none repeats, or all but a few agree."""
    lengths, n_distinct = Counter(len(text) for text in texts), len(set(texts))
    if len(lengths) < 2 or len(texts) < 20:
        return
    (length, n_of_it), *_ = lengths.most_common(1)
    if n_distinct > 0.9 * len(texts):
        raise InputError(
            f"{name} has strings of {len(lengths)} different lengths, from {min(lengths)} to {max(lengths)}",
            remedy="pad or cut them to one length; symbols of several letters must repeat",
        )
    if length > 1 and n_of_it >= 0.95 * len(texts) and n_distinct > MOST_LABELS:
        row = next(i for i, text in enumerate(texts) if len(text) != length)
        raise InputError(
            f"{name} has {n_of_it:,} strings of {length} letters and {len(texts) - n_of_it:,} of other lengths",
            where=f"the first is string {row}, {texts[row][:40]!r}",
            remedy="cut, pad or drop those, to read letters; for whole symbols give rows of one, [[text], ...]",
        )


def _numbers(array: np.ndarray) -> _Symbols:
    values, codes = _ranked(array)
    return _Symbols(
        [str(v) for v in values.astype(array.dtype)], codes, np.zeros(codes.shape, bool), array.dtype.kind in "iu"
    )


def _letters(texts: np.ndarray, length: int) -> _Symbols:
    """The letters of (n,) texts of one length; what is no text is missing."""
    known = np.array([isinstance(v, str) for v in texts])
    filler = texts[int(known.argmax())]
    whole = [v if there else filler for v, there in zip(texts, known, strict=True)]
    try:
        points = np.array(whole, dtype=f"S{length}").view(np.uint8)
    except UnicodeEncodeError:
        points = np.array(whole, dtype=f"U{length}").view(np.uint32)
    points = points.reshape(-1, length)
    return _points(points, np.broadcast_to(~known[:, None], points.shape))


def _points(points: np.ndarray, gone: np.ndarray | None = None) -> _Symbols:
    """Letters given as (n, L) code points; 0 is the empty text."""
    values, codes = _ranked(points)
    return _Symbols([chr(v) if v else "" for v in values], codes, np.zeros(codes.shape, bool) if gone is None else gone)


def _objects(array: np.ndarray) -> _Symbols:
    """Whole texts, or anything that can be written as one, and None or NaN."""
    if array.dtype.kind == "U":
        gone = np.zeros(array.shape, bool)
    else:
        gone = np.array([[_is_missing(v) for v in row] for row in array])
    values, present = np.unique(array[~gone].astype(str), return_inverse=True)
    codes = np.zeros(array.shape, np.min_scalar_type(len(values)))
    codes[~gone] = present.ravel()
    return _Symbols([str(v) for v in values], codes, gone)


def _ranked(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values of (n, L) whole numbers in order, and the (n, L) place of each among them."""
    low, high = int(numbers.min()), int(numbers.max())
    if high - low >= WIDEST or high > np.iinfo(np.int64).max:
        values, codes = np.unique(numbers, return_inverse=True)
        return values, codes.reshape(numbers.shape).astype(np.min_scalar_type(len(values)))
    present = np.zeros(high - low + 1, bool)
    for piece in _pieces(numbers):
        present[piece.astype(np.int64) - low] = True
    values = np.flatnonzero(present)
    places = (np.cumsum(present) - 1).clip(0).astype(np.min_scalar_type(len(values)))
    return values + low, _looked_up(places, numbers, low)


def _looked_up(table: np.ndarray, numbers: np.ndarray, low: int = 0) -> np.ndarray:
    """``table[numbers - low]``, a piece at a time: an index takes eight bytes."""
    out = np.empty(numbers.shape, table.dtype)
    for piece, there in zip(_pieces(numbers), _pieces(out), strict=True):
        there[:] = table[piece.astype(np.int64) - low]
    return out


def _pieces(array: np.ndarray) -> Iterator[np.ndarray]:
    rows = max(1, PIECE // array.shape[1])
    return (array[i : i + rows] for i in range(0, len(array), rows))


def _to_numpy(values: Any, name: str) -> np.ndarray:
    if hasattr(values, "detach"):  # a torch tensor
        return values.detach().cpu().numpy()
    if hasattr(values, "to_pylist"):  # Arrow
        values = values.to_pylist()
    elif hasattr(values, "to_numpy"):  # pandas, Polars
        values = np.asarray(values.to_numpy())
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str | bytes):
        raise InputError(
            f"can't read a {type(values).__name__} as samples", where=name, remedy="give a list, an array or a column"
        )
    if isinstance(values, np.ndarray) and (values.ndim != 1 or values.dtype.kind != "O"):
        return values
    if any(_is_row(v) for v in values):
        return _stacked(values, name)
    mixed = any(isinstance(v, str) or v is None for v in values)
    return np.array(values, dtype=object) if mixed else np.asarray(values)


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


def _stacked(rows: Sequence | np.ndarray, name: str) -> np.ndarray:
    """(n, L) array of rows that are lists; a row that is None is missing whole."""
    lengths = {len(row) if _is_row(row) else 1 for row in rows if row is not None}
    if len(lengths) != 1:
        raise InputError(
            f"the rows of {name} have different lengths, from {min(lengths)} to {max(lengths)}",
            remedy="pad or cut them to one length",
        )
    (length,) = lengths
    return np.asarray([[None] * length if row is None else row if _is_row(row) else [row] for row in rows])


def _whole_numbers(array: np.ndarray, name: str) -> np.ndarray:
    """Floats that are whole numbers or NaN, as objects with None for NaN."""
    known = array[~np.isnan(array)]
    wrong = (known != np.floor(known)) | (np.abs(known) > 2**53)
    if wrong.any():
        raise InputError(
            f"{name} has numbers such as {known[wrong][0]:g}, which are not whole",
            remedy="bin continuous values first, for example by quantiles",
        )
    if len(known) == array.size:
        return array.astype(np.int64)
    out = np.empty(array.shape, dtype=object)
    out[~np.isnan(array)] = known.astype(np.int64)
    return out


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT, or the NA of pandas, which equals nothing, not even itself."""
    return value is None or type(value).__name__ == "NAType" or value != value


def _encode(
    symbols: _Symbols, name: str, missing: Missing, vocabulary: Vocabulary | None
) -> tuple[Vocabulary, np.ndarray]:
    found, codes, gone = [*symbols.found], symbols.codes, symbols.gone
    if gone.any() and missing == "error":
        row, column = np.argwhere(gone)[0]
        raise InputError(
            f"{name} has a missing value",
            where=f"row {row}, position {column}",
            remedy="pass missing='hide' or 'symbol'",
        )
    if not found:
        raise InputError(f"{name} has only missing values")
    if gone.any() and missing == "symbol":
        codes[gone], gone = len(found), np.zeros(gone.shape, bool)
        found.append(MISSING_SYMBOL)
    if vocabulary is not None:
        unknown = sorted(set(found) - set(vocabulary.symbols))
        if unknown:
            raise InputError(f"{name} has the symbol {unknown[0]!r}, which the other corpus lacks")
        codes = _looked_up(np.array([vocabulary.code_of[s] for s in found], vocabulary.dtype), codes)
    else:
        vocabulary = Vocabulary(tuple(found))
    codes = codes.astype(vocabulary.dtype, copy=False)
    if gone.any():
        codes[gone] = vocabulary.mask_id
    return vocabulary, codes


def _weights(weights: Any) -> np.ndarray | None:
    if weights is None:
        return None
    try:
        return np.asarray(_to_numpy(weights, "weights"), dtype=np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        raise InputError("the weights are not numbers", remedy="give one number a row") from error


def _groups(groups: Any) -> np.ndarray | None:
    """(n,) codes of whole values: a group is a name, not letters."""
    if groups is None:
        return None
    names = _to_numpy(groups, "groups")
    if names.size != len(names):
        raise InputError(f"groups has the shape {names.shape}", remedy="give one group a row")
    names = names.reshape(-1)
    if names.dtype.kind in "Of" and (gone := np.array([_is_missing(v) for v in names])).any():
        raise InputError("groups has a missing value", where=f"row {np.flatnonzero(gone)[0]}", remedy="name its group")
    return np.unique(names.astype(str), return_inverse=True)[1]


def _are_counts(weights: Any) -> bool:
    values = _weights(weights)
    return values is not None and bool(np.all(values == np.floor(values)))
