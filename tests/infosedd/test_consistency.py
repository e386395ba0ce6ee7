"""What each check expects, against laws that are known, and how it judges."""

import math
from dataclasses import replace

import numpy as np
import pytest

from infosedd.arrays import corpus_of
from infosedd.consistency import CHECKS, Case, Skipped, case_of, judge, redrawn_ceiling
from infosedd.corpus import Corpus
from infosedd.derived import Question
from infosedd.errors import InputError
from infosedd.results import Estimate

PAIR = Question("x", "y")
LABEL_NOISE = [0.6931, 0.4946, 0.3681, 0.2704, 0.1927, 0.1308, 0.0823, 0.0457, 0.0201, 0.0050, 0.0]
"""ln 2 - h2(p / 2) for p = 0, .1 ... 1: two equal classes, redrawn."""


def estimate(nats: float, error: float) -> Estimate:
    return Estimate("mutual_information", nats, error, nats - 2 * error, nats + 2 * error, 100)


def copies(n: int = 400, size: int = 4, length: int = 2) -> Corpus:
    """y is the first letter of x."""
    x = np.random.default_rng(0).integers(0, size, (n, length))
    return corpus_of({"x": x, "y": x[:, 0]})


def plug_in(corpus: Corpus, question: Question) -> float:
    """I(x; y) by counting, for few states."""
    columns = [
        np.unique(np.hstack([corpus.tokens[n].astype(int) for n in side.split("+")]), axis=0, return_inverse=True)[1]
        for side in (question.x, question.y)
    ]
    table = np.zeros([c.max() + 1 for c in columns])
    np.add.at(table, tuple(c.ravel() for c in columns), 1)
    joint = table / table.sum()
    outer = joint.sum(1, keepdims=True) * joint.sum(0)
    return float((joint[joint > 0] * np.log(joint[joint > 0] / outer[joint > 0])).sum())


def case(name: str, corpus: Corpus, question: Question = PAIR) -> Case:
    made = case_of(name, corpus, question)
    assert isinstance(made, Case)
    return made


def test_the_ceiling_of_label_noise() -> None:
    half = np.array([0.5, 0.5])
    assert [redrawn_ceiling(half, p / 10) for p in range(11)] == pytest.approx(LABEL_NOISE, abs=5e-5)
    law = np.array([0.5, 0.3, 0.2, 0.0])
    for p in (0.0, 0.2, 0.7, 1.0):
        joint = law[:, None] * ((1 - p) * np.eye(4) + p * law)
        positive = joint > 0
        ratio = joint[positive] / (joint.sum(1, keepdims=True) * joint.sum(0))[positive]
        assert redrawn_ceiling(law, p) == pytest.approx(float((joint[positive] * np.log(ratio)).sum()), abs=1e-12)
        assert redrawn_ceiling(law, p) <= (1 - p) * redrawn_ceiling(law, 0.0) + 1e-12  # (1 - p) I, for x = y


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("dropping", math.log(4)),
        ("coarsening", math.log(2)),
        ("additivity", 2 * math.log(4)),
        ("independence", 0.0),
        ("relabelling", math.log(4)),
        ("swapping", math.log(4)),
    ],
)
def test_cases_have_the_information_that_they_must(name: str, truth: float) -> None:
    corpus = copies(8000, length=1) if name == "additivity" else copies(8000)
    made = case(name, corpus)
    found = plug_in(made.corpus, made.question)
    assert found == pytest.approx(truth, abs=0.02)
    verdict = judge(made, estimate(math.log(4), 0.005), estimate(found, 0.005))
    assert verdict.passed
    assert verdict.tolerance == pytest.approx(4 * math.hypot(0.005, made.factor * 0.005))
    assert made.corpus.name == f"arrays: {name}"


def test_label_noise_stays_below_both_bounds() -> None:
    corpus = copies(20_000)
    made = case("label_noise", corpus)
    assert made.factor == 0.5
    assert made.ceiling == pytest.approx(redrawn_ceiling(np.full(4, 0.25), 0.5), abs=1e-3)
    found = plug_in(made.corpus, made.question)
    assert found == pytest.approx(made.ceiling, abs=0.01)  # x decides y, so the ceiling is reached
    assert judge(made, estimate(math.log(4), 0.01), estimate(found, 0.01)).passed
    worse = judge(made, estimate(math.log(4), 0.01), estimate(made.ceiling + 0.05, 0.01))
    assert not worse.passed and worse.expected == made.ceiling and worse.tolerance == pytest.approx(0.04)
    weak = judge(made, estimate(0.2, 0.01), estimate(0.09, 0.01))
    assert weak.passed and weak.expected == pytest.approx(0.1)
    sequences = corpus_of({"x": np.zeros((50, 3), int), "y": np.zeros((50, 2), int)})
    assert case("label_noise", sequences).ceiling == math.inf


def test_judging() -> None:
    equal = Case("relabelling", "I", copies(), PAIR)
    reference = estimate(1.0, 0.03)
    for nats, passed in ((1.19, True), (1.21, False), (0.81, True), (0.79, False)):  # 4 hypot(0.03, 0.04) = 0.2
        assert judge(equal, reference, estimate(nats, 0.04)).passed is passed
    at_most = Case("dropping", "at most I", copies(), PAIR, "at most")
    for nats, passed in ((1.19, True), (1.21, False), (0.1, True), (-1.0, True)):
        assert judge(at_most, reference, estimate(nats, 0.04)).passed is passed
    double = Case("additivity", "2 I", copies(), PAIR, factor=2.0)
    verdict = judge(double, reference, estimate(2.3, 0.08))
    assert (verdict.expected, verdict.tolerance, verdict.passed) == (2.0, pytest.approx(0.4), True)
    nothing = judge(Case("independence", "0", copies(), PAIR, factor=0.0), reference, estimate(0.05, 0.01))
    assert (nothing.expected, nothing.tolerance, nothing.passed) == (0.0, 0.04, False)


def test_checks_that_the_data_leave_no_room_for() -> None:
    bits = corpus_of({"x": np.arange(60) % 2, "y": np.arange(60) // 2 % 2})
    for name, words in (("dropping", "one position"), ("coarsening", "two symbols")):
        made = case_of(name, bits, PAIR)
        assert isinstance(made, Skipped) and words in made.reason
    wide = corpus_of({"x": np.arange(60) % 2, "y": np.random.default_rng(0).integers(0, 3, (60, 4))})
    assert case("dropping", wide).corpus.block("y.y").length == 2
    assert case("coarsening", wide).corpus.block("y.y").vocabulary.size == 2
    with pytest.raises(InputError, match="did you mean 'additivity'"):
        case_of("additivitiy", bits, PAIR)


def test_every_check_takes_weights_groups_splits_and_a_condition() -> None:
    rng = np.random.default_rng(1)
    plain = corpus_of({"x": rng.integers(0, 4, (90, 4)), "y": rng.integers(0, 3, 90), "z": rng.integers(0, 3, 90)})
    corpus = replace(plain, weights=rng.random(90), weight_kind="weight", groups=np.arange(90) // 2)
    corpus = replace(corpus, splits=np.repeat([0, 1, 2], 30))
    for name in CHECKS:
        made = case(name, corpus, Question("x[0:3]", "y", "z"))
        assert made.corpus.weights is not None and made.corpus.groups is not None and made.corpus.splits is not None
        assert {made.corpus.select(side).size for side in made.question.sides} <= {1, 2, 3, 6}
        for rows in ("training", "validation", "test"):
            assert len(made.corpus.rows_in(rows)) >= 28
