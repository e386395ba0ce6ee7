"""Training one score network on one fold: early stopping, averaged weights, and a resumable state."""

import json
import math
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Literal

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from infosedd.errors import InfoseddError, SurroundingsError
from infosedd.losses import noise_batch, row_losses
from infosedd.networks import ScoreNetwork
from infosedd.optimizer import AdamW
from infosedd.processes import NoiseProcess
from infosedd.progress import Progress, ProgressCallback, silent
from infosedd.queries import QueryMix
from infosedd.schedules import Schedule


class TrainingConfig(BaseModel):
    """When to stop, and how to step."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    budget: Literal["convergence", "steps", "seconds"] = Field(
        default="convergence",
        description="stop when the held-out loss no longer falls, after `steps`, or after `seconds`",
    )
    steps: int = Field(default=20_000, ge=1, description="steps of a step budget; the most steps of the others")
    seconds: float = Field(
        default=60.0, gt=0, description="seconds of a seconds budget, whose model depends on the machine"
    )
    batch_size: int = Field(default=512, ge=2, description="rows a step")
    patience: int = Field(
        default=800, ge=1, description="least number of steps without progress before convergence is declared"
    )
    evaluate_every: int = Field(default=100, ge=1, description="steps between looks at the held-out loss")
    evaluation_rows: int = Field(default=4096, ge=1, description="most held-out rows in each look")
    average: float = Field(
        default=0.99, ge=0, lt=1, description="decay of the averaged weights that are judged and kept"
    )
    warmup: int = Field(default=50, ge=0, description="steps over which the learning rate rises")
    checkpoint_seconds: float = Field(
        default=30.0, gt=0, description="seconds between saved states, where a folder is given"
    )


class NonFiniteLossError(InfoseddError):
    """The loss became infinite or NaN; ``step`` says where."""

    def __init__(self, step: int) -> None:
        self.step = step
        super().__init__(
            "the training loss is not a finite number",
            where=f"at step {step}",
            remedy="lower the learning rate of the network's components",
        )


class TrainingStopped(InfoseddError):
    """Training ended early, after ``step`` steps, because it was asked to; its state is saved where it has a place."""

    def __init__(self, step: int) -> None:
        self.step = step
        super().__init__("training was stopped", where=f"after step {step}", remedy="run it again to go on")


@dataclass
class History:
    """What training saw: held-out loss (nats a row) by step."""

    steps: list[int] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)
    best_step: int = 0
    seconds: float = 0.0
    anneal_start: int | None = None
    anneal_steps: int = 0

    @property
    def best(self) -> float:
        return min(self.held_out)


@dataclass(frozen=True)
class Data:
    """Tokens (n, L) of a fold's rows, with their weights (n,) or none."""

    tokens: Tensor
    weights: Tensor | None


class Trainer:
    """Trains ``network`` in place and leaves the averaged weights with the lowest held-out loss in it.

    Each step's randomness follows from (seed, step) alone, so a run that resumes from a saved state
    goes the same way as one that was never stopped.
    """

    def __init__(
        self,
        network: ScoreNetwork,
        config: TrainingConfig,
        mix: QueryMix,
        process: NoiseProcess,
        schedule: Schedule,
        *,
        seed: int,
        checkpoint: Path | None = None,
        progress: ProgressCallback = silent,
        label: str = "train",
        stop: Event | None = None,
    ) -> None:
        self.network, self.config, self.mix = network, config, mix
        self.process, self.schedule, self.seed = process, schedule, seed
        self.checkpoint, self.progress, self.label = checkpoint, progress, label
        self.stop = stop or Event()
        self.history = History()
        self.step = 0
        self._average = [p.detach().clone() for p in network.parameters()]
        self._best = [p.detach().clone() for p in network.parameters()]
        owners = network.configs_of_parameters()
        self._optimizer = AdamW(
            [*network.parameters()], [c.learning_rate for c in owners], [c.weight_decay for c in owners]
        )

    def fit(self, training: Data, validation: Data) -> History:
        """Train until the budget is spent; raises NonFiniteLossError, or TrainingStopped once ``stop`` is set."""
        self._resume()
        started = time.monotonic() - self.history.seconds
        saved = time.monotonic()
        held_out = self._held_out_batches(validation)
        if not self.history.steps:
            self._look(held_out)
        while not self._finished(started):
            if self.stop.is_set():
                self._save()
                raise TrainingStopped(self.step)
            self._train_step(training)
            if self.step % self.config.evaluate_every == 0:
                self._look(held_out)
                self._decide(started)
                self._report(started)
                self.history.seconds = time.monotonic() - started
                if time.monotonic() - saved > self.config.checkpoint_seconds:
                    self._save()
                    saved = time.monotonic()
        if self.step % self.config.evaluate_every:
            self._look(held_out)
        self.history.seconds = time.monotonic() - started
        self._load_into_network(self._best)
        return self.history

    def _train_step(self, data: Data) -> None:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.step)
        rows = self._rows(data, generator)
        tokens = data.tokens[rows].long()
        dealt = self.mix.draw(len(rows), generator)
        draw = noise_batch(tokens, dealt.noised, self.process, self.schedule, self.network.layout, generator)
        losses = row_losses(self.network, tokens, dealt, draw, self.mix.target_blocks, generator)
        loss = losses.mean() + self.network.penalty(len(data.tokens))
        if not math.isfinite(loss.item()):
            raise NonFiniteLossError(self.step)
        loss.backward()
        self._optimizer.step(self._rate())
        self.step += 1
        decay = min(self.config.average, self.step / (self.step + 9))
        torch._foreach_lerp_(self._average, [p.detach() for p in self.network.parameters()], 1 - decay)

    def _rows(self, data: Data, generator: torch.Generator) -> Tensor:
        """The step's rows: a stretch of a fresh order each epoch, or draws in proportion to weight."""
        n, size = len(data.tokens), min(self.config.batch_size, len(data.tokens))
        if data.weights is not None:
            ends = data.weights.cumsum(0)
            spots = (torch.arange(size) + torch.rand((), generator=generator)) / size * ends[-1]
            rows = torch.searchsorted(ends, spots.to(ends.dtype)).clamp(max=n - 1)
            return rows[torch.randperm(size, generator=generator)]
        per_epoch = max(1, n // size)
        epoch, place = divmod(self.step, per_epoch)
        if getattr(self, "_epoch", None) != epoch:
            order = torch.Generator().manual_seed(self.seed * 7_368_787 + epoch)
            self._epoch, self._order = epoch, torch.randperm(n, generator=order)
        return self._order[place * size : (place + 1) * size]

    def _rate(self) -> float:
        """Share of the peak learning rate: warm-up, level, then a cosine to zero."""
        if self.step < self.config.warmup:
            return (self.step + 1) / self.config.warmup
        if self.config.budget == "steps":
            return 0.5 * (1 + math.cos(math.pi * min(1.0, self.step / self.config.steps)))
        if self.history.anneal_start is None:
            return 1.0
        done = (self.step - self.history.anneal_start) / self.history.anneal_steps
        return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))

    def _held_out_batches(self, data: Data) -> list[tuple]:
        """Fixed rows, queries and noise, so that looks differ by the network alone."""
        generator = torch.Generator().manual_seed(self.seed)
        n = min(self.config.evaluation_rows, len(data.tokens))
        rows = torch.randperm(len(data.tokens), generator=generator)[:n]
        weights = torch.ones(n, dtype=torch.float64) if data.weights is None else data.weights[rows].double()
        copies = max(1, min(8, 2048 // n))
        batches = []
        for _ in range(copies):
            for part in torch.arange(n).split(2048):
                tokens = data.tokens[rows[part]].long()
                dealt = self.mix.draw(len(part), generator)
                draw = noise_batch(tokens, dealt.noised, self.process, self.schedule, self.network.layout, generator)
                batches.append((tokens, dealt, draw, weights[part]))
        return batches

    @torch.no_grad()
    def _look(self, batches: list[tuple]) -> None:
        """Record the held-out loss of the averaged weights, and keep them if they are the best."""
        current = [p.detach().clone() for p in self.network.parameters()]
        self._load_into_network(self._average)
        total = weight = 0.0
        for tokens, dealt, draw, weights in batches:
            losses = row_losses(self.network, tokens, dealt, draw, self.mix.target_blocks)
            total += float((losses.double() * weights).sum())
            weight += float(weights.sum())
        self._load_into_network(current)
        loss = total / weight
        if not math.isfinite(loss):
            raise NonFiniteLossError(self.step)
        if not self.history.held_out or loss < self.history.best:
            self.history.best_step = self.step
            torch._foreach_copy_(self._best, self._average)
        self.history.steps.append(self.step)
        self.history.held_out.append(loss)

    def _decide(self, started: float) -> None:
        """Level phase over? Then go back to the best weights and anneal from there."""
        if self.config.budget == "steps" or self.history.anneal_start is not None:
            return
        spent = time.monotonic() - started
        if self.config.budget == "seconds":
            over = spent > 0.7 * self.config.seconds
            left = max(1, int(self.step / max(spent, 1e-9) * (self.config.seconds - spent)))
        else:
            over = self._stalled() or self.step >= 0.7 * self.config.steps
            left = max(1, min(max(300, int(0.3 * self.step)), self.config.steps - self.step))
        if over:
            self.history.anneal_start, self.history.anneal_steps = self.step, left
            self._load_into_network(self._best)
            torch._foreach_copy_(self._average, self._best)

    def _stalled(self) -> bool:
        """No progress worth the name for a while: progress is measured against all that was learned."""
        losses = np.minimum.accumulate(self.history.held_out)
        learned = losses[0] - losses[-1]
        near_best = int(np.argmax(losses <= losses[-1] + 1e-3 * learned))
        return self.step - self.history.steps[near_best] >= max(self.config.patience, 0.4 * self.step)

    def _finished(self, started: float) -> bool:
        if self.config.budget == "seconds" and time.monotonic() - started > self.config.seconds:
            return True
        if self.history.anneal_start is not None:
            return self.step >= self.history.anneal_start + self.history.anneal_steps
        return self.step >= self.config.steps

    def _report(self, started: float) -> None:
        spent = time.monotonic() - started
        if self.config.budget == "seconds":
            done = spent / self.config.seconds
        elif self.history.anneal_start is not None:
            done = self.step / (self.history.anneal_start + self.history.anneal_steps)
        elif self.config.budget == "steps":
            done = self.step / self.config.steps
        else:  # as if progress ended now
            since = self.step - self.history.best_step
            wait = max(self.config.patience, 0.4 * self.step)
            done = self.step / (self.step + max(0.0, wait - since) + max(300, 0.3 * self.step))
        left = spent / done - spent if done > 0 else None
        self.progress(Progress(self.label, min(done, 1.0), left, f"held-out loss {self.history.held_out[-1]:.4f} nats"))

    def _load_into_network(self, values: list[Tensor]) -> None:
        with torch.no_grad():
            torch._foreach_copy_([*self.network.parameters()], values)

    def _state(self) -> dict[str, list[Tensor]]:
        now = [*self.network.parameters()]
        optimizer = self._optimizer
        kinds = {"now": now, "average": self._average, "best": self._best}
        return {**kinds, "mean": optimizer.mean, "square": optimizer.square}

    # Saved state: tensors as safetensors, the rest as JSON; a folder written whole or not at all.

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        tensors = {}
        for kind, values in self._state().items():
            tensors.update({f"{kind}.{i}": value.detach() for i, value in enumerate(values)})
        partial = self.checkpoint.with_suffix(".partial")
        facts = {"step": str(self.step), "history": json.dumps(self.history.__dict__)}
        try:
            self.checkpoint.parent.mkdir(parents=True, exist_ok=True)
            save_file(tensors, partial, metadata=facts)
            os.replace(partial, self.checkpoint)
        except (OSError, SafetensorError) as error:
            raise SurroundingsError(
                f"could not save the state of training: {error}",
                where=str(self.checkpoint.parent),
                remedy="free space or check rights, then run again: training goes on from the last saved state",
            ) from error

    def _resume(self) -> None:
        if self.checkpoint is None or not self.checkpoint.exists():
            return
        with safe_open(self.checkpoint, "pt") as file:
            facts = file.metadata()
        tensors = load_file(self.checkpoint)
        self.step, self.history = int(facts["step"]), History(**json.loads(facts["history"]))
        self._optimizer.n_steps = self.step
        with torch.no_grad():
            for kind, values in self._state().items():
                torch._foreach_copy_(values, [tensors[f"{kind}.{i}"] for i in range(len(values))])
        self.progress(Progress(self.label, 0.0, None, f"resumed at step {self.step}"))
