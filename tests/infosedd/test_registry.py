"""The registry: models that other releases wrote, parents that know too much, devices, and disks that refuse."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from infosedd import card as cards_of
from infosedd.arrays import corpus_of
from infosedd.card import model_id
from infosedd.config import ModelConfig
from infosedd.corpus import Corpus
from infosedd.errors import InputError, SurroundingsError
from infosedd.model import ScoreModel, resolve_device
from infosedd.registry import ModelRegistry


def words(n: int = 200, seed: int = 0) -> Corpus:
    x = np.random.default_rng(seed).integers(0, 4, (n, 8))
    return corpus_of({"x": x, "y": x[:, :1]})


def config(steps: int = 10) -> ModelConfig:
    training = {"budget": "steps", "steps": steps, "batch_size": 64, "evaluate_every": 10, "warmup": 5}
    return ModelConfig.parse({"network": [{"kind": "pairwise"}], "folds": 2, "training": training})


@pytest.fixture
def registry(tmp_path: Path) -> ModelRegistry:
    return ModelRegistry(tmp_path / "models")


def test_one_bad_card_does_not_hide_the_others(registry: ModelRegistry) -> None:
    good, _ = registry.get_or_fit(words(), config())
    text = (registry.path(good.card.model_id) / "card.json").read_text()
    bad = {
        "older": json.dumps({**json.loads(text), "format_version": 1}),
        "torn": text[:-10],
        "garbled": "\xff" + text,
        "bare": json.dumps({"format_version": json.loads(text)["format_version"]}),
    }
    for name, card in bad.items():
        registry.path(name).mkdir()
        (registry.path(name) / "card.json").write_bytes(card.encode("latin-1"))
    assert [card.model_id for card in registry.cards()] == [good.card.model_id]
    faults = registry.faults()
    assert set(faults) == set(bad)
    assert "has format 1" in str(faults["older"])
    assert "delete the folder and train it again" in str(faults["older"])
    with pytest.raises(InputError, match="lacks"):
        registry.open("bare")


def test_what_training_means_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    now = model_id("corpus", config(), 0)
    for name in ("FORMAT_VERSION", "TRAINING_VERSION"):
        with monkeypatch.context() as patch:
            patch.setattr(cards_of, name, 99)
            assert model_id("corpus", config(), 0) != now


def test_a_network_that_this_release_does_not_know(registry: ModelRegistry) -> None:
    model, _ = registry.get_or_fit(words(), config())
    file = registry.path(model.card.model_id) / "card.json"
    facts = json.loads(file.read_text())
    file.write_text(json.dumps({**facts, "components": [{"kind": "oracle"}]}))
    with pytest.raises(InputError, match="not one that this release knows"):
        registry.open(model.card.model_id)
    file.write_text(json.dumps({**facts, "components": [{"kind": "mlp"}]}))
    with pytest.raises(InputError, match="not those of the network on the model's card"):
        registry.open(model.card.model_id)


def test_a_stored_model_goes_to_the_device_that_is_asked_for(
    registry: ModelRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = words()
    registry.get_or_fit(corpus, config())
    asked: list[str] = []
    own = resolve_device

    def spy(device: str) -> torch.device:
        asked.append(device)
        return own("cpu")

    monkeypatch.setattr("infosedd.model.resolve_device", spy)
    model, reused = registry.get_or_fit(corpus, config(), device="cuda:1")
    assert reused
    registry.open(model.card.model_id, corpus, device="cuda:2")
    assert asked == ["cuda:1", "cuda:2"]


@pytest.mark.parametrize("device", ["mps", "meta"])
def test_devices_without_float64_or_numbers_are_refused(device: str) -> None:
    with pytest.raises(InputError, match=f"device '{device}' can't be used; use 'auto', 'cpu' or 'cuda'"):
        resolve_device(device)


def test_a_place_that_is_taken_is_the_surroundings(registry: ModelRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(39, "Directory not empty")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(SurroundingsError, match="could not store the model: Directory not empty"):
        registry.get_or_fit(words(), config())


def test_a_parent_that_has_seen_the_test_rows_is_refused(registry: ModelRegistry, tmp_path: Path) -> None:
    first, other = words(), words(seed=1)
    parent, _ = registry.get_or_fit(first, config(), seed=0)
    for fit in (ScoreModel.fit, registry.get_or_fit):
        with pytest.raises(InputError, match="may have been trained on rows"):
            fit(first, config(20), seed=1, parent=parent)  # its folds are others
    with pytest.raises(InputError, match="may have been trained on rows"):
        registry.fit_network(first, config(20), 0, seed=1, parent=parent)
    assert ScoreModel.fit(first, config(20), parent=parent).card.parent_model_id == parent.card.model_id
    child = ScoreModel.fit(other, config(20), parent=parent)  # other rows, as its corpus tells
    bare = registry.open(parent.card.model_id)
    with pytest.raises(InputError, match="may have been trained on rows"):
        ScoreModel.fit(other, config(20), parent=bare)
    with pytest.raises(InputError, match="may have been trained on rows"):
        registry.get_or_fit(other, config(20), parent=bare)
    first.save(tmp_path / "corpora")
    model, _ = registry.get_or_fit(other, config(20), parent=bare)
    assert model.card.weights_sha256 == child.card.weights_sha256


def test_draws_of_counted_rows_can_not_be_matched_between_corpora(registry: ModelRegistry) -> None:
    """One that has more draws of the same rows: nobody can tell which of them are new."""
    few = words(60)
    counted = [Corpus("c", few.blocks, few.tokens, weights=np.full(few.n, float(n))) for n in (5, 9)]
    parent, _ = registry.get_or_fit(counted[0], config())
    with pytest.raises(InputError, match="may have been trained on rows"):
        ScoreModel.fit(counted[1], config(), parent=parent)
    assert ScoreModel.fit(counted[0], config(20), parent=parent).card.parent_model_id == parent.card.model_id
