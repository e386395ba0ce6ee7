"""Folds: every row is judged once, groups stay together, and too few rows are refused."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus
from infosedd.errors import InputError
from infosedd.folds import Fold, duplicate_shares, most_by_chance, plan_folds


def corpus(n: int = 200, **columns) -> Corpus:
    codes = np.random.default_rng(1).integers(0, 2, (n, 3))
    return Corpus("c", (Block("x", Vocabulary(("a", "b")), 3),), {"x": codes}, **columns)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    n=st.integers(50, 300), n_folds=st.integers(2, 10), n_groups=st.none() | st.integers(2, 60), seed=st.integers(0, 9)
)
def test_folds_cover_every_row_once_and_keep_groups_together(n: int, n_folds: int, n_groups, seed: int) -> None:
    groups = None if n_groups is None else np.random.default_rng(seed).integers(0, n_groups, n)
    if groups is not None:
        assume(len(np.unique(groups)) > n_folds + 1)
    folds = plan_folds(corpus(n, groups=groups), n_folds, seed)
    assert len(folds) == n_folds
    assert np.array_equal(np.sort(np.concatenate([fold.test for fold in folds])), np.arange(n))
    for fold in folds:
        parts = (fold.training, fold.validation, fold.test)
        assert all(len(part) for part in parts)
        assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n))
        if groups is not None:
            owned = [set(groups[part]) for part in parts]
            assert not (owned[0] & owned[1] or owned[0] & owned[2] or owned[1] & owned[2])


def test_folds_are_even_and_fixed_by_the_seed() -> None:
    folds, again, other = (plan_folds(corpus(), 5, seed) for seed in (3, 3, 4))
    assert {len(fold.test) for fold in folds} == {40}
    assert {len(fold.validation) for fold in folds} == {16}
    assert all(np.array_equal(a.test, b.test) for a, b in zip(folds, again, strict=True))
    assert not np.array_equal(folds[0].test, other[0].test)


def test_the_corpus_own_split_is_one_fold() -> None:
    splits = np.repeat([0, 1, 2], [100, 50, 50])
    (fold,) = plan_folds(corpus(splits=splits), 5, 0)
    assert [len(part) for part in (fold.training, fold.validation, fold.test)] == [100, 50, 50]
    assert set(splits[fold.test]) == {2}


@pytest.mark.parametrize("grouped", [False, True])
def test_a_split_without_validation_gives_it_a_tenth_of_the_training_rows(grouped: bool) -> None:
    splits = np.repeat([0, 2], [200, 50])
    groups = np.arange(250) // 5 if grouped else None
    (fold,), (again,), (other,) = (plan_folds(corpus(250, splits=splits, groups=groups), 5, seed) for seed in (3, 3, 4))
    assert [len(part) for part in (fold.training, fold.validation, fold.test)] == [180, 20, 50]
    assert np.array_equal(np.sort(np.concatenate([fold.training, fold.validation])), np.arange(200))
    assert np.array_equal(fold.validation, again.validation)
    assert not np.array_equal(fold.validation, other.validation)
    if groups is not None:
        assert not set(groups[fold.training]) & set(groups[fold.validation])


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_a_split_needs_rows_in_each_part(empty: int) -> None:
    splits = np.repeat([0, 1, 2], [60, 70, 70])
    splits[np.flatnonzero(splits == empty)[9:]] = (empty + 1) % 3
    with pytest.raises(InputError, match="9 rows in"):
        plan_folds(corpus(splits=splits), 5, 0)


def test_too_few_rows_or_groups() -> None:
    with pytest.raises(InputError, match="49 rows are too few"):
        plan_folds(corpus(49), 5, 0)
    assert len(plan_folds(corpus(50), 5, 0)) == 5
    with pytest.raises(InputError, match="4 groups can't be split into 5 folds"):
        plan_folds(corpus(groups=np.arange(200) % 4), 5, 0)
    with pytest.raises(InputError, match="50 rows can't be split into 60 folds, in corpus 'c'; ask for fewer folds"):
        plan_folds(corpus(50), 60, 0)


@pytest.mark.parametrize("n_groups", range(1, 8))
@pytest.mark.parametrize("n_folds", range(2, 6))
def test_few_groups_give_whole_folds_or_an_error(n_groups: int, n_folds: int) -> None:
    try:
        folds = plan_folds(corpus(groups=np.arange(200) % n_groups), n_folds, 0)
    except InputError:
        assert n_groups < max(n_folds + 1, 4)
    else:
        assert all(len(part) for fold in folds for part in (fold.training, fold.validation, fold.test))


def test_a_part_without_weight_is_refused() -> None:
    weights = np.zeros(200)
    weights[:3] = 1
    with pytest.raises(InputError, match=r"rows of a fold have the weight 0.*leave out the rows"):
        plan_folds(corpus(weights=weights, weight_kind="weight"), 5, 0)
    with pytest.raises(InputError, match="all validation rows of a fold"):
        splits, weights = np.repeat([0, 1, 2], [100, 50, 50]), np.repeat([1, 0, 1], [100, 50, 50])
        plan_folds(corpus(splits=splits, weights=weights, weight_kind="weight"), 5, 0)
    assert len(plan_folds(corpus(weights=np.arange(200) % 2, weight_kind="weight"), 5, 0)) == 5


def draws(fold: Fold, n: int) -> list[np.ndarray]:
    """(n,) draws of every row in each part."""
    assert fold.counts is not None
    return [np.bincount(getattr(fold, part), fold.counts[part], n) for part in fold.counts]


def test_the_draws_of_a_counted_row_are_split_one_by_one() -> None:
    counts = np.random.default_rng(2).integers(0, 300, 12)
    made = corpus(12, weights=counts)
    folds = plan_folds(made, 5, 3)
    tested = [fold.counts["test"].sum() for fold in folds if fold.counts is not None]
    assert max(tested) - min(tested) <= 1
    assert np.array_equal(sum(draws(fold, 12)[2] for fold in folds), counts)  # each draw is tested once
    for fold in folds:
        training, validation, test = draws(fold, 12)
        assert np.array_equal(training + validation + test, counts)
        assert validation.sum() == round(0.1 * (counts.sum() - test.sum()))
        assert set(np.flatnonzero(counts)) == set(fold.training) == set(fold.test)
        # 4 standard deviations of the hypergeometric law of each row's draws in the test part
        assert (np.abs(test - counts / 5) <= 4 * np.sqrt(counts * 0.2 * 0.8) + 1e-9).all()
    again, other = plan_folds(made, 5, 3), plan_folds(made, 5, 4)
    assert all(np.array_equal(a.counts["test"], b.counts["test"]) for a, b in zip(folds, again, strict=True))
    assert any(not np.array_equal(draws(a, 12)[2], draws(b, 12)[2]) for a, b in zip(folds, other, strict=True))


def test_more_draws_than_can_be_dealt_exactly_are_split_in_the_mean() -> None:
    counts = np.array([10**10, 10**9, 3])
    folds = plan_folds(corpus(3, weights=counts), 5, 0)
    assert np.array_equal(sum(draws(fold, 3)[2] for fold in folds), counts)
    assert all(abs(draws(fold, 3)[2][0] / 2e9 - 1) < 1e-3 for fold in folds)


def test_few_draws_are_too_few_however_many_rows() -> None:
    with pytest.raises(InputError, match="49 draws are too few"):
        plan_folds(corpus(60, weights=np.arange(60) < 49), 5, 0)
    with pytest.raises(InputError, match="50 draws can't be split into 60 folds"):
        plan_folds(corpus(1, weights=[50]), 60, 0)


def test_groups_and_importance_weights_keep_rows_whole() -> None:
    weights = np.arange(1, 201)
    for kept in ({"groups": np.arange(200) // 4}, {"weight_kind": "weight"}):
        for fold in plan_folds(corpus(weights=weights, **kept), 4, 0):
            assert fold.counts is None
            assert np.array_equal(np.sort(np.concatenate([fold.training, fold.validation, fold.test])), np.arange(200))
            assert np.array_equal(fold.weights(corpus(weights=weights), "test"), weights[fold.test])


def test_the_sources_split_of_counted_rows_stays_and_its_validation_is_drawn() -> None:
    splits = np.repeat([0, 2], [6, 6])
    counts = np.full(12, 100)
    (fold,) = plan_folds(corpus(12, splits=splits, weights=counts), 5, 0)
    training, validation, test = draws(fold, 12)
    assert np.array_equal(test, np.where(splits == 2, 100, 0))
    assert np.array_equal(training + validation, np.where(splits == 0, 100, 0))
    assert validation.sum() == 60
    (given,) = plan_folds(corpus(12, splits=np.repeat([0, 1, 2], 4), weights=counts), 5, 0)
    assert [part.tolist() for part in (given.training, given.validation, given.test)] == np.arange(12).reshape(
        3, 4
    ).tolist()


def test_duplicates_of_counted_rows_are_those_of_the_same_rows_one_a_draw() -> None:
    """Two rows of few draws and one of many: the shares of the draws, as one row a draw would give them."""
    counts = np.array([1, 2, 97])
    codes = np.array([[0, 0, 1], [1, 1, 1], [0, 1, 1]])
    block = (Block("x", Vocabulary(("a", "b")), 3),)
    made = Corpus("c", block, {"x": codes}, weights=counts)
    fold = plan_folds(made, 2, 0)[0]
    each, parts = Corpus("c", block, {"x": np.repeat(codes, counts, axis=0)}), ([], [], [])
    places = np.split(np.arange(100), counts.cumsum()[:-1])
    for row, rows in enumerate(places):
        cuts = np.cumsum([int(part[row]) for part in draws(fold, 3)])
        for part, taken in zip(parts, np.split(rows, cuts[:-1]), strict=True):
            part.extend(taken)
    expanded = Fold(*(np.array(part, int) for part in parts))
    assert duplicate_shares(made, fold) == pytest.approx(duplicate_shares(each, expanded))


def test_duplicates_are_whole_rows_that_training_has_seen() -> None:
    codes = np.array([[0, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    made = Corpus("c", (Block("x", Vocabulary(("a", "b")), 3),), {"x": codes})
    fold = Fold(np.array([0, 1]), np.array([], int), np.array([2, 3, 4]))
    assert duplicate_shares(made, fold) == (pytest.approx(2 / 3), 0.0)


def test_the_share_of_rows_that_chance_explains_allows_for_the_error_of_both_shares() -> None:
    """A quarter of independent rows is among those learned from; and where half of the rows are copies, more."""
    rng = np.random.default_rng(0)
    held_out, seen, new = rng.binomial([[200], [200], [100]], 0.25, (3, 2000)) / 200
    limits = np.array([most_by_chance(share, 200, 1.0, 200) for share in held_out])
    assert not (seen > limits).any()
    assert (0.5 + new > limits).all()
    assert most_by_chance(1.0, 200, 1.0, 200) == most_by_chance(0.5, 200, 3.0, 200) == 1.0  # few states: all are known
    assert most_by_chance(0.0, 10_000, 1.0, 10_000) < 0.001


def test_a_group_on_both_sides_of_the_sources_own_split_is_refused() -> None:
    made = corpus(splits=np.repeat([0, 1, 2], [100, 50, 50]), groups=np.arange(200) % 60)
    with pytest.raises(InputError, match="groups have rows in 'test' and in another part"):
        plan_folds(made, 5, 0)
