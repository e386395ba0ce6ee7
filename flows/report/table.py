"""Rows of text under headings, as a page shows them."""

from dataclasses import dataclass

from flows.report.rows import Query


@dataclass(frozen=True)
class Column:
    """A column's heading, and whether its cells are numbers, letters of the data, or words that may wrap."""

    title: str
    numeric: bool = False
    code: bool = False
    wraps: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text under headings, with the query that gives them; None where a corpus was counted."""

    slug: str
    title: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    query: Query | None
