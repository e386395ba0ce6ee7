"""What the sections of a page are built from: the run's rows, the stored corpus, the study."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from flows.report.rows import Quantity, RunRows
from infosedd.blocks import Block
from infosedd.corpus import Corpus
from infosedd.errors import InputError
from infosedd.plotting.profile import Site, Windows, span_of
from infosedd.results import MEASURES, Estimate

if TYPE_CHECKING:
    from flows.report.motifs import PlacedMotifs
    from flows.study import Study


@dataclass(frozen=True)
class Profile:
    """The windows of one question: mutual information of y with windows of one width over one block."""

    block: str
    y: str
    width: int
    mode: str
    corpus_id: str
    quantities: tuple[Quantity, ...]

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        return tuple(q.estimate for q in self.quantities)

    @property
    def slug(self) -> str:
        return f"profile-{self.mode}-{self.block}-{self.width}"


@dataclass(frozen=True)
class Context:
    """Everything a page shows; ``corpora`` are the stored ones that could be opened."""

    home: Path
    run_id: str
    rows: RunRows
    corpora: Mapping[str, Corpus]
    study: "Study | None"
    missing: tuple[str, ...]
    motifs: "PlacedMotifs | None" = None
    """Known motifs where the rows have them, where the study or the command names a file of them."""

    @cached_property
    def main(self) -> Quantity | None:
        """The quantity of the headline: what the study asks first, of whole blocks if it asks for any."""
        whole = self.rows.whole or self.rows.quantities
        if not whole:
            return None
        asked = [m.measure for m in self.study.measures if m.mode == "whole"] if self.study else []
        order = [*asked, *(m for m in MEASURES if m not in asked)]
        if not self.rows.whole:
            return max(whole, key=lambda q: q.estimate.nats)
        return min(whole, key=lambda q: order.index(q.estimate.measure) if q.estimate.measure in order else len(order))

    @property
    def several_corpora(self) -> bool:
        return len({quantity.corpus_id for quantity in self.rows.quantities}) > 1

    def in_corpus(self, corpus_id: str) -> str:
        """`` in NAME`` where the run has several corpora, else nothing."""
        return f" in {self.rows.corpora[corpus_id]['name']}" if self.several_corpora else ""

    @property
    def corpus(self) -> Corpus | None:
        """The corpus of the headline, where it is at hand."""
        if self.main is not None and self.main.corpus_id in self.corpora:
            return self.corpora[self.main.corpus_id]
        return next(iter(self.corpora.values()), None)

    @property
    def offset(self) -> int:
        """What position 0 is called."""
        return self.study.report.positions_offset if self.study else 0

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """The profiles of the run: each mode, block, target and width has its own."""
        gathered: dict[tuple[str, str, int, str, str], list[Quantity]] = {}
        for quantity in self.rows.quantities:
            e = quantity.estimate
            if e.mode == "whole":
                continue
            block, start, stop = span_of(e.x, self._length(quantity))
            gathered.setdefault((block, e.y, stop - start, e.mode, quantity.corpus_id), []).append(quantity)
        found = [Profile(*key, tuple(quantities)) for key, quantities in gathered.items()]
        return tuple(sorted(found, key=lambda p: (p.block, p.y, p.width, p.mode)))

    def windows(self, profile: Profile) -> Windows:
        return Windows.of(profile, self.length(profile))

    def length(self, profile: Profile) -> int | None:
        corpus = self.corpora.get(profile.corpus_id)
        return corpus.block(profile.block).length if corpus else None

    def sites(self, block: str) -> tuple[Site, ...]:
        """What is marked in a block: the study's known sites, then the motifs that were placed in it."""
        of_motifs = self.motifs.sites if self.motifs and self.motifs.block == block else ()
        return (*self.known_sites(block), *of_motifs)

    def known_sites(self, block: str) -> tuple[Site, ...]:
        """The study's sites in a block, in order."""
        found = self.study.sites if self.study else ()
        return tuple(Site(s.name, s.start, s.stop) for s in found if s.block == block)

    def whole_of(self, profile: Profile) -> Estimate | None:
        """The information that the whole block of a profile has, if the run has it."""
        for quantity in self.rows.whole:
            e = quantity.estimate
            same = (e.measure, e.x, e.y, e.z) == (profile.estimates[0].measure, profile.block, profile.y, "")
            if same and quantity.corpus_id == profile.corpus_id:
                return e
        return None

    def label_block(self, profile: Profile | None = None) -> Block | None:
        """The block of one token that the question is about (a label), if there is one."""
        corpus = self.corpora.get(profile.corpus_id) if profile else self.corpus
        name = profile.y if profile else self.main.estimate.y if self.main else ""
        if corpus is None:
            return None
        return next((b for b in corpus.blocks if b.name == name and b.length == 1), None)

    def _length(self, quantity: Quantity) -> int | None:
        corpus = self.corpora.get(quantity.corpus_id)
        names = [block.name for block in corpus.blocks] if corpus else []
        return corpus.block(quantity.estimate.x).length if corpus and quantity.estimate.x in names else None


def open_corpora(home: Path, rows: RunRows) -> tuple[dict[str, Corpus], tuple[str, ...]]:
    """The run's stored corpora, and a sentence for each that is not at hand."""
    opened, missing = {}, []
    for corpus_id, row in rows.corpora.items():
        try:
            opened[corpus_id] = Corpus.load(home / "corpora" / corpus_id)
        except InputError as error:
            missing.append(
                f"Corpus {row['name']} could not be opened ({error.what}), so what is drawn from it is left out."
            )
    return opened, tuple(missing)
