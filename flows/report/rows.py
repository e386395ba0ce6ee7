"""What the warehouse holds about one run, read with the same SQL that the page shows."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

import polars as pl

from infosedd.errors import InputError
from infosedd.results import MEASURES, Estimate
from warehouse import queries

ESTIMATORS = ("loss_difference", "dynkin", "plug_in", "miller_madow", "per_position_plug_in")
_QUANTITY = ("measure", "mode", "x", "y", "z", "corpus_id", "reference_corpus_id", "seed")


@dataclass(frozen=True)
class Query:
    """A piece of SQL that a reader can run, and what it is called on the page."""

    slug: str
    title: str
    text: str

    def run(self, home: Path) -> pl.DataFrame:
        return queries.run(home, self.text, [])


@dataclass(frozen=True)
class Quantity:
    """One estimated quantity of the run with its other estimators, and the ids it is stored under."""

    estimate: Estimate
    estimate_id: str
    corpus_id: str
    reference_corpus_id: str
    model_id: str
    seed: int | None
    reused: bool
    truth: float | None = None
    """The exact answer, in nats, where the warehouse knows it."""


@dataclass(frozen=True)
class RunRows:
    """A run with everything that it shows; ``corpora`` and ``models`` are keyed by id."""

    run: Mapping[str, Any]
    quantities: tuple[Quantity, ...]
    corpora: Mapping[str, Mapping[str, Any]]
    models: Mapping[str, Mapping[str, Any]]
    checks: tuple[Mapping[str, Any], ...] = ()

    @property
    def whole(self) -> tuple[Quantity, ...]:
        return tuple(q for q in self.quantities if q.estimate.mode == "whole")

    def windows(self, mode: str) -> tuple[Quantity, ...]:
        return tuple(q for q in self.quantities if q.estimate.mode == mode)


def literal(text: object) -> str:
    """A text as an SQL literal."""
    return "'" + str(text).replace("'", "''") + "'"


def run_query(run_id: str) -> Query:
    return Query("run", "The run", f"select * from runs where run_id = {literal(run_id)}")


def estimates_query(run_id: str, mode: str = "whole") -> Query:
    """The run's estimates of one mode: whole blocks, or the windows of a profile."""
    title = {"whole": "All estimates", "keep": "Windows alone", "remove": "All but a window"}[mode]
    text = (
        "select measure, x, y, z, estimator, value_nats, std_error_nats, ci_low_nats, ci_high_nats, n_samples, seed\n"
        "from run_estimates join estimates using (estimate_id)\n"
        f"where run_id = {literal(run_id)} and mode = {literal(mode)}\n"
        f"order by {'measure, x, y, z, seed, estimator' if mode == 'whole' else 'value_nats desc'}"
    )
    return Query(f"estimates-{mode}", title, text)


def corpora_query(run_id: str) -> Query:
    text = (
        "select distinct corpora.* from run_estimates join estimates using (estimate_id)\n"
        "join corpora on corpora.corpus_id in (estimates.corpus_id, estimates.reference_corpus_id)\n"
        f"where run_id = {literal(run_id)}"
    )
    return Query("corpora", "Corpora", text)


def models_query(run_id: str) -> Query:
    text = (
        "select distinct score_models.* from run_estimates join estimates using (estimate_id)\n"
        "join score_models on score_models.model_id in (estimates.model_id, estimates.reference_model_id)\n"
        f"where run_id = {literal(run_id)}"
    )
    return Query("models", "Score models", text)


def pointwise_query(estimate_id: str) -> Query:
    text = (
        "select sequence_index, sequence_id, value_nats from pointwise\n"
        f"where estimate_id = {literal(estimate_id)}\norder by value_nats desc, sequence_index"
    )
    return Query("pointwise", "Sequence by sequence", text)


def checks_query(run_id: str) -> Query:
    text = (
        "select name, claim, passed, observed_nats, expected_nats, tolerance_nats from checks\n"
        f"where run_id = {literal(run_id)}\norder by passed, name"
    )
    return Query("checks", "Consistency checks", text)


def read_run(home: Path, run_id: str) -> RunRows:
    """Read a run; an unknown run is an InputError that names the latest ones."""
    found = run_query(run_id).run(home)
    if found.is_empty():
        known = queries.run(home, "select run_id from runs order by started_at desc limit 5", [])
        remedy = f"the latest runs are {', '.join(known['run_id'])}" if len(known) else "run a study first"
        raise InputError(f"no run is called {run_id!r}", where=f"in the warehouse of {home}", remedy=remedy)
    return RunRows(
        run=_decoded(found.row(0, named=True)),
        quantities=_quantities(queries.run(home, _ESTIMATE_ROWS, [run_id])),
        corpora=_by_id(corpora_query(run_id).run(home), "corpus_id"),
        models=_by_id(models_query(run_id).run(home), "model_id"),
        checks=tuple(checks_query(run_id).run(home).iter_rows(named=True)),
    )


_ESTIMATE_ROWS = """
    select e.* replace (to_json(e.diagnostics)::varchar as diagnostics), r.reused, t.value_nats as truth_nats
    from run_estimates as r join estimates as e using (estimate_id)
    left join truths as t on t.bound = 'exact'
        and (t.study, t.corpus_id, t.measure, t.mode, t.x, t.y, t.z)
          = (e.study, e.corpus_id, e.measure, e.mode, e.x, e.y, e.z)
        and t.reference_corpus_id = coalesce(e.reference_corpus_id, '')
    where r.run_id = ?
    order by r.rowid
"""


def _quantities(rows: pl.DataFrame) -> tuple[Quantity, ...]:
    """Gather the rows of one quantity; a baseline without a model belongs to every model's."""
    gathered: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        gathered.setdefault(tuple(row[name] for name in _QUANTITY), []).append(row)
    found = []
    for group in gathered.values():
        models = list(dict.fromkeys(row["model_id"] for row in group if row["model_id"]))
        for model in models or [None]:
            found.append(_quantity(sorted((r for r in group if r["model_id"] in (model, None)), key=_rank)))
    return tuple(sorted(found, key=lambda q: _place(q.estimate)))


def _place(e: Estimate) -> tuple[int, list[tuple[str, int]]]:
    """Order of the page: by measure, then by block and position."""
    parts = re.findall(r"(\D+|)(\d+|)", f"{e.x};{e.y};{e.z}")
    return MEASURES.index(e.measure), [(text, int(digits or -1)) for text, digits in parts]


def _rank(row: Mapping[str, Any]) -> int:
    return ESTIMATORS.index(row["estimator"]) if row["estimator"] in ESTIMATORS else len(ESTIMATORS)


def _quantity(group: Sequence[Mapping[str, Any]]) -> Quantity:
    main, *others = (_estimate(row) for row in group)
    row = group[0]
    return Quantity(
        estimate=replace(main, others=tuple(others)),
        estimate_id=row["estimate_id"],
        corpus_id=row["corpus_id"] or "",
        reference_corpus_id=row["reference_corpus_id"] or "",
        model_id=row["model_id"] or "",
        seed=row["seed"],
        reused=bool(row["reused"]),
        truth=row["truth_nats"],
    )


def _estimate(row: Mapping[str, Any]) -> Estimate:
    return Estimate(
        measure=row["measure"],
        nats=_number(row["value_nats"]),
        std_error=_number(row["std_error_nats"]),
        ci_low=_number(row["ci_low_nats"]),
        ci_high=_number(row["ci_high_nats"]),
        n_samples=int(row["n_samples"] or 0),
        estimator=row["estimator"],
        mode=row["mode"],
        x=row["x"] or "",
        y=row["y"] or "",
        z=row["z"] or "",
        terminal_kl=_number(row["terminal_kl_nats"]),
        warnings=tuple(row["warnings"]),
        diagnostics=json.loads(row["diagnostics"]),
    )


def _number(value: float | None) -> float:
    return nan if value is None else float(value)


def _decoded(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its JSON columns read."""
    return {
        name: json.loads(value) if name in ("versions", "config") and value else value for name, value in row.items()
    }


def _by_id(frame: pl.DataFrame, key: str) -> dict[str, dict[str, Any]]:
    return {row[key]: _decoded(row) for row in frame.sort(key).iter_rows(named=True)}
