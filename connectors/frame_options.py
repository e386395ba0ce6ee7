"""Options that say how the columns of a table become blocks, counts, groups and splits."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from connectors.options import Options, Policy
from connectors.tokens import TokenizerOptions


def _as_columns(value: object) -> object:
    """A bare column name, or list of them, stands for ``{columns = [...]}``."""
    if isinstance(value, str):
        return {"columns": [value]}
    return {"columns": value} if isinstance(value, list | tuple) else value


def _as_column(value: object) -> object:
    """A bare column name stands for ``{column = ...}``."""
    return {"column": value} if isinstance(value, str) else value


class SequenceBlock(Options):
    """A text column whose letters are the tokens of a block."""

    column: str = Field(description="column that holds the sequences")
    alphabet: str = Field(
        "dna", description="the letters in code order, or dna, rna, protein, or auto: the letters that occur"
    )
    case: Literal["auto", "upper", "keep"] = Field(
        "auto", description="upper: read lower case as upper case; auto does so where the alphabet has no lower case"
    )
    unknown: Policy = Field("error", description="letters outside the alphabet: drop | keep | hide | error")
    missing: Policy = Field("drop", description="empty cells: drop | keep (as all pad) | hide | error")
    lengths: Literal["reject", "drop", "crop", "pad"] = Field(
        "reject", description="unequal lengths: reject them, or drop, crop or pad to `length`"
    )
    length: int | None = Field(
        None, ge=1, description="length of the block; by default the commonest (drop), shortest (crop) or longest (pad)"
    )
    pad: str = Field("-", min_length=1, max_length=1, description="pad symbol, which becomes part of the alphabet")


class CategoryBlock(Options):
    """Columns whose whole values are tokens: one column, or several with the same symbols."""

    columns: list[str] = Field(min_length=1, description="the columns, in the order of their positions")
    symbols: list[str] | None = Field(None, description="the values in code order; by default all that occur, sorted")
    unknown: Policy = Field("error", description="values outside `symbols`: drop | keep | hide | error")
    missing: Policy = Field("drop", description="empty cells: drop | keep (as a symbol) | hide | error")


class BinBlock(Options):
    """Numeric columns cut into bins, by quantile or at given edges."""

    columns: list[str] = Field(min_length=1, description="the columns, in the order of their positions")
    bins: int = Field(8, ge=2, description="number of bins with equally many values; the notes keep their edges")
    edges: list[float] | None = Field(None, min_length=1, description="inner edges of bins [a, b) instead of quantiles")
    missing: Policy = Field("drop", description="empty cells and NaN: drop | keep (as a symbol) | hide | error")


class TextBlock(TokenizerOptions):
    """A column of texts, cut into tokens."""

    column: str = Field(description="column that holds the texts")
    missing: Policy = Field("drop", description="empty cells: drop | keep (as all pad) | hide | error")
    unknown: Policy = Field("keep", description="tokens outside the vocabulary: keep (as <unk>) | hide | drop | error")
    lengths: Literal["fit", "pad", "crop", "drop", "reject"] = Field(
        "pad", description="fit: crop the long and pad the short to `length`; or pad, crop, drop, reject"
    )
    length: int | None = Field(
        None, ge=1, description="tokens in the block; by default the longest (pad), shortest (crop)"
    )
    max_length: int = Field(5000, ge=1, description="longer blocks are refused: crop, or raise this")


class Counts(Options):
    """How often each row was seen: one column, or one column for each symbol of a block (wide)."""

    column: str | None = Field(None, description="column of counts: the row stands for that many draws")
    block: str | None = Field(None, description="wide counts: name of the block that the columns are the symbols of")
    columns: list[str] | None = Field(None, min_length=1, description="wide counts: the columns, in code order")
    symbols: list[str] | None = Field(None, description="wide counts: names of the symbols; by default the columns'")

    @model_validator(mode="after")
    def _one_form(self) -> "Counts":
        wide = self.block is not None and self.columns is not None
        if (self.column is not None) == wide or (self.block is None) != (self.columns is None):
            raise ValueError("give either `column`, or `block` and `columns`")
        if self.symbols is not None and (not wide or len(self.symbols) != len(self.columns or [])):
            raise ValueError("`symbols` must name each of `columns`")
        return self


class SplitColumn(Options):
    """A column that says which rows are for training, validation and test."""

    column: str = Field(description="column with the name of the split")
    values: dict[str, Literal["training", "validation", "test"]] | None = Field(
        None, description="what each value means; training, train, validation, valid, val, dev and test are known"
    )


class OneColumn(Options):
    """A single column."""

    column: str = Field(description="the column")


class FrameOptions(Options):
    """Blocks, counts, groups and splits from the columns of a table."""

    sequences: dict[str, SequenceBlock] = Field(
        default_factory=dict, description="blocks whose tokens are the letters of a column"
    )
    categories: dict[str, Annotated[CategoryBlock, BeforeValidator(_as_columns)]] = Field(
        default_factory=dict, description="blocks whose tokens are the values of one or several columns"
    )
    bins: dict[str, Annotated[BinBlock, BeforeValidator(_as_columns)]] = Field(
        default_factory=dict, description="blocks whose tokens are bins of numeric columns"
    )
    texts: dict[str, Annotated[TextBlock, BeforeValidator(_as_column)]] = Field(
        default_factory=dict, description="blocks whose tokens are the characters or words of a column of texts"
    )
    counts: Annotated[Counts | None, BeforeValidator(_as_column)] = Field(
        None, description="counts of draws: {column=...}, or wide {block=..., columns=[...]}"
    )
    weights: Annotated[OneColumn | None, BeforeValidator(_as_column)] = Field(
        None, description="column of importance weights (any number of at least 0)"
    )
    groups: Annotated[OneColumn | None, BeforeValidator(_as_column)] = Field(
        None, description="column of groups that are split and counted together"
    )
    split: Annotated[SplitColumn | None, BeforeValidator(_as_column)] = Field(
        None, description="column that fixes training, validation and test"
    )
    ids: Annotated[OneColumn | None, BeforeValidator(_as_column)] = Field(None, description="column of sequence ids")

    @model_validator(mode="after")
    def _names_are_unique(self) -> "FrameOptions":
        names = [*self.sequences, *self.categories, *self.bins, *self.texts]
        if self.counts is not None and self.counts.block is not None:
            names.append(self.counts.block)
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"two blocks are called {repeated[0]!r}")
        if self.counts is not None and self.weights is not None:
            raise ValueError("give counts or weights, not both")
        return self
