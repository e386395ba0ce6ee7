"""Figures laid out in points: panels of given heights under one another, or side by side."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flows.report.render import NARROW
from infosedd.plotting.axes import label
from infosedd.plotting.palette import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def is_narrow(width: float) -> bool:
    return width <= NARROW


def stacked(
    width: float,
    heights: Sequence[float],
    *,
    gaps: Sequence[float] = (),
    left: float = 40,
    right: float = 8,
    top: float = 22,
    bottom: float = 34,
) -> "tuple[Figure, list[Axes]]":
    """One axes for each height, first on top; ``gaps`` lie between them."""
    from matplotlib.figure import Figure

    total = top + sum(heights) + sum(gaps) + bottom
    figure = Figure(figsize=(width / 72, total / 72))
    axes, y = [], total - top
    for i, height in enumerate(heights):
        y -= height
        box = (left / width, y / total, (width - left - right) / width, height / total)
        axes.append(figure.add_axes(box))
        y -= gaps[i] if i < len(gaps) else 0
    return figure, axes


def grid(
    width: float,
    boxes: Sequence[float],
    *,
    columns: int,
    left: float = 46,
    gap: float = 14,
    top: float = 22,
    bottom: float = 12,
) -> "tuple[Figure, list[Axes]]":
    """Axes of given heights in reading order over so many columns; a row is as high as its highest."""
    from matplotlib.figure import Figure

    columns = min(columns, len(boxes))
    rows = [list(boxes[i : i + columns]) for i in range(0, len(boxes), columns)]
    total = sum(top + max(row) + bottom for row in rows)
    figure = Figure(figsize=(width / 72, total / 72))
    cell = (width - gap * (columns - 1)) / columns
    axes, y = [], total
    for row in rows:
        for column, height in enumerate(row):
            x, low = column * (cell + gap) + left, y - top - height
            axes.append(figure.add_axes((x / width, low / total, (cell - left - 6) / width, height / total)))
        y -= top + max(row) + bottom
    return figure, axes


def heading(ax: "Axes", text: str, *, up: float = 6, left: float | None = None) -> None:
    """A panel's heading, above its axes and in line with the figure's left edge."""
    indent = -ax.get_position().x0 * ax.figure.get_figwidth() * 72 if left is None else left  # type: ignore[union-attr]
    ax.annotate(
        label(text, 120),
        (0, 1),
        (indent, up),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9,
        fontweight="bold",
        color=colour("ink"),
        parse_math=False,
        annotation_clip=False,
    )
