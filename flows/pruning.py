"""Which trained models can go: the newest of every study and corpus stay, and so do the cards of those that go."""

import os
import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from flows.files import written_whole
from flows.home import Home
from infosedd.errors import InputError, SurroundingsError

if TYPE_CHECKING:
    from infosedd.card import ModelCard

CARDS = "pruned"
"""Folder beside the models that keeps the cards of those that went: CARDS/MODEL_ID.json."""


@dataclass(frozen=True)
class Stored:
    """A model on disk: its card, the studies that showed it, its size, and what still points to it."""

    card: "ModelCard"
    studies: tuple[str, ...]
    n_bytes: int
    named_by: tuple[str, ...] = ()
    """In words: models that were warm-started from it, and latest estimates that were read off it."""


@dataclass(frozen=True)
class Plan:
    """The models that stay and those that go, oldest first."""

    kept: tuple[Stored, ...]
    gone: tuple[Stored, ...]

    @property
    def n_bytes(self) -> int:
        """What the disk gets back."""
        return sum(model.n_bytes for model in self.gone)


def stored_models(home: Home) -> tuple[Stored, ...]:
    """Every model of the home, oldest first."""
    from infosedd.registry import ModelRegistry

    registry = ModelRegistry(home.models)
    studies, latest = _studies(home), _latest(home)
    found = []
    cards = registry.cards()
    for card in cards:
        children = [c.model_id for c in cards if c.parent_model_id == card.model_id]
        named_by = [f"parent of {child}" for child in children]
        if n := latest.get(card.model_id, 0):
            named_by.append(f"{n:,} latest estimate{'' if n == 1 else 's'}")
        size = _size(registry.path(card.model_id))
        found.append(Stored(card, studies.get(card.model_id, ()), size, tuple(named_by)))
    return tuple(found)


def plan(home: Home, keep: int) -> Plan:
    """Keep the newest ``keep`` models of each corpus name, counted for each study that showed them."""
    if keep < 1:
        raise InputError(f"can't keep {keep} models", remedy="keep at least one of each study and corpus: --keep 1")
    models = stored_models(home)
    groups: dict[tuple[str, str], list[Stored]] = defaultdict(list)
    for model in models:
        for study in model.studies or ("",):
            groups[study, model.card.corpus_name].append(model)
    kept = {model.card.model_id for group in groups.values() for model in group[-keep:]}
    return Plan(
        tuple(model for model in models if model.card.model_id in kept),
        tuple(model for model in models if model.card.model_id not in kept),
    )


def carry_out(home: Home, planned: Plan) -> None:
    """Remove the models that are to go, each whole and its card kept; one that is being trained is an error."""
    for model in planned.gone:
        model_id = model.card.model_id
        folder, doomed = home.models / model_id, home.models / f".{model_id}-pruned"
        try:
            with FileLock(home.models / f".{model_id}.lock", timeout=0):
                _keep_card(folder / "card.json", home.models / CARDS / f"{model_id}.json")
                if doomed.exists():  # a prune was killed while it removed an earlier training of the model
                    shutil.rmtree(doomed)
                os.rename(folder, doomed)
            shutil.rmtree(doomed)
        except Timeout as error:
            raise SurroundingsError(
                "the model is in use by another process", where=str(folder), remedy="run again when that is done"
            ) from error
        except OSError as error:
            raise SurroundingsError(
                f"can't remove the model ({error.strerror})", where=str(folder), remedy="check the rights of the home"
            ) from error


def _keep_card(card: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    with written_whole(target) as partial:
        shutil.copyfile(card, partial)


_STUDIES = """
SELECT m, list(DISTINCT study ORDER BY study)
FROM (SELECT model_id AS m, study FROM estimates UNION ALL SELECT reference_model_id, study FROM estimates)
WHERE m IS NOT NULL GROUP BY m
"""
_LATEST = """
SELECT m, count(*)
FROM (SELECT model_id AS m FROM latest_estimates UNION ALL SELECT reference_model_id FROM latest_estimates)
WHERE m IS NOT NULL GROUP BY m
"""


def _studies(home: Home) -> dict[str, tuple[str, ...]]:
    """Which studies showed estimates of each model; empty where nothing was published yet."""
    return {model_id: tuple(names) for model_id, names in _rows(home, _STUDIES)}


def _latest(home: Home) -> dict[str, int]:
    """How many of the latest estimates were read off each model."""
    return dict(_rows(home, _LATEST))


def _rows(home: Home, sql: str) -> list[tuple]:
    from warehouse import queries

    return queries.run(home.path, sql).rows() if home.warehouse.exists() else []


def _size(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir())
