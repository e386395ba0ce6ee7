"""Which rows train a network, which stop its training, and which it is judged on."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal, get_args

import numpy as np

from infosedd.corpus import Corpus
from infosedd.errors import InputError
from infosedd.randomness import numpy_stream

MIN_DRAWS = 50
MIN_HELD_OUT = 10
MOST_EXACT = 10**9
"""Draws up to which the size of a part is exact; above, it is so in the mean."""
STD_ERRORS = 4
"""Standard errors by which the share of rows that training has seen may exceed that of independent data."""

PartName = Literal["training", "validation", "test"]


@dataclass(frozen=True, eq=False)
class Fold:
    """Row indices of the three parts; a group's rows are all in one part.

    They are disjoint, unless counted rows were split by draw: ``counts`` then has, for each part, the
    number of draws that each of its rows has there.
    """

    training: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    counts: dict[PartName, np.ndarray] | None = None

    def weights(self, corpus: Corpus, part: PartName) -> np.ndarray | None:
        """(n,) weights of a part's rows in that part, in the order of its rows; none where all weigh the same."""
        if self.counts is not None:
            return self.counts[part]
        return None if corpus.weights is None else corpus.weights[getattr(self, part)]


def plan_folds(corpus: Corpus, n_folds: int, seed: int, validation_share: float = 0.1) -> tuple[Fold, ...]:
    """The corpus's own split as one fold, or ``n_folds`` whose test parts cover every draw once.

    The split is over draws: without groups, the draws of a counted row may go to several parts. Groups stay
    whole, and so do rows between the parts of the corpus's own split. A split without any validation rows gives
    ``validation_share`` of its training draws (rows or groups) to validation.
    Raises InputError where the draws (or groups) are too few to hold any out, or a part has no weight.
    """
    if corpus.splits is not None:
        folds = (_own_split(corpus, seed, validation_share),)
    elif is_split_by_draw(corpus):
        folds = _cross_fit_draws(corpus, n_folds, seed, validation_share)
    else:
        folds = _cross_fit(corpus, n_folds, seed, validation_share)
    for fold in folds:
        for part in get_args(PartName):
            weights = fold.weights(corpus, part)
            if weights is not None and not weights.any():
                raise InputError(
                    f"all {part} rows of a fold have the weight 0",
                    where=f"in corpus {corpus.name!r}",
                    remedy="leave out the rows of weight 0, or ask for fewer folds",
                )
    return folds


def is_split_by_draw(corpus: Corpus) -> bool:
    """Is a row a number of draws, each independent of the others?"""
    return corpus.weights is not None and corpus.weight_kind == "count" and corpus.groups is None


def _cross_fit(corpus: Corpus, n_folds: int, seed: int, validation_share: float) -> tuple[Fold, ...]:
    _require_draws(corpus, corpus.n)
    unit = np.arange(corpus.n) if corpus.groups is None else np.unique(corpus.groups, return_inverse=True)[1]
    n_units = int(unit.max()) + 1
    _require_units(corpus, n_units, n_folds, "rows" if corpus.groups is None else "groups")
    rng = numpy_stream("folds", seed)
    fold_of_unit = rng.permutation(n_units) % n_folds
    folds = []
    for fold in range(n_folds):
        in_test = fold_of_unit == fold
        others = rng.permutation(np.flatnonzero(~in_test))
        in_validation = np.zeros(n_units, bool)
        in_validation[others[: _share_of(len(others), validation_share)]] = True
        kept = ~in_test & ~in_validation
        training, validation, test = (np.flatnonzero(part[unit]) for part in (kept, in_validation, in_test))
        folds.append(Fold(training, validation, test))
    return tuple(folds)


def _cross_fit_draws(corpus: Corpus, n_folds: int, seed: int, validation_share: float) -> tuple[Fold, ...]:
    """Folds of a counted corpus, as if each draw were a row of its own."""
    assert corpus.weights is not None
    counts, total = corpus.weights.astype(np.int64), corpus.n_draws
    _require_draws(corpus, total)
    _require_units(corpus, total, n_folds, "draws")
    rng = numpy_stream("folds", seed)
    folds, left = [], counts
    for fold in range(n_folds):
        size = (total + n_folds - 1 - fold) // n_folds
        test = drawn(left, size, rng) if fold < n_folds - 1 else left
        left, others = left - test, counts - test
        validation = drawn(others, _share_of(int(others.sum()), validation_share), rng)
        folds.append(_counted({"training": others - validation, "validation": validation, "test": test}))
    return tuple(folds)


def _counted(counts: dict[PartName, np.ndarray]) -> Fold:
    """The fold of (n,) counts of every row in each part."""
    rows = {part: np.flatnonzero(there) for part, there in counts.items()}
    return Fold(**rows, counts={part: there[rows[part]].astype(np.float64) for part, there in counts.items()})


def drawn(counts: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """(n,) how many of ``size`` draws, picked at random without replacement, are of each counted row."""
    total = int(counts.sum())
    if total >= MOST_EXACT:
        return rng.binomial(counts, size / total)
    return rng.multivariate_hypergeometric(counts, size, method="marginals")


def _share_of(n: int, share: float) -> int:
    return max(1, round(share * n))


def _require_draws(corpus: Corpus, n: int) -> None:
    if n < MIN_DRAWS:
        raise InputError(
            f"{n} {'draws' if is_split_by_draw(corpus) else 'rows'} are too few to train on and hold out",
            where=f"in corpus {corpus.name!r}",
            remedy=f"give at least {MIN_DRAWS}",
        )


def _require_units(corpus: Corpus, n_units: int, n_folds: int, units: str) -> None:
    """Beside a test part there must be one unit to train and one to stop."""
    if n_units - -(-n_units // n_folds) < 2 or n_units < n_folds:
        raise InputError(
            f"{n_units} {units} can't be split into {n_folds} folds",
            where=f"in corpus {corpus.name!r}",
            remedy="ask for fewer folds" + ("" if corpus.groups is None else ", or leave the group column out"),
        )


def by_row(rows: np.ndarray, weights: np.ndarray | None, *values: np.ndarray) -> tuple[Any, ...]:
    """Distinct rows in order, their summed weights, and the weighted mean of each array of values over a row.

    A counted row whose draws are in several parts has one value from each.
    """
    distinct, place = np.unique(rows, return_inverse=True)
    if weights is None or len(distinct) == len(rows):
        order = np.argsort(rows, kind="stable")
        return distinct, None if weights is None else weights[order], *(v[order] for v in values)
    total = np.bincount(place, weights)
    return distinct, total, *(np.bincount(place, weights * v) / total for v in values)


def evenly(rows: np.ndarray, most: int) -> np.ndarray:
    """At most ``most`` of the rows, evenly spaced: files are often sorted."""
    return rows[:: -(-len(rows) // most)]


def row_keys(corpus: Corpus) -> np.ndarray:
    """(n,) the tokens of each row, as one value that equal rows share."""
    rows = np.concatenate([np.ascontiguousarray(codes).view(np.uint8) for codes in corpus.tokens.values()], axis=1)
    return np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()


def duplicate_shares(corpus: Corpus, fold: Fold) -> tuple[float, float]:
    """Shares of test draws whose whole row of tokens is among the training rows, and is in the test part twice."""
    keys = row_keys(corpus)
    test = keys[fold.test]
    draws = fold.weights(corpus, "test") if corpus.weight_kind == "count" else None
    draws = np.ones(len(test)) if draws is None else draws
    place = np.unique(test, return_inverse=True)[1]
    repeated = np.bincount(place, draws)[place] > 1
    return float(np.average(np.isin(test, keys[fold.training]), weights=draws)), float(
        np.average(repeated, weights=draws)
    )


def most_by_chance(share: float, n_held_out: int, ratio: float, n_rows: int) -> float:
    """The largest share of ``n_rows`` independent rows that chance puts among the rows that were learned from.

    ``share`` is that of ``n_held_out`` held-out rows among training rows, of which there are ``ratio`` times as many
    where the rows were learned. Both shares are counted, so the difference has the error of both.
    """
    expected = min(1.0, share * ratio + 1 / n_held_out)
    return expected + STD_ERRORS * sqrt(expected * (1 - expected) * (1 / n_rows + 1 / n_held_out))


def _own_split(corpus: Corpus, seed: int, validation_share: float) -> Fold:
    parts: dict[PartName, np.ndarray] = {name: corpus.rows_in(name) for name in get_args(PartName)}
    fold = Fold(**parts)
    if not len(parts["validation"]) and len(parts["training"]):
        fold = _with_validation(corpus, parts, seed, validation_share)
    for part in parts:
        weights = fold.weights(corpus, part) if is_split_by_draw(corpus) else None
        n = len(getattr(fold, part)) if weights is None else int(weights.sum())
        if n < MIN_HELD_OUT:
            raise InputError(
                f"the split has {n} {'rows' if weights is None else 'draws'} in {part!r}",
                where=f"in corpus {corpus.name!r}",
                remedy=f"each of training, validation and test needs at least {MIN_HELD_OUT}",
            )
    if corpus.groups is not None:
        seen = np.concatenate([corpus.groups[fold.training], corpus.groups[fold.validation]])
        straddling = np.intersect1d(seen, corpus.groups[fold.test])
        if len(straddling):
            raise InputError(
                f"{len(straddling)} groups have rows in 'test' and in another part of the split",
                where=f"in corpus {corpus.name!r}, for one the group of row {_row_of(corpus, fold, straddling[0])}",
                remedy="move each group to one part, or leave the group or the split column out",
            )
    return fold


def _with_validation(corpus: Corpus, parts: dict[PartName, np.ndarray], seed: int, share: float) -> Fold:
    """The training rows without a drawn share of their draws, or of their groups, and that share."""
    rng, training = numpy_stream("validation", seed), parts["training"]
    if is_split_by_draw(corpus) and corpus.weights is not None:
        counts = corpus.weights.astype(np.int64)
        learned, tested = (np.where(np.isin(np.arange(corpus.n), parts[p]), counts, 0) for p in ("training", "test"))
        stops = drawn(learned, _share_of(int(learned.sum()), share), rng)
        return _counted({"training": learned - stops, "validation": stops, "test": tested})
    unit = np.arange(len(training)) if corpus.groups is None else corpus.groups[training]
    units = np.unique(unit)
    chosen = rng.permutation(units)[: _share_of(len(units), share)]
    stops = np.isin(unit, chosen)
    return Fold(training[~stops], training[stops], parts["test"])


def _row_of(corpus: Corpus, fold: Fold, group: int) -> int:
    assert corpus.groups is not None
    return int(fold.test[np.flatnonzero(corpus.groups[fold.test] == group)[0]])
