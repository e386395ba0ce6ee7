"""Means and standard errors with weights, counts and clusters, against simulation."""

import numpy as np
import pytest

from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus
from infosedd.estimation import Sample, estimate_of, mean_and_error
from infosedd.results import NORMAL_95

REPEATS = 2000


def spread_and_claim(draw) -> tuple[float, float, float]:
    """(mean of means, their standard deviation, root mean square of the claimed errors) over repeated samples."""
    rng = np.random.default_rng(0)
    found = np.array([mean_and_error(*draw(rng)) for _ in range(REPEATS)])
    return found[:, 0].mean(), found[:, 0].std(), float(np.sqrt((found[:, 1] ** 2).mean()))


def check(draw, truth: float, tolerance: float = 0.08) -> None:
    """The claimed error is the true spread: over 2,000 repeats it is known to 2 %, ratios are biased by order 1/n."""
    mean, spread, claimed = spread_and_claim(draw)
    assert claimed == pytest.approx(spread, rel=tolerance)
    assert abs(mean - truth) < 5 * spread / np.sqrt(REPEATS) + 0.02 * spread


def test_independent_rows() -> None:
    check(lambda rng: (rng.exponential(2.0, 60), Sample()), 2.0)


def test_importance_weights() -> None:
    def draw(rng):
        group = rng.random(80) < 0.3
        weights = np.where(group, 4.0, 1.0)  # the law that is meant has more of the second kind
        return rng.normal(np.where(group, 1.0, 0.0), 1.0), Sample(weights, "weight")

    check(draw, 1.2 / 1.9)


def test_counts_are_draws() -> None:
    def draw(rng):
        drawn = rng.choice(4, 100, p=[0.4, 0.3, 0.2, 0.1])
        counts = np.bincount(drawn, minlength=4)
        return np.array([0.0, 1.0, 2.0, 5.0]), Sample(counts.astype(float), "count")

    check(draw, 0.3 + 0.4 + 0.5)


def test_counts_equal_repeated_rows() -> None:
    values, counts = np.array([1.0, 4.0, 2.0]), np.array([3, 1, 5])
    counted = mean_and_error(values, Sample(counts.astype(float), "count"))
    repeated = mean_and_error(np.repeat(values, counts), Sample())
    assert counted == pytest.approx(repeated, rel=1e-12)
    nothing = mean_and_error(np.append(values, 99.0), Sample(np.append(counts, 0).astype(float), "count"))
    assert nothing == pytest.approx(counted, rel=1e-12)


def test_clusters() -> None:
    def draw(rng):
        groups = rng.integers(0, 60, 300)
        shared = rng.normal(0, 1, 60)
        return shared[groups] + rng.normal(0, 0.5, 300), Sample(groups=groups)

    check(draw, 0.0)


def test_clusters_of_counts() -> None:
    def draw(rng):
        groups = np.repeat(np.arange(50), 3)
        counts = rng.integers(1, 6, 150).astype(float)
        return rng.normal(0, 1, 50)[groups] + rng.normal(0, 0.3, 150), Sample(counts, "count", groups)

    check(draw, 0.0)


def test_groups_of_one_row_change_nothing() -> None:
    values = np.random.default_rng(2).normal(size=40)
    alone = mean_and_error(values, Sample(groups=np.arange(40)))
    assert alone == pytest.approx(mean_and_error(values, Sample()), rel=1e-12)


def test_equal_weights_change_nothing_and_scale_does_not_matter() -> None:
    values = np.random.default_rng(3).normal(size=40)
    plain = mean_and_error(values, Sample())
    for scale in (1e-6, 1.0, 7.5):
        assert mean_and_error(values, Sample(np.full(40, scale), "weight")) == pytest.approx(plain, rel=1e-9)


def test_one_unit_has_no_error_bar() -> None:
    assert mean_and_error(np.array([1.0]), Sample())[1] == np.inf
    assert mean_and_error(np.ones(5), Sample(groups=np.zeros(5, int)))[1] == np.inf
    assert mean_and_error(np.full(3, 2.0), Sample()) == (2.0, 0.0)


def test_sizes() -> None:
    counts = Sample(np.array([3.0, 1.0, 4.0]), "count")
    assert (counts.n_samples(3), counts.n_effective(3)) == (8, 8.0)
    weights = Sample(np.array([3.0, 1.0, 0.0]), "weight")
    assert weights.n_samples(3) == 3
    assert weights.n_effective(3) == pytest.approx(16 / 10)
    assert Sample().n_effective(7) == 7
    assert Sample(groups=np.array([5, 5, 9, 9])).n_effective(4) == 2
    assert Sample(np.array([1.0, 1.0, 2.0]), "count", np.array([0, 0, 1])).n_effective(3) == 2


def test_estimates_carry_a_normal_interval() -> None:
    values = np.random.default_rng(4).normal(1.0, 2.0, 50)
    estimate = estimate_of(values, Sample(), measure="entropy", x="x")
    mean, error = mean_and_error(values, Sample())
    assert (estimate.nats, estimate.std_error, estimate.n_samples) == (mean, error, 50)
    assert estimate.ci_high - estimate.nats == pytest.approx(NORMAL_95 * error)
    assert estimate.nats - estimate.ci_low == pytest.approx(NORMAL_95 * error)


def test_a_sample_is_the_rows_of_a_corpus() -> None:
    codes = np.zeros((4, 1), int)
    corpus = Corpus(
        "c",
        (Block("x", Vocabulary(("a",)), 1),),
        {"x": codes},
        weights=np.array([1, 2, 3, 4]),
        groups=np.arange(4) // 2,
    )
    sample = Sample.of(corpus, np.array([3, 0]))
    assert sample.weights.tolist() == [4, 1]
    assert sample.groups.tolist() == [1, 0]
    assert sample.weight_kind == "count"
