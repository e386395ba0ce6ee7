"""The picture of which positions depend on each other."""

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from flows.report.amounts import is_single_pair
from flows.report.context import Context
from flows.report.counts import can_pair, pairwise_information
from flows.report.layout import heading, is_narrow
from flows.report.render import Picture
from flows.report.words import number
from infosedd.plotting.axes import write
from infosedd.plotting.corpus import plot_bars, plot_matrix
from infosedd.plotting.palette import colour
from infosedd.plotting.profile import span_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAIRS_SHOWN = 12


def pairs(context: Context) -> Picture | None:
    """Mutual information of every two positions: by the model where the run asked for it, else by counting."""
    modelled = _modelled_pairs(context)
    if modelled is not None:
        (block, nats), chance = modelled, 0.0
        source = "Mutual information of two positions, read off the model."
    else:
        found = _counted_pairs(context)
        if found is None:
            return None
        block, nats, chance, source = found
    strongest = _strongest(nats)
    table = pl.DataFrame(
        [{"position_i": i, "position_j": j, "value_nats": float(nats[i, j])} for i, j in _upper(nats)],
        schema={"position_i": pl.Int64, "position_j": pl.Int64, "value_nats": pl.Float64},
    )
    i, j = strongest[0]
    best = f"{number(i + context.offset, 0)} with {number(j + context.offset, 0)} ({number(float(nats[i, j]), 4)} nats)"

    def draw(width: float) -> "Figure":
        return _draw_pairs(context, block, nats, chance, strongest, width)

    return Picture(
        slug="pairs",
        title=f"Which positions of {block} depend on each other",
        alt=f"Matrix of mutual information between positions of {block}; the strongest pair is {best}.",
        caption=(source, f"The strongest pair is {best}."),
        draw=draw,
        data={"pairs": table},
    )


def _modelled_pairs(context: Context) -> tuple[str, np.ndarray] | None:
    cells = [q.estimate for q in context.rows.whole if is_single_pair(q)]
    spans = [(span_of(e.x), span_of(e.y), e.nats) for e in cells]
    within = [(x[0], x[1], y[1], nats) for x, y, nats in spans if x[0] == y[0]]
    if len(within) < 3:
        return None
    block = within[0][0]
    size = 1 + max(max(i, j) for name, i, j, _ in within if name == block)
    matrix = np.full((size, size), np.nan)
    for name, i, j, nats in within:
        if name == block:
            matrix[i, j] = matrix[j, i] = nats
    return block, matrix


def _counted_pairs(context: Context) -> tuple[str, np.ndarray, float, str] | None:
    corpus = context.corpus
    if corpus is None:
        return None
    asked = [p.block for p in context.profiles]
    block = next((b for b in corpus.blocks if can_pair(b) and (not asked or b.name in asked)), None)
    if block is None:
        return None
    counted = pairwise_information(corpus, block)
    some = f" of {counted.n_rows:,} rows drawn at random" if counted.n_rows < corpus.n else ""
    source = (
        f"Mutual information of two positions by counting{some}; "
        f"chance alone shows about {number(counted.chance, 5)} nats."
    )
    if asked:
        source += " It says how the sequences were made, not what they do."
    return block.name, counted.nats, counted.chance, source


def _upper(nats: np.ndarray) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in np.argwhere(np.isfinite(nats)) if i < j]


def _strongest(nats: np.ndarray) -> list[tuple[int, int]]:
    return sorted(_upper(nats), key=lambda pair: -nats[pair])[:PAIRS_SHOWN]


def _draw_pairs(
    context: Context, block: str, nats: np.ndarray, chance: float, strongest: list[tuple[int, int]], width: float
) -> "Figure":
    from matplotlib.figure import Figure

    narrow = is_narrow(width)
    side, left = (width - 44, 36.0) if narrow else (330.0, 40.0)
    bars = 16.0 * len(strongest)
    total = 30 + side + 56 + (bars + 40 if narrow else 0)
    figure = Figure(figsize=(width / 72, total / 72))

    def box(x: float, top: float, w: float, h: float) -> tuple[float, float, float, float]:
        return x / width, (total - top - h) / total, w / width, h / total

    ax = figure.add_axes(box(left, 30, side, side))
    top = max(float(np.nanmax(nats)), 10 * chance, 1e-9)
    plot_matrix(nats, ax, top=top, offset=context.offset)
    for site in context.sites(block):
        ends = [site.start - 0.5, site.stop - 0.5]
        above = ax.get_xaxis_transform()
        ax.plot(ends, [1.015, 1.015], transform=above, color=colour("ink"), linewidth=3, clip_on=False, scalex=False)
    heading(ax, "Every two positions, nats", up=13)
    scale = figure.add_axes(box(left, 30 + side + 26, 120, 8))
    scale.imshow(_ramp(), aspect="auto", extent=(0, top, 0, 1), interpolation="none")
    scale.set_axis_off()
    write(scale, -0.02 * top, 0.5, "0", ha="right", va="center", fontsize=8, color=colour("muted"))
    write(scale, 1.03 * top, 0.5, f"{number(top, 4)} nats", va="center", fontsize=8, color=colour("muted"))
    x, y = (60.0, 30 + side + 56 + 22) if narrow else (left + side + 90, 30.0)
    best = figure.add_axes(box(x, y, width - x - 12, bars))
    named = [f"{number(i + context.offset, 0)} · {number(j + context.offset, 0)}" for i, j in strongest]
    values = np.array([nats[pair] for pair in strongest])
    plot_bars(values, named, best, role="model", shown=lambda value: number(value, 4))
    heading(best, "Strongest pairs, nats", up=13, left=-52)
    return figure


def _ramp() -> np.ndarray:
    from matplotlib.colors import to_rgb

    ramp = np.empty((1, 64, 4))
    ramp[..., :3] = to_rgb(colour("model"))
    ramp[..., 3] = np.linspace(0, 1, 64)
    return ramp
