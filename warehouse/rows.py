"""Rows to be written, as Polars frames: built in bulk, checked before anything is opened."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import isfinite, isnan
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from infosedd.corpus import Corpus
from infosedd.results import Estimate
from infosedd.version import ESTIMATION_VERSION
from warehouse.records import Card, Check, ExternalScore, Origin, RefusedRow, Truth

_TIME = pl.Datetime("us")
_ESTIMATE_COLUMNS: dict = {
    "estimate_id": pl.String,
    "study": pl.String,
    "measure": pl.String,
    "mode": pl.String,
    "x": pl.String,
    "y": pl.String,
    "z": pl.String,
    "estimator": pl.String,
    "value_nats": pl.Float64,
    "std_error_nats": pl.Float64,
    "ci_low_nats": pl.Float64,
    "ci_high_nats": pl.Float64,
    "n_samples": pl.Int64,
    "corpus_id": pl.String,
    "model_id": pl.String,
    "reference_corpus_id": pl.String,
    "reference_model_id": pl.String,
    "seed": pl.Int64,
    "terminal_kl_nats": pl.Float64,
    "warnings": pl.List(pl.String),
    "diagnostics": pl.List(pl.Struct({"key": pl.String, "value": pl.Float64})),
    "created_at": _TIME,
}
_TRUTH_COLUMNS: dict = {
    **dict.fromkeys(
        ("study", "corpus_id", "measure", "mode", "x", "y", "z", "reference_corpus_id", "bound"), pl.String
    ),
    "value_nats": pl.Float64,
    "source": pl.String,
    "created_at": _TIME,
}
_CHECK_COLUMNS: dict = {
    **dict.fromkeys(("check_id", "run_id", "study", "corpus_id", "model_id"), pl.String),
    "seed": pl.Int64,
    "name": pl.String,
    "claim": pl.String,
    "passed": pl.Boolean,
    **dict.fromkeys(("observed_nats", "expected_nats", "tolerance_nats"), pl.Float64),
    "created_at": _TIME,
}
_SCORE_COLUMNS: dict = {
    **dict.fromkeys(("study", "corpus_name", "score"), pl.String),
    "value": pl.Float64,
    "unit": pl.String,
    "higher_is_better": pl.Boolean,
    "source": pl.String,
    "created_at": _TIME,
}


def now() -> datetime:
    """The time, UTC, as the warehouse stores it."""
    return datetime.now(UTC).replace(tzinfo=None)


def digest(*parts: str | int | None) -> str:
    """The first 20 hexadecimal digits of a hash of a natural key."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:20]


def estimate_id(estimate: Estimate, origin: Origin) -> str:
    """Hash of an estimate's natural key, and of the version of the estimation where that is not the first."""
    quantity = (estimate.measure, estimate.mode, estimate.x, estimate.y, estimate.z, estimate.estimator)
    references = (origin.reference_corpus_id, origin.reference_model_id)
    version = () if ESTIMATION_VERSION == 1 else (ESTIMATION_VERSION,)
    return digest(origin.study, *quantity, origin.corpus_id, origin.model_id, *references, origin.seed, *version)


def flatten(estimates: Sequence[Estimate]) -> list[Estimate]:
    """The estimates and all the others that hang from them."""
    return [e for main in estimates for e in (main, *flatten(main.others))]


def estimate_rows(estimates: Sequence[Estimate], origin: Origin) -> pl.DataFrame:
    """One row per different estimate; one that is no number, or whose interval misses it, is a RefusedRow."""
    created_at, rows = now(), {}
    for estimate in flatten(estimates):
        key = estimate_id(estimate, origin)
        if key in rows and rows[key][8] != float(estimate.nats):
            raise RefusedRow(
                f"{described(estimate)} comes twice with different values", remedy="give each quantity once a call"
            )
        rows[key] = (
            key,
            origin.study,
            estimate.measure,
            estimate.mode,
            estimate.x,
            estimate.y,
            estimate.z,
            estimate.estimator,
            *_checked_numbers(estimate),
            int(estimate.n_samples),
            origin.corpus_id,
            origin.model_id,
            origin.reference_corpus_id,
            origin.reference_model_id,
            origin.seed,
            float(estimate.terminal_kl),
            list(estimate.warnings),
            [{"key": name, "value": float(value)} for name, value in estimate.diagnostics.items()],
            created_at,
        )
    return pl.DataFrame(list(rows.values()), schema=_ESTIMATE_COLUMNS, orient="row")


def pointwise_rows(
    estimates: Sequence[Estimate], origin: Origin, ids: pa.StringArray | pa.ChunkedArray | None
) -> pl.DataFrame:
    """One row per sequence of the main estimates that have pointwise values; ``ids`` is indexed by corpus row."""
    frames = [_pointwise_of(e, estimate_id(e, origin), ids) for e in estimates if e.pointwise is not None]
    schema: dict = {"estimate_id": pl.String, "sequence_index": pl.Int64, "sequence_id": pl.String}
    return pl.concat(frames) if frames else pl.DataFrame(schema={**schema, "value_nats": pl.Float64})


def corpus_row(corpus: Corpus) -> pl.DataFrame:
    """The one row of a corpus."""
    source = corpus.provenance
    blocks = [
        {"name": b.name, "length": b.length, "vocabulary_size": b.vocabulary.size, "lattice": b.lattice}
        for b in corpus.blocks
    ]
    lattice = {"lattice": pl.List(pl.Int64)}
    block = pl.Struct({"name": pl.String, "length": pl.Int64, "vocabulary_size": pl.Int64, **lattice})
    return pl.DataFrame(
        {
            "corpus_id": [corpus.corpus_id],
            "name": [corpus.name],
            "connector": [source.connector],
            "source_uri": [source.source_uri],
            "source_sha256": [source.source_sha256],
            "n_sequences": [corpus.n],
            "n_dropped": [source.n_dropped],
            "blocks": pl.Series([blocks], dtype=pl.List(block)),
            "created_at": pl.Series([now()], dtype=_TIME),
        }
    )


def model_row(card: Card, path: str) -> pl.DataFrame:
    """The one row of a model."""
    return pl.DataFrame(
        {
            "model_id": [card.model_id],
            "corpus_id": [card.corpus_id],
            "process": [card.process],
            "network": [card.network],
            "config": [json.dumps(dict(card.config), sort_keys=True)],
            "n_parameters": [int(card.n_parameters)],
            "train_steps": [int(card.train_steps)],
            "train_seconds": [float(card.train_seconds)],
            "held_out_loss_nats": pl.Series([card.held_out_loss_nats], dtype=pl.Float64),
            "weights_sha256": [card.weights_sha256],
            "parent_model_id": pl.Series([card.parent_model_id], dtype=pl.String),
            "path": [path],
            "created_at": pl.Series([_utc(card.created_at)], dtype=_TIME),
        }
    )


def truth_rows(truths: Sequence[Truth]) -> pl.DataFrame:
    """One row per known answer; of two with one key the last is kept."""
    return _unique_rows(
        (
            (
                *(t.study, t.corpus_id, t.measure, t.mode, t.x, t.y, t.z, t.reference_corpus_id, t.bound),
                *(t.value_nats, t.source, now()),
            )
            for t in truths
        ),
        _TRUTH_COLUMNS,
        n_keys=9,
    )


def check_rows(checks: Sequence[Check]) -> pl.DataFrame:
    """One row per check; of two with one key the last is kept."""
    return _unique_rows(
        (
            (
                digest(c.study, c.corpus_id, c.model_id, c.seed, c.name),
                *(c.run_id, c.study, c.corpus_id, c.model_id, c.seed, c.name, c.claim, bool(c.passed)),
                *(c.observed_nats, c.expected_nats, c.tolerance_nats, now()),
            )
            for c in checks
        ),
        _CHECK_COLUMNS,
        n_keys=1,
    )


def score_rows(scores: Sequence[ExternalScore]) -> pl.DataFrame:
    """One row per score; of two with one key the last is kept."""
    return _unique_rows(
        (
            (s.study, s.corpus_name, s.score, float(s.value), s.unit, s.higher_is_better, s.source, now())
            for s in scores
        ),
        _SCORE_COLUMNS,
        n_keys=3,
    )


def stored_path(path: Path, home: Path) -> str:
    """A path as it is stored: relative to the home where it lies inside it, so that a home can be moved."""
    absolute, root = path.absolute(), home.absolute()
    return str(absolute.relative_to(root)) if absolute.is_relative_to(root) else str(absolute)


def described(estimate: Estimate) -> str:
    """The quantity of an estimate in words, for messages."""
    arguments = "; ".join(part for part in (estimate.x, estimate.y) if part)
    condition = f" | {estimate.z}" if estimate.z else ""
    return f"{estimate.measure}({arguments}{condition}), {estimate.mode}, by {estimate.estimator}"


def _checked_numbers(estimate: Estimate) -> tuple[float, float | None, float | None, float | None]:
    """Value, standard error and interval; an estimator without an error has NaN for all three, stored as NULL."""
    value = float(estimate.nats)
    error, low, high = (float(v) for v in (estimate.std_error, estimate.ci_low, estimate.ci_high))
    if not isfinite(value):
        raise RefusedRow(f"{described(estimate)} is {value}", remedy="a number that is not finite is not stored")
    if isnan(error) and isnan(low) and isnan(high):
        return value, None, None, None
    if not (isfinite(error) and error >= 0 and isfinite(low) and isfinite(high)):
        raise RefusedRow(
            f"{described(estimate)} has the standard error {error:g} and the interval {low:g} to {high:g}",
            remedy="all three must be finite, or all three NaN where there is no error",
        )
    if not low <= value <= high:
        raise RefusedRow(
            f"{described(estimate)} is {value:g}, outside its interval {low:g} to {high:g}",
            remedy="an interval must hold its estimate",
        )
    return value, error, low, high


def _pointwise_of(estimate: Estimate, key: str, ids: pa.StringArray | pa.ChunkedArray | None) -> pl.DataFrame:
    values = np.ascontiguousarray(estimate.pointwise, np.float64)
    index = np.arange(len(values)) if estimate.rows is None else np.asarray(estimate.rows, np.int64)
    if len(index) != len(values):
        raise RefusedRow(f"{described(estimate)} has {len(values)} pointwise values for {len(index)} rows")
    if not np.isfinite(values).all():
        raise RefusedRow(f"{described(estimate)} has {int((~np.isfinite(values)).sum())} pointwise values not finite")
    if len(np.unique(index)) != len(index):
        raise RefusedRow(f"{described(estimate)} has two pointwise values for one row")
    if ids is not None and len(index) and int(index.max()) >= len(ids):
        raise RefusedRow(f"{described(estimate)} names row {index.max()}, there are {len(ids)} sequence ids")
    names = pl.lit(None, pl.String) if ids is None else pl.Series(ids.take(pa.array(index)))
    return pl.DataFrame({"sequence_index": index, "value_nats": values}).select(
        pl.lit(key).alias("estimate_id"),
        pl.col("sequence_index"),
        names.alias("sequence_id"),
        pl.col("value_nats"),
    )


def _unique_rows(rows: Iterable[tuple], columns: dict, n_keys: int) -> pl.DataFrame:
    kept = {row[:n_keys]: row for row in rows}
    return pl.DataFrame(list(kept.values()), schema=columns, orient="row")


def _utc(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
