"""Learning curves and nulls: what they say of answers that are given, and of small fits."""

import math

import numpy as np
import pytest

import infosedd
from infosedd.arrays import corpus_of
from infosedd.config import ModelConfig
from infosedd.corpus import Corpus
from infosedd.derived import Question
from infosedd.errors import InputError
from infosedd.progress import Progress
from infosedd.refits import PermutationNull, config_for, curve_of, null_of, queries_of
from infosedd.results import Estimate

PAIR = Question("x", "y")
STEPS = {"budget": "steps", "steps": 60, "batch_size": 128, "evaluate_every": 30, "warmup": 5}
QUICK = {"folds": 2, "network": [{"kind": "pairwise", "learning_rate": 0.1}], "training": STEPS}


def estimate(nats: float, error: float = 0.01, n: int = 100) -> Estimate:
    return Estimate("mutual_information", nats, error, nats - 2 * error, nats + 2 * error, n)


def letters(n: int = 400, dependent: bool = True) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (n, 2))
    return x, np.where(rng.random(n) < 0.9, x[:, 0], 0) if dependent else rng.integers(0, 3, n)


@pytest.mark.parametrize(("last", "settled"), [(0.62, True), (0.64, False), (0.58, True), (0.56, False)])
def test_a_curve_has_settled_when_its_last_change_is_within_errors(last: float, settled: bool) -> None:
    sizes = []

    def ask(corpus: Corpus) -> Estimate:
        sizes.append(corpus.n)
        return estimate(0.5 if len(sizes) == 1 else 0.6, n=corpus.n)

    x, y = letters()
    curve = curve_of(corpus_of({"x": x, "y": y}), ask, estimate(last, n=400))
    assert sizes == [100, 200] and curve.n_samples == (100, 200, 400)
    assert curve.change == pytest.approx(last - 0.6)
    assert curve.tolerance == pytest.approx(1.96 * math.hypot(0.01, 0.01), rel=1e-3)
    assert curve.settled is settled
    assert ("not settled" in str(curve)) is not settled


def test_a_null_counts_the_refits_that_reach_the_estimate() -> None:
    x, y = letters()
    given = iter([0.0, 0.3, -0.1, 0.2])
    seen: list[str] = []

    def ask(corpus: Corpus) -> Estimate:
        seen.append(corpus.corpus_id)
        return estimate(next(given))

    null = null_of(corpus_of({"x": x, "y": y}), PAIR, ask, estimate(0.2), 4)
    assert len(set(seen)) == 4
    assert null.p_value == pytest.approx(3 / 5)
    assert null.mean == pytest.approx(0.1) and null.spread == pytest.approx(np.std([0, 0.3, -0.1, 0.2], ddof=1))
    assert "p = 0.6; 4 refits" in str(null)
    assert PermutationNull(estimate(0.2), np.array([0.1])).spread == 0


def test_a_null_given_a_condition_needs_rows_that_share_it() -> None:
    x, y = letters(100)
    corpus = corpus_of({"x": x, "y": y, "z": np.arange(100)})
    with pytest.raises(InputError, match="100% of the rows share their 'z' with no other"):
        null_of(corpus, Question("x", "y", "z"), lambda _: estimate(0), estimate(1), 3)
    with pytest.raises(InputError, match="0 refits says nothing"):
        null_of(corpus, PAIR, lambda _: estimate(0), estimate(1), 0)


def test_a_model_is_trained_for_the_question_alone() -> None:
    x, y = letters()
    corpus = corpus_of({"x": x, "y": y, "z": y})
    plain = ModelConfig.parse(QUICK)
    assert queries_of(corpus, PAIR, plain) == ({"noised": "y", "clean": "x"},)
    assert queries_of(corpus, Question("y", "x"), plain) == ({"noised": "y", "clean": "x"},)
    given = ({"noised": "y", "clean": "x+z"}, {"noised": "y", "clean": "z"})
    assert queries_of(corpus, Question("x", "y", "z"), plain) == given
    uniform = ModelConfig.parse({**QUICK, "process": "uniform"})
    assert queries_of(corpus, PAIR, uniform) == ({"noised": "y", "clean": "x"}, {"noised": "y", "clean": ""})
    joint = ModelConfig.parse({**QUICK, "variant": "joint"})
    assert [q["noised"] for q in queries_of(corpus, PAIR, joint)] == ["x+y", "x", "y"]


def test_two_copies_get_a_network_with_room_for_both() -> None:
    x, y = letters()
    corpus = corpus_of({"x": x, "y": y})
    network = [{"kind": "latent", "latents": 3, "width": 8}, {"kind": "mlp", "width": 16, "depth": 2}]
    config = config_for(corpus, PAIR, ModelConfig.parse({**QUICK, "network": network}), copies=2)
    latent, mlp = config.model_dump()["network"]
    assert (latent["latents"], latent["width"], mlp["width"], mlp["depth"]) == (6, 16, 32, 2)
    assert config.training.steps == 2 * STEPS["steps"]
    auto = ModelConfig.parse({"folds": 2})
    assert config_for(corpus, PAIR, auto).network == "auto"
    picked = config_for(corpus, PAIR, auto, copies=2, components=network).model_dump()["network"]
    assert [c["width"] for c in picked] == [16, 32]


def test_a_learning_curve_of_arrays() -> None:
    told: list[Progress] = []
    curve = infosedd.learning_curve(*letters(600), config=QUICK, progress=told.append)
    assert curve.n_samples == (150, 300, 600)
    assert all(e.nats > 0.3 for e in curve.estimates)
    of_curve = [p for p in told if p.stage == "learning curve"]
    assert of_curve[0].message.startswith("2 more fits, about ")
    assert [p.done for p in of_curve] == [0, 0.5, 1]
    x, y = letters(300)
    counted = infosedd.learning_curve(x, y, weights=np.repeat([1, 3], 150), config=QUICK, progress=told.append)
    assert counted.n_samples == (150, 300, 600)


def test_a_null_of_arrays_tells_dependent_from_independent() -> None:
    told: list[Progress] = []
    options = {"config": QUICK, "n_permutations": 2, "progress": told.append}
    found = infosedd.permutation_null(*letters(300), **options)
    of_null = [p for p in told if p.stage == "permutation null"]
    assert of_null[0].message.startswith("2 more fits, about ")
    assert [p.done for p in of_null] == [0, 0.5, 1]
    assert found.p_value == pytest.approx(1 / 3)
    assert found.estimate.nats > 0.3 and abs(found.mean) < 0.1 and found.spread < 0.1
    assert infosedd.permutation_null(*letters(300, dependent=False), **options).p_value > 1 / 3
    counted = infosedd.permutation_null(*letters(300), weights=np.repeat([1, 2], 150), **options)
    assert counted.p_value == pytest.approx(1 / 3)
    assert counted.estimate.n_samples == 450


def test_the_cost_is_told_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    infosedd.permutation_null(*letters(100), config={**QUICK, "training": {**STEPS, "steps": 1}}, n_permutations=1)
    assert capsys.readouterr().err.startswith("permutation null: 1 more fit, about ")
