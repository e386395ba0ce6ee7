"""Ladder (d): trained networks on small tasks whose answer is known, and models on disk."""

import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from infosedd.arrays import corpus_of
from infosedd.config import ModelConfig
from infosedd.corpus import Corpus
from infosedd.divergence import kl_divergence
from infosedd.errors import InfoseddError, InputError, SurroundingsError
from infosedd.model import ScoreModel, resolve_device
from infosedd.progress import Progress
from infosedd.registry import ModelRegistry
from infosedd.results import Estimate
from infosedd.training import NonFiniteLossError

ERROR = 0.1
LN2 = math.log(2)


def channel(n: int, length: int = 3, size: int = 4, seed: int = 0) -> tuple[Corpus, float]:
    """Uniform letters through a symmetric channel, and I(x; y)."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, size, (n, length))
    wrong = (x + rng.integers(1, size, x.shape)) % size
    y = np.where(rng.random(x.shape) < ERROR, wrong, x)
    lost = -(1 - ERROR) * math.log(1 - ERROR) - ERROR * math.log(ERROR / (size - 1))
    return corpus_of({"x": x, "y": y}), length * (math.log(size) - lost)


def settings(*, steps: int = 300, **more) -> dict:
    training = {
        "budget": "steps",
        "steps": steps,
        "batch_size": 256,
        "evaluate_every": 50,
        "warmup": 10,
    }
    return {"network": [{"kind": "pairwise", "learning_rate": 0.05}], "folds": 2, "training": training, **more}


def near(estimate: Estimate, truth: float, *, largest_error: float, stated_bias: float) -> None:
    assert estimate.std_error <= largest_error
    assert abs(estimate.nats - truth) <= 4 * estimate.std_error + stated_bias, str(estimate)


@pytest.fixture(scope="module")
def letters() -> tuple[ScoreModel, float]:
    corpus, truth = channel(6000)
    queries = [{"noised": "y", "clean": "x"}, {"noised": "y"}, {"noised": "y", "clean": "x", "show": "subset"}]
    queries.append({"noised": "y[2]", "clean": "y[1]"})
    return ScoreModel.fit(corpus, settings(queries=queries)), truth


@pytest.fixture(scope="module")
def parity() -> ScoreModel:
    """Three bits, the last the sum of the others: any two are independent."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (3000, 2))
    corpus = corpus_of({"x": x, "y": x.sum(1) % 2})
    network = [{"kind": "mlp", "width": 32, "learning_rate": 1e-2}]
    return ScoreModel.fit(corpus, settings(steps=400, network=network, order="random"), seed=1)


def test_letters_through_a_channel(letters: tuple[ScoreModel, float]) -> None:
    model, truth = letters
    estimate = model.mutual_information("x", "y")
    near(estimate, truth, largest_error=0.04, stated_bias=0.03)
    near(estimate.other("dynkin"), truth, largest_error=0.04, stated_bias=0.15)  # first order in the network's error
    near(estimate.other("per_position_plug_in"), truth, largest_error=0.04, stated_bias=0.02)
    assert estimate.n_samples == len(estimate.pointwise) == len(estimate.rows) == 6000
    assert estimate.rows.tolist() == list(range(6000))
    assert estimate.pointwise.mean() == pytest.approx(estimate.nats)
    assert (estimate.x, estimate.y, estimate.z, estimate.measure) == ("x", "y", "", "mutual_information")
    assert estimate.terminal_kl == 0
    assert all(math.isfinite(v) for v in estimate.diagnostics.values())


def test_one_model_answers_for_parts(letters: tuple[ScoreModel, float]) -> None:
    model, truth = letters
    near(model.mutual_information("x[0]", "y"), truth / 3, largest_error=0.04, stated_bias=0.03)
    near(model.mutual_information("x[0]", "y", mode="remove"), truth * 2 / 3, largest_error=0.04, stated_bias=0.03)
    rest = model.mutual_information("y[0]", "y[2]", mode="remove")  # of y[1] about y[2], which are independent
    near(rest, 0.0, largest_error=0.04, stated_bias=0.03)
    near(model.entropy("y"), 3 * math.log(4), largest_error=0.04, stated_bias=0.02)
    near(model.entropy("y", condition="x"), 3 * math.log(4) - truth, largest_error=0.04, stated_bias=0.03)
    given = model.mutual_information("x[0]", "y", condition="x[1:3]")
    assert given.measure == "conditional_mutual_information"
    near(given, truth / 3, largest_error=0.04, stated_bias=0.03)


def test_a_profile_has_one_estimate_a_window(letters: tuple[ScoreModel, float]) -> None:
    model, truth = letters
    seen: list[Progress] = []
    profile = model.profile("x", "y", window=2, progress=seen.append)
    assert profile.starts.tolist() == [0, 1]
    assert [e.x for e in profile.estimates] == ["x[0:2]", "x[1:3]"]
    assert np.abs(profile.nats - truth * 2 / 3).max() < 0.15
    assert (profile.std_error < 0.05).all()
    assert [p.done for p in seen] == [0.5, 1.0]
    removed = model.profile("x", "y", window=1, mode="remove")
    assert np.abs(removed.nats - truth * 2 / 3).max() < 0.15
    with pytest.raises(InputError, match="window of 4 does not fit"):
        model.profile("x", "y", window=4)
    with pytest.raises(InputError, match="one run of positions of one block"):
        model.profile("x[0]+x[2]", "y", window=1)


def test_what_pairs_can_not_say(parity: ScoreModel) -> None:
    near(parity.mutual_information("x", "y"), LN2, largest_error=0.02, stated_bias=0.02)
    near(parity.mutual_information("x[0]", "y"), 0.0, largest_error=0.02, stated_bias=0.02)
    near(parity.mutual_information("x[0]", "y", condition="x[1]"), LN2, largest_error=0.02, stated_bias=0.02)
    near(parity.total_correlation("x+y"), LN2, largest_error=0.05, stated_bias=0.03)
    near(parity.dual_total_correlation("x+y"), 2 * LN2, largest_error=0.05, stated_bias=0.03)
    near(parity.o_information("x+y"), -LN2, largest_error=0.05, stated_bias=0.05)
    assert parity.mutual_information("x[0]", "y").other("plug_in").nats == pytest.approx(0, abs=0.005)
    pairs = parity.pairwise_matrix("x+y")
    assert pairs.shape == (3, 3)
    assert np.abs(pairs).max() < 0.03
    assert np.array_equal(pairs, pairs.T)


def test_draws_look_like_the_data(parity: ScoreModel, letters: tuple[ScoreModel, float]) -> None:
    drawn = parity.sample(400, seed=1)
    assert drawn.blocks == parity.layout.blocks
    right = drawn.tokens["x"].sum(1) % 2 == drawn.tokens["y"][:, 0]
    assert right.mean() > 0.95
    assert abs(drawn.tokens["x"].mean() - 0.5) < 0.08
    assert parity.sample(400, seed=1).corpus_id == drawn.corpus_id != parity.sample(400, seed=2).corpus_id
    with pytest.raises(InputError, match="can't draw 0 rows"):
        parity.sample(0)
    with pytest.raises(InputError, match="can't draw x and y: it was trained for other questions"):
        letters[0].sample(10)


def test_the_uniform_process_and_the_joint_variant() -> None:
    corpus, truth = channel(2000, length=1, size=3)
    queries = [{"noised": n} for n in ("x+y", "x", "y")]
    config = settings(steps=250, queries=queries, process="uniform", variant="joint", folds=2)
    estimate = ScoreModel.fit(corpus, config).mutual_information("x", "y")
    near(estimate, truth, largest_error=0.06, stated_bias=0.06)
    assert 0 < estimate.terminal_kl < 0.01


def test_rows_that_other_data_brings(letters: tuple[ScoreModel, float]) -> None:
    model, truth = letters
    fresh, _ = channel(1500, seed=9)
    near(model.mutual_information("x", "y", data=fresh), truth, largest_error=0.05, stated_bias=0.03)
    with pytest.raises(InputError, match="blocks differ from the model's"):
        model.mutual_information("x", "y", data=channel(100, length=2)[0])


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda m: m.mutual_information("x[0:2]", "x[1]"), "overlap"),
        (lambda m: m.mutual_information("x", "y", condition="y[0]"), "overlap"),
        (lambda m: m.mutual_information("", "y"), "can't read the block expression"),
        (lambda m: m.mutual_information("x", ""), "can't read the block expression"),
        (lambda m: m.entropy(""), "can't read the block expression"),
        (lambda m: m.entropy("z"), "no block is called 'z'"),
        (lambda m: m.entropy("x[2:2]"), "empty or out of range"),
        (lambda m: m.entropy(None), "None is no block expression"),
        (lambda m: m.total_correlation("x+x[0]"), "named twice"),
        (lambda m: m.mutual_information("x", "y", mode="remove"), "nothing is left"),
    ],
)
def test_questions_that_can_not_be_asked(letters: tuple[ScoreModel, float], ask, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ask(letters[0])


def test_the_side_that_was_learned_is_noised(letters: tuple[ScoreModel, float]) -> None:
    """A question about tokens that training never noised is refused, not answered by their marginals."""
    model, truth = letters
    assert abs(model.mutual_information("y", "x[0]").nats - truth / 3) < 0.15
    for ask in (lambda: model.entropy("x"), lambda: model.total_correlation("x+y")):
        with pytest.raises(InputError, match="has not learned to predict"):
            ask()
    with pytest.raises(InputError, match=r"has not learned to predict 'x\[1\]'"):
        model.mutual_information("x[0]", "x[1]")


def test_a_model_trained_coarse_to_fine_has_total_correlation(letters: tuple[ScoreModel, float]) -> None:
    assert abs(letters[0].total_correlation("y").nats) < 0.05


def test_divergence_of_models_of_other_blocks_is_refused(letters: tuple[ScoreModel, float], parity: ScoreModel) -> None:
    with pytest.raises(InputError, match="different blocks or vocabularies"):
        kl_divergence(letters[0], parity)
    corpus, _ = channel(200)
    alike = [ScoreModel.fit(corpus, settings(steps=1, order=order)) for order in ("random", "coarse_to_fine")]
    with pytest.raises(InputError, match="noise in different ways"):
        kl_divergence(*alike)


def test_the_corpus_own_split_is_used() -> None:
    corpus, truth = channel(1500, length=1)
    splits = np.repeat([0, 1, 2], 500)
    own = Corpus("own", corpus.blocks, corpus.tokens, splits=splits)
    config = settings(steps=150, queries=[{"noised": "y", "clean": "x"}, {"noised": "y"}])
    estimate = ScoreModel.fit(own, config).mutual_information("x", "y")
    assert estimate.rows.tolist() == list(range(1000, 1500))
    near(estimate, truth, largest_error=0.06, stated_bias=0.04)


SHORT = settings(
    steps=60,
    queries=[{"noised": "y", "clean": "x"}, {"noised": "y"}],
    network=[{"kind": "mlp", "width": 8, "dropout": 0.2}],
)


def test_the_same_seed_gives_the_same_model() -> None:
    corpus, _ = channel(300)
    first, again, other = (ScoreModel.fit(corpus, SHORT, seed=seed) for seed in (1, 1, 2))
    assert first.card.weights_sha256 == again.card.weights_sha256 != other.card.weights_sha256
    assert first.card.model_id == again.card.model_id != other.card.model_id
    assert first.card.train_steps == 2 * 60
    state = torch.random.get_rng_state()
    ScoreModel.fit(corpus, settings(steps=1), seed=1)
    assert torch.equal(torch.random.get_rng_state(), state)


class _Killed(BaseException):
    """Stands for a kill: nothing in the code may catch it."""


@pytest.mark.parametrize("reports_before", [2, 4, 9])
def test_a_killed_training_resumes_to_the_same_weights(tmp_path: Path, reports_before: int) -> None:
    corpus, _ = channel(300)
    training = {**SHORT["training"], "evaluate_every": 10, "checkpoint_seconds": 1e-9}
    config = {**SHORT, "training": training}
    whole = ScoreModel.fit(corpus, config, seed=3)
    seen: list[Progress] = []

    def kill(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) > reports_before:
            raise _Killed

    with pytest.raises(_Killed):
        ScoreModel.fit(corpus, config, seed=3, progress=kill, checkpoint_folder=tmp_path)
    assert any(tmp_path.iterdir())
    messages: list[str] = []
    resumed = ScoreModel.fit(
        corpus, config, seed=3, progress=lambda p: messages.append(p.message), checkpoint_folder=tmp_path
    )
    assert any("resumed at step" in m for m in messages)
    assert resumed.card.weights_sha256 == whole.card.weights_sha256
    assert [h["held_out"] for h in resumed.card.histories] == [h["held_out"] for h in whole.card.histories]


def test_the_number_of_threads_does_not_change_the_model() -> None:
    corpus, _ = channel(300)
    before = torch.get_num_threads()
    try:
        weights = []
        for n_threads in (1, 4):
            torch.set_num_threads(n_threads)
            weights.append(ScoreModel.fit(corpus, {**SHORT, "folds": 4}, seed=3).card.weights_sha256)
    finally:
        torch.set_num_threads(before)
    assert weights[0] == weights[1]


def test_progress_says_how_far_it_is() -> None:
    seen: list[Progress] = []
    ScoreModel.fit(channel(300)[0], SHORT, progress=seen.append)
    assert seen
    assert all(0 <= p.done <= 1 and p.stage for p in seen)
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert all(p.seconds_left is None or p.seconds_left >= 0 for p in seen)
    assert any("held-out loss" in p.message for p in seen)


def as_json(model: ScoreModel) -> dict:
    return json.loads(json.dumps(asdict(model.card)))


@pytest.fixture
def stored(tmp_path: Path) -> tuple[ScoreModel, Path, Corpus]:
    corpus, _ = channel(300)
    model = ScoreModel.fit(corpus, {**SHORT, "members": 2})
    return model, model.save(tmp_path / "model"), corpus


def test_a_stored_model_answers_as_before(stored: tuple[ScoreModel, Path, Corpus]) -> None:
    model, path, corpus = stored
    again = ScoreModel.load(path, corpus)
    assert as_json(again) == as_json(model)
    assert again.card.held_out_loss_nats == pytest.approx(model.card.held_out_loss_nats)
    assert again.mutual_information("x", "y").nats == model.mutual_information("x", "y").nats
    alone = ScoreModel.load(path)
    with pytest.raises(InputError, match="rows to evaluate on are not at hand"):
        alone.mutual_information("x", "y")
    assert math.isfinite(alone.mutual_information("x", "y", data=corpus).nats)
    with pytest.raises(InputError, match="not the one this model was trained on"):
        ScoreModel.load(path, channel(300, seed=5)[0])


def test_stored_models_that_are_refused(stored: tuple[ScoreModel, Path, Corpus], tmp_path: Path) -> None:
    _, path, _ = stored
    with pytest.raises(InputError, match="no model is stored"):
        ScoreModel.load(tmp_path / "nowhere")
    card = json.loads((path / "card.json").read_text())
    for change, said in (({"format_version": 99}, "format 99"), ({"extra": 1}, r"unknown entries \['extra'\]")):
        (path / "card.json").write_text(json.dumps({**card, **change}))
        with pytest.raises(InputError, match=said):
            ScoreModel.load(path)
    (path / "card.json").write_text(json.dumps(card))
    state = load_file(path / "weights.safetensors")
    name = max(state, key=lambda n: state[n].numel())
    state[name] = state[name].clone()
    state[name].view(-1)[0] += 1e-3
    save_file(state, path / "weights.safetensors")
    with pytest.raises(InputError, match="don't match the digest"):
        ScoreModel.load(path)


def test_damaged_files_are_refused(stored: tuple[ScoreModel, Path, Corpus]) -> None:
    weights, card = (stored[1] / name for name in ("weights.safetensors", "card.json"))
    weights.write_bytes(weights.read_bytes()[:-20])
    with pytest.raises(InputError, match="weights can't be read"):
        ScoreModel.load(stored[1])
    weights.unlink()
    with pytest.raises(InputError, match="weights can't be read"):
        ScoreModel.load(stored[1])
    card.write_text(card.read_text()[:-2])
    with pytest.raises(InputError, match="card can't be read"):
        ScoreModel.load(stored[1])


def test_the_registry_trains_once(tmp_path: Path) -> None:
    registry, corpus = ModelRegistry(tmp_path / "models"), channel(300)[0]
    assert registry.cards() == []
    config = ModelConfig.parse(SHORT)
    first, reused = registry.get_or_fit(corpus, config, seed=1)
    again, reused_again = registry.get_or_fit(corpus, config, seed=1)
    assert (reused, reused_again) == (False, True)
    assert as_json(again) == as_json(first)
    other, reused = registry.get_or_fit(corpus, config, seed=2)
    assert not reused
    assert {card.model_id for card in registry.cards()} == {first.card.model_id, other.card.model_id}
    assert registry.open(first.card.model_id, corpus).mutual_information("x", "y").nats == pytest.approx(
        first.mutual_information("x", "y").nats
    )
    leftovers = {p.name for p in (tmp_path / "models").iterdir() if not p.name.endswith(".lock")}
    assert leftovers == {first.card.model_id, other.card.model_id}
    with pytest.raises(InputError, match="no model is stored"):
        registry.open("0" * 16)


def test_the_registry_resumes_a_killed_training(tmp_path: Path) -> None:
    registry, corpus = ModelRegistry(tmp_path), channel(300)[0]
    config = ModelConfig.parse({**SHORT, "training": {**SHORT["training"], "checkpoint_seconds": 1e-9}})

    def kill(progress: Progress) -> None:
        if progress.done > 0.4:
            raise _Killed

    with pytest.raises(_Killed):
        registry.get_or_fit(corpus, config, progress=kill)
    assert registry.cards() == []
    model, reused = registry.get_or_fit(corpus, config)
    assert not reused
    assert model.card.weights_sha256 == ScoreModel.fit(corpus, config).card.weights_sha256


def test_a_warm_start_goes_on_from_its_parent() -> None:
    corpus, _ = channel(600)
    config = settings(steps=150, queries=[{"noised": "y", "clean": "x"}])
    parent = ScoreModel.fit(corpus, config)
    child = ScoreModel.fit(corpus, settings(steps=1, queries=config["queries"]), parent=parent)
    cold = ScoreModel.fit(corpus, settings(steps=1, queries=config["queries"]))
    assert child.card.parent_model_id == parent.card.model_id
    assert child.card.model_id != cold.card.model_id
    assert child.card.held_out_loss_nats < cold.card.held_out_loss_nats - 0.5


def test_a_loss_that_diverges_is_an_error_that_says_where() -> None:
    network = [{"kind": "mlp", "width": 8, "learning_rate": 1e38}]
    with pytest.raises(InfoseddError, match=r"not (a )?finite") as raised:
        ScoreModel.fit(channel(100)[0], settings(steps=60, network=network)).mutual_information("x", "y")
    if isinstance(raised.value, NonFiniteLossError):
        assert raised.value.step > 0


def test_a_device_that_is_not_there() -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    for device in ("abacus", "cuda:77"):
        with pytest.raises(InputError, match=f"device '{device}' can't be used"):
            resolve_device(device)


def test_a_disk_that_refuses_the_weights_is_the_surroundings(
    stored: tuple[ScoreModel, Path, Corpus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise SafetensorError("I/O error: no space left on device")

    monkeypatch.setattr("infosedd.model.save_file", full)
    with pytest.raises(SurroundingsError, match="could not write the model: I/O error"):
        stored[0].save(tmp_path / "full")


def test_information_added_sums_to_the_whole() -> None:
    corpus, truth = channel(4000, length=2)
    queries = [{"noised": "y", "clean": "x", "show": "prefix"}]
    model = ScoreModel.fit(corpus, settings(queries=queries), seed=0)
    added = model.information_added("x", "y")
    assert [(e.x, e.z) for e in added] == [("x[0]", ""), ("x[1]", "x[0]")]
    error = math.hypot(*[e.std_error for e in added])
    assert abs(sum(e.nats for e in added) - truth) < 4 * error + 0.03
    assert all(abs(e.nats - truth / 2) < 4 * e.std_error + 0.03 for e in added)
