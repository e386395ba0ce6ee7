"""Counting against scikit-learn, with weights and hidden tokens."""

from math import log

import numpy as np
import pytest

from flows.report import counts
from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus
from tests.report.report_homes import DNA, promoter_corpus


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    weights = np.random.default_rng(2).integers(1, 4, 400).astype(float)
    return promoter_corpus(weights=weights)


def repeated(corpus: Corpus, name: str) -> np.ndarray:
    """Tokens with each row as often as its count says."""
    return np.repeat(corpus.tokens[name], counts.weights_of(corpus).astype(int), axis=0)


def test_one_position_and_the_label_like_scikit_learn(corpus):
    from sklearn.metrics import mutual_info_score

    joint = counts.label_counts(corpus, corpus.block("promoter"), corpus.block("label"))
    found = counts.per_position_information(joint)
    labels = repeated(corpus, "label")[:, 0]
    expected = [mutual_info_score(column, labels) for column in repeated(corpus, "promoter").T]
    np.testing.assert_allclose(found.nats, expected, atol=1e-12)
    assert found.n_rows == corpus.n_draws
    assert found.chance == pytest.approx(3 / (2 * corpus.n_draws))
    told = counts.symbol_information(joint)
    np.testing.assert_allclose(told.sum(axis=1), found.nats)
    assert told.min() > -1e-12


def test_two_positions_like_scikit_learn(corpus):
    from sklearn.metrics import mutual_info_score

    found = counts.pairwise_information(corpus, corpus.block("promoter")).nats
    codes = repeated(corpus, "promoter")
    for i, j in ((0, 1), (8, 9), (10, 11), (3, 19)):
        assert found[i, j] == pytest.approx(mutual_info_score(codes[:, i], codes[:, j]), abs=1e-6)
        assert found[i, j] == pytest.approx(found[j, i])
    assert np.isnan(np.diag(found)).all()


def test_hidden_tokens_and_pads_are_left_out():
    words = Vocabulary(("_", "a", "b"), "_")
    codes = np.array([[1, 2, 0], [1, 1, 0], [1, 3, 2], [2, 2, 2]])
    corpus = Corpus("c", (Block("x", words, 3),), {"x": codes})
    block = corpus.block("x")
    np.testing.assert_array_equal(counts.position_counts(corpus, block)[1], [0, 1, 2])
    np.testing.assert_allclose(counts.symbol_shares(corpus, block), [0, 4 / 9, 5 / 9])
    np.testing.assert_array_equal(counts.lengths(corpus, block), [2, 2, 3, 3])
    letters, shares = counts.commonest(corpus, block)
    assert letters[0] == "a" and shares[0] == 0.75


def test_logo_heights_are_two_bits_for_a_certain_letter_and_none_for_a_uniform_one():
    heights = counts.letter_heights(np.array([[8.0, 0, 0, 0], [2, 2, 2, 2]]))
    np.testing.assert_allclose(heights, [[2, 0, 0, 0], [0, 0, 0, 0]], atol=1e-12)


def test_perfect_labels_tell_their_entropy():
    codes = np.array([[0], [1]] * 50)
    corpus = Corpus("c", (Block("x", DNA, 1), Block("y", Vocabulary(("n", "p")), 1)), {"x": codes, "y": codes})
    joint = counts.label_counts(corpus, corpus.block("x"), corpus.block("y"))
    assert counts.per_position_information(joint).nats[0] == pytest.approx(log(2))


def test_no_pairs_where_it_would_take_long():
    assert counts.can_pair(Block("x", DNA, 251))
    assert not counts.can_pair(Block("x", DNA, 2))
    assert not counts.can_pair(Block("x", Vocabulary(tuple(map(str, range(65)))), 256))
