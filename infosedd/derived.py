"""Corpora made from a corpus: the same rows drawn, cut, merged, renamed, re-paired or noised in a known way.

Every function is pure: a corpus in, another out, the same for the same seed. Splits and groups go along,
so that what was held out stays held out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, prod

import numpy as np

from infosedd.blocks import Block, Selection, Symmetry, Vocabulary
from infosedd.corpus import Corpus, Provenance
from infosedd.errors import InputError
from infosedd.folds import drawn, is_split_by_draw
from infosedd.randomness import numpy_stream

MOST_DRAWS = 200_000
"""Draws of a corpus that are used where nothing else is asked for."""
MEETING = 5
"""Rows that stand beside each other, each beside all others, where two copies are made of the data."""


@dataclass(frozen=True)
class Question:
    """A mutual information I(x; y | z), by block expressions."""

    x: str
    y: str
    z: str = ""

    @property
    def sides(self) -> tuple[str, ...]:
        return (self.x, self.y, self.z) if self.z else (self.x, self.y)


def draws_of(corpus: Corpus, most: int | None = None, seed: int = 0) -> Corpus:
    """One row a draw, at most ``most`` of them, picked at random: a counted row is repeated by its count."""
    limit = MOST_DRAWS if most is None else most
    if limit < 1:
        raise InputError(f"can't check on {limit} rows", remedy="ask for at least one")
    if corpus.weights is not None and corpus.weight_kind == "count":
        ends = corpus.weights.astype(np.int64).cumsum()
        total = int(ends[-1])
        drawn = np.arange(total) if total <= limit else _some(total, limit, "draws", seed)
        return replace(corpus.take(np.searchsorted(ends, drawn, side="right")), weights=None)
    return corpus if corpus.n <= limit else corpus.take(_some(corpus.n, limit, "draws", seed))


def projected(corpus: Corpus, question: Question) -> tuple[Corpus, Question]:
    """The corpus of only the tokens that a question names, one block for each block of each side: ``x.promoter``."""
    blocks, tokens, sides = [], {}, []
    for side, expression in zip("xyz", question.sides, strict=False):
        names = []
        for name, positions in corpus.select(expression).parts:
            block = corpus.block(name)
            names.append(f"{side}.{name}")
            blocks.append(_part(block, positions, names[-1]))
            tokens[names[-1]] = corpus.tokens[name][:, list(positions)]
        sides.append("+".join(names))
    return derived(corpus, tuple(blocks), tokens, "the question's tokens"), Question(*sides)


def derived(corpus: Corpus, blocks: Sequence[Block], tokens: Mapping[str, np.ndarray], how: str) -> Corpus:
    """A corpus with other tokens for the same rows; ``how`` says what was done."""
    made = Provenance(connector="derived", source_uri=f"corpus:{corpus.corpus_id}", n_read=corpus.n, notes=(how,))
    return replace(
        corpus, name=f"{corpus.name}: {how}", blocks=tuple(blocks), tokens=tokens, sequence_ids=None, provenance=made
    )


def shortened(corpus: Corpus, side: str) -> Corpus:
    """Without the last half of a side's positions; of a lattice whole rows stay."""
    chosen = corpus.select(side)
    room, blocks, tokens = ceil(chosen.size / 2), [], {}
    for block in corpus.blocks:
        if not chosen.positions(block.name):
            blocks.append(block)
            tokens[block.name] = corpus.tokens[block.name]
            continue
        kept = min(block.length, room)
        if block.lattice is not None and kept:
            row = prod(block.lattice[1:]) if block.lattice[0] > 1 else 1
            kept = min(block.length, ceil(kept / row) * row)
        room -= min(room, kept)
        if kept:
            blocks.append(_part(block, range(kept), block.name))
            tokens[block.name] = corpus.tokens[block.name][:, :kept]
    return derived(corpus, blocks, tokens, "half of the positions dropped")


def coarsened(corpus: Corpus, side: str) -> Corpus:
    """The symbols of a side merged two by two, in their order; a pad stays by itself."""
    maps = {}
    for name, _ in corpus.select(side).parts:
        symbols = corpus.block(name).vocabulary.symbols
        pad = corpus.block(name).vocabulary.pad
        others = [s for s in symbols if s != pad]
        merged = [others[i : i + 2] for i in range(0, len(others), 2)] if len(others) > 2 else [[s] for s in others]
        merged += [[pad]] if pad is not None else []
        code = {symbol: i for i, group in enumerate(merged) for symbol in group}
        vocabulary = Vocabulary(tuple("|".join(group) for group in merged), pad)
        maps[name] = vocabulary, np.array([code[s] for s in symbols] + [vocabulary.mask_id])
    return _recoded(corpus, maps, "symbols merged two by two")


def relabelled(corpus: Corpus, seed: int = 0) -> Corpus:
    """The symbols of every block under a random permutation; a pad and hidden tokens stay."""
    rng = _rng("relabelled", seed)
    maps = {}
    for block in corpus.blocks:
        vocabulary = block.vocabulary
        moved = np.array([i for i, s in enumerate(vocabulary.symbols) if s != vocabulary.pad])
        order = rng.permutation(len(moved))
        if len(moved) > 1 and np.array_equal(order, np.arange(len(moved))):
            order = np.roll(order, 1)
        codes = np.arange(vocabulary.size + 1)
        codes[moved] = moved[order]
        maps[block.name] = vocabulary, codes
    return _recoded(corpus, maps, "symbols renamed")


def swapped(corpus: Corpus, question: Question) -> tuple[Corpus, Question]:
    """The blocks in reverse order, and the question with x for y."""
    blocks = tuple(reversed(corpus.blocks))
    return derived(corpus, blocks, corpus.tokens, "x and y swapped"), Question(question.y, question.x, question.z)


def shuffled(corpus: Corpus, side: str, seed: int = 0, number: int = 0, *, given: str = "") -> Corpus:
    """A side's tokens re-paired at random with all else, within each split, and among rows with equal ``given``.

    Each ``number`` is another shuffle of the same seed.

    Rows of one group change places together with those of a group of the same size; the rows of
    groups whose size no other has change places one by one. So do, among rows with equal ``given``, the
    parts of groups that are there.
    """
    source = _permutation(corpus, _rng("shuffled", seed, number), given)
    return _moved(corpus, side, source, f"{side} shuffled")


def redrawn(corpus: Corpus, side: str, probability: float, seed: int = 0) -> Corpus:
    """A side's tokens replaced, in each row with this probability, by those of a random row of the same split."""
    rng = _rng("redrawn", seed)
    source = np.arange(corpus.n)
    for rows in _split_rows(corpus):
        law = None if corpus.weights is None else corpus.weights[rows] / corpus.weights[rows].sum()
        picked = rng.choice(rows, len(rows), p=law)
        source[rows] = np.where(rng.random(len(rows)) < probability, picked, rows)
    return _moved(corpus, side, source, f"{side} redrawn with probability {probability:g}")


def paired(corpus: Corpus, question: Question, seed: int = 0) -> tuple[Corpus, Question]:
    """Two independent copies side by side: each row beside others, x1 x2 against y1 y2.

    Rows (groups, where there are) meet in fives within each split; every row of a five stands beside each
    other one, both ways round, and a five is one group. So every row is used equally often, none is known
    from another fold, and the several partners tell a network that one copy knows nothing of the other.
    """
    first, second, fives = _partners(corpus, _rng("paired", seed))
    blocks = [replace(b, name=f"{b.name}.{copy}") for copy in (1, 2) for b in corpus.blocks]
    tokens = {}
    for copy, rows in ((1, first), (2, second)):
        tokens.update({f"{b.name}.{copy}": corpus.tokens[b.name][rows] for b in corpus.blocks})
    weights = None if corpus.weights is None else corpus.weights[first] * corpus.weights[second]
    splits = None if corpus.splits is None else corpus.splits[first]
    rest = replace(derived(corpus, corpus.blocks, corpus.tokens, "two copies side by side"), weights=None, groups=None)
    doubled = replace(
        rest,
        blocks=tuple(blocks),
        tokens=tokens,
        weights=weights,
        weight_kind=corpus.weight_kind,
        groups=fives,
        splits=splits,
    )
    return doubled, Question(*("+".join(f"{n}.{c}" for c in (1, 2) for n in s.split("+")) for s in question.sides))


def subset(corpus: Corpus, share: float, seed: int = 0) -> Corpus:
    """A share of the rows, whole groups, the smaller share within the larger one; a ``test`` split stays whole.

    Counted rows without groups keep a share of all their draws.
    """
    if is_split_by_draw(corpus) and corpus.weights is not None:
        counts = corpus.weights.astype(np.int64)
        fixed = np.zeros_like(counts) if corpus.splits is None else np.where(corpus.splits == 2, counts, 0)
        free = counts - fixed
        left = fixed + drawn(free, round(share * int(free.sum())), _rng("subset", seed))
        kept = replace(corpus, weights=left, name=f"{corpus.name}: {share:g} of the draws")
        return kept.take(np.flatnonzero(left))
    unit = np.arange(corpus.n) if corpus.groups is None else np.unique(corpus.groups, return_inverse=True)[1]
    rank = _rng("subset", seed).permutation(int(unit.max()) + 1)
    kept = (rank < round(share * len(rank)))[unit]
    if corpus.splits is not None:
        kept |= corpus.splits == 2
    return replace(corpus.take(kept), name=f"{corpus.name}: {share:g} of the rows")


def _part(block: Block, positions: Sequence[int], name: str) -> Block:
    """A block of some positions; its lattice stays where these are whole rows, its symmetries where they are all."""
    lattice = None
    if block.lattice is not None:
        row = prod(block.lattice[1:])
        whole = len(positions) % row == 0 and positions[0] % row == 0
        if whole and positions[-1] - positions[0] + 1 == len(positions):
            lattice = (len(positions) // row, *block.lattice[1:])
    periodic = block.periodic and len(positions) == block.length
    symmetries = block.symmetries if len(positions) == block.length else ()  # parts of a block move together only
    return Block(name, block.vocabulary, len(positions), lattice, periodic, symmetries)


def _recoded(corpus: Corpus, maps: Mapping[str, tuple[Vocabulary, np.ndarray]], how: str) -> Corpus:
    blocks = [_renamed(b, maps[b.name][0]) if b.name in maps else b for b in corpus.blocks]
    tokens = {n: maps[n][1][codes] if n in maps else codes for n, codes in corpus.tokens.items()}
    return derived(corpus, blocks, tokens, how)


def _renamed(block: Block, vocabulary: Vocabulary) -> Block:
    """A block of other symbols; of more than two, a flip of the old codes is none of the new ones."""
    kept = block.symmetries if vocabulary.size == 2 else tuple(s for s in block.symmetries if s != "symbol_flip")
    return replace(block, vocabulary=vocabulary, symmetries=kept)


def _moved(corpus: Corpus, side: str, source: np.ndarray, how: str) -> Corpus:
    """A side's tokens taken from the rows ``source``; of a block that is moved in part only the joint flip stays."""
    chosen, blocks = corpus.select(side), []
    tokens = {name: codes.copy() for name, codes in corpus.tokens.items()}
    for block in corpus.blocks:
        there = list(chosen.positions(block.name))
        tokens[block.name][:, there] = corpus.tokens[block.name][source][:, there]
        kept: tuple[Symmetry, ...] = ("symbol_flip",) if "symbol_flip" in block.symmetries else ()
        in_part = 0 < len(there) < block.length
        blocks.append(replace(block, symmetries=kept) if in_part else block)
    return derived(corpus, blocks, tokens, how)


def _permutation(corpus: Corpus, rng: np.random.Generator, given: str) -> np.ndarray:
    """(n,) for each row the row whose tokens it gets."""
    source = np.arange(corpus.n)
    for rows in _split_rows(corpus):
        for alike in _equal(corpus, corpus.select(given), rows) if given else [rows]:
            if corpus.groups is None:
                source[alike] = rng.permutation(alike)
            else:
                _permute_groups(source, alike, corpus.groups, rng)
    return source


def _permute_groups(source: np.ndarray, rows: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> None:
    by_size: dict[int, list[np.ndarray]] = {}
    for unit in _units(rows, groups):
        by_size.setdefault(len(unit), []).append(unit)
    alone = [units[0] for units in by_size.values() if len(units) == 1]
    for units in by_size.values():
        if len(units) > 1:
            there = np.stack(units)
            source[there.ravel()] = there[rng.permutation(len(there))].ravel()
    if alone:
        loose = np.concatenate(alone)
        source[loose] = rng.permutation(loose)


def _partners(corpus: Corpus, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(m,) rows, the row that each stands beside, and the code of the meeting they came from."""
    first, second, codes = [], [], []
    for rows in _split_rows(corpus):
        units = [rows[i : i + 1] for i in range(len(rows))] if corpus.groups is None else _units(rows, corpus.groups)
        order = sorted(rng.permutation(len(units)).tolist(), key=lambda i: len(units[i]))  # groups of like size
        for met in np.array_split(order, max(1, len(order) // MEETING)):
            size = min(len(units[i]) for i in met)
            there = np.stack([rng.permutation(units[i])[:size] for i in met])
            here, other = np.nonzero(~np.eye(len(met), dtype=bool))
            first.append(there[here].ravel())
            second.append(there[other].ravel())
            codes.append(np.full(first[-1].size, len(codes)))
    if not any(len(rows) for rows in first):
        raise InputError("one group can't be paired with another", where=f"in corpus {corpus.name!r}")
    return np.concatenate(first), np.concatenate(second), np.concatenate(codes)


def _units(rows: np.ndarray, groups: np.ndarray) -> list[np.ndarray]:
    """The rows of each group."""
    order = rows[np.argsort(groups[rows], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _equal(corpus: Corpus, given: Selection, rows: np.ndarray) -> list[np.ndarray]:
    """The rows that share each value of ``given``."""
    columns = [corpus.tokens[name][rows][:, list(positions)].astype(np.int64) for name, positions in given.parts]
    return _units(rows, _placed(np.unique(np.hstack(columns), axis=0, return_inverse=True)[1], rows, corpus.n))


def _placed(values: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros(n, np.int64)
    out[rows] = values.ravel()
    return out


def _split_rows(corpus: Corpus) -> list[np.ndarray]:
    """The rows of each part of the corpus's own split, or all rows."""
    if corpus.splits is None:
        return [np.arange(corpus.n)]
    return [rows for code in range(3) if len(rows := np.flatnonzero(corpus.splits == code))]


def _some(n: int, most: int, purpose: str, seed: int) -> np.ndarray:
    return np.sort(_rng(purpose, seed).permutation(n)[:most])


def _rng(purpose: str, *keys: int) -> np.random.Generator:
    return numpy_stream(f"derived {purpose}", *keys)
