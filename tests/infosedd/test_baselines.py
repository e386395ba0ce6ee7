"""Classical baselines against scikit-learn and dit."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from infosedd.arrays import corpus_of
from infosedd.baselines import codes_of, entropy_baselines, mutual_information_baselines, per_position_values, tokens_of
from infosedd.blocks import EMPTY
from infosedd.corpus import Corpus
from infosedd.results import Estimate

RNG = np.random.default_rng(0)
N = 400
X = RNG.integers(0, 3, (N, 2))
Y = np.where(RNG.random((N, 2)) < 0.6, X, RNG.integers(0, 3, (N, 2)))
Z = (X[:, :1] + RNG.integers(0, 2, (N, 1))) % 2
CORPUS = corpus_of({"x": X, "y": Y, "z": Z})
ALL = np.arange(N)


def baselines(corpus: Corpus, x: str, y: str, z: str = "", rows: np.ndarray = ALL) -> dict[str, Estimate]:
    chosen = [corpus.select(e) if e else EMPTY for e in (x, y, z)]
    found = mutual_information_baselines(corpus, rows, *chosen, measure="mutual_information", x=x, y=y)
    return {e.estimator: e for e in found}


def words(array: np.ndarray) -> list[str]:
    return [" ".join(map(str, row)) for row in array]


def test_joint_plug_in_is_scikit_learns() -> None:
    found = baselines(CORPUS, "x", "y")
    assert found["plug_in"].nats == pytest.approx(mutual_info_score(words(X), words(Y)), abs=1e-12)
    assert found["plug_in"].n_samples == N
    assert found["plug_in"].measure == "mutual_information"
    rows = np.arange(0, N, 3)
    part = baselines(CORPUS, "x", "y", rows=rows)["plug_in"]
    assert part.nats == pytest.approx(mutual_info_score(words(X[rows]), words(Y[rows])), abs=1e-12)


def test_miller_madow_adds_its_term_for_each_entropy() -> None:
    found = baselines(CORPUS, "x", "y")
    states = [len(set(words(a))) - 1 for a in (X, Y, np.hstack([X, Y]))]
    shift = (states[0] + states[1] - states[2]) / (2 * N)
    assert found["miller_madow"].nats == pytest.approx(found["plug_in"].nats + shift, abs=1e-12)


def test_sum_of_per_position_plug_ins() -> None:
    found = baselines(CORPUS, "x", "y")["per_position_plug_in"]
    each = [mutual_info_score(X[:, i], Y[:, i]) for i in range(2)]
    assert found.nats == pytest.approx(sum(each), abs=1e-12)
    values = per_position_values(CORPUS, ALL, CORPUS.select("x"), CORPUS.select("y"))
    assert values.mean(0) == pytest.approx(each, abs=1e-12)
    against_a_label = per_position_values(CORPUS, ALL, CORPUS.select("x"), CORPUS.select("z"))
    truth = [mutual_info_score(X[:, i], Z[:, 0]) for i in range(2)]
    assert against_a_label.mean(0) == pytest.approx(truth, abs=1e-12)
    assert per_position_values(CORPUS, ALL, CORPUS.select("z"), CORPUS.select("x")) is None
    assert "per_position_plug_in" not in baselines(CORPUS, "x", "y", "z")


def test_against_dit() -> None:
    dit = pytest.importorskip("dit")
    rows = [tuple(row) for row in np.hstack([X, Y, Z]).tolist()]
    states, counts = np.unique(rows, axis=0, return_counts=True)
    law = dit.Distribution([tuple(s) for s in states.tolist()], (counts / N).tolist())
    conditional = dit.multivariate.coinformation(law, [[0, 1], [2, 3]], [4]) * log(2)
    assert baselines(CORPUS, "x", "y", "z")["plug_in"].nats == pytest.approx(conditional, abs=1e-9)
    for x, z, axes, given in (("x", "", [0, 1], []), ("x+y[1]", "z", [0, 1, 3], [4])):
        chosen = CORPUS.select(x), CORPUS.select(z) if z else EMPTY
        plug_in, miller_madow = entropy_baselines(CORPUS, ALL, *chosen, measure="entropy")
        assert plug_in.nats == pytest.approx(dit.multivariate.entropy(law, axes, given) * log(2), abs=1e-9)
        assert miller_madow.nats > plug_in.nats


def test_weights_count() -> None:
    counts = RNG.integers(1, 5, N)
    weighted = baselines(corpus_of({"x": X, "y": Y}, weights=counts), "x", "y")["plug_in"]
    truth = mutual_info_score(words(np.repeat(X, counts, 0)), words(np.repeat(Y, counts, 0)))
    assert weighted.nats == pytest.approx(truth, abs=1e-12)
    assert weighted.n_samples == counts.sum()


def test_saturation_shows_its_ceiling() -> None:
    wide = corpus_of({"x": RNG.integers(0, 4, (N, 12)), "y": RNG.integers(0, 4, (N, 12))})
    found = baselines(wide, "x", "y")["plug_in"]
    assert found.nats == pytest.approx(log(N), abs=0.01)  # whatever the truth, which is 0
    assert found.diagnostics["ln_n"] == pytest.approx(log(N))
    assert "saturated" in found.warnings[0]
    assert baselines(CORPUS, "x", "y")["plug_in"].warnings == ()
    assert baselines(CORPUS, "x", "y")["plug_in"].diagnostics["distinct_states"] == len(set(words(np.hstack([X, Y]))))


def test_rows_with_weight_zero_do_not_matter() -> None:
    weights = (np.arange(N) < 100).astype(float)
    found = baselines(corpus_of({"x": X, "y": Y}, weights=weights), "x", "y")["plug_in"]
    assert found.nats == pytest.approx(mutual_info_score(words(X[:100]), words(Y[:100])), abs=1e-12)


def test_constant_columns_carry_nothing() -> None:
    constant = corpus_of({"x": np.zeros((N, 2), int), "y": Y})
    assert all(e.nats == pytest.approx(0, abs=1e-12) for e in baselines(constant, "x", "y").values())
    plug_in, miller_madow = entropy_baselines(constant, ALL, constant.select("x"), EMPTY, measure="entropy")
    assert plug_in.nats == miller_madow.nats == plug_in.std_error == 0


def test_codes_name_distinct_rows() -> None:
    chosen = CORPUS.select("x[1]+y")
    tokens = tokens_of(CORPUS, chosen, ALL)
    assert np.array_equal(tokens, np.hstack([X[:, 1:], Y]))
    codes = codes_of(CORPUS, chosen, ALL)
    assert len(np.unique(codes)) == len(np.unique(tokens, axis=0))
    assert all(codes[i] == codes[j] for i in range(40) for j in range(40) if (tokens[i] == tokens[j]).all())


def test_a_row_with_an_unknown_token_is_not_counted() -> None:
    unknown = np.arange(N) % 4 == 0
    x = np.where(unknown[:, None], np.array([[3, 0]]), X)
    corpus = replace(CORPUS, tokens={**CORPUS.tokens, "x": x.astype(np.uint8)})
    for estimate in baselines(corpus, "x", "y").values():
        known = baselines(CORPUS, "x", "y", rows=ALL[~unknown])[estimate.estimator]
        assert (estimate.nats, estimate.n_samples) == (pytest.approx(known.nats, abs=1e-12), 300)
        assert "counted on the 300 of 400 samples" in estimate.warnings[-1]
    assert entropy_baselines(corpus, ALL[unknown], corpus.select("x"), EMPTY, measure="entropy") == ()


def test_counted_draws_do_not_saturate() -> None:
    x = np.arange(60)
    counted = corpus_of({"x": x, "y": x % 7}, weights=np.full(60, 100))
    assert baselines(counted, "x", "y", rows=x)["plug_in"].warnings == ()
    assert "saturated" in baselines(corpus_of({"x": x, "y": x % 7}), "x", "y", rows=x)["plug_in"].warnings[0]
