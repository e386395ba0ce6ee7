"""Reading the needed columns of CSV, TSV, Parquet, Arrow and JSONL files with Polars."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import polars as pl

from connectors.sources import Source
from connectors.table_options import TableOptions
from infosedd.blocks import near_names

_FORMATS = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow",
    ".feather": "arrow", ".ipc": "arrow", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip
_CHECKED_ROWS = 1000


@contextmanager
def scanned(source: Source, options: TableOptions, categories: Sequence[str] = ()) -> Iterator[pl.LazyFrame]:
    """A lazy frame over one file; what Polars refuses on opening becomes the format's error.

    The columns ``categories`` of CSV are read as Categorical, which spares a text for each cell.
    """
    kind = table_format(source, options)
    with source.plain_path() as path, polars_errors(source):
        try:
            yield _scan(path, kind, source, options, categories)
        except pl.exceptions.ComputeError as cause:
            if kind in ("csv", "tsv") and "more fields" in str(cause):
                _check_cells(path, _separator(kind, source, options), source, options, limit=None)
            raise


@contextmanager
def polars_errors(source: Source) -> Iterator[None]:
    """Turn what Polars raises on a bad file into the format's one-line error."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as cause:
        reason = str(cause).strip().splitlines()[0] if str(cause).strip() else type(cause).__name__
        remedy = "check the file, or give `format` and `delimiter`"
        if "utf-8" in reason.lower() or "utf8" in reason.lower():
            remedy = "save it as UTF-8, as `iconv -f latin1 -t utf8` does with a file in Latin-1"
        raise source.fail(f"can't read the table ({reason[:160]})", remedy=remedy) from cause


def table_format(source: Source, options: TableOptions) -> str:
    """The format asked for, or told by the file's first bytes and name."""
    if options.format != "auto":
        return options.format
    with source.open() as file:
        head = file.read(8192)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "arrow"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise source.fail("the file is UTF-16", remedy="save it as UTF-8")
    if b"\0" in head:
        raise source.fail("this is a binary file, not a table", remedy="give CSV, TSV, Parquet, Arrow or JSONL")
    if source.suffix in _FORMATS and _FORMATS[source.suffix] not in ("parquet", "arrow"):
        return _FORMATS[source.suffix]
    if source.suffix in _FORMATS:
        raise source.fail(f"this is no {_FORMATS[source.suffix]} file", remedy="check that it was written whole")
    if head.lstrip().startswith(b"{"):
        return "jsonl"
    first = head.splitlines()[0] if head.splitlines() else b""
    return "tsv" if first.count(b"\t") > first.count(b",") else "csv"


def needed(
    frame: pl.LazyFrame, columns: Sequence[str], source: Source, missing_values: Sequence[str] = ()
) -> pl.DataFrame:
    """Some columns of a scanned file, read; a column that isn't there is an error that says which are.

    Texts among ``missing_values`` become null.
    """
    present = frame.collect_schema().names()
    for column in columns:
        if column not in present:
            raise source.fail(f"there is no column {column!r}", remedy=near_names(column, present))
    if len(columns) < len(present):
        # Polars notices rows with too many cells only where it reads every column.
        frame.select(pl.all().null_count()).collect(engine="streaming")
    return _with_gaps(frame.select(columns).collect(), missing_values)


def _with_gaps(frame: pl.DataFrame, missing_values: Sequence[str]) -> pl.DataFrame:
    for column in frame.get_columns():
        if column.dtype == pl.Categorical:
            # A look at the distinct values saves one at every cell.
            if not column.unique().cast(pl.String).is_in(list(missing_values)).any():
                continue
            frame = frame.with_columns(column.cast(pl.String))
        elif column.dtype != pl.String:
            continue
        name = pl.col(column.name)
        frame = frame.with_columns(pl.when(~name.is_in(list(missing_values))).then(name).alias(column.name))
    return frame


def _scan(path: Path, kind: str, source: Source, options: TableOptions, categories: Sequence[str]) -> pl.LazyFrame:
    if kind == "parquet":
        return pl.scan_parquet(path)
    if kind == "arrow":
        return pl.scan_ipc(path)
    if kind == "jsonl":
        return pl.scan_ndjson(path, infer_schema_length=None)
    separator = _separator(kind, source, options)
    _check_cells(path, separator, source, options, _CHECKED_ROWS)
    form = {"separator": separator, "has_header": options.header, "comment_prefix": options.comment}
    names = pl.scan_csv(path, infer_schema=False, **form).collect_schema().names()
    wanted = names if options.header else [f"column_{number}" for number in range(1, len(names) + 1)]
    kinds = {name: pl.Categorical for name, column in zip(names, wanted, strict=True) if column in categories}
    frame = pl.scan_csv(path, infer_schema=False, schema_overrides=kinds, **form)
    return frame.rename(dict(zip(names, wanted, strict=True)))


def _separator(kind: str, source: Source, options: TableOptions) -> str:
    return options.delimiter or ("\t" if kind == "tsv" else _delimiter(source))


def _check_cells(path: Path, separator: str, source: Source, options: TableOptions, limit: int | None) -> None:
    """An error where two columns share a name, or a row has too many cells; looks at ``limit`` rows."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines = (line for line in file if not (options.comment and line.startswith(options.comment)))
        rows = csv.reader(lines, delimiter=separator)
        try:
            first = next(rows, [])
            repeated = sorted({name for name in first if first.count(name) > 1})
            if options.header and repeated:
                raise source.fail(f"two columns are called {repeated[0]!r}", remedy="give each column its own name")
            for number, row in enumerate(islice(rows, limit), 1):
                if len(row) > len(first):
                    raise source.fail(
                        f"a row has {len(row)} cells, the first {len(first)}",
                        where=f"row {number}",
                        remedy="quote cells that hold the delimiter, or give `delimiter`",
                    )
        except csv.Error as cause:
            raise source.fail(f"can't read the table ({cause})", remedy="check its quotes and line ends") from cause


def _delimiter(source: Source) -> str:
    """The commonest of comma, semicolon, tab and bar in the first line."""
    with source.open() as file:
        first = file.readline(1 << 16).decode("utf-8", "replace")
    counts = {mark: first.count(mark) for mark in (",", ";", "\t", "|")}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ","
