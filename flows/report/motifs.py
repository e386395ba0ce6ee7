"""Known motifs on a page: where the rows of the corpus have them, as spans over the profile and as a table."""

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from flows.motifs import AGREEING_SHARE, FoundMotif, find_motifs, motifs_of, searched_block
from flows.report.context import Context, Profile
from flows.report.footprint import place
from flows.report.table import Column, Table
from flows.report.words import number
from flows.study import Motifs
from infosedd.plotting.axes import label
from infosedd.plotting.profile import Site

DRAWN_LIMIT = 8
"""So many motifs are drawn over a profile, those that most rows agree on first."""
LISTED_LIMIT = 40


@dataclass(frozen=True)
class PlacedMotifs:
    """The motifs of a file in one block of a corpus, and those of them too long for it."""

    file: str
    block: str
    threshold: float
    found: tuple[FoundMotif, ...]
    too_long: tuple[str, ...]

    @property
    def drawn(self) -> list[FoundMotif]:
        """Those whose place is none that chance would give, the surest first."""
        placed = [motif for motif in self.found if motif.is_placed]
        return sorted(placed, key=lambda motif: -motif.n_there / motif.n_rows)[:DRAWN_LIMIT]

    @property
    def sites(self) -> list[Site]:
        return [Site(spoken(motif), motif.start, motif.stop) for motif in self.drawn]

    @property
    def caption(self) -> str:
        """Where the marks of motifs come from, in a sentence."""
        if not self.drawn:
            return f"No motif of {self.file} is drawn: the rows that match it do not agree on a place."
        return (
            f"Motifs of {self.file} are marked where most rows have their best match (scoring at least "
            f"{100 * self.threshold:.0f} % of the way from the worst to the best possible)."
        )

    def frame(self) -> pl.DataFrame:
        """One row a motif, in the order of the file."""
        names = ("name", "consensus", "start", "stop", "strand", "label", "n_rows", "n_matched", "n_there")
        columns = {name: [getattr(motif, name) for motif in self.found] for name in names}
        numbers = {name: [getattr(motif, name) for motif in self.found] for name in ("by_chance", "p_value")}
        return pl.DataFrame({**columns, **numbers}, schema_overrides={"by_chance": pl.Float64, "p_value": pl.Float64})


def with_motifs(context: Context, options: Motifs) -> Context:
    """The context with the motifs of a file placed; an InputError where it can't be read or does not fit."""
    motifs = motifs_of(options)
    profile = next(iter(context.profiles), None)
    corpus = context.corpora.get(profile.corpus_id) if profile else context.corpus
    if corpus is None:
        return context
    block = searched_block(options, corpus, profile.block if profile else "")
    found = find_motifs(motifs, options, corpus, block, context.label_block(profile))
    too_long = [motif.name for motif in motifs if len(motif) > block.length]
    placed = PlacedMotifs(
        label(Path(options.path).name, 60), block.name, options.threshold, tuple(found), tuple(too_long)
    )
    return replace(context, motifs=placed)


def spoken(motif: FoundMotif) -> str:
    """The name, and that it is read on the other strand where it is."""
    return motif.name if motif.strand == "+" else f"{motif.name} (reverse)"


def motif_table(context: Context) -> Table | None:
    """Where each motif lies, how many rows agree, and what the window there carries."""
    placed = context.motifs
    if placed is None:
        return None
    profile = next((p for p in context.profiles if p.mode == "keep" and p.block == placed.block), None)
    order = sorted(placed.found, key=lambda motif: (not motif.is_placed, -motif.n_there / motif.n_rows))
    several = len({motif.label for motif in order}) > 1
    rows = []
    for motif in order[:LISTED_LIMIT]:
        there = f"{motif.n_there:,} ({number(100 * motif.n_there / motif.n_rows, 1)} %)"
        rows.append(
            (
                label(motif.name),
                label(motif.consensus, 30),
                _where(context, motif),
                *([label(motif.label)] if several else []),
                f"{motif.n_matched:,} of {motif.n_rows:,}",
                there,
                number(motif.by_chance, 1),
                *([_highest(context, profile, motif)] if profile else []),
            )
        )
    columns = (
        Column("motif"),
        Column("consensus", code=True),
        Column("commonest place"),
        *([Column("rows searched", wraps=True)] if several else []),
        Column("rows with a match", numeric=True),
        Column("rows at the place", numeric=True),
        Column("by chance", numeric=True),
        *([Column("highest window there, nats", numeric=True)] if profile else []),
    )
    return Table(
        "motifs", f"Known motifs of {placed.file} in {placed.block}", _note(placed), columns, tuple(rows), None
    )


def _note(placed: PlacedMotifs) -> str:
    labels = {motif.label for motif in placed.found if motif.label}
    searched = ""
    if labels:
        one = f"those with {label(min(labels))}" if len(labels) == 1 else "those of the label that fits best"
        searched = f" The rows searched are {one}."
    more = f" {len(placed.found) - LISTED_LIMIT} more are in the CSV file." if len(placed.found) > LISTED_LIMIT else ""
    long = f" Longer than the sequences: {label(', '.join(placed.too_long), 120)}." if placed.too_long else ""
    best = f"{100 * placed.threshold:.0f} % of the way from the worst to the best possible"
    agreeing = f"{100 * AGREEING_SHARE:.0f} % of the rows searched"
    return (
        f"A row matches a motif where it fits best, on either strand, if it scores at least {best} there.{searched} "
        "By chance: rows at each place, were all places alike. A motif is drawn where more than that, and "
        f"at least {agreeing}, agree.{more}{long}"
    )


def _where(context: Context, motif: FoundMotif) -> str:
    if not motif.n_matched:
        return "–"
    return place(context, motif.start, motif.stop) + ("" if motif.strand == "+" else ", reverse")


def _highest(context: Context, profile: Profile, motif: FoundMotif) -> str:
    """The most that a window of the profile that overlaps the motif carries."""
    windows = context.windows(profile)
    there = (windows.starts < motif.stop) & (motif.start < windows.stops)
    return number(float(windows.nats[there].max()), 3) if there.any() and motif.n_matched else "–"
