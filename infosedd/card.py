"""A model's card: what it is, where it came from, and what its weights must hash to."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path

import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from infosedd.blocks import Block
from infosedd.config import ModelConfig
from infosedd.errors import InputError
from infosedd.networks import AnyComponent, ComponentConfig

FORMAT_VERSION = 2
"""Of a model's folder: which files, which entries, which named weights."""
TRAINING_VERSION = 3
"""Counted up when the same corpus, configuration and seed train to another model: what ``auto`` picks, what an
option means, how training steps. It is in a model's key, so that a model of an older release is trained anew."""


@dataclass(frozen=True)
class ModelCard:
    """Facts of one model; JSON-able."""

    model_id: str
    corpus_id: str
    corpus_name: str
    process: str
    network: str
    """Short text of the components, for people."""
    components: tuple[Mapping, ...]
    """The components' full configuration, as `auto` or the user picked it."""
    config: Mapping
    n_parameters: int
    train_steps: int
    train_seconds: float
    held_out_loss_nats: float
    """Mean over the networks of the loss on their validation rows, which also picked the weights: a little too low."""
    weights_sha256: str
    seed: int
    created_at: str
    parent_model_id: str | None = None
    blocks: tuple[Mapping, ...] = field(default=(), repr=False)
    histories: tuple[Mapping, ...] = field(default=(), repr=False)
    versions: Mapping[str, str] = field(default_factory=dict)
    format_version: int = FORMAT_VERSION


def load_card(path: Path | str) -> ModelCard:
    """Read ``path/card.json``; refuses a card that is not there or of an unknown format."""
    file = Path(path) / "card.json"
    if not file.exists():
        raise InputError("no model is stored", where=str(path), remedy="`infosedd models` lists those that are")
    try:
        facts = json.loads(file.read_text())
        if not isinstance(facts, dict):
            raise ValueError("it holds no JSON object")
    except ValueError as error:  # no JSON, no UTF-8, or no object
        raise InputError(
            f"the model's card can't be read: {error}", where=str(path), remedy="delete the folder and train it again"
        ) from error
    if facts.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"the model has format {facts.get('format_version')}, this release reads {FORMAT_VERSION}",
            where=str(path),
            remedy="delete the folder and train it again",
        )
    unknown = set(facts) - {f.name for f in fields(ModelCard)}
    if unknown:
        raise InputError(f"the model's card has unknown entries {sorted(unknown)}", where=str(path))
    missing = {f.name for f in fields(ModelCard) if f.default is MISSING and f.default_factory is MISSING} - set(facts)
    if missing:
        raise InputError(
            f"the model's card lacks {sorted(missing)}", where=str(path), remedy="delete the folder and train it again"
        )
    return ModelCard(**facts)


def blocks_of(card: ModelCard) -> tuple[Block, ...]:
    return tuple(Block.from_dict(entry) for entry in card.blocks)


def components_of(card: ModelCard) -> tuple[ComponentConfig, ...]:
    """The components' configurations; InputError for one that this release does not know."""
    try:
        return TypeAdapter(tuple[AnyComponent, ...]).validate_python(card.components)
    except ValidationError as error:
        raise InputError(
            f"the network is not one that this release knows: {error.errors()[0]['msg']}",
            where=f"in the card of model {card.model_id}",
            remedy="delete the model's folder and train it again",
        ) from error


def describe(components: Sequence[ComponentConfig]) -> str:
    """Short text of a network, such as ``latent(latents=4, width=32) + mlp(width=64, depth=2)``."""
    rates = {"learning_rate", "weight_decay", "kind", "dropout"}
    texts = []
    for component in components:
        options = {k: v for k, v in component.model_dump().items() if k not in rates and v not in (None, False)}
        shape = ", ".join(f"{k}={v}" for k, v in options.items())
        texts.append(f"{component.model_dump()['kind']}({shape})")
    return " + ".join(texts) or "marginals only"


def model_id(corpus_id: str, config: ModelConfig, seed: int, parent_id: str | None = None) -> str:
    """Key of a model: corpus, canonical configuration, seed, parent, format and training version; not the device."""
    facts = [FORMAT_VERSION, TRAINING_VERSION, corpus_id, config.model_dump(mode="json"), seed, parent_id]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def weights_sha256(state: Mapping[str, Tensor]) -> str:
    """Digest of named tensors, whatever their order."""
    digest = hashlib.sha256()
    for name in sorted(state):
        value = state[name].detach().cpu().contiguous()
        digest.update(f"{name}:{value.dtype}:{tuple(value.shape)}".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
