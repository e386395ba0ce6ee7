"""Pictures of the data: values sequence by sequence, a few rows, composition, lengths."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from flows.report.context import Context
from flows.report.counts import has_letters, lengths, symbol_shares, weights_of
from flows.report.layout import grid, heading, is_narrow, stacked
from flows.report.logo import CLASSES_LIMIT
from flows.report.render import Picture
from flows.report.rows import pointwise_query
from flows.report.words import formula, number
from infosedd.blocks import Block
from infosedd.corpus import Corpus
from infosedd.plotting.corpus import plot_bars, plot_histogram, plot_lattices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BARS_LIMIT = 20


def sequences(context: Context) -> Picture | None:
    """How the headline's value is spread over the sequences that it is the mean of."""
    if context.main is None:
        return None
    rows = pointwise_query(context.main.estimate_id).run(context.home)
    if rows.height < 20:
        return None
    estimate, values = context.main.estimate, rows["value_nats"].to_numpy()
    weights = _row_weights(context, rows)
    negative = float(np.average(values < 0, weights=weights))
    quartiles = [float(q) for q in np.quantile(values, [0.25, 0.5, 0.75])]

    def draw(width: float) -> "Figure":
        figure, (ax,) = stacked(width, [130], left=44, right=12, top=10)
        plot_histogram(values, ax, weights=weights, mean=estimate.nats, bins=40 if is_narrow(width) else 80)
        return figure

    spread = f"Half of the rows lie between {number(quartiles[0], 3)} and {number(quartiles[2], 3)} nats"
    misled = ""
    if estimate.y and negative >= 0.001:
        misled = f"; for {number(100 * negative, 1)} % the value is below 0, where the model was misled"
    return Picture(
        slug="sequences",
        title="Sequence by sequence",
        alt=f"Histogram of {formula(estimate)} over {len(values):,} rows: median {number(quartiles[1], 3)} nats.",
        caption=(f"The headline is the mean of one value for each evaluated row. {spread}{misled}.",),
        draw=draw,
        data={"sequences": rows},
    )


def _row_weights(context: Context, rows: pl.DataFrame) -> np.ndarray | None:
    corpus = context.corpora.get(context.main.corpus_id) if context.main else None
    if corpus is None or corpus.weights is None:
        return None
    return weights_of(corpus)[rows["sequence_index"].to_numpy()]


def draws(context: Context) -> Picture | None:
    """A few rows of a corpus whose positions form a lattice."""
    corpus = context.corpus
    block = next((b for b in corpus.blocks if b.lattice and len(b.lattice) == 2), None) if corpus else None
    if corpus is None or block is None or block.lattice is None:
        return None
    count = min(6, corpus.n)
    rows = np.sort(np.random.default_rng(0).choice(corpus.n, count, replace=False))
    samples = corpus.tokens[block.name][rows].reshape(count, *block.lattice)

    def draw(width: float) -> "Figure":
        columns = 3 if is_narrow(width) else 6
        side = (width - 14 * (columns - 1)) / columns - 6
        height = side * samples.shape[1] / samples.shape[2]
        figure, axes = grid(width, [height] * count, columns=columns, left=0, top=4)
        plot_lattices(samples, block.vocabulary.size, axes)
        return figure

    size = " × ".join(map(str, block.lattice))
    table = pl.DataFrame({"row": rows, block.name: block.vocabulary.decode(corpus.tokens[block.name][rows])})
    return Picture(
        slug="draws",
        title="A few rows of the data",
        alt=f"{count} lattices of {size} sites drawn from the corpus.",
        caption=(f"{count} rows of {corpus.name}, drawn at random; {size} sites each.",),
        draw=draw,
        data={"draws": table},
    )


def composition(context: Context) -> Picture | None:
    """Share of each symbol in each block; by class for letters, where there are few classes."""
    corpus = context.corpus
    if corpus is None:
        return None
    panels = [panel for block in corpus.blocks[:6] for panel in _shares(context, corpus, block)]

    def draw(width: float) -> "Figure":
        heights = [90.0 if upright else 15.0 * len(names) for _, names, _, upright in panels]
        columns = 1 if is_narrow(width) else 3 if len(panels) > 2 else 2
        if len(panels) == 1:
            columns = 1
        room = _name_room(panels)
        figure, axes = grid(width, heights, columns=columns, left=room, bottom=18)
        for (title, names, shares, upright), ax in zip(panels, axes, strict=True):
            plot_bars(shares, names, ax, upright=upright)
            heading(ax, title, left=-room)
        return figure

    rows = [
        {"block": title, "symbol": name, "share": float(share)}
        for title, names, shares, _ in panels
        for name, share in zip(names, shares, strict=True)
    ]
    commonest = [f"{title}: {names[int(np.argmax(s))]} ({100 * s.max():.1f} %)" for title, names, s, _ in panels]
    where = f" of {corpus.name}" if context.several_corpora else ""
    said = [f"Share of each symbol over all rows{where} and positions, in percent."]
    if context.label_block() is not None:
        said.append("Mutual information depends on how common the labels are; other shares give another number.")
    return Picture(
        slug="composition",
        title="What the data is made of",
        alt=f"Share of each symbol. The commonest of {'; of '.join(commonest)}.",
        caption=tuple(said),
        draw=draw,
        data={"composition": pl.DataFrame(rows)},
    )


Panel = tuple[str, list[str], np.ndarray, bool]
"""Heading, names, shares, and whether the bars stand upright."""


def _shares(context: Context, corpus: Corpus, block: Block) -> list[Panel]:
    symbols = list(block.vocabulary.symbols)
    target = context.label_block()
    few = target is not None and target.name != block.name and target.vocabulary.size <= CLASSES_LIMIT
    if target is not None and few and has_letters(block):
        codes = corpus.tokens[target.name][:, 0]
        return [
            (f"{block.name} where {target.name} = {name}", symbols, symbol_shares(corpus, block, codes == code), False)
            for code, name in enumerate(target.vocabulary.symbols)
            if (codes == code).any()
        ]
    shares = symbol_shares(corpus, block)
    if len(symbols) > BARS_LIMIT:
        order = np.argsort(-shares)
        rest = float(shares[order[BARS_LIMIT:]].sum())
        names = [*(symbols[i] for i in order[:BARS_LIMIT]), f"{len(symbols) - BARS_LIMIT:,} others"]
        return [(block.name, names, np.append(shares[order[:BARS_LIMIT]], rest), False)]
    upright = block.length == 1 and 4 < len(symbols) <= 12 and max(map(len, symbols)) <= 5
    return [(block.name, symbols, shares, upright)]


def _name_room(panels: Sequence[Panel]) -> float:
    longest = max((min(len(name), 22) for _, names, _, upright in panels if not upright for name in names), default=1)
    return 8 + 5.0 * max(longest, 2)


def length_histogram(context: Context) -> Picture | None:
    """Lengths of the sequences of the first padded block, where they differ."""
    corpus = context.corpus
    block = next((b for b in corpus.blocks if b.vocabulary.pad is not None), None) if corpus else None
    if corpus is None or block is None:
        return None
    found = lengths(corpus, block)
    if found.min() == found.max():
        return None

    def draw(width: float) -> "Figure":
        figure, (ax,) = stacked(width, [110], left=44, right=12, top=10)
        bins = min(int(found.max() - found.min()) + 1, 40 if is_narrow(width) else 80)
        plot_histogram(found, ax, bins=bins, role="count", mean=float(found.mean()), unit="tokens", weights=None)
        return figure

    values, counts = np.unique(found, return_counts=True)
    low, middle, high = int(found.min()), float(np.median(found)), int(found.max())
    return Picture(
        slug="lengths",
        title=f"How long the sequences of {block.name} are",
        alt=f"Histogram of lengths of {block.name}: from {low} to {high}, median {middle:g}.",
        caption=(f"From {low:,} to {high:,} tokens, median {middle:g}; shorter ones are padded to {block.length:,}.",),
        draw=draw,
        data={"lengths": pl.DataFrame({"length": values, "rows": counts})},
    )
