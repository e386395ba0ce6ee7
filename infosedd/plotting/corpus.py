"""Pictures of what a corpus holds: bars, histograms, a matrix of pairs, lattices."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from infosedd.plotting.axes import figures, house_style, label, new_axes, shift_ticks
from infosedd.plotting.palette import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def percent(share: float) -> str:
    """A share of 0 to 1 in percent."""
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else f"{100 * share:.2g} %"


def plot_bars(
    values: np.ndarray,
    names: Sequence[str],
    ax: "Axes | None" = None,
    *,
    shown: Callable[[float], str] = percent,
    role: str = "count",
    upright: bool = False,
) -> "Axes":
    """One bar for each name with its value, written by ``shown``: lying, first on top, or upright for ordered bins."""
    ax = new_axes(4.0, 0.5 + 0.24 * len(names)) if ax is None else ax
    places = np.arange(len(names))
    texts = [label(name, 22) for name in names]
    top = max(float(np.max(values)), 1e-12)
    if upright:
        ax.bar(places, values, width=0.78, color=colour(role), linewidth=0)
        ax.set_xticks(places, texts)
        ax.set_ylim(0, 1.18 * top)
    else:
        ax.barh(places, values, height=0.72, color=colour(role), linewidth=0)
        ax.set_yticks(places, texts)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlim(0, 1.3 * top)
    house_style(ax, grid="")
    ax.tick_params(axis="x", length=0)
    ax.tick_params(labelbottom=upright, labelleft=not upright)
    for text in ax.get_xticklabels() if upright else ax.get_yticklabels():
        text.set(color=colour("ink"), parse_math=False)
    ax.spines["bottom"].set_visible(upright)
    for place, value in zip(places, values, strict=True):
        text, style = shown(float(value)), {"textcoords": "offset points", "fontsize": 8, "color": colour("muted")}
        if upright:
            ax.annotate(text.removesuffix(" %"), (place, value), (0, 2), ha="center", va="bottom", **style)
        else:
            ax.annotate(text, (value, place), (4, 0), ha="left", va="center", **style)
    return ax


def plot_histogram(
    values: np.ndarray,
    ax: "Axes | None" = None,
    *,
    weights: np.ndarray | None = None,
    bins: int = 60,
    role: str = "model",
    mean: float | None = None,
    unit: str = "nats",
) -> "Axes":
    """How many rows have which value; the mean is marked. Values past the outer 0.1 % fall in the end bins."""
    ax = new_axes(6.0, 2.2) if ax is None else ax
    edges = _edges(values, bins)
    low, high = edges[0], edges[-1]
    ax.hist(np.clip(values, low, high), bins=edges, weights=weights, color=colour(role), linewidth=0)
    house_style(ax)
    ax.set_ylim(0, 1.12 * ax.get_ylim()[1])
    if low < 0 < high:
        ax.axvline(0, color=colour("muted"), linewidth=0.8)
    if mean is not None:
        ax.axvline(mean, color=colour("ink"), linewidth=1.2)
        ax.annotate(
            f"mean {figures(mean, 3)}",
            (mean, 1),
            (5, -2),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            va="top",
            fontsize=8.5,
            color=colour("ink"),
        )
    ax.set_xlabel(unit)
    ax.set_ylabel("rows")
    return ax


def _edges(values: np.ndarray, bins: int) -> list[float]:
    """Edges of bins; whole numbers get bins that each hold equally many of them."""
    if values.dtype.kind in "iu":
        low, high = int(values.min()), int(values.max())
        step = -(-(high - low + 1) // bins)
        return (np.arange(low, high + step + 1, step) - 0.5).tolist()
    low, high = np.quantile(values, [0.001, 0.999]) if len(values) > 2000 else (values.min(), values.max())
    return np.linspace(low, high if high > low else low + 1, bins + 1).tolist()


def plot_matrix(
    nats: np.ndarray, ax: "Axes | None" = None, *, top: float | None = None, role: str = "model", offset: int = 0
) -> "Axes":
    """An (L, L) matrix of nats; 0 is clear paper and ``top`` (by default the maximum) full ink."""
    from matplotlib.colors import to_rgb

    ax = new_axes(4.5, 4.5) if ax is None else ax
    top = max(float(np.nanmax(nats)), 1e-12) if top is None else top
    ax.imshow(_inked(np.nan_to_num(nats) / top, to_rgb(colour(role))), interpolation="none", aspect="equal")
    house_style(ax, grid="")
    shift_ticks(ax, offset)
    ax.set_yticks(ax.get_xticks())
    ax.yaxis.set_major_formatter(ax.xaxis.get_major_formatter())
    for spine in ax.spines.values():
        spine.set(visible=True, color=colour("rule"))
    return ax


def plot_lattices(samples: np.ndarray, n_symbols: int, axes: "Sequence[Axes]", *, role: str = "model") -> None:
    """Draw (n, rows, columns) codes as squares, one lattice on each of the axes."""
    from matplotlib.colors import to_rgb

    for lattice, ax in zip(samples, axes, strict=False):
        shade = np.minimum(lattice, n_symbols) / max(n_symbols - 1, 1)
        ax.imshow(_inked(shade, to_rgb(colour(role))), interpolation="none", aspect="equal")
        ax.patch.set_alpha(0)
        ax.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)
        for spine in ax.spines.values():
            spine.set(color=colour("rule"))


def _inked(strength: np.ndarray, rgb: tuple[float, float, float]) -> np.ndarray:
    """An image of one ink whose opacity is the strength, so that it suits light and dark paper."""
    image = np.empty((*strength.shape, 4))
    image[..., :3] = rgb
    image[..., 3] = np.clip(strength, 0, 1)
    return image
