"""The score model: networks trained once per corpus, from which every measure is read."""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from threading import Event, Lock

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from infosedd import measures
from infosedd.blocks import Selection
from infosedd.card import ModelCard, blocks_of, components_of, describe, load_card, weights_sha256
from infosedd.config import ModelConfig
from infosedd.corpus import Corpus, Provenance
from infosedd.errors import InputError, SurroundingsError
from infosedd.fitting import Fitting, Job, mix_of
from infosedd.folds import Fold, plan_folds
from infosedd.layout import Layout
from infosedd.networks import ScoreNetwork, build
from infosedd.noise import Noise, SubsetNoise, TimeNoise
from infosedd.pace import History
from infosedd.parallel import side_by_side
from infosedd.processes import PROCESSES
from infosedd.progress import Progress, ProgressCallback, silent
from infosedd.questions import Questions
from infosedd.randomness import torch_stream
from infosedd.sampling import sample_absorbing, sample_uniform
from infosedd.schedules import SCHEDULES
from infosedd.scores import LearnedScore

EVALUATIONS = 200_000
"""Noise draws times rows that an estimate aims at, where ``draws`` is not given."""


class ScoreModel(Questions):
    """Networks for each fold of a corpus; answers come from rows that the answering network has not seen.

    Made by ``fit`` or ``load``; the measures are methods of ``Questions``.
    """

    def __init__(
        self, card: ModelCard, config: ModelConfig, layout: Layout, networks: Sequence[Sequence[ScoreNetwork]]
    ) -> None:
        self.card, self.config, self.layout, self.networks = card, config, layout, networks
        self.corpus: Corpus | None = None

    @classmethod
    def fit(
        cls,
        corpus: Corpus,
        config: ModelConfig | dict | None = None,
        *,
        seed: int = 0,
        device: str = "auto",
        progress: ProgressCallback = silent,
        checkpoint_folder: Path | None = None,
        parent: "ScoreModel | None" = None,
        stop: Event | None = None,
    ) -> "ScoreModel":
        """Train on the corpus's own split, or cross-fit over folds.

        ``checkpoint_folder`` makes it resumable: called again after a kill it goes on from there.
        ``parent`` warm-starts every network from another model of the same blocks and network. InputError where
        it may have been trained on rows that the new model is judged on.
        Once ``stop`` is set it saves its state and raises TrainingStopped.
        """
        from infosedd.lineage import require_unseen  # which knows of registries, and they of models

        config = ModelConfig.parse(config or {}) if not isinstance(config, ModelConfig) else config
        if parent is not None:
            require_unseen(parent, corpus, config, seed)
        fitting = Fitting(corpus, config, seed, parent, checkpoint_folder)
        return cls.trained(fitting, device=device, progress=progress, stop=stop)

    @classmethod
    def trained(
        cls,
        fitting: Fitting,
        *,
        device: str = "auto",
        progress: ProgressCallback = silent,
        stop: Event | None = None,
    ) -> "ScoreModel":
        """The model whose networks a fitting trains, or finds finished."""
        corpus, config, parent = fitting.corpus, fitting.config, fitting.parent
        on, jobs = resolve_device(device), fitting.jobs
        reports, stop = _Reports(progress, len(jobs)), stop or Event()

        def train(job: Job) -> tuple[ScoreNetwork, History]:
            return fitting.fitted(job, on, reports.of(jobs.index(job)), stop)

        results = dict(zip(jobs, side_by_side(train, jobs, on, stop), strict=True))
        trained = [[results[Job(i, m)] for m in range(config.members)] for i in range(len(fitting.folds))]
        networks = [[network for network, _ in members] for members in trained]
        histories = [history for members in trained for _, history in members]
        card = ModelCard(
            model_id=fitting.model_id,
            corpus_id=corpus.corpus_id,
            corpus_name=corpus.name,
            process=config.process,
            network=describe(fitting.components),
            components=tuple(c.model_dump(mode="json") for c in fitting.components),
            config=config.model_dump(mode="json"),
            n_parameters=sum(n.n_parameters for members in networks for n in members),
            train_steps=sum(h.steps[-1] for h in histories),
            train_seconds=sum(h.seconds for h in histories),
            held_out_loss_nats=float(np.mean([h.kept for h in histories if h.kept is not None])),
            weights_sha256=weights_sha256(state_of(networks)),
            seed=fitting.seed,
            created_at=datetime.now(UTC).isoformat(timespec="microseconds"),
            parent_model_id=parent.card.model_id if parent else None,
            blocks=tuple(block.to_dict() for block in corpus.blocks),
            histories=tuple(asdict(h) for h in histories),
            versions={name: version(name) for name in ("torch", "numpy")},
        )
        model = cls(card, config, fitting.layout, networks)
        return model.attach(corpus)

    def attach(self, corpus: Corpus) -> "ScoreModel":
        """Give the model its corpus, whose held-out rows it is evaluated on."""
        if corpus.corpus_id != self.card.corpus_id:
            raise InputError(
                f"corpus {corpus.corpus_id} is not the one this model was trained on",
                where=f"model {self.card.model_id}",
                remedy=f"give corpus {self.card.corpus_id}, or pass the other rows as data=",
            )
        self.corpus = corpus
        return self

    @cached_property
    def histories(self) -> list[History]:
        return [History(**h) for h in self.card.histories]

    @cached_property
    def folds(self) -> tuple[Fold, ...]:
        return plan_folds(self.require_corpus(), self.config.folds, self.card.seed)

    def require_corpus(self) -> Corpus:
        if self.corpus is None:
            raise InputError(
                "the rows to evaluate on are not at hand",
                where=f"model {self.card.model_id}",
                remedy=f"attach corpus {self.card.corpus_id}, or pass data=",
            )
        return self.corpus

    def noise(self, n_rows: int, size: int) -> Noise:
        """The noise that estimates use: more draws a row where rows are few, at most |A| in the subset form."""
        draws = self.config.draws or max(1, EVALUATIONS // n_rows)
        if self.config.process == "absorbing" and self.config.integral == "subset":
            return SubsetNoise(min(draws, size))
        process, schedule = PROCESSES[self.config.process](), SCHEDULES[self.config.schedule]()
        return TimeNoise(process, schedule, min(draws, 16))

    def sample(self, n: int, *, seed: int = 0) -> Corpus:
        """``n`` draws from the learned law by the reverse process: as many rows of the same blocks.

        Raises InputError where the model was not trained to draw every block.
        """
        everything = Selection.parse("+".join(self.layout.names), self.layout.blocks)
        if self.untaught(measures.entropy(self.layout, everything, order=self.config.resolved_order)) is not None:
            raise InputError(
                f"this model can't draw {' and '.join(sorted(self.layout.names))}: it was trained for other questions",
                where=f"model {self.card.model_id}",
                remedy=f"train one with the query noised = {'+'.join(self.layout.names)!r}, clean = ''",
            )
        if n < 1:
            raise InputError(f"can't draw {n} rows", remedy="ask for at least one")
        score = LearnedScore([network for members in self.networks for network in members])
        generator = torch_stream("sample", seed)
        if self.config.process == "absorbing":
            tokens = sample_absorbing(score, everything, n, self.config.resolved_order, generator)
        else:
            process, schedule = PROCESSES[self.config.process](), SCHEDULES[self.config.schedule]()
            tokens = sample_uniform(score, everything, n, process, schedule, generator)
        columns = {
            b.name: tokens[:, self.layout.slice_of(b.name)].numpy().astype(b.vocabulary.dtype)
            for b in self.layout.blocks
        }
        source = Provenance(connector="sample", source_uri=f"model:{self.card.model_id}", n_read=n)
        return Corpus(f"{self.card.corpus_name}-sample", self.layout.blocks, columns, provenance=source)

    def save(self, path: Path | str) -> Path:
        """Write ``weights.safetensors`` and ``card.json`` into the folder ``path``."""
        path = Path(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            save_file(state_of(self.networks), path / "weights.safetensors")
            with (path / "weights.safetensors").open("rb") as written:
                os.fsync(written.fileno())
            with (path / "card.json").open("w") as card:
                card.write(json.dumps(asdict(self.card), indent=1))
                card.flush()
                os.fsync(card.fileno())
        except (OSError, SafetensorError) as error:
            text = getattr(error, "strerror", None) or error
            raise SurroundingsError(
                f"could not write the model: {text}", where=str(path), remedy="free space or check rights"
            ) from error
        return path

    @classmethod
    def load(cls, path: Path | str, corpus: Corpus | None = None, *, device: str = "auto") -> "ScoreModel":
        """Open a saved model; refuses an unknown format and weights that don't match their digest."""
        card, on = load_card(path), resolve_device(device)
        config = ModelConfig.parse(dict(card.config), f"in the card of model {card.model_id}")
        try:
            state = load_file(Path(path) / "weights.safetensors")
        except (FileNotFoundError, SafetensorError) as error:
            raise InputError(
                f"the weights can't be read: {error}", where=str(path), remedy="delete the folder and train it again"
            ) from error
        if weights_sha256(state) != card.weights_sha256:
            raise InputError(
                "the weights don't match the digest on the model's card", where=str(path), remedy="train it again"
            )
        layout, components = Layout(blocks_of(card)), components_of(card)
        mix = mix_of(config, layout)
        networks = []
        for i in range(1 + max(int(name.split(".")[0]) for name in state)):
            members = []
            for m in range(config.members):
                prefix = f"{i}.{m}."
                own = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
                network = build(layout, components, _uniform_marginals(layout), 0, mix.target_blocks)
                try:
                    network.load_state_dict(own)
                except RuntimeError as error:  # of torch, where names or shapes differ
                    raise InputError(
                        "the weights are not those of the network on the model's card",
                        where=str(path),
                        remedy="delete the folder and train it again",
                    ) from error
                network.heed(card.histories[i * config.members + m].get("residual_kept"))
                members.append(network.to(on))
            networks.append(members)
        model = cls(card, config, layout, networks)
        return model if corpus is None else model.attach(corpus)


def resolve_device(device: str) -> torch.device:
    """``auto`` is a CUDA GPU where there is one, else the CPU; InputError for a device of another kind or not there."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        on = torch.device(device)
        if on.type not in ("cpu", "cuda"):
            raise InputError(f"device {device!r} can't be used", remedy="use 'auto', 'cpu' or 'cuda'")
        torch.zeros(1, device=on)
        return on
    except (RuntimeError, AssertionError) as error:
        text = str(error).splitlines()[0]
        raise InputError(f"device {device!r} can't be used: {text}", remedy="use 'auto', 'cpu' or 'cuda'") from error


def state_of(networks: Sequence[Sequence[ScoreNetwork]]) -> dict[str, Tensor]:
    """All weights, named ``fold.member.parameter``."""
    return {
        f"{i}.{m}.{name}": value.contiguous()
        for i, members in enumerate(networks)
        for m, network in enumerate(members)
        for name, value in network.state_dict().items()
    }


def _uniform_marginals(layout: Layout) -> dict[str, Tensor]:
    return {b.name: torch.full((b.length, b.vocabulary.size), 1 / b.vocabulary.size) for b in layout.blocks}


class _Reports:
    """Gathers the reports of several equal trainings into reports of the whole."""

    def __init__(self, progress: ProgressCallback, n_jobs: int) -> None:
        self._progress, self._done, self._started = progress, [0.0] * n_jobs, time.monotonic()
        self._lock = Lock()

    def of(self, job: int) -> ProgressCallback:
        def report(p: Progress) -> None:
            with self._lock:
                self._done[job] = p.done
                done = sum(self._done) / len(self._done)
                spent = time.monotonic() - self._started
                left = spent / done - spent if done > 0 else None
                text = f"network {job + 1} of {len(self._done)}: {p.message}" if len(self._done) > 1 else p.message
                self._progress(Progress("train", done, left, text))

        return report
