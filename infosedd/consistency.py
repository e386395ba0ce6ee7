"""What must hold between estimates on data that are made from each other, whatever the truth is.

Each check turns a corpus and a question I(x; y | z) into a *case*: another corpus, a question of it,
and what its answer must be, given the answer I of the first:

| check | made of the data | must hold |
|---|---|---|
| dropping, coarsening | half of x left out; symbols of x merged two by two | at most I (data processing) |
| additivity | two independent copies side by side | 2 I |
| independence | y shuffled over the rows | 0 |
| label_noise | a label redrawn from its marginal with probability p | at most (1 - p) I, and at most C |
| relabelling, swapping | symbols renamed; x and y swapped | I |

Label noise: y' is y with probability 1 - p, else a fresh draw from y's law q, so y' has the law q too, and

    I(x; y') <= I(y; y') = C = H(q) + SUM_y q(y) SUM_y' n(y'|y) log n(y'|y),  n(y'|y) = (1 - p) [y' = y] + p q(y')

by data processing, with equality where x decides y (two equal classes: ln 2 - h2(p / 2)); and, as whoever
also knows which labels were redrawn knows more, I(x; y') <= (1 - p) I(x; y).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import hypot, inf
from typing import Literal

import numpy as np

from infosedd.blocks import near_names
from infosedd.corpus import Corpus
from infosedd.derived import (
    Question,
    coarsened,
    paired,
    projected,
    redrawn,
    relabelled,
    shortened,
    shuffled,
    swapped,
)
from infosedd.errors import InputError
from infosedd.results import Estimate

ERRORS = 4.0
"""Combined standard errors by which an answer may miss what is expected."""
NOISE = 0.5
"""Probability with which ``label_noise`` redraws a label."""


@dataclass(frozen=True)
class Case:
    """A corpus made from another, what is asked of it, and what the answer must be.

    Expected is ``factor`` times the answer on the first corpus, and at most ``ceiling`` nats.
    """

    name: str
    claim: str
    corpus: Corpus
    question: Question
    relation: Literal["equal", "at most"] = "equal"
    factor: float = 1.0
    ceiling: float = inf
    copies: int = 1
    """Copies of the data side by side: a network needs room for as many."""


@dataclass(frozen=True)
class Skipped:
    """A check that the data leave no room for, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Verdict:
    """What a check saw, in nats: it passes within ``tolerance`` of, or below, what is expected."""

    name: str
    claim: str
    passed: bool
    observed: float
    std_error: float
    expected: float
    tolerance: float | None
    figures: Mapping[str, float] = field(default_factory=dict)
    """What else was seen, by name."""


def case_of(name: str, corpus: Corpus, question: Question, seed: int = 0) -> Case | Skipped:
    """The case of a check by name, of a corpus with one row a draw."""
    if name not in CHECKS:
        raise InputError(f"there is no check {name!r}", remedy=near_names(name, [*CHECKS]))
    own, asked = projected(corpus, question)
    made = CHECKS[name](own, asked, seed)
    if isinstance(made, str):
        return Skipped(name, made)
    return replace(made, name=name, corpus=replace(made.corpus, name=f"{corpus.name}: {name}"))


def judge(case: Case, reference: Estimate, found: Estimate) -> Verdict:
    """Does the answer on the case's corpus stand to that on the first corpus as it must?"""
    bound = case.factor * reference.nats
    expected, error = (bound, case.factor * reference.std_error) if bound <= case.ceiling else (case.ceiling, 0.0)
    tolerance = ERRORS * hypot(found.std_error, error)
    over = found.nats - expected
    passed = over <= tolerance and (case.relation == "at most" or over >= -tolerance)
    return Verdict(case.name, case.claim, passed, found.nats, found.std_error, expected, tolerance)


def redrawn_ceiling(law: np.ndarray, probability: float) -> float:
    """I(y; y') in nats of a label with this (M,) law that is redrawn from it with this probability."""
    kernel = (1 - probability) * np.eye(len(law)) + probability * law
    return _entropy(law) - float(sum(q * _entropy(row) for q, row in zip(law, kernel, strict=True)))


def _dropping(corpus: Corpus, question: Question, seed: int) -> Case | str:
    side = next((s for s in (question.x, question.y) if corpus.select(s).size > 1), None)
    if side is None:
        return "x and y have one position each"
    cut = shortened(corpus, side)
    left = {b.name for b in cut.blocks}
    sides = ["+".join(n for n in s.split("+") if n in left) for s in question.sides]
    what = "x" if side == question.x else "y"
    return Case("", f"without the last half of {what}: no more than I", cut, Question(*sides), "at most")


def _coarsening(corpus: Corpus, question: Question, seed: int) -> Case | str:
    side = next((s for s in (question.x, question.y) if any(n > 2 for n in _sizes(corpus, s))), None)
    if side is None:
        return "no block has more than two symbols to merge"
    what = "x" if side == question.x else "y"
    claim = f"with the symbols of {what} merged two by two: no more than I"
    return Case("", claim, coarsened(corpus, side), question, "at most")


def _additivity(corpus: Corpus, question: Question, seed: int) -> Case | str:
    if corpus.groups is not None and len(np.unique(corpus.groups)) < 2:
        return "one group has no other to stand beside"
    doubled, asked = paired(corpus, question, seed)
    return Case("", "two independent copies side by side: 2 I", doubled, asked, factor=2.0, copies=2)


def _independence(corpus: Corpus, question: Question, seed: int) -> Case | str:
    return Case("", "y shuffled over the rows: 0", shuffled(corpus, question.y, seed), question, factor=0.0)


def _label_noise(corpus: Corpus, question: Question, seed: int) -> Case | str:
    side = next((s for s in (question.y, question.x) if corpus.select(s).size == 1), question.y)
    noisy = redrawn(corpus, side, NOISE, seed)
    what = "y" if side == question.y else "x"
    claim = f"{what} redrawn from its marginal in {NOISE:.0%} of the rows: at most {1 - NOISE:g} I"
    if corpus.select(side).size > 1:
        return Case("", claim, noisy, question, "at most", factor=1 - NOISE)
    ceiling = redrawn_ceiling(_law(corpus, side), NOISE)
    claim = f"{claim}, and at most {ceiling:.4f}"
    return Case("", claim, noisy, question, "at most", factor=1 - NOISE, ceiling=ceiling)


def _relabelling(corpus: Corpus, question: Question, seed: int) -> Case | str:
    return Case("", "symbols renamed at random: I", relabelled(corpus, seed), question)


def _swapping(corpus: Corpus, question: Question, seed: int) -> Case | str:
    return Case("", "x and y swapped: I", *swapped(corpus, question))


CHECKS: dict[str, Callable[[Corpus, Question, int], Case | str]] = {
    "dropping": _dropping,
    "coarsening": _coarsening,
    "additivity": _additivity,
    "independence": _independence,
    "label_noise": _label_noise,
    "relabelling": _relabelling,
    "swapping": _swapping,
}
"""Name -> the case of a check, of a projected corpus; a text says why there is none."""


def _sizes(corpus: Corpus, side: str) -> list[int]:
    """Number of symbols of each block of a side, its pad left out."""
    vocabularies = [corpus.block(name).vocabulary for name, _ in corpus.select(side).parts]
    return [v.size - (v.pad is not None) for v in vocabularies]


def _law(corpus: Corpus, side: str) -> np.ndarray:
    """(M,) frequencies of the symbols of a label; hidden ones are left out."""
    ((name, (position,)),) = corpus.select(side).parts
    size = corpus.block(name).vocabulary.size
    counts = np.bincount(corpus.tokens[name][:, position], corpus.weights, size + 1)[:size]
    return counts / counts.sum()


def _entropy(law: np.ndarray) -> float:
    positive = law[law > 0]
    return float(-(positive * np.log(positive)).sum())
