"""One estimate beside its baselines, and many estimates one under another."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from infosedd.plotting.axes import figures, house_style, label, new_axes
from infosedd.plotting.palette import colour
from infosedd.results import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ESTIMATOR_NAMES: Mapping[str, str] = {
    "loss_difference": "model, loss difference",
    "dynkin": "model, Dynkin",
    "plug_in": "plug-in count",
    "miller_madow": "Miller–Madow",
    "per_position_plug_in": "per-position plug-in",
}
_MODEL = ("loss_difference", "dynkin")


def plot_estimate(
    estimate: Estimate, ax: "Axes | None" = None, *, ceilings: Mapping[str, float] | None = None
) -> "Axes":
    """Draw an estimate, the same quantity by other estimators, and what it cannot exceed, in nats.

    ``ceilings`` are named vertical lines; by default ln n, and the entropy of y, where known.
    """
    rows = [estimate, *estimate.others]
    ax = new_axes(7.0, 0.9 + 0.34 * len(rows)) if ax is None else ax
    names = [ESTIMATOR_NAMES.get(row.estimator, row.estimator) for row in rows]
    plot_estimates(rows, ax, names=names, emphasise=0)
    _draw_ceilings(ax, ceilings_of(estimate) if ceilings is None else ceilings)
    return ax


def plot_estimates(
    estimates: Sequence[Estimate],
    ax: "Axes | None" = None,
    *,
    names: Sequence[str] | None = None,
    truths: Sequence[float | None] = (),
    emphasise: int | None = None,
) -> "Axes":
    """Draw a point and its 95 % interval for each estimate, first on top; ``truths`` are ticks beside them."""
    ax = new_axes(7.0, 0.9 + 0.34 * len(estimates)) if ax is None else ax
    names = [label(f"{e.measure.replace('_', ' ')} {e.x}") for e in estimates] if names is None else names
    for row, estimate in enumerate(estimates):
        role = "model" if estimate.estimator in _MODEL else "count"
        strong = emphasise is None or row == emphasise
        _draw_row(ax, row, estimate, colour(role), strong)
        truth = truths[row] if row < len(truths) else None
        if truth is not None:
            ax.plot([truth, truth], [row - 0.32, row + 0.32], color=colour("other"), linewidth=2)
    house_style(ax, grid="x")
    ax.set_ylim(len(estimates) - 0.4, -0.6)
    ax.set_yticks(range(len(estimates)), [label(name, 46) for name in names])
    for text in ax.get_yticklabels():
        text.set(color=colour("ink"), parse_math=False)
    ax.margins(x=0.16)
    low, high = ax.get_xlim()
    if 0 < low < 0.6 * high:
        ax.set_xlim(0, high)
    ax.set_xlabel("nats")
    return ax


def ceilings_of(estimate: Estimate) -> dict[str, float]:
    """Name -> nats of what the estimate, or a count of it, cannot exceed; from its or its others' diagnostics."""
    wanted = {
        "ln_n": "ln n",
        "entropy_x_nats": f"H({label(estimate.x, 20)})",
        "entropy_y_nats": f"H({label(estimate.y, 20)})",
    }
    found: dict[str, float] = {}
    for key, name in wanted.items():
        values = [e.diagnostics[key] for e in (estimate, *estimate.others) if key in e.diagnostics]
        if values and isfinite(values[0]):
            found[name] = float(values[0])
    return found


def _draw_row(ax: "Axes", row: int, estimate: Estimate, ink: str, strong: bool) -> None:
    if isfinite(estimate.ci_low) and isfinite(estimate.ci_high):
        ax.plot([estimate.ci_low, estimate.ci_high], [row, row], color=ink, linewidth=2.2 if strong else 1.4)
    size = 7 if strong else 5
    face = ink if strong else colour("paper")
    ax.plot([estimate.nats], [row], "o", color=ink, markerfacecolor=face, markersize=size, markeredgewidth=1.4)
    right = max(estimate.nats, estimate.ci_high) if isfinite(estimate.ci_high) else estimate.nats
    ax.annotate(
        figures(estimate.nats),
        (right, row),
        (7, 0),
        textcoords="offset points",
        va="center",
        fontsize=8.5,
        color=colour("ink"),
    )


def _draw_ceilings(ax: "Axes", ceilings: Mapping[str, float]) -> None:
    low, high = ax.get_xlim()
    inside = {name: value for name, value in ceilings.items() if value <= 1.6 * high}
    if inside:
        ax.set_xlim(low, max(high, 1.06 * max(inside.values())))
    low, high = ax.get_xlim()
    for name, value in inside.items():
        ax.axvline(value, color=colour("muted"), linewidth=1, linestyle=(0, (3, 2)))
        side = "right" if value > (low + high) / 2 else "left"
        _on_top(ax, value, f"{name} = {figures(value, 3)}", side)
    beyond = [f"{name} = {figures(value, 3)} \u2192" for name, value in ceilings.items() if name not in inside]
    if beyond:
        _on_top(ax, high, ", ".join(beyond), "right")


def _on_top(ax: "Axes", x: float, text: str, side: str) -> None:
    ax.annotate(
        text,
        (x, 1),
        (0, 3),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha=side,  # type: ignore[arg-type]
        fontsize=8.5,
        color=colour("muted"),
        annotation_clip=False,
    )
