"""Where two compared corpora differ, by plain counting: position by position, and symbol by symbol."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from flows.report.context import Context
from flows.report.counts import SYMBOLS_LIMIT, position_counts, symbol_shares
from flows.report.footprint import axis_name
from flows.report.layout import heading, is_narrow, stacked
from flows.report.render import Picture
from flows.report.table import Column, Table
from flows.report.words import against, number
from infosedd.blocks import Block
from infosedd.corpus import Corpus
from infosedd.plotting.axes import label
from infosedd.plotting.profile import plot_sites
from infosedd.plotting.sequence import plot_positions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOP_ROWS = 12
VOCABULARY_LIMIT = 400
"""With more symbols than this a single position is too rarely counted to say how it differs."""


@dataclass(frozen=True)
class Differences:
    """KL of each position both ways, in nats: (L,) each; shares are (L, N)."""

    block: Block
    names: tuple[str, str]
    shares: tuple[np.ndarray, np.ndarray]
    nats: tuple[np.ndarray, np.ndarray]
    chance: float
    """What either is by chance, where the two laws are the same."""

    @classmethod
    def of(cls, p: Corpus, q: Corpus, block: Block) -> "Differences":
        """By counts, with half a count added to each symbol of the corpus that is compared with."""
        counts = [position_counts(corpus, block) for corpus in (p, q)]
        totals = [np.maximum(c.sum(axis=1, keepdims=True), 1e-300) for c in counts]
        shares = [c / total for c, total in zip(counts, totals, strict=True)]
        smooth = [(c + 0.5) / (c + 0.5).sum(axis=1, keepdims=True) for c in counts]
        nats = [_divergence(shares[0], smooth[1]), _divergence(shares[1], smooth[0])]
        seen = ((counts[0] + counts[1]) > 0).sum(axis=1)
        chance = float(np.median((seen - 1) * (0.5 / totals[0][:, 0] + 0.5 / totals[1][:, 0])))
        return cls(block, (p.name, q.name), (shares[0], shares[1]), (nats[0], nats[1]), chance)


def pair_of(context: Context) -> tuple[Corpus, Corpus] | None:
    """The two corpora that the run compares, where both are at hand; in the order of the study."""
    for quantity in context.rows.quantities:
        keys = (quantity.corpus_id, quantity.reference_corpus_id)
        if all(key in context.corpora for key in keys):
            p, q = (context.corpora[key] for key in keys)
            return _in_order(context, p, q)
    return None


def position_pictures(context: Context) -> list[Picture]:
    """For each block a picture of how far its positions differ, both ways."""
    return [_picture(context, found) for found in _differences(context)]


def comparison_tables(context: Context) -> list[Table]:
    """The positions that differ most, and of large vocabularies the symbols that do."""
    pair = pair_of(context)
    if pair is None:
        return []
    words = [block for block in pair[0].blocks if block.vocabulary.size > SYMBOLS_LIMIT]
    return [*(_positions(context, found) for found in _differences(context)), *(_symbols(*pair, b) for b in words)]


def _differences(context: Context) -> list[Differences]:
    pair = pair_of(context)
    if pair is None:
        return []
    return [Differences.of(*pair, block) for block in pair[0].blocks if block.vocabulary.size <= VOCABULARY_LIMIT]


def _in_order(context: Context, p: Corpus, q: Corpus) -> tuple[Corpus, Corpus]:
    """p before q as the label block of their mixture has them."""
    compare = context.study.compare if context.study else None
    labels = [
        block.vocabulary.symbols
        for corpus in context.corpora.values()
        for block in corpus.blocks
        if compare is not None and block.name == compare.block
    ]
    if labels and p.name.endswith(f" {labels[0][1]}") and not q.name.endswith(f" {labels[0][1]}"):
        return q, p
    return p, q


def _picture(context: Context, found: Differences) -> Picture:
    block, (p, q) = found.block, found.names
    best = int(np.argmax(found.nats[0] + found.nats[1]))
    titles = [f"{against(a, b)}, nats" for a, b in ((p, q), (q, p))]
    sites = context.sites(block.name)

    def draw(width: float) -> "Figure":
        height = 90.0 if is_narrow(width) else 120.0
        figure, axes = stacked(width, [height, height], gaps=[46], left=46, right=8, top=26 + 14 * bool(sites))
        top = max(float(np.nanmax(nats)) for nats in found.nats)
        for i, (ax, nats, title) in enumerate(zip(axes, found.nats, titles, strict=True)):
            plot_positions(nats, ax, chance=found.chance, offset=context.offset)
            plot_sites(ax, sites, named=i == 0)
            ax.set_ylim(0, 1.15 * max(top, found.chance, 1e-9))
            ax.set_ylabel("")
            heading(ax, title, up=6 + 14 * bool(sites and i == 0))
        axes[-1].set_xlabel(axis_name(context, block.name))
        return figure

    table = pl.DataFrame(
        {
            "position": np.arange(block.length),
            "kl_p_q_nats": found.nats[0],
            "kl_q_p_nats": found.nats[1],
            "chance_nats": np.full(block.length, found.chance),
        }
    )
    name = number(best + context.offset, 0)
    return Picture(
        slug=f"positions-{block.name}",
        title=f"Which positions of {block.name} differ",
        alt=f"Bars: divergence of each position of {block.name} between {p} and {q}, both ways; highest at {name}.",
        caption=(
            f"Kullback–Leibler divergence of single positions by counting, highest at {name} "
            f"({number(found.nats[0][best], 4)} and {number(found.nats[1][best], 4)} nats). "
            f"Dashed: what chance shows ({number(found.chance, 5)} nats).",
            "Positions add up to the divergence of the whole only where they are independent in both corpora.",
        ),
        draw=draw,
        data={f"positions-{block.name}": table},
    )


def _positions(context: Context, found: Differences) -> Table:
    symbols = found.block.vocabulary.symbols
    order = np.argsort(-(found.nats[0] + found.nats[1]), kind="stable")[:TOP_ROWS]
    rows = []
    for i in order:
        change = found.shares[0][i] - found.shares[1][i]
        up, down = int(change.argmax()), int(change.argmin())
        rows.append(
            (
                number(int(i) + context.offset, 0),
                *(number(float(nats[i]), 4) for nats in found.nats),
                *(_both(symbols[s], found.shares[0][i][s], found.shares[1][i][s]) for s in (up, down)),
                f"{found.block.name}[{i}]",
            )
        )
    p, q = found.names
    columns = (
        Column("position", numeric=True),
        Column("p against q, nats", numeric=True),
        Column("q against p, nats", numeric=True),
        Column("more in p"),
        Column("more in q"),
        Column("block expression", code=True),
    )
    return Table(
        f"positions-{found.block.name}",
        f"Positions of {found.block.name} that differ most",
        f"p is {p}, q is {q}; shares are of p, then of q. Counted from all rows of the two corpora.",
        columns,
        tuple(rows),
        None,
    )


def _both(symbol: str, in_p: float, in_q: float) -> str:
    return f"{label(symbol, 16)}: {number(100 * in_p, 1)} %, {number(100 * in_q, 1)} %"


def _symbols(p: Corpus, q: Corpus, block: Block) -> Table:
    """Symbols over all positions, by what each adds to the Jensen-Shannon divergence of one token."""
    shares = [symbol_shares(corpus, block) for corpus in (p, q)]
    middle = (shares[0] + shares[1]) / 2
    adds = (_terms(shares[0], middle) + _terms(shares[1], middle)) / 2
    rows = tuple(
        (
            label(block.vocabulary.symbols[i], 24),
            *(f"{number(100 * float(share[i]), 3)} %" for share in shares),
            number(float(adds[i]), 5),
        )
        for i in np.argsort(-adds, kind="stable")[:TOP_ROWS]
    )
    columns = (
        Column("symbol", code=True),
        Column("of p", numeric=True),
        Column("of q", numeric=True),
        Column("adds, nats a token", numeric=True),
    )
    note = (
        f"p is {p.name}, q is {q.name}. All tokens of a corpus taken as one, their Jensen–Shannon divergence is "
        f"{number(float(adds.sum()), 4)} nats. Counted from all rows of the two corpora."
    )
    return Table(f"symbols-{block.name}", f"Symbols of {block.name} that differ most", note, columns, rows, None)


def _divergence(share: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(L,) SUM of share ln(share / other)."""
    return _terms(share, other).sum(axis=-1)


def _terms(share: np.ndarray, other: np.ndarray) -> np.ndarray:
    ratio = np.divide(share, other, out=np.ones_like(share), where=(share > 0) & (other > 0))
    return share * np.log(ratio)
