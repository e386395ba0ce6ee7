"""The model registry: one folder a model, found again by what it was made from."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import torch
from filelock import FileLock, Timeout

from infosedd.card import ModelCard, load_card, model_id
from infosedd.config import ModelConfig
from infosedd.corpus import Corpus
from infosedd.errors import InputError, SurroundingsError
from infosedd.fitting import Fitting
from infosedd.lineage import require_unseen
from infosedd.model import ScoreModel, resolve_device
from infosedd.progress import Progress, ProgressCallback, silent
from infosedd.training import saved_step


class ModelRegistry:
    """Models under one folder; the same corpus, configuration and seed never train twice.

    ``corpora`` is where ``Corpus.save`` puts corpora, by default the folder ``corpora`` beside the models': a warm
    start looks there for what a parent was trained on.
    """

    def __init__(self, folder: Path | str, corpora: Path | str | None = None) -> None:
        self.folder = Path(folder)
        self.corpora = self.folder.parent / "corpora" if corpora is None else Path(corpora)

    def path(self, model_id: str) -> Path:
        return self.folder / model_id

    def get_or_fit(
        self,
        corpus: Corpus,
        config: ModelConfig,
        *,
        seed: int = 0,
        device: str = "auto",
        progress: ProgressCallback = silent,
        parent: ScoreModel | None = None,
        stop: Event | None = None,
    ) -> tuple[ScoreModel, bool]:
        """The model and whether it was there already. Of two processes that ask at once, one trains, one waits.

        A training that was killed goes on from its last checkpoint. InputError where ``parent`` may have been
        trained on rows that the new model is judged on.
        """
        key = _key(corpus, config, seed, parent)
        if self.has(key):
            shutil.rmtree(self._training(key), ignore_errors=True)  # of a process that came late
            return self.open(key, corpus, device=device), True
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / f".{key}.lock")
        except OSError as error:
            raise SurroundingsError(f"could not write models: {error.strerror}", where=str(self.folder)) from error
        with _held(lock, progress):
            if self.has(key):
                return self.open(key, corpus, device=device), True
            fitting = self._fitting(corpus, config, seed, parent)
            model = ScoreModel.trained(fitting, device=device, progress=progress, stop=stop)
            self._store(model)
        return model, False

    def _fitting(self, corpus: Corpus, config: ModelConfig, seed: int, parent: ScoreModel | None) -> Fitting:
        if parent is not None:
            cards = {card.model_id: card for card in self.cards()}
            require_unseen(parent, corpus, config, seed, cards, self.corpus_of)
        return Fitting(corpus, config, seed, parent, self._training(_key(corpus, config, seed, parent)))

    def corpus_of(self, corpus_id: str) -> Corpus | None:
        """The corpus of an id; none where it is not at hand."""
        return Corpus.load(self.corpora / corpus_id) if (self.corpora / corpus_id).exists() else None

    def _store(self, model: ScoreModel) -> None:
        """Put a model in its place, whole or not at all; the state of its training goes."""
        key = model.card.model_id
        try:
            partial = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=self.folder))
            model.save(partial)
            os.rename(partial, self.path(key))
        except OSError as error:
            raise SurroundingsError(
                f"could not store the model: {error.strerror}",
                where=str(self.path(key)),
                remedy="free space, check rights, and delete the folder if it is there",
            ) from error
        shutil.rmtree(self._training(key), ignore_errors=True)

    def fit_network(
        self,
        corpus: Corpus,
        config: ModelConfig,
        number: int,
        *,
        seed: int = 0,
        device: str = "auto",
        progress: ProgressCallback = silent,
        parent: ScoreModel | None = None,
        stop: Event | None = None,
    ) -> None:
        """Train one of a model's networks (``Fitting.jobs``), which ``get_or_fit`` then finds finished.

        So the networks of a model may be trained by several processes, or machines that share the folder.
        """
        key = _key(corpus, config, seed, parent)
        if self.has(key):
            return
        fitting, on = self._fitting(corpus, config, seed, parent), resolve_device(device)
        before = torch.get_num_threads()
        if len(fitting.jobs) > 1:  # as where they are trained side by side, so that the numbers are the same
            torch.set_num_threads(1)
        try:
            fitting.fitted(fitting.jobs[number], on, progress, stop or Event())
        finally:
            torch.set_num_threads(before)

    def saved(self, model_id: str) -> tuple[int, tuple[int, ...]]:
        """Of a model that is half trained: how many networks are finished, and the saved steps of the others."""
        folder = self._training(model_id)
        finished = {file.name.removesuffix(".finished.safetensors") for file in folder.glob("*.finished.safetensors")}
        files = (file for file in sorted(folder.glob("fold-*.safetensors")) if ".finished." not in file.name)
        return len(finished), tuple(saved_step(file) for file in files if file.stem not in finished)

    def is_training(self, model_id: str) -> bool:
        """Is a model half trained, by a process that works on it or was killed?"""
        return self._training(model_id).exists() and not self.has(model_id)

    def has(self, model_id: str) -> bool:
        """Is the model there, whole?"""
        return (self.path(model_id) / "card.json").exists()

    def _training(self, model_id: str) -> Path:
        """Where the state of a training is saved until the model is there."""
        return self.folder / f".{model_id}.training"

    def open(self, model_id: str, corpus: Corpus | None = None, *, device: str = "auto") -> ScoreModel:
        return ScoreModel.load(self.path(model_id), corpus, device=device)

    def cards(self) -> list[ModelCard]:
        """Cards of all models that this release can open, oldest first; of the others ``faults`` says why not."""
        found = [card for card in self._opened().values() if isinstance(card, ModelCard)]
        return sorted(found, key=lambda card: card.created_at)

    def faults(self) -> dict[str, InputError]:
        """Name of each model's folder whose card can't be read, is damaged or of another release: why."""
        return {name: fault for name, fault in self._opened().items() if isinstance(fault, InputError)}

    def _opened(self) -> dict[str, ModelCard | InputError]:
        found: dict[str, ModelCard | InputError] = {}
        for file in sorted(self.folder.glob("[!.]*/card.json")):
            try:
                found[file.parent.name] = load_card(file.parent)
            except InputError as error:
                found[file.parent.name] = error
        return found


def _key(corpus: Corpus, config: ModelConfig, seed: int, parent: ScoreModel | None) -> str:
    return model_id(corpus.corpus_id, config, seed, parent.card.model_id if parent else None)


@contextmanager
def _held(lock: FileLock, progress: ProgressCallback) -> Iterator[None]:
    """Holds the lock; says so when it has to wait for it."""
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress(Progress("train", 0.0, None, "waiting for another process that trains this model"))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
