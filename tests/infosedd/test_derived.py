"""Corpora made from corpora: what is kept, what is changed, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from infosedd.arrays import corpus_of
from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus
from infosedd.derived import (
    Question,
    coarsened,
    draws_of,
    paired,
    projected,
    redrawn,
    relabelled,
    shortened,
    shuffled,
    subset,
    swapped,
)
from infosedd.errors import InputError

PAIR = Question("x", "y")


def letters(n: int = 60, seed: int = 0, **columns) -> Corpus:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (n, 6))
    x[:2] = [[0] * 6, [3] * 6]
    corpus = corpus_of({"x": x, "y": np.arange(n) % 3})
    return replace(corpus, **columns)


def rows_of(corpus: Corpus, *names: str) -> list[tuple]:
    return [tuple(row) for row in np.hstack([corpus.tokens[n].astype(int) for n in names]).tolist()]


def test_counts_become_rows() -> None:
    counts = np.array([0.0, 3.0, 1.0] * 20)
    groups = np.arange(60) // 2
    corpus = letters(weights=counts, weight_kind="count", groups=groups)
    drawn = draws_of(corpus)
    assert drawn.weights is None
    assert drawn.n == corpus.n_draws == 80
    assert rows_of(drawn, "x", "y") == [
        r for r, c in zip(rows_of(corpus, "x", "y"), counts, strict=True) for _ in range(int(c))
    ]
    assert drawn.groups is not None and drawn.groups.tolist() == np.repeat(groups, counts.astype(int)).tolist()
    few = draws_of(corpus, 30, seed=1)
    assert few.n == 30
    assert few.corpus_id == draws_of(corpus, 30, seed=1).corpus_id != draws_of(corpus, 30, seed=2).corpus_id
    plain = letters()
    assert draws_of(plain) is plain and draws_of(plain, 60) is plain
    assert draws_of(plain, 10).n == 10
    with pytest.raises(InputError, match="can't check on 0 rows"):
        draws_of(plain, 0)


def test_only_what_is_asked_about_is_kept() -> None:
    spins = Block("spins", Vocabulary(("-", "+")), 24, lattice=(6, 4), periodic=True)
    codes = np.random.default_rng(0).integers(0, 2, (50, 24))
    corpus = Corpus("spins", (spins,), {"spins": codes})
    own, asked = projected(corpus, Question("spins[0:12]", "spins[12:24]"))
    assert asked == Question("x.spins", "y.spins")
    assert [(b.name, b.length, b.lattice, b.periodic) for b in own.blocks] == [
        ("x.spins", 12, (3, 4), False),
        ("y.spins", 12, (3, 4), False),
    ]
    assert np.array_equal(own.tokens["y.spins"], codes[:, 12:])
    odd, _ = projected(corpus, Question("spins[1:7]", "spins[20]", "spins[8]+spins[10]"))
    assert [b.lattice for b in odd.blocks] == [None, None, None]
    assert np.array_equal(odd.tokens["z.spins"], codes[:, [8, 10]])
    assert own.provenance.source_uri == f"corpus:{corpus.corpus_id}"


def test_half_of_a_side_is_dropped() -> None:
    corpus = letters()
    cut = shortened(corpus, "x")
    assert np.array_equal(cut.tokens["x"], corpus.tokens["x"][:, :3])
    assert np.array_equal(cut.tokens["y"], corpus.tokens["y"])
    two = corpus_of({"a": np.zeros((50, 3), int), "b": np.zeros((50, 2), int), "y": np.zeros(50, int)})
    assert [(b.name, b.length) for b in shortened(two, "a+b").blocks] == [("a", 3), ("y", 1)]
    lattice = Block("s", Vocabulary(("-", "+")), 12, lattice=(3, 4))
    grid = Corpus("s", (lattice,), {"s": np.zeros((50, 12), int)})
    assert shortened(grid, "s").blocks[0].lattice == (2, 4)


def test_symbols_are_merged_and_a_pad_is_not() -> None:
    words = Block("x", Vocabulary(("<pad>", "a", "b", "c"), pad="<pad>"), 5)
    corpus = Corpus("w", (words,), {"x": np.array([[0, 1, 2, 3, 4]])})
    merged = coarsened(corpus, "x")
    assert merged.blocks[0].vocabulary == Vocabulary(("a|b", "c", "<pad>"), pad="<pad>")
    assert merged.tokens["x"].tolist() == [[2, 0, 0, 1, 3]]  # the last one is hidden, before and after


def test_renaming_is_a_permutation_that_moves() -> None:
    words = Block("x", Vocabulary(("<pad>", "a", "b"), pad="<pad>"), 4)
    corpus = Corpus("w", (words,), {"x": np.array([[0, 1, 2, 3]])})
    assert relabelled(corpus).tokens["x"].tolist() == [[0, 2, 1, 3]]
    renamed = relabelled(letters(), seed=3)
    pairs = set(zip(letters().tokens["x"].ravel().tolist(), renamed.tokens["x"].ravel().tolist(), strict=True))
    assert len(pairs) == 4 and any(a != b for a, b in pairs)


def test_sides_are_swapped() -> None:
    corpus = letters()
    other, asked = swapped(corpus, PAIR)
    assert asked == Question("y", "x")
    assert [b.name for b in other.blocks] == ["y", "x"]
    assert rows_of(other, "x", "y") == rows_of(corpus, "x", "y")


def test_shuffling_keeps_the_margins_within_splits() -> None:
    splits = np.repeat([0, 1, 2], 20)
    corpus = letters(splits=splits)
    mixed = shuffled(corpus, "y", seed=1)
    assert np.array_equal(mixed.tokens["x"], corpus.tokens["x"])
    assert not np.array_equal(mixed.tokens["y"], corpus.tokens["y"])
    for code in range(3):
        there = splits == code
        assert sorted(mixed.tokens["y"][there].ravel()) == sorted(corpus.tokens["y"][there].ravel())
    assert mixed.corpus_id == shuffled(corpus, "y", seed=1).corpus_id != shuffled(corpus, "y", seed=2).corpus_id


def test_shuffling_among_equals_keeps_the_condition() -> None:
    z = np.arange(60) // 5
    corpus = corpus_of({"x": np.arange(60) % 4, "y": np.arange(60), "z": z})
    mixed = shuffled(corpus, "y", given="z")
    assert [v // 5 for v in mixed.tokens["y"].ravel()] == z.tolist()
    assert not np.array_equal(mixed.tokens["y"], corpus.tokens["y"])


def test_groups_of_one_size_change_places_whole() -> None:
    groups = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4] + [5] * 7)
    corpus = corpus_of({"x": np.arange(20) % 2, "y": np.arange(20)}, groups=groups)
    got = shuffled(corpus, "y", seed=3).tokens["y"].ravel()
    blocks = {tuple(got[i : i + 3]) for i in range(0, 12, 3)}
    assert blocks == {(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)}
    assert sorted(got[12:]) == list(range(12, 20))


def test_redrawn_rows_follow_the_margin_of_their_split() -> None:
    splits = np.repeat([0, 1, 2], 1000)
    y = splits * 2 + np.random.default_rng(0).integers(0, 2, 3000)
    corpus = replace(corpus_of({"x": np.arange(3000) % 5, "y": y}), splits=splits)
    noisy = redrawn(corpus, "y", 0.5, seed=1)
    got = noisy.tokens["y"].ravel().astype(int)
    assert np.array_equal(got // 2, splits)
    assert (got != y).mean() == pytest.approx(0.25, abs=0.03)  # half are redrawn, half of those give the same
    assert np.array_equal(redrawn(corpus, "y", 0.0).tokens["y"], corpus.tokens["y"])


def test_copies_stand_beside_each_other_both_ways_round() -> None:
    splits = np.repeat([0, 1, 2], [20, 21, 20])
    corpus = letters(61, splits=splits, weights=np.arange(1.0, 62.0), weight_kind="weight")
    doubled, asked = paired(corpus, PAIR, seed=2)
    assert asked == Question("x.1+x.2", "y.1+y.2")
    assert doubled.groups is not None
    assert sorted(np.bincount(doubled.groups).tolist()) == [20] * 11 + [30]  # fives, and a six of the odd row
    first, second = rows_of(doubled, "x.1", "y.1"), rows_of(doubled, "x.2", "y.2")
    assert len(set(first)) == len(set(second)) == 61  # no row is left out
    assert all(a != b for a, b in zip(first, second, strict=True))
    for five in range(12):
        there = np.flatnonzero(doubled.groups == five)
        pairs = {(first[i], second[i]) for i in there}
        assert len(pairs) == len(there) and pairs == {(b, a) for a, b in pairs}
    whole = dict(zip(rows_of(corpus, "x", "y"), zip(splits, corpus.weights, strict=True), strict=True))  # type: ignore[arg-type]
    for a, b, split, weight in zip(first, second, doubled.splits, doubled.weights, strict=True):  # type: ignore[arg-type]
        assert whole[a][0] == whole[b][0] == split
        assert whole[a][1] * whole[b][1] == weight


def test_copies_of_groups_are_of_two_groups() -> None:
    groups = np.repeat(np.arange(10), [1, 1, 1, 2, 1, 9, 9, 9, 9, 9])
    corpus = corpus_of({"x": np.arange(51), "y": np.arange(51)}, groups=groups)
    doubled, _ = paired(corpus, PAIR)
    assert doubled.n == 20 * (1 + 9)
    group_of = {str(i): g for i, g in enumerate(groups)}
    symbols = corpus.block("x").vocabulary.symbols
    pairs = {
        (group_of[symbols[a]], group_of[symbols[b]])
        for a, b in zip(doubled.tokens["x.1"][:, 0], doubled.tokens["x.2"][:, 0], strict=True)
    }
    small, large = range(5), range(5, 10)
    assert pairs == {(a, b) for five in (small, large) for a in five for b in five if a != b}
    with pytest.raises(InputError, match="one group can't be paired"):
        paired(replace(corpus, groups=np.zeros(51)), PAIR)


def test_the_error_of_two_copies_is_twice_that_of_one() -> None:
    """Clustered by meeting, the mean of v_i + v_j over the doubled rows has the error of 2 mean(v)."""
    from infosedd.estimation import Sample, mean_and_error

    values = np.random.default_rng(0).normal(size=4000)
    corpus = corpus_of({"x": np.arange(4000), "y": np.zeros(4000, int)})
    doubled, _ = paired(corpus, PAIR)
    codes = {
        n: np.array(corpus.block("x").vocabulary.symbols).astype(int)[doubled.tokens[n][:, 0]] for n in ("x.1", "x.2")
    }
    sums = values[codes["x.1"]] + values[codes["x.2"]]
    mean, error = mean_and_error(sums, Sample(groups=doubled.groups))
    alone, alone_error = mean_and_error(values, Sample())
    assert mean == pytest.approx(2 * alone, abs=1e-12)
    assert error == pytest.approx(2 * alone_error, rel=0.08)


def test_subsets_are_nested_and_keep_the_test_rows() -> None:
    corpus = letters(400, splits=np.repeat([0, 1, 2, 0], 100))
    quarter, half = (subset(corpus, share) for share in (0.25, 0.5))
    assert len(quarter.rows_in("test")) == len(half.rows_in("test")) == 100
    assert 50 < len(quarter.rows_in("training")) + len(quarter.rows_in("validation")) < 100
    assert set(rows_of(quarter, "x", "y")) <= set(rows_of(half, "x", "y"))
    grouped = letters(400, groups=np.arange(400) // 4)
    assert set(np.bincount(subset(grouped, 0.5).groups)) == {0, 4}  # type: ignore[arg-type]


def test_symmetries_stay_where_they_still_hold() -> None:
    ring = Block("s", Vocabulary(("-", "+")), 8, (8,), True, ("translations", "symbol_flip"))
    corpus = Corpus("s", (ring,), {"s": np.random.default_rng(0).integers(0, 2, (50, 8))})
    halves, _ = projected(corpus, Question("s[0:4]", "s[4:8]"))
    assert [b.symmetries for b in halves.blocks] == [(), ()]  # each half flipped by itself would undo their dependence
    assert shuffled(corpus, "s[4:8]").blocks[0].symmetries == ("symbol_flip",)
    assert shuffled(corpus, "s").blocks[0].symmetries == ring.symmetries
    assert relabelled(corpus).blocks[0].symmetries == ring.symmetries
    levels = Block("l", Vocabulary(("0", "1", "2")), 8, (8,), True, ("translations", "symbol_flip"))
    three = Corpus("l", (levels,), {"l": np.random.default_rng(0).integers(0, 3, (50, 8))})
    assert relabelled(three).blocks[0].symmetries == ("translations",)


def test_a_share_of_counted_rows_is_a_share_of_their_draws() -> None:
    made = letters(4, weights=np.array([1000, 0, 400, 600]), weight_kind="count")
    half = subset(made, 0.5, 1)
    assert half.n_draws == 1000
    assert half.n == 3
    # 4 standard deviations of the hypergeometric law of the first row's draws
    assert abs(half.weights[0] - 500) <= 4 * (1000 * 0.25 * 0.5) ** 0.5
    kept = subset(replace(made, splits=np.array([0, 0, 0, 2])), 0.5, 1)
    assert kept.weights[-1] == 600 and kept.n_draws == 1300


def test_a_shuffle_given_a_condition_keeps_groups_together() -> None:
    groups = np.repeat(np.arange(20), 4)
    made = corpus_of({"x": np.arange(80) % 7, "y": groups, "z": groups % 2}, groups=groups)
    moved = shuffled(made, "y", seed=1, given="z")
    labels = moved.tokens["y"].reshape(20, 4)
    assert (labels == labels[:, :1]).all()
    assert np.array_equal(np.sort(labels[:, 0]), np.arange(20)) and (labels[:, 0] != np.arange(20)).any()
    assert np.array_equal(labels[:, 0] % 2, np.arange(20) % 2)
