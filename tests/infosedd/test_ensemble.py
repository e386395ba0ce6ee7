"""Networks of several training seeds: their spread is told apart from the sampling error, and is in the interval."""

import numpy as np
import pytest

from infosedd import diagnostics
from infosedd.arrays import corpus_of
from infosedd.estimation import Sample, estimate_of, mean_and_error, seed_error
from infosedd.model import ScoreModel
from infosedd.results import NORMAL_95


def test_the_error_of_a_mean_over_seeds() -> None:
    assert seed_error([1.0, 2.0, 3.0, 4.0]) == pytest.approx(np.std([1, 2, 3, 4], ddof=1) / 2)
    assert seed_error([1.0]) == seed_error([]) == 0.0


def test_both_errors_are_in_the_interval() -> None:
    values = np.random.default_rng(0).normal(1, 1, 100)
    plain = mean_and_error(values, Sample())[1]
    both = estimate_of(values, Sample(), seed_error=0.3, measure="entropy")
    assert both.std_error == pytest.approx(np.hypot(plain, 0.3))
    assert both.ci_high - both.ci_low == pytest.approx(2 * NORMAL_95 * both.std_error)
    seeds, sampling = diagnostics.seed_spread(0.3, (both.nats, both.std_error))
    assert (seeds.name, seeds.value) == ("seed_std_error_nats", 0.3)
    assert (sampling.name, sampling.value) == ("sampling_std_error_nats", pytest.approx(plain))
    assert "training seeds move the estimate by 0.3 nats" in seeds.warning
    assert diagnostics.seed_spread(0.05, (1.0, float(np.hypot(plain, 0.05))))[0].warning == ""


def test_a_model_of_several_members_reports_their_spread() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (400, 3))
    corpus = corpus_of({"x": x, "y": x.sum(1) % 2})
    training = {"budget": "steps", "steps": 60, "batch_size": 128, "evaluate_every": 20, "warmup": 5}
    config = {
        "network": [{"kind": "mlp", "width": 16, "learning_rate": 1e-2}],
        "training": training,
        "folds": 2,
        "queries": [{"noised": "y", "clean": "x"}],
    }
    model = ScoreModel.fit(corpus, {**config, "members": 3})
    estimate = model.mutual_information("x", "y")
    alone = [
        ScoreModel(model.card, model.config.model_copy(update={"members": 1}), model.layout, nets)
        for nets in ([[members[m]] for members in model.networks] for m in range(3))
    ]
    nats = [one.attach(corpus).mutual_information("x", "y").nats for one in alone]
    spread = estimate.diagnostics["seed_std_error_nats"]
    assert spread == pytest.approx(seed_error(nats)) and spread > 0
    assert estimate.diagnostics["sampling_std_error_nats"] == pytest.approx(
        mean_and_error(estimate.pointwise, Sample())[1]
    )
    assert estimate.std_error == pytest.approx(np.hypot(spread, estimate.diagnostics["sampling_std_error_nats"]))
    assert "seed_std_error_nats" not in alone[0].mutual_information("x", "y").diagnostics
    on_other_rows = model.mutual_information("x", "y", data=corpus.take(np.arange(200)))
    assert on_other_rows.diagnostics["seed_std_error_nats"] > 0
