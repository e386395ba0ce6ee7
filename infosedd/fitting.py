"""The networks of one model, each trained alone: side by side in one process, or on several machines."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from numbers import Integral
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import numpy as np
import torch
from filelock import FileLock, Timeout
from torch import Tensor

from infosedd.card import model_id
from infosedd.checkpoint import read_state, write_state
from infosedd.config import ModelConfig
from infosedd.corpus import Corpus
from infosedd.errors import InputError, SurroundingsError, TrainingStopped
from infosedd.estimation import Sample
from infosedd.folds import Fold, PartName, plan_folds
from infosedd.layout import Layout
from infosedd.networks import AnyComponent, ScoreNetwork, build, choose
from infosedd.pace import History
from infosedd.parallel import threads_for
from infosedd.processes import PROCESSES
from infosedd.progress import Progress, ProgressCallback
from infosedd.queries import QueryMix, TrainingQuery
from infosedd.schedules import SCHEDULES
from infosedd.training import Data, Trainer

if TYPE_CHECKING:
    from infosedd.model import ScoreModel

LOCK_SECONDS = 0.5


@dataclass(frozen=True)
class Job:
    """One network: the fold it is trained on, and which of the fold's it is."""

    fold: int
    member: int

    @property
    def name(self) -> str:
        return f"fold-{self.fold}.{self.member}"


class Fitting:
    """The networks that a model of ``corpus`` needs, and how each is trained.

    With a ``folder`` the state of training is saved there, and each network once it is finished, so that
    what was killed goes on, and what another process has finished is taken from there.
    """

    def __init__(
        self,
        corpus: Corpus,
        config: ModelConfig,
        seed: int,
        parent: "ScoreModel | None" = None,
        folder: Path | None = None,
    ) -> None:
        if not isinstance(seed, Integral) or not 0 <= seed < 2**31:
            raise InputError(f"seed {seed!r} is no seed", remedy="use a whole number from 0 to 2147483647")
        self.corpus, self.config, self.seed, self.parent, self.folder = corpus, config, seed, parent, folder
        self.layout = Layout(corpus.blocks)
        self.mix = mix_of(config, self.layout)
        self.folds: tuple[Fold, ...] = plan_folds(corpus, config.folds, seed)
        self.components = components_for(corpus, config)
        self.model_id = model_id(corpus.corpus_id, config, seed, parent.card.model_id if parent else None)
        self.jobs = [Job(fold, member) for fold in range(len(self.folds)) for member in range(config.members)]

    def fitted(
        self, job: Job, on: torch.device, progress: ProgressCallback, stop: Event
    ) -> tuple[ScoreNetwork, History]:
        """The trained network of a job, from the folder where it is finished there."""
        if self.folder is None:
            return self._trained(job, on, progress, stop)
        with _alone(self.folder / f"{job.name}.lock", stop):
            finished = self.folder / f"{job.name}.finished.safetensors"
            found = self._read(job, finished, on) if finished.exists() else None
            if found is not None:
                return found
            if finished.exists():
                text = "a finished network can't be read or is of another release: it is trained again"
                progress(Progress("train", 0.0, None, text))
            network, history = self._trained(job, on, progress, stop)
            facts = {"history": json.dumps(asdict(history))}
            write_state(finished, network.state_dict(), facts, "a finished network")
        return network, history

    def _trained(
        self, job: Job, on: torch.device, progress: ProgressCallback, stop: Event
    ) -> tuple[ScoreNetwork, History]:
        network = self._network(job).to(on)
        if self.parent is not None:
            _start_from(network, self.parent, job)
        trainer = Trainer(
            network,
            self.config.training,
            self.mix,
            PROCESSES[self.config.process](),
            SCHEDULES[self.config.schedule](),
            seed=self._seed_of(job),
            checkpoint=self.folder / f"{job.name}.safetensors" if self.folder else None,
            progress=progress,
            stop=stop,
        )
        fold = self.folds[job.fold]
        with threads_for(network.n_parameters):
            history = trainer.fit(*(_data(self.corpus, self.layout, fold, p) for p in ("training", "validation")))
        return network, history

    def _network(self, job: Job) -> ScoreNetwork:
        marginals = _marginals(self.corpus, self.layout, self.folds[job.fold])
        return build(self.layout, self.components, marginals, self._seed_of(job), self.mix.target_blocks)

    def _seed_of(self, job: Job) -> int:
        return self.seed * 997 + job.member

    def _read(self, job: Job, file: Path, on: torch.device) -> tuple[ScoreNetwork, History] | None:
        """A finished network; none where its file is damaged or not of this network."""
        saved, network = read_state(file), self._network(job)
        if saved is None:
            return None
        tensors, facts = saved
        try:
            history = History(**json.loads(facts["history"]))
            network.load_state_dict(tensors)
        except (KeyError, TypeError, ValueError, RuntimeError):  # torch raises the last for names and shapes
            return None
        network.heed(history.residual_kept)
        return network.to(on), history


def components_for(corpus: Corpus, config: ModelConfig) -> tuple[AnyComponent, ...]:
    """The components of the score network, as the configuration names them or ``auto`` picks them."""
    if config.network != "auto":
        return config.network
    layout = Layout(corpus.blocks)
    n_draws = Sample(corpus.weights, corpus.weight_kind).n_effective(corpus.n)
    return choose(layout, mix_of(config, layout).target_blocks, int(n_draws))


def any_subset(layout: Layout) -> TrainingQuery:
    """Any token from any subset of the others."""
    return TrainingQuery(noised="+".join(layout.names))


def mix_of(config: ModelConfig, layout: Layout) -> QueryMix:
    """What training asks."""
    return QueryMix(config.queries or (any_subset(layout),), layout, config.resolved_order)


def _start_from(network: ScoreNetwork, parent: "ScoreModel", job: Job) -> None:
    """Copy what the parent's network of the same job has learned; what is counted stays the corpus's own.

    A residual starts silent, as in a new network: the parent's answers what the parent's base left open, and
    would be switched on untested once the new base has settled. Its inner layers are copied.
    """
    members = parent.networks[min(job.fold, len(parent.networks) - 1)]
    learned = [p.detach() for p in members[min(job.member, len(members) - 1)].parameters()]
    own = [p.detach() for p in network.parameters()]
    if [p.shape for p in own] != [p.shape for p in learned]:
        raise InputError(
            "the parent's network has another shape",
            where=f"model {parent.card.model_id}",
            remedy="start from a model of the same blocks and network",
        )
    for mine, theirs, owner in zip(own, learned, network.configs_of_parameters(), strict=True):
        starts_silent = owner.residual and not bool(mine.any())
        if not starts_silent:
            mine.copy_(theirs)


@contextmanager
def _alone(file: Path, stop: Event) -> Iterator[None]:
    """Holds a lock that other processes wait for, or until ``stop``."""
    lock = FileLock(file)
    while True:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=LOCK_SECONDS)
            break
        except Timeout:
            if stop.is_set():
                raise TrainingStopped(0) from None
        except OSError as error:
            raise SurroundingsError(
                f"could not save the state of training: {error.strerror}",
                where=str(file.parent),
                remedy="free space or check rights",
            ) from error
    try:
        yield
    finally:
        lock.release()


def _data(corpus: Corpus, layout: Layout, fold: Fold, part: PartName) -> Data:
    rows, weights = getattr(fold, part), fold.weights(corpus, part)
    return Data(
        layout.tokens_of(corpus, rows),
        None if weights is None else torch.from_numpy(weights),
        corpus.weight_kind,
        None if corpus.groups is None else torch.from_numpy(corpus.groups[rows]),
    )


def _marginals(corpus: Corpus, layout: Layout, fold: Fold) -> dict[str, Tensor]:
    """{block: (L_b, N_b) training frequency of each symbol at each position, with half a count for all (Perks)}."""
    rows, counted = fold.training, fold.weights(corpus, "training")
    if counted is not None and corpus.weight_kind == "weight":  # of any scale: half a count is half an average row
        counted = counted / counted.mean()
    out = {}
    for block in layout.blocks:
        codes, size = corpus.tokens[block.name], block.vocabulary.size
        counted_at = [np.bincount(codes[rows, i], counted, size + 1)[:size] for i in range(block.length)]
        counts = torch.from_numpy(np.array(counted_at, dtype=np.float64)) + 0.5 / size
        out[block.name] = counts / counts.sum(1, keepdim=True)
    return out
