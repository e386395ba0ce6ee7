"""Blocks for a table whose options name none: each column is told by its content."""

import polars as pl

from connectors.frames import SPLIT_NAMES
from connectors.sources import Source
from connectors.table_files import needed, scanned
from connectors.table_options import TableOptions

_ALPHABETS = (("dna", "ACGT"), ("rna", "ACGU"), ("protein", "ACDEFGHIKLMNPQRSTVWY"))
_SAMPLE = 10_000
_MAX_CATEGORIES = 1000
_MIN_LENGTH = 4
_LABEL_LENGTH = 20
_MAX_LABELS = 100
_ROWS_A_LABEL = 10
_MAX_VALUE_LENGTH = 64
_ID = "an id, not a block"


def guessed_blocks(source: Source, asked: TableOptions) -> tuple[TableOptions, list[str]]:
    """``asked`` with a block for each column that is not spoken for, and a note on each."""
    with scanned(source, asked) as frame:
        sample = needed(frame.head(_SAMPLE), frame.collect_schema().names(), source, asked.missing_values)
    taken = _taken(asked)
    blocks: dict[str, dict[str, object]] = {"sequences": {}, "categories": {}, "bins": {}}
    notes, unique = [], []
    split = None if asked.split is None else asked.split.model_dump()
    for column in sample.get_columns():
        if column.name in taken:
            continue
        if split is None and _is_split(column):
            split = {"column": column.name}
            notes.append(f"column {column.name} was taken as the split")
            continue
        kind, block, why = _guess_column(column)
        if kind is None:
            if why == _ID:
                unique.append(column.name)
        else:
            blocks[kind][_block_name(column.name)] = block
        notes.append(f"column {column.name} was taken as {why}")
    ids = asked.ids or ({"column": unique[0]} if len(unique) == 1 else None)
    if not any(blocks.values()) and not (asked.counts and asked.counts.block):
        raise source.fail(
            "no column looks like sequences or categories", remedy="name them with sequences, categories or bins"
        )
    return TableOptions.model_validate(
        {**asked.model_dump(exclude_unset=True), **blocks, "ids": ids, "split": split}
    ), notes


def _taken(asked: TableOptions) -> set[str]:
    single = (asked.weights, asked.groups, asked.split, asked.ids)
    taken = {one.column for one in single if one is not None}
    if asked.counts is not None:
        taken |= {*(asked.counts.columns or []), asked.counts.column or ""}
    return taken


def _is_split(column: pl.Series) -> bool:
    """Whether a column says training and test, by any of their usual names."""
    if column.dtype != pl.String:
        return False
    values = {str(value).lower() for value in column.unique()}
    return values <= set(SPLIT_NAMES) and {SPLIT_NAMES[value] for value in values} >= {"training", "test"}


def _guess_column(column: pl.Series) -> tuple[str | None, object, str]:
    values = column.drop_nulls()
    if values.dtype.is_nested() or not values.len():
        return None, None, "neither letters nor values, and left out"
    texts = values.cast(pl.String)
    alphabet, distinct = _alphabet(texts), texts.n_unique()
    if alphabet == "protein" and _are_labels(texts, distinct):
        why = f"a category with {distinct} values, though they look like amino acids: name it in `sequences`"
        return "categories", {"columns": [column.name]}, f"{why} to read them so"
    if alphabet is not None:
        block = {"column": column.name, "alphabet": alphabet, "unknown": "hide"}
        return "sequences", block, f"{alphabet} letters"
    as_numbers = texts.cast(pl.Float64, strict=False)
    numeric = not as_numbers.null_count() and values.dtype != pl.Boolean
    measured = values.dtype.is_float() or _has_fraction(as_numbers)
    if numeric and distinct > 20 and (distinct > _MAX_CATEGORIES or measured):
        return "bins", {"columns": [column.name]}, "numbers in 8 bins of equally many"
    if int(texts.str.len_chars().max() or 0) > _MAX_VALUE_LENGTH:  # type: ignore[arg-type]
        return None, None, "free text, and left out: name it in `texts` to read it"
    if (distinct == texts.len() and distinct > 20) or distinct > _MAX_CATEGORIES:
        return None, None, _ID
    return "categories", {"columns": [column.name]}, f"a category with {distinct} values"


def _has_fraction(numbers: pl.Series) -> bool:
    return bool((numbers != numbers.floor()).any())


def _are_labels(texts: pl.Series, distinct: int) -> bool:
    """Few short values that come again and again are labels, such as WILD and LATE, and no proteins."""
    few = distinct <= _MAX_LABELS and distinct * _ROWS_A_LABEL <= texts.len()
    return few and int(texts.str.len_chars().max() or 0) <= _LABEL_LENGTH  # type: ignore[arg-type]


def _alphabet(texts: pl.Series) -> str | None:
    lengths = texts.str.len_chars()
    if lengths.min() != lengths.max() or int(lengths[0]) < _MIN_LENGTH:
        return None
    letters = set("".join(texts.head(200).to_list()).upper()) - {"N"}
    return next((name for name, symbols in _ALPHABETS if letters <= set(symbols)), None)


def _block_name(column: str) -> str:
    """The column's name as a block can carry it: odd characters become '_'."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_-.") else "_" for c in column)
    return name if name[:1].isalpha() or name[:1] == "_" else f"_{name}"
