"""Lagged series: the rows that they become, and transfer entropy of chains whose answer is known."""

import math

import numpy as np
import pytest

import infosedd
from infosedd.arrays import corpus_of
from infosedd.errors import InputError
from infosedd.lags import lagged

QUICK = {
    "network": [{"kind": "pairwise"}],
    "folds": 2,
    "training": {"budget": "steps", "steps": 300, "batch_size": 512},
}
NOISE = 0.1


def copies(n_moments: int, delay: int) -> tuple[np.ndarray, np.ndarray]:
    """Fair coins, and the same coins ``delay`` moments later, one in ten turned over."""
    rng = np.random.default_rng(3)
    source = rng.integers(0, 2, n_moments)
    target = np.roll(source, delay) ^ (rng.random(n_moments) < NOISE)
    return source, target


def test_each_moment_has_its_past() -> None:
    series = corpus_of({"x": np.array([[0, 1, 2, 3, 4]]), "y": np.array([[5, 6, 7, 8, 9]])})
    rows = lagged(series, {"x": 2, "y": 1})
    assert [(b.name, b.length) for b in rows.blocks] == [("x", 1), ("x_past", 2), ("y", 1), ("y_past", 1)]
    assert rows.tokens["x"].tolist() == [[2], [3], [4]]
    assert rows.tokens["x_past"].tolist() == [[0, 1], [1, 2], [2, 3]]
    assert rows.tokens["y_past"].tolist() == [[1], [2], [3]]


def test_a_block_without_a_past_and_several_series() -> None:
    series = corpus_of({"x": np.array([[0, 1, 0], [1, 1, 0]]), "y": np.array([[2, 3, 2], [3, 3, 2]])})
    rows = lagged(series, {"x": 1, "y": 0})
    assert [b.name for b in rows.blocks] == ["x", "x_past", "y"]
    assert rows.tokens["x_past"].ravel().tolist() == [0, 1, 1, 1]
    assert rows.n == 4


def test_consecutive_moments_are_one_group() -> None:
    series = corpus_of({"x": np.zeros((1, 2001), int), "y": np.ones((1, 2001), int)})
    groups = lagged(series, {"x": 1, "y": 1}).groups
    assert groups is not None
    assert len(np.unique(groups)) == 400
    assert (np.diff(groups) >= 0).all()


def test_a_stretch_is_long_beside_the_past() -> None:
    series = corpus_of({"x": np.zeros((1, 1000), int), "y": np.ones((1, 1000), int)})
    for past in (1, 4, 20):
        groups = lagged(series, {"x": past, "y": 1}).groups
        assert groups is not None
        assert np.bincount(groups)[0] == 5 * past


def test_symbols_of_several_letters_are_not_taken_for_series() -> None:
    words = np.array(["hi", "lo"])[np.random.default_rng(0).integers(0, 2, 500)]
    with pytest.raises(InputError, match=r"500 strings of 2 letters.*shape \(1, 500\)"):
        infosedd.transfer_entropy(words.tolist(), words.tolist(), config=QUICK)
    quick = {**QUICK, "training": {"budget": "steps", "steps": 2}}
    assert infosedd.transfer_entropy(words[None], words[None], config=quick).n_samples == 499


@pytest.mark.parametrize(
    ("history", "message"), [({"x": 5, "y": 1}, "no moment with a past"), ({"x": 0, "y": 0}, "nothing")]
)
def test_what_has_no_past_is_refused(history: dict[str, int], message: str) -> None:
    series = corpus_of({"x": np.array([[0, 1, 2]]), "y": np.array([[0, 1, 2]])})
    with pytest.raises(InputError, match=message):
        lagged(series, history)


def test_series_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="differ in length"):
        infosedd.transfer_entropy([0, 1, 0, 1], [0, 1, 0])


def test_transfer_goes_one_way() -> None:
    source, target = copies(4000, delay=1)
    truth = math.log(2) + NOISE * math.log(NOISE) + (1 - NOISE) * math.log(1 - NOISE)
    there = infosedd.transfer_entropy(source, target, config=QUICK)
    back = infosedd.transfer_entropy(target, source, config=QUICK)
    assert there.measure == "conditional_mutual_information"
    assert abs(there.nats - truth) < 4 * there.std_error + 0.01
    assert there.std_error < 0.02
    assert abs(back.nats) < 4 * back.std_error + 0.005


def test_a_short_history_misses_a_long_delay() -> None:
    source, target = copies(3000, delay=2)
    assert abs(infosedd.transfer_entropy(source, target, config=QUICK).nats) < 0.01
    assert infosedd.transfer_entropy(source, target, history=2, config=QUICK).nats > 0.3


def test_strings_are_series() -> None:
    rng = np.random.default_rng(0)
    rows = ["".join(row) for row in np.array(list("ab"))[rng.integers(0, 2, (60, 80))]]
    estimate = infosedd.transfer_entropy(rows, rows, config={**QUICK, "training": {"budget": "steps", "steps": 5}})
    assert estimate.n_samples == 60 * 79
