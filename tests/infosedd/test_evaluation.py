"""What is computed of a model without much training, and what is said of rows that it has seen."""

import numpy as np
import pytest
import torch

from infosedd import measures
from infosedd.arrays import corpus_of
from infosedd.blocks import Selection
from infosedd.corpus import Corpus
from infosedd.divergence import kl_divergence
from infosedd.errors import InputError
from infosedd.integrals import MOST_ROWS, batch_size_for
from infosedd.model import ScoreModel
from infosedd.noise import TimeNoise
from infosedd.processes import UniformProcess
from infosedd.schedules import SCHEDULES
from infosedd.scores import ExactScore
from tests.infosedd.laws import layout_of

RNG = np.random.default_rng(3)


def data(n: int = 60) -> Corpus:
    bits = RNG.integers(0, 2, (n, 9))
    return corpus_of({"x": bits[:, :4], "y": bits[:, 4:8], "z": bits[:, 8]})


def fitted(queries: list[dict], corpus: Corpus | None = None, steps: int = 1, **more) -> ScoreModel:
    training = {"budget": "steps", "steps": steps, "batch_size": 128, "evaluate_every": steps, "warmup": 1}
    network = [{"kind": "pairwise", "learning_rate": 0.1}]
    config = {"folds": 2, "network": network, "queries": queries, "training": training, **more}
    return ScoreModel.fit(corpus or data(), config)


def test_a_token_alone_is_counted_and_needs_no_training() -> None:
    model = fitted([{"noised": "z", "clean": "x"}])
    assert abs(model.entropy("z").nats - np.log(2)) < 0.1
    assert abs(model.mutual_information("x", "z").nats) < 1


def test_modes_and_steps_that_are_none() -> None:
    model = fitted([{"noised": "z", "clean": "x", "show": "subset"}])
    with pytest.raises(InputError, match="no mode 'removed'; did you mean 'remove'"):
        model.mutual_information("x", "z", mode="removed")
    for step in (0, -1):
        with pytest.raises(InputError, match=f"a step of {step} positions"):
            model.profile("x", "z", window=1, step=step)
        with pytest.raises(InputError, match=f"a step of {step} positions"):
            model.information_added("x", "z", step=step)


def test_rows_that_training_has_seen_are_named() -> None:
    corpus = corpus_of({"x": RNG.integers(0, 4, (300, 10)), "y": RNG.integers(0, 4, 300)})
    model = fitted([{"noised": "y", "clean": "x"}], corpus, steps=2)
    seen = model.mutual_information("x", "y", data=corpus.take(np.arange(299)))
    assert any(w.startswith("100% of the rows given are among those") for w in seen.warnings)
    fresh = corpus_of({"x": RNG.integers(0, 4, (300, 10)), "y": RNG.integers(0, 4, 300)})
    assert not any("rows given" in w for w in model.mutual_information("x", "y", data=fresh).warnings)


def test_unknown_tokens_that_should_be_shown_are_named() -> None:
    x = (np.arange(400) // 2 % 3).astype(object)
    y = x.astype(int)
    x[::2] = None
    corpus = corpus_of({"x": x, "y": y}, missing="hide")
    estimate = fitted([{"noised": "y", "clean": "x"}], corpus, steps=2).mutual_information("x", "y")
    assert any("50.0% of the tokens that are shown" in w for w in estimate.warnings)
    plug_in = estimate.other("plug_in")
    assert plug_in is not None and plug_in.n_samples == 200
    assert plug_in.nats == pytest.approx(np.log(3), abs=0.02)
    assert estimate.diagnostics["entropy_y_nats"] == pytest.approx(np.log(3), abs=0.02)


def test_the_terminal_part_is_bounded_by_each_divergence_of_a_plan() -> None:
    layout = layout_of(a=(4, 2))
    table = torch.zeros(2, 2, 2, 2)
    table[0, 0, 0, 0] = 1
    noise = TimeNoise(UniformProcess(), SCHEDULES["log_linear"](), 16)
    plan = measures.entropy(layout, Selection.parse("a", layout.blocks))
    values = measures.evaluate(plan, ExactScore(layout, table), torch.zeros(500, 4, dtype=torch.long), noise)
    share = noise.terminal_factor(4)
    (bound,) = values.terminals
    assert abs(float(bound.mean())) == pytest.approx(share / (1 - share) * 4 * np.log(2), rel=0.05)


def test_wide_layouts_are_evaluated_few_rows_at_a_time() -> None:
    assert batch_size_for(layout_of(a=(100, 4))) == MOST_ROWS
    assert batch_size_for(layout_of(a=(100, 5000))) == 33


def test_a_divergence_from_counted_rows_has_the_error_of_noisy_rows() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (60, 6))
    p, q = corpus_of({"x": x}, weights=np.full(60, 100)), corpus_of({"x": rng.integers(0, 2, (400, 6))})
    found = kl_divergence(*(fitted([{"noised": "x"}], c, steps=20, order="random", draws=1) for c in (p, q)))
    values = found.pointwise
    assert found.std_error > 0.9 * values.std(ddof=1) / np.sqrt(60)
    assert found.diagnostics["n_rows"] == 60
