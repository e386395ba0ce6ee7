"""Quantities against the option that a study's grid varies, beside what is known exactly."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flows.report.context import Context
from flows.report.layout import grid, heading, is_narrow
from flows.report.render import Picture
from flows.report.rows import Quantity, Query, literal
from flows.report.table import Column, Table
from flows.report.words import SYMBOLS, digits, listed, measure_name, number, sentence_case, size_of
from infosedd.plotting.curve import plot_curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from connectors import Truth

STEPS = 24
"""Steps of the exact line."""
LEFT = 40.0
_ADDS_UP = ("entropy", "total_correlation")
"""Measures that grow with the number of positions, so that a position's share says something."""
Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Axis:
    """The option that varies, its value for each corpus, and the options that stay."""

    option: str
    of_corpus: Mapping[str, float]
    connector: str
    options: Mapping[str, Any]
    continuous: bool

    @property
    def span(self) -> tuple[float, float]:
        return min(self.of_corpus.values()), max(self.of_corpus.values())

    def truths(self, value: float) -> "dict[Key, Truth]":
        """What is known exactly at a value of the option."""
        asked = {**self.options, self.option: value if self.continuous else int(value)}
        return _truths(self.connector, json.dumps(asked, sort_keys=True))


@lru_cache(maxsize=1024)
def _truths(connector: str, options: str) -> "dict[Key, Truth]":
    """What is known of a connector's draws with options given as JSON; a page asks several times."""
    import connectors

    return {(t.measure, t.x, t.y, t.z): t for t in connectors.truths(connector, json.loads(options))}


@dataclass(frozen=True)
class Curve:
    """Estimates in order of the option: (m,) arrays, NaN where something is not known; ``line`` is the exact curve."""

    slug: str
    title: str
    at: np.ndarray
    values: np.ndarray
    std_errors: np.ndarray
    exact: np.ndarray
    line: tuple[np.ndarray, np.ndarray] | None
    key: Key | None = None
    note: str = field(default="", compare=False)


def axis_of(context: Context) -> Axis | None:
    """The axis of the run's grid, where just one option varies and its values are numbers."""
    study = context.study
    if study is None or study.compare is not None or not study.source.connector:
        return None
    varied = {name: values for name, values in study.grid.items() if len(set(values)) > 1}
    fixed = {name: values[0] for name, values in study.grid.items() if name not in varied}
    if len(varied) != 1:
        return None
    ((option, values),) = varied.items()
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return None
    found = {key: _value_of(context, key, option) for key in context.rows.corpora}
    known = {key: value for key, value in found.items() if value is not None}
    if len(set(known.values())) < 2:
        return None
    continuous = any(isinstance(value, float) for value in values)
    return Axis(option, known, study.source.connector, {**study.source.options, **fixed}, continuous)


def curves_of(context: Context) -> list[Curve]:
    """One curve for each question of a grid, and those that the connector's own module derives."""
    axis = axis_of(context)
    if axis is None:
        return []
    found = [_curve(context, axis, key, group) for key, group in _asked(context, axis).items()]
    if axis.connector == "ising" and axis.option == "temperature":
        from flows.report.ising import derived

        found += derived(context, axis, found)
    return found


def curves(context: Context) -> Picture | None:
    """All curves of a grid, a panel each."""
    found, axis = curves_of(context), axis_of(context)
    if not found or axis is None or context.study is None:
        return None
    marks = {mark.name: mark.at for mark in context.study.report.marks}

    def draw(width: float) -> "Figure":
        columns = 1 if is_narrow(width) or len(found) == 1 else 2
        figure, axes = grid(width, [150.0] * len(found), columns=columns, left=LEFT, gap=18, top=24, bottom=36)
        for curve, ax in zip(found, axes, strict=True):
            plot_curve(curve.at, curve.values, curve.std_errors, ax, exact=curve.line, marks=marks)
            ax.set_xlabel(axis.option)
            heading(ax, curve.title, left=-LEFT)
        return figure

    low, high = axis.span
    shown = [f"{curve.title}, from {number(curve.values[0], 3)} to {number(curve.values[-1], 3)}" for curve in found]
    known = " Line: the exact answer." if any(curve.line is not None for curve in found) else ""
    marked = " Dashed: " + listed([f"{name}, {at:g}" for name, at in marks.items()]) + "." if marks else ""
    return Picture(
        slug="curves",
        title=f"Against {axis.option}",
        alt=f"Against {axis.option} from {low:g} to {high:g}: {'; '.join(shown)}.",
        caption=(
            f"Points: estimates, each from a model of its own, with 95 % intervals.{known}{marked}",
            *_notes(found),
        ),
        draw=draw,
        data={f"curve-{curve.slug}": _frame(axis, curve) for curve in found},
    )


def curve_tables(context: Context) -> list[Table]:
    """The estimates of each curve beside the exact answers."""
    axis = axis_of(context)
    return [_table(context, axis, curve) for curve in curves_of(context) if curve.key] if axis else []


def _value_of(context: Context, corpus_id: str, option: str) -> float | None:
    """The option's value, from the corpus's options or from its name."""
    corpus = context.corpora.get(corpus_id)
    value = corpus.provenance.options.get(option) if corpus else None
    if value is None:
        match = re.search(rf"\b{re.escape(option)}=(\S+)", str(context.rows.corpora[corpus_id]["name"]))
        value = match[1] if match else None
    try:
        return None if value is None else float(str(value))
    except ValueError:
        return None


def _asked(context: Context, axis: Axis) -> dict[Key, list[Quantity]]:
    """The whole quantities of each question, in order of the option."""
    groups: dict[Key, list[Quantity]] = {}
    for quantity in context.rows.whole:
        e = quantity.estimate
        if quantity.corpus_id in axis.of_corpus:
            groups.setdefault((e.measure, e.x, e.y, e.z), []).append(quantity)
    order = [spec.measure for spec in context.study.measures] if context.study else []
    ordered = sorted(groups, key=lambda key: order.index(key[0]) if key[0] in order else len(order))
    return {key: sorted(groups[key], key=lambda q: axis.of_corpus[q.corpus_id]) for key in ordered}


def _curve(context: Context, axis: Axis, key: Key, group: list[Quantity]) -> Curve:
    measure, x, y, z = key
    per, unit = _per(context, measure, x)
    at = np.array([axis.of_corpus[q.corpus_id] for q in group])
    asked = f"{x}; {y}" if y else x
    inside = f"{SYMBOLS[measure]}({asked} | {z})" if z else f"{SYMBOLS[measure]}({asked})"
    return Curve(
        slug="-".join(re.findall(r"\w+", " ".join(key).replace("_", "-"))),
        title=f"{sentence_case(measure_name(measure))} {inside}{unit}, nats",
        at=at,
        values=np.array([q.estimate.nats for q in group]) / per,
        std_errors=np.array([q.estimate.std_error for q in group]) / per,
        exact=_exact(axis, key, at) / per,
        line=_line(axis, key, at, per),
        key=key,
    )


def _per(context: Context, measure: str, x: str) -> tuple[int, str]:
    """By what to divide, and what the title says of it."""
    corpus = next(iter(context.corpora.values()), None)
    size = size_of(x, corpus)
    if not (context.study and context.study.report.per_position and measure in _ADDS_UP and size and corpus):
        return 1, ""
    block = corpus.block(corpus.select(x).parts[0][0])
    return size, " per spin" if block.vocabulary.size == 2 and block.lattice else " per position"


def _exact(axis: Axis, key: Key, at: np.ndarray) -> np.ndarray:
    truths = [axis.truths(float(value)).get(key) for value in at]
    return np.array([truth.nats if truth else np.nan for truth in truths])


def _line(axis: Axis, key: Key, at: np.ndarray, per: int) -> tuple[np.ndarray, np.ndarray] | None:
    if key not in axis.truths(float(at[0])):
        return None
    dense = np.unique(np.concatenate([np.linspace(*axis.span, STEPS + 1), at])) if axis.continuous else at
    return dense, _exact(axis, key, dense) / per


def _frame(axis: Axis, curve: Curve) -> pl.DataFrame:
    return pl.DataFrame(
        {axis.option: curve.at, "value": curve.values, "std_error": curve.std_errors, "exact": curve.exact}
    ).fill_nan(None)


def _notes(found: list[Curve]) -> list[str]:
    return [curve.note for curve in found if curve.note]


def _table(context: Context, axis: Axis, curve: Curve) -> Table:
    rows = []
    for at, value, error, exact in zip(curve.at, curve.values, curve.std_errors, curve.exact, strict=True):
        decimals = max(digits(error, value), 4)
        known = np.isfinite(exact)
        rows.append(
            (
                f"{at:g}",
                f"{number(value, decimals)} ± {number(error, decimals)}",
                *((number(exact, decimals), number(value - exact, decimals)) if known else ("–", "–")),
                number((value - exact) / error, 1) if known and error > 0 else "–",
            )
        )
    columns = (
        Column(axis.option, numeric=True),
        Column("nats", numeric=True),
        Column("exact, nats", numeric=True),
        Column("estimate less exact", numeric=True),
        Column("in standard errors", numeric=True),
    )
    error = np.abs(curve.values - curve.exact)
    note = f"At most {number(float(np.nanmax(error)), 4)} nats from exact." if np.isfinite(error).any() else ""
    return Table(f"curve-{curve.slug}", curve.title, note, columns, tuple(rows), _query(context.run_id, axis, curve))


def _query(run_id: str, axis: Axis, curve: Curve) -> Query:
    measure, x, y, z = curve.key or ("", "", "", "")
    text = (
        f"select regexp_extract(c.name, '{axis.option}=(\\S+)', 1)::double as {axis.option},\n"
        "  e.value_nats, e.std_error_nats, t.value_nats as exact_nats\n"
        "from run_estimates as r join estimates as e using (estimate_id) join corpora as c using (corpus_id)\n"
        "left join truths as t on t.bound = 'exact' and (t.study, t.corpus_id, t.measure, t.mode, t.x, t.y, t.z)\n"
        "  = (e.study, e.corpus_id, e.measure, e.mode, e.x, e.y, e.z)\n"
        f"where r.run_id = {literal(run_id)} and e.estimator = 'loss_difference' and e.mode = 'whole'\n"
        f"  and (e.measure, e.x, e.y, e.z) = ({literal(measure)}, {literal(x)}, {literal(y)}, {literal(z)})\n"
        f"order by {axis.option}"
    )
    return Query(f"curve-{curve.slug}", f"{curve.title}, against {axis.option}", text)
