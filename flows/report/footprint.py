"""The picture of where along a sequence the information sits: the profile, with what counting shows beside it."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from flows.report.context import Context, Profile
from flows.report.counts import (
    Counted,
    commonest,
    has_letters,
    label_counts,
    per_position_information,
)
from flows.report.layout import heading, is_narrow, stacked
from flows.report.render import WIDE, Picture
from flows.report.words import listed, number
from infosedd.blocks import Block
from infosedd.corpus import Corpus
from infosedd.plotting.palette import colour
from infosedd.plotting.profile import NAME_HEIGHT, Windows, band_factor, place_names, plot_profile, plot_sites
from infosedd.plotting.sequence import plot_letters, plot_positions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEFT, RIGHT = 38.0, 8.0
LETTER_WIDTH = 6.5
"""Points that a letter needs for the row of commonest letters to be legible."""


def footprints(context: Context) -> list[Picture]:
    """A picture for each block, target and width, with its keep and remove profiles."""
    gathered: dict[tuple, dict[str, Profile]] = {}
    for profile in context.profiles:
        key = (profile.block, profile.y, profile.width, profile.corpus_id)
        gathered.setdefault(key, {})[profile.mode] = profile
    abouts = [(block, y, corpus_id) for block, y, _, corpus_id in gathered]
    return [
        _footprint(context, modes, several=abouts.count(about) > 1, again=about in abouts[:i])
        for i, (about, modes) in enumerate(zip(abouts, gathered.values(), strict=True))
    ]


def window_table(context: Context, profile: Profile) -> pl.DataFrame:
    """One row a window in order of position: span, nats, and both 95 % bands."""
    windows = context.windows(profile)
    single, band = windows.half_width(simultaneous=False), windows.half_width(simultaneous=True)
    return pl.DataFrame(
        {
            "window_start": windows.starts,
            "window_stop": windows.stops,
            "value_nats": windows.nats,
            "std_error_nats": windows.std_error,
            "ci_low_nats": windows.nats - single,
            "ci_high_nats": windows.nats + single,
            "band_low_nats": windows.nats - band,
            "band_high_nats": windows.nats + band,
        }
    )


def _footprint(context: Context, modes: dict[str, Profile], *, several: bool, again: bool) -> Picture:
    """The picture of one width; of ``several`` its title names it, and the counts are not drawn ``again``."""
    first = next(iter(modes.values()))
    corpus, label = context.corpora.get(first.corpus_id), context.label_block(first)
    block, length = corpus.block(first.block) if corpus else None, _length(context, first)
    counted = None if again else _counted(corpus, block, label)
    width_named = f", in windows of {first.width}" if several else ""
    which = f"{width_named}{context.in_corpus(first.corpus_id)}"
    letters = commonest(corpus, block) if corpus and block and has_letters(block) else None

    def draw(width: float) -> "Figure":
        return _draw(context, modes, counted, letters, block, width)

    data = {p.slug: window_table(context, p) for p in modes.values()}
    if counted is not None and letters is not None:
        data[f"positions-{first.block}-{first.width}"] = pl.DataFrame(
            {
                "position": np.arange(len(counted.nats)),
                "commonest": letters[0],
                "commonest_share": letters[1],
                "plug_in_nats": counted.nats,
                "chance_nats": np.full(len(counted.nats), counted.chance),
            }
        )
    if context.motifs is not None and context.motifs.block == first.block:
        data[f"motifs-{first.block}-{first.width}"] = context.motifs.frame()
    return Picture(
        slug=f"profile-{first.block}-{first.width}",
        title=f"Where in {first.block} the information about {first.y} sits{which}",
        alt=_alt(context, modes),
        caption=tuple(_caption(context, modes, counted, letters is not None and _letters_fit(WIDE, length))),
        draw=draw,
        data=data,
        tips=_tips(context, modes["keep"]) if "keep" in modes else {},
    )


def _counted(corpus: Corpus | None, block: Block | None, label: Block | None) -> Counted | None:
    if corpus is None or block is None or label is None or block.vocabulary.size > 400:
        return None
    return per_position_information(label_counts(corpus, block, label))


def _draw(
    context: Context,
    modes: dict[str, Profile],
    counted: Counted | None,
    letters: tuple[list[str], np.ndarray] | None,
    block: Block | None,
    width: float,
) -> "Figure":
    narrow = is_narrow(width)
    first = next(iter(modes.values()))
    sites, length = context.sites(first.block), _length(context, first)
    inner = width - LEFT - RIGHT
    names = place_names(sites, (-0.5, length - 0.5), inner)
    strip = NAME_HEIGHT * (1 + max(row for _, _, row, _ in names)) + 4 if names else 0.0
    with_letters = letters is not None and _letters_fit(width, length)

    kinds = [mode for mode in ("keep", "remove") if mode in modes]
    kinds[1:1] = ["letters"] * with_letters
    kinds += ["count"] * (counted is not None)
    sizes = {"keep": 150.0 if narrow else 190.0, "remove": 120.0, "letters": 13.0, "count": 80.0 if narrow else 100.0}
    after = {("keep", "letters"): 22.0, ("remove", "letters"): 22.0, "letters": 30.0}
    gaps = [after.get(pair, after.get(pair[0], 44.0)) for pair in pairwise(kinds)]
    figure, axes = stacked(
        width, [sizes[k] for k in kinds], gaps=gaps, left=LEFT, right=RIGHT, top=22 + strip, bottom=34
    )
    for i, (kind, ax) in enumerate(zip(kinds, axes, strict=True)):
        up = 6 + (strip if i == 0 else 0)
        if kind == "letters" and letters is not None and block is not None:
            plot_letters(*letters, ax, block.vocabulary.symbols, fontsize=min(9.0, 1.25 * inner / length))
            ax.set_xlim(-0.5, length - 0.5)
            plot_sites(ax, sites, named=False)
        elif kind == "count" and counted is not None:
            plot_positions(counted.nats, ax, chance=counted.chance, offset=context.offset)
            plot_sites(ax, sites, named=False)
            ax.set_ylabel("")
            heading(ax, "Each position, counted (plug-in), nats", up=up)
        else:
            _draw_windows(context, modes[kind], ax, i == 0, up)
    axes[-1].set_xlabel(axis_name(context, first.block))
    return figure


def _draw_windows(context: Context, profile: Profile, ax, named: bool, up: float) -> None:
    sites, length = context.sites(profile.block), context.length(profile)
    role = "model" if profile.mode == "keep" else "other"
    peaks = 4 if profile.mode == "keep" else 0
    plot_profile(profile, ax, length=length, offset=context.offset, role=role, peaks=peaks)
    plot_sites(ax, sites, named=named)
    ax.set_ylabel("")
    windows = context.windows(profile)
    if profile.mode == "keep":
        heading(ax, f"Windows of {profile.width} alone, nats", up=up)
        step = float(np.median(np.diff(windows.centres))) if len(windows) > 1 else 1.0
        for i, centre in enumerate(windows.centres):
            ax.axvspan(centre - step / 2, centre + step / 2, alpha=0, gid=f"window-{i}")
        return
    heading(ax, f"All but a window of {profile.width}, nats", up=up)
    half = windows.half_width(simultaneous=True)
    low, high = float(np.nanmin(windows.nats - half)), float(np.nanmax(windows.nats + half))
    whole = context.whole_of(profile)
    if whole is not None:
        ax.axhline(whole.nats, color=colour("muted"), linewidth=1, linestyle=(0, (3, 2)))
        low, high = min(low, whole.nats), max(high, whole.nats)
    ax.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))


def _length(context: Context, profile: Profile) -> int:
    """Positions of the block; without the corpus, as far as the windows reach."""
    return context.length(profile) or int(context.windows(profile).stops.max())


def _letters_fit(width: float, length: int) -> bool:
    return (width - LEFT - RIGHT) / length >= LETTER_WIDTH


def axis_name(context: Context, block: str) -> str:
    named = f" (the first is called {number(context.offset, 0)})" if context.offset else " (from 0)"
    return f"position in {block}{named}"


def place(context: Context, start: int, stop: int) -> str:
    """A window under the names that the study gives its positions: first to last."""
    first, last = number(start + context.offset, 0), number(stop - 1 + context.offset, 0)
    return first if stop - start == 1 else f"{first} to {last}"


def _tips(context: Context, profile: Profile) -> dict[str, str]:
    windows = context.windows(profile)
    return {
        f"window-{i}": f"{place(context, int(start), int(stop))}: {number(nats, 4)} ± {number(error, 4)} nats"
        for i, (start, stop, nats, error) in enumerate(
            zip(windows.starts, windows.stops, windows.nats, windows.std_error, strict=True)
        )
    }


def _peak_words(context: Context, windows: Windows, count: int = 4) -> list[str]:
    return [
        f"{place(context, int(windows.starts[i]), int(windows.stops[i]))} ({number(float(windows.nats[i]), 3)} nats)"
        for i in windows.clear_peaks(count)
    ]


def _alt(context: Context, modes: dict[str, Profile]) -> str:
    profile = modes.get("keep") or next(iter(modes.values()))
    windows = context.windows(profile)
    low, high = number(float(windows.nats.min()), 3), number(float(windows.nats.max()), 3)
    words = [
        f"Information profile of {profile.block} about {profile.y}: {len(windows)} windows of {profile.width} "
        f"positions, from {low} to {high} nats."
    ]
    if peaks := _peak_words(context, windows):
        words.append(f"Highest at {listed(peaks)}.")
    if sites := context.sites(profile.block):
        words.append("Marked sites: " + listed([f"{s.name} at {place(context, s.start, s.stop)}" for s in sites]) + ".")
    return " ".join(words)


def _caption(context: Context, modes: dict[str, Profile], counted: Counted | None, letters: bool) -> list[str]:
    first = next(iter(modes.values()))
    windows = context.windows(first)
    said = []
    if "keep" in modes:
        peaks = _peak_words(context, context.windows(modes["keep"]))
        found = f" Peaks: {listed(peaks)}." if peaks else " No window is clear of 0."
        said.append(
            f"What a window of {first.width} positions tells about {first.y} when it is all that is read, "
            f"drawn over its centre.{found}"
        )
    if "remove" in modes:
        whole = ", against the whole (dashed)" if context.whole_of(modes["remove"]) else ""
        said.append(f"What is left when a window is hidden and all else is read{whole}: a dip is what only it tells.")
    said.append(
        f"Dark band: 95 % for one window. Light band: 95 % for all {len(windows)} at once "
        f"(Bonferroni, {band_factor(len(windows)):.2f} standard errors). Values are not cut off at 0."
    )
    if context.known_sites(first.block):
        said.append("Shaded: sites known beforehand, which the model was not told.")
    if context.motifs is not None and context.motifs.block == first.block:
        said.append(context.motifs.caption)
    if letters:
        said.append("Letters: the commonest at each position, faint where fewer than half of the rows have it.")
    if counted is not None:
        said.append(
            f"Below, the classical picture: mutual information of one position and {first.y} by counting. "
            f"Dashed: what counting shows by chance ({number(counted.chance, 5)} nats)."
        )
    return said
