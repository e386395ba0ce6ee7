"""House style of the axes: thin rules, no box, labels that show any text as it is."""

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from infosedd.plotting.palette import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RC: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica Neue", "Helvetica", "Arial", "Liberation Sans", "DejaVu Sans"],
    "font.size": 9.0,
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "infosedd",
    "path.simplify": False,
}
"""Settings under which the project draws its own figures; text is never read as mathematics."""

_UNSAFE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def label(text: object, limit: int = 40) -> str:
    """One printable line of text: control and direction characters become U+FFFD, long text is cut."""
    line = re.sub(r"[ \t\r\n]+", " ", str(text)).strip()
    shown = "".join("\ufffd" if unicodedata.category(c) in _UNSAFE_CATEGORIES else c for c in line)
    return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "…"


def figures(value: float, digits: int = 4) -> str:
    """A number in so many figures, with a true minus sign."""
    return f"{value:.{digits}g}".replace("-", "\u2212")


def write(ax: "Axes", x: float, y: float, text: object, **style: Any):
    """``ax.text`` that takes ``$`` and ``_`` as they are."""
    style = {"color": colour("ink"), "parse_math": False, **style}
    return ax.text(x, y, label(text, 80), **style)


def new_axes(width: float = 7.0, height: float = 3.0) -> "Axes":
    """Axes of a new figure, for a call that was given none."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def house_style(ax: "Axes", *, grid: str = "y") -> "Axes":
    """Keep the left and bottom rules, or only a grid, in muted ink."""
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set(color=colour("rule"), linewidth=0.8)
    ax.tick_params(colors=colour("muted"), labelcolor=colour("muted"), length=0, labelsize=8.5)
    ax.tick_params(axis="x", length=3, color=colour("rule"))
    ax.set_axisbelow(True)
    ax.patch.set_alpha(0)
    ax.grid(False)
    if grid:
        ax.grid(axis=grid, color=colour("rule"), linewidth=0.6)  # type: ignore[arg-type]
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=colour("muted"), fontsize=8.5)
    return ax


def shift_ticks(ax: "Axes", offset: int) -> None:
    """Show x positions under the names that the study gives them: position 0 is called ``offset``."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    low, high = ax.get_xlim()
    locator = MaxNLocator(nbins=8, integer=True, steps=[1, 2, 5, 10])
    named = locator.tick_values(low + offset, high + offset)
    ax.set_xticks([value - offset for value in named if low <= value - offset <= high])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: figures(value + offset, 9)))
