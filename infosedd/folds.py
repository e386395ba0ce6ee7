"""Which rows train a network, which stop its training, and which it is judged on."""

from dataclasses import dataclass

import numpy as np

from infosedd.corpus import Corpus
from infosedd.errors import InputError
from infosedd.randomness import numpy_stream

MIN_ROWS = 50
MIN_HELD_OUT = 10


@dataclass(frozen=True, eq=False)
class Fold:
    """Row indices, disjoint; a group's rows are all in one part."""

    training: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def plan_folds(corpus: Corpus, n_folds: int, seed: int, validation_share: float = 0.1) -> tuple[Fold, ...]:
    """The corpus's own split as one fold, or ``n_folds`` whose test parts cover every row once.

    A split without any validation rows gives ``validation_share`` of its training rows (or groups) to validation.
    Raises InputError where the rows (or groups) are too few to hold any out, or a part has no weight.
    """
    if corpus.splits is not None:
        folds = (_own_split(corpus, seed, validation_share),)
    else:
        folds = _cross_fit(corpus, n_folds, seed, validation_share)
    weights = np.ones(corpus.n) if corpus.weights is None else corpus.weights
    for fold in folds:
        for name in ("training", "validation", "test"):
            if not weights[getattr(fold, name)].any():
                raise InputError(
                    f"all {name} rows of a fold have the weight 0",
                    where=f"in corpus {corpus.name!r}",
                    remedy="leave out the rows of weight 0, or ask for fewer folds",
                )
    return folds


def _cross_fit(corpus: Corpus, n_folds: int, seed: int, validation_share: float) -> tuple[Fold, ...]:
    if corpus.n < MIN_ROWS:
        raise InputError(
            f"{corpus.n} rows are too few to train on and hold out",
            where=f"in corpus {corpus.name!r}",
            remedy=f"give at least {MIN_ROWS}",
        )
    unit = np.arange(corpus.n) if corpus.groups is None else np.unique(corpus.groups, return_inverse=True)[1]
    n_units = int(unit.max()) + 1
    if n_units - -(-n_units // n_folds) < 2 or n_units < n_folds:  # beside a test part, one to train and one to stop
        raise InputError(
            f"{n_units} {'rows' if corpus.groups is None else 'groups'} can't be split into {n_folds} folds",
            where=f"in corpus {corpus.name!r}",
            remedy="ask for fewer folds" + ("" if corpus.groups is None else ", or leave the group column out"),
        )
    rng = numpy_stream("folds", seed)
    fold_of_unit = rng.permutation(n_units) % n_folds
    folds = []
    for fold in range(n_folds):
        in_test = fold_of_unit == fold
        others = rng.permutation(np.flatnonzero(~in_test))
        in_validation = np.zeros(n_units, bool)
        in_validation[others[: max(1, round(validation_share * len(others)))]] = True
        kept = ~in_test & ~in_validation
        folds.append(Fold(*(np.flatnonzero(part[unit]) for part in (kept, in_validation, in_test))))
    return tuple(folds)


def duplicate_shares(corpus: Corpus, fold: Fold) -> tuple[float, float]:
    """Shares of test rows whose whole row of tokens is among the training rows, and is in the test part twice."""
    rows = np.concatenate([np.ascontiguousarray(codes).view(np.uint8) for codes in corpus.tokens.values()], axis=1)
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()
    test = keys[fold.test]
    _, place, counts = np.unique(test, return_inverse=True, return_counts=True)
    return float(np.isin(test, keys[fold.training]).mean()), float((counts[place] > 1).mean())


def _own_split(corpus: Corpus, seed: int, validation_share: float) -> Fold:
    parts = {name: corpus.rows_in(name) for name in ("training", "validation", "test")}
    if not len(parts["validation"]):
        parts |= _with_validation(corpus, parts["training"], seed, validation_share)
    for name, rows in parts.items():
        if len(rows) < MIN_HELD_OUT:
            raise InputError(
                f"the split has {len(rows)} rows in {name!r}",
                where=f"in corpus {corpus.name!r}",
                remedy=f"each of training, validation and test needs at least {MIN_HELD_OUT}",
            )
    if corpus.groups is not None:
        seen = np.concatenate([corpus.groups[parts["training"]], corpus.groups[parts["validation"]]])
        straddling = np.intersect1d(seen, corpus.groups[parts["test"]])
        if len(straddling):
            raise InputError(
                f"{len(straddling)} groups have rows in 'test' and in another part of the split",
                where=f"in corpus {corpus.name!r}, for one the group of row {_row_of(corpus, parts, straddling[0])}",
                remedy="move each group to one part, or leave the group or the split column out",
            )
    return Fold(**parts)


def _with_validation(corpus: Corpus, training: np.ndarray, seed: int, share: float) -> dict[str, np.ndarray]:
    """The training rows without a drawn share of them, or of their groups, and that share."""
    unit = np.arange(len(training)) if corpus.groups is None else corpus.groups[training]
    units = np.unique(unit)
    chosen = numpy_stream("validation", seed).permutation(units)[: max(1, round(share * len(units)))]
    stops = np.isin(unit, chosen)
    return {"training": training[~stops], "validation": training[stops]}


def _row_of(corpus: Corpus, parts: dict[str, np.ndarray], group: int) -> int:
    assert corpus.groups is not None
    return int(parts["test"][np.flatnonzero(corpus.groups[parts["test"]] == group)[0]])
