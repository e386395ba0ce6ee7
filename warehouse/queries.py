"""Reading: queries on the published copy, read-only and shut in, with errors that help."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from infosedd.blocks import near_names
from infosedd.errors import InfoseddError, InputError
from infosedd.results import Estimate
from warehouse import schema
from warehouse.connect import PUBLISHED_FILE, reading
from warehouse.examples import Example, examples
from warehouse.failures import first_line, is_trouble, surroundings_error
from warehouse.records import Origin

__all__ = ["Example", "examples", "run", "schema_version", "stored_estimates", "text_of", "with_text_columns"]
_UNKNOWN_TO_POLARS = re.compile(r"\b(INTERVAL|UNION|BIT|TIME WITH TIME ZONE)\b|\bMAP\((STRUCT|MAP|[^,]*\])")
_ALLOWED = {"SELECT", "EXPLAIN", "MULTI"}  # MULTI: PIVOT, which DuckDB runs as several selects
_OUTSIDE = "read-only, no files, ATTACH, COPY, INSTALL or settings: write results with `infosedd sql --output FILE`"


def run(home: Path | str, sql: str, params: Sequence | Mapping[str, object] | None = None) -> pl.DataFrame:
    """The result of one query on the published copy; what the user got wrong is an InputError that says how."""
    home = Path(home)
    with reading(home) as con:
        try:
            _refuse_all_but_a_query(con, sql)
            result = con.sql(sql, params=params)
            return pl.DataFrame() if result is None else _frame(result)
        except duckdb.Error as error:
            raise _explained(con, error, sql, home) from error


def schema_version(home: Path | str) -> int:
    """Schema of the published copy."""
    with reading(Path(home)) as con:
        return schema.version_of(con, Path(home) / PUBLISHED_FILE)


def stored_estimates(
    home: Path | str,
    study: str,
    corpus_id: str,
    model_id: str | None,
    seed: int | None = None,
    *,
    reference_model_id: str | None = None,
) -> list[Estimate]:
    """Estimates that are stored for a study, corpus, model (and seed), each main one with its others.

    With ``reference_model_id`` the divergences from that model, else what has no reference. Empty where
    nothing is published yet. Pointwise values stay in the warehouse. Estimates of another ``ESTIMATION_VERSION``
    are left out.
    """
    from warehouse.rows import estimate_id

    if not (Path(home) / PUBLISHED_FILE).exists():
        return []
    found = run(
        home,
        "SELECT * REPLACE (to_json(diagnostics)::VARCHAR AS diagnostics) FROM estimates "
        "WHERE study = $study AND corpus_id = $corpus AND model_id IS NOT DISTINCT FROM $model "
        "AND reference_model_id IS NOT DISTINCT FROM $reference "
        "AND ($seed IS NULL OR seed = $seed) ORDER BY created_at, rowid",
        {"study": study, "corpus": corpus_id, "model": model_id, "seed": seed, "reference": reference_model_id},
    )
    families: dict[tuple, list[Estimate]] = {}
    for row in found.iter_rows(named=True):
        estimate = _estimate_of(row)
        origin = Origin(study, corpus_id, model_id, row["seed"], row["reference_corpus_id"], reference_model_id)
        if row["estimate_id"] != estimate_id(estimate, origin):
            continue
        quantity = tuple(row[c] for c in ("measure", "mode", "x", "y", "z", "seed"))
        families.setdefault(quantity, []).append(estimate)
    return [_with_others(family) for family in families.values()]


def with_text_columns(frame: pl.DataFrame, *, only_bytes: bool = False) -> pl.DataFrame:
    """The frame with columns that CSV can't hold as ``text_of`` writes them: lists, maps, structs, times and bytes.

    ``only_bytes`` leaves all but those with bytes, or keys that are not text, for formats that know the others.
    """
    odd = [
        name
        for name, kind in frame.schema.items()
        if _has_bytes_or_odd_keys(kind) or not (only_bytes or _is_plain(kind))
    ]
    return frame.with_columns(
        pl.Series(name, [text_of(value) for value in frame[name].to_list()], dtype=pl.String) for name in odd
    )


def text_of(value: object) -> str | None:
    """A cell as text, the same in tables and in CSV: JSON for lists, maps and structs, hexadecimal for bytes."""
    value = _with_text_keys(_as_mapping(value))
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, dict)):
        return json.dumps(value, default=text_of, ensure_ascii=False)
    return value.hex() if isinstance(value, bytes) else str(value)


def _is_plain(kind: pl.DataType) -> bool:
    return not (kind.is_nested() or isinstance(kind, (pl.Datetime, pl.Time, pl.Duration)))


def _has_bytes_or_odd_keys(kind: pl.DataType) -> bool:
    return re.search(r"Binary|Map\((?!String|Categorical|Enum)", str(kind)) is not None


def _frame(result: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """The rows; columns of types that Polars doesn't know come as the text that DuckDB makes of them."""
    if not any(_UNKNOWN_TO_POLARS.search(str(kind)) for kind in result.types):
        return result.pl()
    columns = []
    for number, (name, kind) in enumerate(zip(result.columns, result.types, strict=True), 1):
        cast = "::VARCHAR" if _UNKNOWN_TO_POLARS.search(str(kind)) else ""
        columns.append('#{}{} AS "{}"'.format(number, cast, name.replace('"', '""')))
    return result.project(", ".join(columns)).pl()


def _as_mapping(value: Any) -> Any:
    """A map as a dict: some releases of Polars give a list of key and value instead; other values stay."""
    if isinstance(value, list) and value and all(isinstance(v, dict) and set(v) == {"key", "value"} for v in value):
        return {text_of(entry["key"]): entry["value"] for entry in value}
    return value


def _with_text_keys(value: Any) -> Any:
    """The value with the keys of its maps, at any depth, as text: JSON knows no others."""
    if isinstance(value, dict):
        return {text_of(key): _with_text_keys(inner) for key, inner in value.items()}
    return [_with_text_keys(inner) for inner in value] if isinstance(value, list) else value


def _refuse_all_but_a_query(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = con.extract_statements(sql)
    if len(statements) != 1:
        raise InputError(
            "there is no query" if not statements else f"there are {len(statements)} statements",
            where="in the query",
            remedy="give one SELECT; `infosedd sql --examples` shows some",
        )
    kind = str(statements[0].type).rpartition(".")[2].removesuffix("_STATEMENT")
    if kind not in _ALLOWED:
        raise InputError(f"{kind} is not allowed here", where="in the query", remedy=f"give a SELECT ({_OUTSIDE})")


def _explained(con: duckdb.DuckDBPyConnection, error: duckdb.Error, sql: str, home: Path) -> InfoseddError:
    message = first_line(error)
    if isinstance(error, duckdb.PermissionException):
        return InputError("the query reaches outside of the warehouse", where=message, remedy=_OUTSIDE)
    if is_trouble(error):
        return surroundings_error(error, home / PUBLISHED_FILE)
    remedy = _near(con, sql, str(error)) or "`infosedd sql --examples` shows queries that work"
    if (version := schema.version_of(con, home / PUBLISHED_FILE)) < schema.head():
        remedy += f"; the warehouse has schema {version} of an earlier release, any run brings it to {schema.head()}"
    return InputError(message.rstrip("!. "), where="in the query", remedy=remedy)


def _near(con: duckdb.DuckDBPyConnection, sql: str, message: str) -> str:
    """Near names of what DuckDB did not find: a table, a column of the query's tables, or a function."""
    if match := re.search(r"Table with name (\S+) does not exist", message):
        tables = con.execute("SELECT DISTINCT table_name FROM duckdb_columns() WHERE NOT internal ORDER BY 1")
        return near_names(match.group(1), [row[0] for row in tables.fetchall()])
    column = re.search(
        r'(?:Referenced column|Column) "(.+?)" .*not found|have a column named "(.+?)"|Column "(.+?)" does not exist',
        message,
    )
    if column:
        return _near_columns(con, next(name for name in column.groups() if name), sql)
    suggestion = re.search(r'Did you mean "(.+?)"|Candidate tables: "(.+?)"', message)
    return f"did you mean {(suggestion.group(1) or suggestion.group(2))!r}?" if suggestion else ""


def _near_columns(con: duckdb.DuckDBPyConnection, name: str, sql: str) -> str:
    """The near columns of the tables that a query names, each once, with its tables where there are several."""
    rows = con.execute("SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal").fetchall()
    words = set(re.findall(r"\w+", sql.lower()))
    named = [(table, column) for table, column in rows if table in words]
    tables_of = {column: sorted(t for t, c in named if c == column) for column in sorted({c for _, c in named})}
    said = near_names(name, list(tables_of))
    close = re.match(r"did you mean '(.+?)'", said)
    if close is None or len({table for table, _ in named}) == 1:
        return said
    return said.replace(close.group(0), f"{close.group(0)} (of {', '.join(tables_of[close.group(1)])})", 1)


def _estimate_of(row: Mapping) -> Estimate:
    nan = float("nan")
    error, low, high = (row[c] for c in ("std_error_nats", "ci_low_nats", "ci_high_nats"))
    return Estimate(
        measure=row["measure"],
        nats=row["value_nats"],
        std_error=nan if error is None else error,
        ci_low=nan if low is None else low,
        ci_high=nan if high is None else high,
        n_samples=row["n_samples"],
        estimator=row["estimator"],
        mode=row["mode"],
        x=row["x"],
        y=row["y"],
        z=row["z"],
        terminal_kl=row["terminal_kl_nats"],
        warnings=tuple(row["warnings"]),
        diagnostics=json.loads(row["diagnostics"]),
    )


def _with_others(family: Sequence[Estimate]) -> Estimate:
    """The default estimator's estimate, the others of the same quantity hanging from it."""
    main = next((e for e in family if e.estimator == "loss_difference"), family[0])
    return replace(main, others=tuple(e for e in family if e is not main))
