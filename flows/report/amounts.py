"""Pictures of how much: the headline by other estimators, and all quantities of the run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from flows.report.context import Context
from flows.report.layout import heading, is_narrow, stacked
from flows.report.render import Picture
from flows.report.rows import Quantity
from flows.report.words import formula, listed, measure_name, number, of_which, sentence_case
from infosedd.plotting.axes import label
from infosedd.plotting.estimate import ESTIMATOR_NAMES, ceilings_of, plot_estimate, plot_estimates
from infosedd.results import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS_LIMIT = 40


def estimators(context: Context) -> Picture | None:
    """The headline beside the same quantity by other estimators and its ceilings."""
    if context.main is None or not context.main.estimate.others:
        return None
    estimate = context.main.estimate
    ceilings = ceilings_of(estimate)

    def draw(width: float) -> "Figure":
        left = 104.0 if is_narrow(width) else 130.0
        height = 28.0 * (1 + len(estimate.others))
        figure, (ax,) = stacked(width, [height], left=left, right=_room(width), top=24)
        plot_estimate(estimate, ax, ceilings=ceilings)
        return figure

    told = [
        f"{ESTIMATOR_NAMES.get(e.estimator, e.estimator)} {number(e.nats, 3)}" for e in (estimate, *estimate.others)
    ]
    return Picture(
        slug="estimators",
        title="The same quantity by other means",
        alt=f"{formula(estimate)} in nats by each estimator: {listed(told)}.",
        caption=tuple(_estimator_words(estimate, ceilings)),
        draw=draw,
        data={"estimators": estimate_table([estimate, *estimate.others])},
    )


def _room(width: float) -> float:
    """Points to the right of the axes, for the value of the highest estimate."""
    return 30.0 if is_narrow(width) else 14.0


def _estimator_words(estimate: Estimate, ceilings: dict[str, float]) -> list[str]:
    said = ["Points and 95 % intervals. Filled: the headline."]
    if estimate.other("dynkin"):
        said.append(
            "Two readings of the same model that agree within their errors are a sign that it has learned enough."
        )
    if {e.estimator for e in estimate.others} & {"plug_in", "miller_madow"}:
        limit = f" (here {number(ceilings['ln n'], 2)})" if "ln n" in ceilings else ""
        said.append(
            "Counts fail once there are more sequences than can be seen twice: they drift to their ceilings, "
            f"the entropy of either side or ln n{limit}, whatever the truth."
        )
    if estimate.other("per_position_plug_in"):
        said.append("The sum over single positions is right only where positions act apart.")
    return said


def all_estimates(context: Context) -> Picture | None:
    """Every whole quantity of the run, one under another, each measure on its own scale."""
    quantities = [q for q in context.rows.whole if not is_single_pair(q)][:ROWS_LIMIT]
    if len(quantities) < 2:
        return None
    groups: dict[str, list[Quantity]] = {}
    for quantity in quantities:
        groups.setdefault(quantity.estimate.measure, []).append(quantity)

    def draw(width: float) -> "Figure":
        heights = [10 + 22.0 * len(group) for group in groups.values()]
        left = 112.0 if is_narrow(width) else 190.0
        figure, axes = stacked(width, heights, gaps=[46.0] * (len(groups) - 1), left=left, right=_room(width))
        for (measure, group), ax in zip(groups.items(), axes, strict=True):
            names = [label(quantity_name(context, q), 22 if is_narrow(width) else 46) for q in group]
            plot_estimates([q.estimate for q in group], ax, names=names, truths=[q.truth for q in group])
            ax.set_xlabel("")
            heading(ax, f"{sentence_case(measure_name(measure))}, nats")
        return figure

    told = [f"{quantity_name(context, q)} {number(q.estimate.nats, 3)}" for q in quantities]
    truths = [q.truth for q in quantities]
    known = " Upright strokes: the exact answers." if any(truth is not None for truth in truths) else ""
    columns = [
        pl.Series("corpus", [context.rows.corpora.get(q.corpus_id, {}).get("name") for q in quantities], pl.String),
        pl.Series("truth_nats", truths, pl.Float64),
    ]
    return Picture(
        slug="quantities",
        title="All quantities of this run",
        alt=f"Estimates in nats: {listed(told)}.",
        caption=(f"Points and 95 % intervals, in nats.{known}",),
        draw=draw,
        data={"quantities": estimate_table([q.estimate for q in quantities]).with_columns(columns)},
    )


def quantity_name(context: Context, quantity: Quantity) -> str:
    """The formula, with corpus or seed where the run has several."""
    seeds = len({q.seed for q in context.rows.whole}) > 1
    corpus = None
    if context.several_corpora or quantity.reference_corpus_id:
        corpus = of_which(context.rows.corpora, quantity.corpus_id, quantity.reference_corpus_id)
    parts = [formula(quantity.estimate), corpus, f"seed {quantity.seed}" if seeds else None]
    return ", ".join(str(part) for part in parts if part)


def estimate_table(estimates: Sequence[Estimate]) -> pl.DataFrame:
    names = ("measure", "x", "y", "z", "estimator")
    columns = {name: [getattr(e, name) for e in estimates] for name in names}
    numbers = {
        "value_nats": [e.nats for e in estimates],
        "std_error_nats": [e.std_error for e in estimates],
        "ci_low_nats": [e.ci_low for e in estimates],
        "ci_high_nats": [e.ci_high for e in estimates],
        "n_samples": [e.n_samples for e in estimates],
    }
    return pl.DataFrame({**columns, **numbers})


def is_single_pair(quantity: Quantity) -> bool:
    """Whether it is the mutual information of two single positions: a cell of the pairwise matrix."""
    e = quantity.estimate
    return e.measure == "mutual_information" and all(text.endswith("]") and ":" not in text for text in (e.x, e.y))
