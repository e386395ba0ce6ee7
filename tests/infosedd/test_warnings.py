"""Estimates that should not be believed say so; one that should raises nothing."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from infosedd.arrays import corpus_of
from infosedd.corpus import Corpus
from infosedd.model import ScoreModel
from infosedd.results import Estimate


def letters(n: int, length: int = 2, *, dependent: bool = True) -> Corpus:
    """Uniform letters, and a label that is the first of them in nine rows of ten."""
    rng = np.random.default_rng(7)
    x = rng.integers(0, 4, (n, length))
    drawn = rng.integers(0, 4, n)
    return corpus_of({"x": x, "y": np.where(rng.random(n) < 0.9, x[:, 0], drawn) if dependent else drawn})


def ask(corpus: Corpus, *, steps: int = 300, network: dict | None = None) -> Estimate:
    training = {"budget": "steps", "steps": steps, "batch_size": 256, "evaluate_every": max(2, steps // 15)}
    config = {
        "network": [network or {"kind": "pairwise", "learning_rate": 0.1}],
        "queries": [{"noised": "y", "clean": "x"}],
        "training": {**training, "warmup": 5},
        "folds": 2,
    }
    return ScoreModel.fit(corpus, config).mutual_information("x", "y")


def test_a_good_run_raises_no_warning() -> None:
    estimate = ask(letters(2000))
    assert estimate.warnings == ()
    assert 0.9 < estimate.nats < 1.2 and estimate.std_error < 0.03


def split(training: int, test: int, length: int) -> Corpus:
    """Rows with a split of their own."""
    splits = np.repeat([0, 1, 2], [training, 30, test])
    return replace(letters(training + 30 + test, length), splits=splits)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda: ask(letters(2000), steps=15), "the held-out loss was still falling"),
        (lambda: ask(letters(100)), "only 100 effective samples"),
        (lambda: ask(split(100, 1000, length=2)), "learned from only 100 effective samples"),
        (lambda: ask(letters(1500, dependent=False)), "the interval holds 0"),
        (lambda: ask(letters(60)), "only 60 effective samples"),
    ],
    ids=["stopped far too early", "100 rows", "trained on 100 rows", "independent data", "60 rows"],
)
def test_what_should_not_be_believed_says_so(run: Callable[[], Estimate], said: str) -> None:
    estimate = run()
    assert any(said in warning for warning in estimate.warnings), estimate.warnings
    assert estimate.ci_low <= estimate.nats <= estimate.ci_high
