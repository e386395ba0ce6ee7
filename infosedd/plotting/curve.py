"""Estimates against a value that was varied, beside the exact curve."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from infosedd.plotting.axes import house_style, label, new_axes
from infosedd.plotting.palette import colour
from infosedd.results import NORMAL_95

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_curve(
    at: np.ndarray,
    values: np.ndarray,
    std_errors: np.ndarray,
    ax: "Axes | None" = None,
    *,
    exact: tuple[np.ndarray, np.ndarray] | None = None,
    marks: Mapping[str, float] | None = None,
) -> "Axes":
    """Draw a point and its 95 % interval at each value of ``at``, the ``exact`` line, and named upright ``marks``."""
    ax = new_axes(5.0, 3.0) if ax is None else ax
    if exact is not None:
        ax.plot(*exact, color=colour("other"), linewidth=1.4, zorder=2)
    half = NORMAL_95 * np.nan_to_num(std_errors)
    ax.errorbar(
        at,
        values,
        half,
        fmt="o",
        color=colour("model"),
        markersize=4,
        linewidth=0,
        elinewidth=1.8,
        capsize=2.5,
        zorder=3,
    )
    house_style(ax)
    ax.margins(x=0.04, y=0.12)
    low, high = ax.get_xlim()
    for name, place in (marks or {}).items():
        if low <= place <= high:
            _mark(ax, name, place)
    return ax


def _mark(ax: "Axes", name: str, place: float) -> None:
    ax.axvline(place, color=colour("muted"), linewidth=0.9, linestyle=(0, (3, 2)), zorder=1)
    ax.annotate(
        label(name, 20),
        (place, 1),
        (3, -8),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        fontsize=8,
        color=colour("muted"),
        parse_math=False,
    )
