"""Which model a new one starts from, and that networks trained one by one make the same model."""

from collections.abc import Mapping
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from infosedd.arrays import corpus_of
from infosedd.config import ModelConfig
from infosedd.corpus import Corpus
from infosedd.errors import TrainingStopped
from infosedd.fitting import Fitting, Job
from infosedd.lineage import kin, parent_for
from infosedd.model import ScoreModel
from infosedd.registry import ModelRegistry

PLAIN = {"network": [{"kind": "pairwise"}], "folds": 2}
TRAINING = {"budget": "steps", "steps": 20, "batch_size": 64, "evaluate_every": 10, "warmup": 5}


def words(n: int, seed: int = 0, length: int = 8) -> Corpus:
    """Random words and their first letter: hardly two are equal."""
    x = np.random.default_rng(seed).integers(0, 4, (n, length))
    return corpus_of({"x": x, "y": x[:, :1]})


def config(steps: int = 20, **more: object) -> ModelConfig:
    return ModelConfig.parse({**PLAIN, "training": {**TRAINING, "steps": steps}, **more})


def grown(corpus: Corpus, n: int) -> Corpus:
    more = words(n, seed=9)
    return corpus_of({name: np.concatenate([corpus.tokens[name], more.tokens[name]]) for name in ("x", "y")})


@pytest.fixture
def registry(tmp_path: Path) -> ModelRegistry:
    return ModelRegistry(tmp_path / "models")


def parent(registry: ModelRegistry, corpora: Mapping[str, Corpus], corpus: Corpus, of: ModelConfig, seed: int = 0):
    return parent_for(registry, corpus, of, seed, corpora.get)


def test_a_parent_has_not_seen_the_rows_that_its_child_is_judged_on(registry: ModelRegistry) -> None:
    first, other = words(200), words(200, seed=1)
    corpora = {c.corpus_id: c for c in (first, other)}
    assert parent(registry, corpora, first, config()) is None
    model, _ = registry.get_or_fit(first, config())
    key = model.card.model_id
    assert parent(registry, corpora, first, config(30)) == key  # the same folds: each starts from its own
    assert parent(registry, corpora, other, config()) == key  # other rows
    assert parent(registry, corpora, grown(first, 100), config()) is None  # its folds are cut anew
    assert parent(registry, corpora, first, config(), seed=1) is None  # other folds
    assert parent(registry, {}, other, config()) is None  # nobody can tell
    assert parent(registry, corpora, first, config()) is None  # it is there already, and began cold


def test_a_line_is_clean_back_to_its_first_model(registry: ModelRegistry) -> None:
    first, second = words(200), words(200, seed=1)
    corpora = {c.corpus_id: c for c in (first, second)}
    one, _ = registry.get_or_fit(first, config())
    two, _ = registry.get_or_fit(second, config(), parent=one)
    assert two.card.parent_model_id == one.card.model_id
    assert parent(registry, corpora, second, config()) == one.card.model_id  # as it was made
    assert parent(registry, corpora, words(200, seed=2), config()) == two.card.model_id  # the latest
    assert parent(registry, corpora, grown(first, 300), config()) is None


def test_only_the_same_kind_of_model_is_kin(registry: ModelRegistry) -> None:
    corpus = words(200)
    card = registry.get_or_fit(corpus, config())[0].card
    near = words(200, seed=1)
    assert kin([card], near, config(40)) == [card]
    assert kin([card], words(200, length=9), config()) == []
    assert kin([card], near, config(network=[{"kind": "mlp", "width": 8}])) == []
    assert kin([card], near, config(process="uniform")) == []
    assert kin([card], near, config(queries=[{"noised": "y", "clean": "x"}])) == []


def test_a_child_keeps_the_marginals_of_its_own_data() -> None:
    rng = np.random.default_rng(0)
    rare, common = (corpus_of({"x": (rng.random((400, 3)) < p).astype(int)}) for p in (0.5, 0.9))
    start = ScoreModel.fit(rare, config())
    child = ScoreModel.fit(common, config(1), parent=start)
    cold = ScoreModel.fit(common, config(1))
    for name, value in cold.networks[0][0].named_buffers():
        assert np.array_equal(value.numpy(), dict(child.networks[0][0].named_buffers())[name].numpy())


def test_networks_trained_one_by_one_make_the_same_model(registry: ModelRegistry, tmp_path: Path) -> None:
    corpus, of = words(200), config(members=2)
    assert Fitting(corpus, of, 0).jobs == [Job(0, 0), Job(0, 1), Job(1, 0), Job(1, 1)]
    for number in (3, 1):
        registry.fit_network(corpus, of, number)
    whole = ScoreModel.fit(corpus, of)
    assert registry.saved(whole.card.model_id) == (2, ())
    gathered, reused = registry.get_or_fit(corpus, of)
    assert not reused and gathered.card.weights_sha256 == whole.card.weights_sha256
    assert gathered.card.held_out_loss_nats == whole.card.held_out_loss_nats
    registry.fit_network(corpus, of, 0)  # too late: nothing to do
    assert [f.name for f in registry.folder.glob("*.training")] == []


def test_a_network_that_is_told_to_stop_is_saved_at_its_step(registry: ModelRegistry) -> None:
    corpus, of, stop = words(200), config(), Event()

    def look(progress: object) -> None:
        stop.set()

    with pytest.raises(TrainingStopped):
        registry.fit_network(corpus, of, 0, progress=look, stop=stop)
    key = ScoreModel.fit(corpus, of).card.model_id
    assert registry.is_training(key) and registry.saved(key) == (0, (10,))
    assert registry.get_or_fit(corpus, of)[0].card.weights_sha256 == ScoreModel.fit(corpus, of).card.weights_sha256
