"""The information profile: what each window of a sequence carries, with its error bands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol

import numpy as np

from infosedd.errors import InputError
from infosedd.plotting.axes import house_style, label, new_axes, shift_ticks, write
from infosedd.plotting.palette import colour
from infosedd.results import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVEL = 0.95


class HasEstimates(Protocol):
    """What a profile must have to be drawn: estimates whose x names the window."""

    @property
    def estimates(self) -> Sequence[Estimate]: ...


class HasSpan(Protocol):
    """A named span of positions, 0-based and half open."""

    @property
    def name(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...


@dataclass(frozen=True)
class Site:
    """A known site to mark on a profile; ``start`` and ``stop`` are 0-based, half open."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True)
class Windows:
    """The windows of a profile as arrays in order of position, values in nats."""

    block: str
    starts: np.ndarray
    stops: np.ndarray
    nats: np.ndarray
    std_error: np.ndarray

    @classmethod
    def of(cls, profile: HasEstimates, length: int | None = None) -> "Windows":
        """Read the windows from the estimates; ``length`` is that of the block, for a window that spans it."""
        if not profile.estimates:
            raise InputError("the profile has no windows", remedy="choose a window no wider than the block")
        spans = [span_of(e.x, length) for e in profile.estimates]
        if len({name for name, _, _ in spans}) > 1:
            raise InputError("the windows of a profile belong to different blocks", where=profile.estimates[0].x)
        order = sorted(range(len(spans)), key=lambda i: spans[i][1:])
        return cls(
            block=spans[0][0],
            starts=np.array([spans[i][1] for i in order]),
            stops=np.array([spans[i][2] for i in order]),
            nats=np.array([profile.estimates[i].nats for i in order], float),
            std_error=np.array([profile.estimates[i].std_error for i in order], float),
        )

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def centres(self) -> np.ndarray:
        return (self.starts + self.stops - 1) / 2

    @property
    def tiled(self) -> bool:
        """True where no two windows overlap."""
        return len(self) > 1 and bool((self.starts[1:] >= self.stops[:-1]).all())

    def half_width(self, *, simultaneous: bool) -> np.ndarray:
        """Half width of the 95 % band: for each window alone, or for all at once (Bonferroni)."""
        return band_factor(len(self) if simultaneous else 1) * self.std_error

    def peaks(self, count: int) -> list[int]:
        """Indices of the highest windows that no overlapping window exceeds, highest first."""
        chosen: list[int] = []
        for i in np.argsort(-self.nats, kind="stable"):
            if len(chosen) >= count:
                break
            overlapping = (self.starts < self.stops[i]) & (self.starts[i] < self.stops)
            if self.nats[i] == self.nats[overlapping].max() and not overlapping[chosen].any():
                chosen.append(int(i))
        return chosen

    def clear_peaks(self, count: int) -> list[int]:
        """Peaks that are clear of 0 by the band for all windows, and at least a fifth of the highest."""
        low = self.nats - self.half_width(simultaneous=True)
        return [i for i in self.peaks(count) if low[i] > 0 and self.nats[i] >= self.nats.max() / 5]


def span_of(expression: str, length: int | None = None) -> tuple[str, int, int]:
    """Block, start and stop of ``name[i:j]``, ``name[i]`` or, where the length is known, ``name``."""
    match = re.fullmatch(r"([A-Za-z_][A-Za-z0-9_.-]*)(?:\[(\d+)(?::(\d+))?\])?", expression)
    if match is None or (match[2] is None and length is None):
        raise InputError(f"{expression!r} is not one window of a block", remedy="a window is written name[i:j]")
    if match[2] is None:
        return match[1], 0, int(length or 0)
    return match[1], int(match[2]), int(match[3] or int(match[2]) + 1)


def band_factor(n_windows: int) -> float:
    """Standard errors from the centre to the edge of a band that holds all windows at 95 % (Bonferroni)."""
    return NormalDist().inv_cdf(1 - (1 - LEVEL) / (2 * n_windows))


def plot_profile(
    profile: HasEstimates,
    ax: "Axes | None" = None,
    *,
    sites: Sequence[HasSpan] = (),
    length: int | None = None,
    offset: int = 0,
    role: str = "model",
    peaks: int = 4,
) -> "Axes":
    """Draw each window over its centre, with the 95 % bands for one window and for all (Bonferroni).

    ``sites`` are shaded and named, ``offset`` is the name of position 0, ``peaks`` windows are labelled.
    """
    ax = new_axes(8.0, 3.0) if ax is None else ax
    windows = Windows.of(profile, length)
    ink = colour(role)
    style = {"step": "mid"} if windows.tiled else {}
    for simultaneous, alpha in ((True, 0.14), (False, 0.26)):
        half = windows.half_width(simultaneous=simultaneous)
        low, high = windows.nats - half, windows.nats + half
        ax.fill_between(windows.centres, low, high, color=ink, alpha=alpha, linewidth=0, **style)  # type: ignore[arg-type]
    drawn = "steps-mid" if windows.tiled else "default"
    marker = "o" if len(windows) <= 40 else None
    ax.plot(windows.centres, windows.nats, color=ink, linewidth=1.6, drawstyle=drawn, marker=marker, markersize=3)
    house_style(ax)
    ax.axhline(0, color=colour("muted"), linewidth=0.8, zorder=1.5)
    _set_limits(ax, windows, length)
    plot_sites(ax, sites)
    _name_peaks(ax, windows, peaks)
    ax.set_ylabel("nats")
    shift_ticks(ax, offset)
    return ax


def plot_sites(ax: "Axes", sites: Sequence[HasSpan], *, named: bool = True) -> None:
    """Shade the sites behind the curve and write their names above it, each as far up as it needs."""
    for site in sites:
        ax.axvspan(site.start - 0.5, site.stop - 0.5, color=colour("site"), linewidth=0, zorder=0.2)
    if not named:
        return
    from matplotlib.transforms import ScaledTranslation

    width = ax.get_position().width * ax.figure.get_figwidth() * 72  # type: ignore[union-attr]
    for text, centre, row, span in place_names(sites, ax.get_xlim(), width):
        raised = ax.get_xaxis_transform() + ScaledTranslation(
            0,
            (1 + NAME_HEIGHT * row) / 72,
            ax.figure.dpi_scale_trans,  # type: ignore[union-attr]
        )
        ax.plot(
            span,
            [1, 1],
            transform=raised,
            color=colour("ink"),
            linewidth=1.2,
            clip_on=False,
            scalex=False,
            scaley=False,
        )
        ax.annotate(
            text,
            (centre, 1),
            (0, 4 + NAME_HEIGHT * row),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            fontweight="bold",
            color=colour("ink"),
            parse_math=False,
            annotation_clip=False,
        )


NAME_HEIGHT = 13.0
"""Points that one row of names takes."""


PlacedName = tuple[str, float, int, tuple[float, float]]
"""Text, centre, row, and the span that it names."""


def place_names(sites: Sequence[HasSpan], limits: tuple[float, float], width: float) -> list[PlacedName]:
    """Where each name goes so that none covers another, on axes ``width`` points wide."""
    low, high = limits
    scale = (high - low) / max(width, 1.0)
    placed, ends = [], []
    for site in sorted(sites, key=lambda s: (s.start, s.stop)):
        text = label(site.name, 24)
        half = 0.5 * 5.4 * (len(text) + 1) * scale
        centre = min(max((site.start + site.stop - 1) / 2, low + half), high - half)
        span = site.start - 0.5, site.stop - 0.5
        row = next((i for i, end in enumerate(ends) if end <= min(centre - half, span[0])), len(ends))
        ends[row : row + 1] = [max(centre + half, span[1])]
        placed.append((text, centre, row, span))
    return placed


def _set_limits(ax: "Axes", windows: Windows, length: int | None) -> None:
    first, last = (0, length) if length else (int(windows.starts.min()), int(windows.stops.max()))
    ax.set_xlim(first - 0.5, last - 0.5)
    half = np.nan_to_num(windows.half_width(simultaneous=True))
    top, bottom = float((windows.nats + half).max()), float((windows.nats - half).min())
    room = max(top - min(bottom, 0), 1e-6)
    ax.set_ylim(min(bottom, 0) - 0.04 * room, max(top, 0) + 0.16 * room)


def _name_peaks(ax: "Axes", windows: Windows, count: int) -> None:
    top = windows.nats + windows.half_width(simultaneous=True)
    for i in windows.clear_peaks(count):
        text = f"{windows.nats[i]:.3f}"
        write(ax, windows.centres[i], top[i], text, fontsize=8.5, ha="center", va="bottom", color=colour("ink"))
