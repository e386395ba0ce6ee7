"""What a single fit can't tell: has the estimate settled with the sample size, and what does chance alone give?

Both train more models, by whatever ``fit`` is given: a registry's ``get_or_fit``, or ``ScoreModel.fit``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import TYPE_CHECKING, Any

import numpy as np

from infosedd.corpus import Corpus
from infosedd.derived import Question, shuffled, subset
from infosedd.errors import InputError
from infosedd.results import NORMAL_95, Estimate

if TYPE_CHECKING:
    from infosedd.config import ModelConfig

SHARES = (0.25, 0.5, 1.0)
Ask = Callable[[Corpus], Estimate]
"""Fits a model to a corpus and asks it the question."""


@dataclass(frozen=True)
class LearningCurve:
    """The same quantity from a quarter, a half and all of the rows, each with a model of its own."""

    shares: tuple[float, ...]
    estimates: tuple[Estimate, ...]

    @property
    def n_samples(self) -> tuple[int, ...]:
        """Draws that each estimate rests on."""
        return tuple(e.n_samples for e in self.estimates)

    @property
    def change(self) -> float:
        """By how much the last doubling moved the estimate, in nats."""
        return self.estimates[-1].nats - self.estimates[-2].nats

    @property
    def tolerance(self) -> float:
        """Half the 95 % interval of that change, as if its two ends were independent."""
        return NORMAL_95 * hypot(self.estimates[-1].std_error, self.estimates[-2].std_error)

    @property
    def settled(self) -> bool:
        """Is the last change within its errors?"""
        return abs(self.change) <= self.tolerance

    def __str__(self) -> str:
        points = ", ".join(f"{e.nats:.4g} ± {e.std_error:.2g} from {e.n_samples:,}" for e in self.estimates)
        return f"{points} samples: {'settled' if self.settled else 'not settled'}"


@dataclass(frozen=True)
class PermutationNull:
    """An estimate against those of refits on shuffled pairs, where the truth is 0."""

    estimate: Estimate
    null: np.ndarray
    """(N,) nats of each refit."""

    @property
    def p_value(self) -> float:
        """(1 + number of refits that reach the estimate) / (1 + N): never below 1 / (1 + N)."""
        return float((1 + (self.null >= self.estimate.nats).sum()) / (1 + len(self.null)))

    @property
    def mean(self) -> float:
        return float(self.null.mean())

    @property
    def spread(self) -> float:
        """Standard deviation of the refits, in nats; 0 for one."""
        return float(self.null.std(ddof=1)) if len(self.null) > 1 else 0.0

    def __str__(self) -> str:
        return (
            f"{self.estimate.nats:.4g} nats, p = {self.p_value:.3g}; "
            f"{len(self.null)} refits on shuffled pairs: mean {self.mean:.3g}, spread {self.spread:.2g} nats"
        )


def curve_of(corpus: Corpus, ask: Ask, whole: Estimate, seed: int = 0) -> LearningCurve:
    """The curve that ends in ``whole``, the estimate from all rows; two more fits."""
    parts = [ask(subset(corpus, share, seed)) for share in SHARES[:-1]]
    return LearningCurve(SHARES, (*parts, whole))


def null_of(
    corpus: Corpus, question: Question, ask: Ask, estimate: Estimate, n_permutations: int, seed: int = 0
) -> PermutationNull:
    """The null of an estimate: ``n_permutations`` more fits, each from scratch, as the estimate's own was.

    Refits and not warm starts: a p-value holds where the shuffled data are treated just as the data were.
    """
    check_null(corpus, question, n_permutations)
    nats = [ask(each).nats for each in shuffles_of(corpus, question, n_permutations, seed)]
    return PermutationNull(estimate, np.array(nats))


def shuffles_of(corpus: Corpus, question: Question, n_permutations: int, seed: int = 0) -> Iterator[Corpus]:
    """The corpora of a null, one after the other: y shuffled, among rows with equal z where there is a condition."""
    return (shuffled(corpus, question.y, seed, i, given=question.z) for i in range(n_permutations))


def check_null(corpus: Corpus, question: Question, n_permutations: int) -> None:
    """An InputError where there is nothing to shuffle, or too few rows share a condition."""
    if n_permutations < 1:
        raise InputError(f"a null of {n_permutations} refits says nothing", remedy="ask for 19 or more, for p = 0.05")
    if not question.z:
        return
    parts = [corpus.tokens[name][:, list(positions)] for name, positions in corpus.select(question.z).parts]
    codes, counts = np.unique(np.hstack([p.astype(np.int64) for p in parts]), axis=0, return_counts=True)
    alone = float((counts == 1).sum() / corpus.n)
    if alone > 0.5:
        raise InputError(
            f"{alone:.0%} of the rows share their {question.z!r} with no other, so there is nothing to shuffle",
            where=f"a null given {len(codes):,} values of the condition",
            remedy="condition on fewer positions, or leave the null out",
        )


def queries_of(corpus: Corpus, question: Question, config: "ModelConfig") -> tuple[Mapping[str, object], ...]:
    """What a model has to learn for a question: the side with fewer tokens, given the other, and alone."""
    x, y = corpus.select(question.x), corpus.select(question.y)
    if config.variant == "joint":
        return tuple({"noised": noised, "clean": question.z} for noised in (f"{x.text}+{y.text}", x.text, y.text))
    noised, clean = (x, y) if x.size < y.size else (y, x)
    given = "+".join(filter(None, (clean.text, question.z)))
    marginal = config.process == "absorbing" and noised.size == 1 and not question.z  # every network knows it
    alone = () if marginal else ({"noised": noised.text, "clean": question.z},)
    return ({"noised": noised.text, "clean": given}, *alone)


def config_for(
    corpus: Corpus,
    question: Question,
    config: "ModelConfig",
    copies: int = 1,
    components: Sequence[Mapping[str, object]] = (),
) -> "ModelConfig":
    """The configuration, trained for one question.

    For several ``copies`` of the data side by side its components, or those that ``auto`` picked for
    one, are made that many times as wide, and trained for that many times the steps (or seconds).
    """
    from infosedd.config import ModelConfig

    plain = {**config.model_dump(mode="json"), "queries": queries_of(corpus, question, config)}
    if copies > 1:
        chosen = components if config.network == "auto" else plain["network"]
        for limit in ("steps", "seconds"):
            plain["training"][limit] *= copies
        plain["network"] = [_widened(component, copies) for component in chosen] or "auto"
    return ModelConfig.parse(plain)


def _widened(component: Mapping[str, Any], copies: int) -> dict[str, Any]:
    wider = {k: copies * component[k] for k in ("latents", "width", "rank") if component.get(k)}
    return {**component, **wider}
