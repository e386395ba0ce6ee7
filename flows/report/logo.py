"""The sequence logo of the most informative window."""

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from flows.report.context import Context
from flows.report.counts import (
    commonest,
    has_letters,
    label_counts,
    letter_heights,
    position_counts,
    symbol_information,
)
from flows.report.layout import heading, stacked
from flows.report.render import NARROW, WIDE, Picture
from flows.report.words import number
from infosedd.blocks import Block
from infosedd.corpus import Corpus
from infosedd.plotting.profile import Site, plot_sites
from infosedd.plotting.sequence import plot_logo

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from flows.report.footprint import axis_name, place

LOGO_MARGIN = 4
LOGO_WIDTH_LIMIT = 60
LOGO_LEFT, LOGO_RIGHT = 36.0, 8.0
CLASSES_LIMIT = 3
"""With more classes than this a logo is drawn of all rows together."""


def logo(context: Context) -> Picture | None:
    """Letters of the most informative window: how common they are, and what each tells about the label."""
    profile = next((p for p in context.profiles if p.mode == "keep"), None)
    corpus = context.corpora.get(profile.corpus_id) if profile else None
    if profile is None or corpus is None:
        return None
    block, label = corpus.block(profile.block), context.label_block(profile)
    if not has_letters(block) or profile.width > LOGO_WIDTH_LIMIT:
        return None
    windows = context.windows(profile)
    best = int(windows.nats.argmax())
    window = int(windows.starts[best]), int(windows.stops[best])
    span = slice(max(window[0] - LOGO_MARGIN, 0), min(window[1] + LOGO_MARGIN, block.length))
    panels = _logo_panels(corpus, block, label, span)
    where = place(context, *window)

    def draw(width: float) -> "Figure":
        return _draw_logo(context, panels, block, span, window, width)

    told = f" The last panel: what each letter adds to the information about {label.name}." if label else ""
    return Picture(
        slug="logo",
        title=f"The most informative window: {where}",
        alt=f"Sequence logo around {where} of {block.name}; commonest letters: {_commonest(corpus, block, span)}.",
        caption=(
            f"Shaded: the window, {number(float(windows.nats[best]), 3)} nats. "
            f"Letter heights are shares times conservation (2 bits is one letter always, for four letters).{told}",
        ),
        draw=draw,
        data={"logo": _logo_table(panels, block, span)},
        only_width=max(NARROW, min(WIDE, LOGO_LEFT + LOGO_RIGHT + 26.0 * (span.stop - span.start))),
    )


def _logo_panels(corpus: Corpus, block: Block, label: Block | None, span: slice) -> list[tuple[str, np.ndarray]]:
    """Heading and (L, N) heights of each panel."""
    symbols = label.vocabulary.symbols if label else ()
    if label is None or len(symbols) > CLASSES_LIMIT:
        panels = [("All rows, bits", letter_heights(position_counts(corpus, block)[span]))]
    else:
        codes = corpus.tokens[label.name][:, 0]
        panels = [
            (f"{label.name} = {symbol}, bits", letter_heights(position_counts(corpus, block, codes == code)[span]))
            for code, symbol in enumerate(symbols)
        ]
    if label is not None:
        told = symbol_information(label_counts(corpus, block, label))[span]
        panels.append((f"What each letter tells about {label.name}, nats", np.maximum(told, 0)))
    return panels


def _draw_logo(
    context: Context,
    panels: list[tuple[str, np.ndarray]],
    block: Block,
    span: slice,
    window: tuple[int, int],
    width: float,
) -> "Figure":
    figure, axes = stacked(
        width, [78.0] * len(panels), gaps=[42.0] * (len(panels) - 1), left=LOGO_LEFT, right=LOGO_RIGHT, top=22
    )
    shared = max(float(h.sum(axis=1).max()) for _, h in panels[: len(panels) - 1] or panels)
    for i, ((title, heights), ax) in enumerate(zip(panels, axes, strict=True)):
        plot_logo(heights, block.vocabulary.symbols, ax, start=span.start, offset=context.offset)
        plot_sites(ax, [Site("", *window)], named=False)
        top = float(heights.sum(axis=1).max()) if i == len(panels) - 1 else shared
        ax.set_ylim(0, 1.05 * max(top, 1e-9))
        ax.locator_params(axis="y", nbins=4)
        heading(ax, title, up=9)
    axes[-1].set_xlabel(axis_name(context, block.name))
    return figure


def _logo_table(panels: list[tuple[str, np.ndarray]], block: Block, span: slice) -> pl.DataFrame:
    rows = [
        {"panel": title, "position": span.start + i, "symbol": symbol, "height": float(heights[i, code])}
        for title, heights in panels
        for i in range(len(heights))
        for code, symbol in enumerate(block.vocabulary.symbols)
    ]
    return pl.DataFrame(rows)


def _commonest(corpus: Corpus, block: Block, span: slice) -> str:
    return "".join(commonest(corpus, block)[0][span])
