"""Where known motifs lie in a corpus: the place that most rows give as their best match."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from connectors.motif_files import LETTERS, Motif
from connectors.motifs import read_motifs
from flows.study import Motifs
from infosedd.blocks import Block, near_names
from infosedd.corpus import Corpus
from infosedd.errors import InputError

MOTIFS_LIMIT = 200
ROWS_LIMIT = 5000
"""Of more rows so many are searched, drawn at random."""
LABELS_LIMIT = 3
"""With more labels than this all rows are searched together."""
CHANCE = 0.01
AGREEING_SHARE = 0.05
"""A motif has a place if that part of all searched rows agree on one, and chance would not have it."""


@dataclass(frozen=True)
class FoundMotif:
    """Where in a block a motif lies: a named span, 0-based and half open, that ``n_there`` rows agree on.

    ``n_rows`` rows were searched, of which ``n_matched`` have a match. Were all places and both strands alike,
    ``by_chance`` rows would lie at each, and so many at one of them with a chance of ``p_value``. ``label`` names
    the searched rows, empty for all.
    """

    name: str
    consensus: str
    start: int
    stop: int
    strand: str
    label: str
    n_rows: int
    n_matched: int
    n_there: int
    by_chance: float
    p_value: float

    @property
    def is_placed(self) -> bool:
        """Do enough rows agree on the place, and more than chance would have it?"""
        return self.p_value < CHANCE and self.n_there >= AGREEING_SHARE * self.n_rows


def motifs_of(options: Motifs) -> tuple[Motif, ...]:
    """The motifs of the study's file; an InputError where it can't be read, or holds too many."""
    found = read_motifs(options.path, options.format)
    if len(found) > MOTIFS_LIMIT:
        raise InputError(
            f"the file has {len(found)} motifs, more than the {MOTIFS_LIMIT} that a page shows",
            where=options.path,
            remedy="keep those of interest",
        )
    return found


def check_motifs(options: Motifs, corpus: Corpus) -> None:
    """An InputError where the file can't be read, or does not fit the corpus."""
    motifs_of(options)
    searched_block(options, corpus)
    symbols = [symbol for block in corpus.blocks if block.length == 1 for symbol in block.vocabulary.symbols]
    if options.rows and options.rows not in symbols:
        raise InputError(
            f"no label is called {options.rows!r}", where="motifs.rows", remedy=near_names(options.rows, symbols)
        )


def searched_block(options: Motifs, corpus: Corpus, preferred: str = "") -> Block:
    """The block that is searched: as the options say, else the preferred one, else the first of DNA or RNA."""
    if options.block:
        return corpus.block(options.block)
    fitting = [block for block in corpus.blocks if _letter_codes(block) is not None and block.length > 1]
    if not fitting:
        raise InputError(
            "no block holds the letters of DNA or RNA",
            where=f"in corpus {corpus.name!r}",
            remedy="motifs are searched in single letters: leave them out",
        )
    return next((block for block in fitting if block.name == preferred), fitting[0])


def find_motifs(
    motifs: Sequence[Motif], options: Motifs, corpus: Corpus, block: Block, label: Block | None
) -> list[FoundMotif]:
    """Each motif where most rows have their best match, of both strands, at or above the threshold.

    The rows are those of the label ``options.rows``, or of the label whose rows agree best. A motif that is
    longer than the block is left out.
    """
    table = _letter_codes(block)
    if table is None:
        raise InputError(f"block {block.name!r} does not hold DNA or RNA", remedy="name another with motifs.block")
    groups = _groups(options, corpus, label)
    found = []
    for motif in motifs:
        if len(motif) <= block.length:
            tried = [_placed(motif, table[corpus.tokens[block.name][rows]], name, options) for name, rows in groups]
            found.append(min(tried, key=lambda f: (f.p_value * len(tried), -f.n_there)))
    return found


def _letter_codes(block: Block) -> np.ndarray | None:
    """Code of the block -> 0 to 3 for ACGT, -1 for all else; None where not all four are symbols."""
    codes = [LETTERS.find(symbol.upper().replace("U", "T")) if symbol else -1 for symbol in block.vocabulary.symbols]
    if {0, 1, 2, 3} - set(codes) or any(len(symbol) != 1 for symbol in block.vocabulary.symbols):
        return None
    return np.array([*codes, -1])


def _groups(options: Motifs, corpus: Corpus, label: Block | None) -> list[tuple[str, np.ndarray]]:
    """Names and rows to search: those of one label, of each label, or all."""
    everything = [("", np.arange(corpus.n))]
    if options.rows:
        label = next((b for b in corpus.blocks if b.length == 1 and options.rows in b.vocabulary.symbols), label)
    if label is None or (not options.rows and label.vocabulary.size > LABELS_LIMIT):
        return [(name, _some(rows)) for name, rows in everything]
    codes = corpus.tokens[label.name][:, 0]
    wanted = [options.rows] if options.rows else label.vocabulary.symbols
    groups = [(f"{label.name} = {name}", np.flatnonzero(codes == label.vocabulary.code_of[name])) for name in wanted]
    return [(name, _some(rows)) for name, rows in groups if len(rows)] or everything


def _some(rows: np.ndarray) -> np.ndarray:
    if len(rows) <= ROWS_LIMIT:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, ROWS_LIMIT, replace=False))


def _placed(motif: Motif, codes: np.ndarray, label: str, options: Motifs) -> FoundMotif:
    odds = motif.log_odds()
    least, most = float(odds.min(axis=1).sum()), float(odds.max(axis=1).sum())
    scores = np.concatenate(motif.scores(codes), axis=1)
    places = scores.shape[1]
    best = scores.argmax(axis=1)
    matched = scores[np.arange(len(codes)), best] >= least + options.threshold * (most - least)
    counts = np.bincount(best[matched], minlength=places)
    top, n_matched = int(counts.argmax()), int(matched.sum())
    start = top % (places // 2)
    return FoundMotif(
        name=motif.name,
        consensus=motif.consensus,
        start=start,
        stop=start + len(motif),
        strand="+" if top < places // 2 else "-",
        label=label,
        n_rows=len(codes),
        n_matched=n_matched,
        n_there=int(counts[top]),
        by_chance=n_matched / places,
        p_value=min(1.0, places * _tail(int(counts[top]), n_matched / places)),
    )


def _tail(count: int, mean: float) -> float:
    """P(X >= count) of a Poisson variable."""
    from scipy.special import gammainc

    return float(gammainc(count, mean)) if count > 0 else 1.0
