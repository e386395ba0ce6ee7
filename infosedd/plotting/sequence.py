"""Pictures of positions: a sequence logo, a row of letters, one bar a position."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from infosedd.errors import InputError
from infosedd.plotting.axes import house_style, label, new_axes, shift_ticks, write
from infosedd.plotting.palette import colour, letter_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_logo(
    heights: np.ndarray, symbols: Sequence[str], ax: "Axes | None" = None, *, start: int = 0, offset: int = 0
) -> "Axes":
    """Stack letters: ``heights`` (L, N) is the height of each symbol at positions from ``start``.

    Letters lower than 1/250 of the highest stack could not be seen and are not drawn.
    """
    import logomaker
    import pandas as pd

    if heights.shape[1] != len(symbols) or any(len(s) != 1 for s in symbols):
        raise InputError("a logo needs one column for each one-letter symbol", remedy="choose a block of letters")
    ax = new_axes(0.4 + 0.32 * len(heights), 1.8) if ax is None else ax
    seen = np.where(heights < 0.004 * heights.sum(axis=1).max(), 0, heights)
    table = pd.DataFrame(seen, index=range(start, start + len(heights)), columns=list(symbols))
    colours = letter_colours(symbols)
    logomaker.Logo(table, ax=ax, color_scheme=colours, show_spines=False, vpad=0.02, zorder=2)
    house_style(ax)
    ax.set_xlim(start - 0.5, start + len(heights) - 0.5)
    shift_ticks(ax, offset)
    return ax


def plot_letters(
    letters: Sequence[str], shares: np.ndarray, ax: "Axes", symbols: Sequence[str], *, fontsize: float = 8.0
) -> "Axes":
    """Write the commonest letter of each position; a letter that fewer than half the rows have is faint."""
    colours = letter_colours(symbols)
    for position, (letter, share) in enumerate(zip(letters, shares, strict=True)):
        alpha = 1.0 if share >= 0.5 else 0.45
        style = {"color": colours.get(letter, colour("muted")), "alpha": alpha, "family": "monospace"}
        write(ax, position, 0.5, letter, ha="center", va="center", fontsize=fontsize, fontweight="bold", **style)
    ax.set_ylim(0, 1)
    ax.patch.set_alpha(0)
    ax.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def plot_positions(
    nats: np.ndarray, ax: "Axes | None" = None, *, chance: float = 0.0, role: str = "count", offset: int = 0
) -> "Axes":
    """One bar for each position, and the height that counting reaches by chance alone."""
    ax = new_axes(8.0, 2.0) if ax is None else ax
    ax.bar(np.arange(len(nats)), nats, width=0.8, color=colour(role), linewidth=0)
    house_style(ax)
    if chance > 0:
        ax.axhline(chance, color=colour("ink"), linewidth=0.9, linestyle=(0, (3, 2)))
    ax.set_xlim(-0.5, len(nats) - 0.5)
    ax.set_ylim(0, 1.15 * max(float(np.nanmax(nats)), chance, 1e-9))
    ax.set_ylabel(label("nats"))
    shift_ticks(ax, offset)
    return ax
