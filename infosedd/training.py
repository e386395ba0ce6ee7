"""Training one score network on one fold: early stopping, averaged weights, and a resumable state."""

import json
import math
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Event

import torch
from torch import Tensor

from infosedd.checkpoint import read_facts, read_state, write_state
from infosedd.errors import InputError, TrainingStopped
from infosedd.estimation import Sample, mean_and_error
from infosedd.losses import noise_batch, row_losses
from infosedd.networks import ScoreNetwork
from infosedd.noise import Draw
from infosedd.optimizer import AdamW
from infosedd.pace import History, Pace, TrainingConfig
from infosedd.processes import NoiseProcess
from infosedd.progress import Progress, ProgressCallback, silent
from infosedd.queries import Dealt, QueryMix
from infosedd.randomness import torch_stream
from infosedd.schedules import Schedule
from infosedd.symmetries import mirrored

ROWS_TO_JUDGE = 1000
"""Held-out rows, or groups, from which a difference that does not show in them is taken to be small."""
EXPOSURE_ROWS = 8192
"""Rows from which it is told how often one position is seen when another is scored."""
BESIDE_RESIDUAL = 0.1
"""Share of its learning rate at which a component goes on learning beside a residual."""
FEW_WEIGHTS = 200_000
"""Weights below which a step costs little more for more rows."""
BATCH, LARGE_BATCH = 512, 2048
"""Rows a step: the large batch where there are few weights and several such batches of rows."""


class NonFiniteLossError(InputError):
    """The loss became infinite or NaN; ``step`` says where."""

    def __init__(self, step: int) -> None:
        self.step = step
        super().__init__(
            "the training loss is not a finite number",
            where=f"at step {step}",
            remedy="lower the learning rate of the network's components",
        )


@dataclass(frozen=True)
class Data:
    """Tokens (n, L) of the rows of a fold's part, with their weights (n,) and groups (n,), or none."""

    tokens: Tensor
    weights: Tensor | None = None
    weight_kind: str = "count"
    groups: Tensor | None = None

    @cached_property
    def _ends(self) -> Tensor:
        """(n,) where each row's share of the total weight ends."""
        assert self.weights is not None
        return self.weights.cumsum(0)

    def rows_at(self, shares: Tensor) -> Tensor:
        """Of each share of the total weight, 0 to 1, the row that lies there: a draw in proportion to weight."""
        spots = (shares * self._ends[-1]).to(self._ends.dtype)
        return torch.searchsorted(self._ends, spots).clamp(max=len(self.tokens) - 1)

    @cached_property
    def n_draws(self) -> float:
        """Number of draws that the rows stand for: the sum of counts, or Kish's number of equal weights."""
        weights = None if self.weights is None else self.weights.numpy()
        return Sample(weights, self.weight_kind).n_effective(len(self.tokens))


class Trainer:
    """Trains ``network`` in place and leaves the averaged weights with the lowest held-out loss in it.

    In stages: the components that are no residual first, then, slowly beside them, the residual
    ones, which are kept only where they lower the held-out loss by more than its standard error.

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
        self.step = 0
        self.history = History()
        self._average = [p.detach().clone() for p in network.parameters()]
        self._best = [p.detach().clone() for p in network.parameters()]
        self._settled = [p.detach().clone() for p in network.parameters()]
        self._lowest: list[Tensor] = []
        """For each look since ``history.last_tenth``, the rows' losses at the lowest look so far."""
        self._mark = torch.empty(0)
        """The rows' losses that progress is measured from: those at ``history.progress_step``."""
        self._begin()

    def _begin(self) -> None:
        """Set up the stage that the history is in."""
        residual = self.history.stage == 1
        owned = zip(self.network.parameters(), self.network.configs_of_parameters(), strict=True)
        trained = [(p, owner) for p, owner in owned if residual or not owner.residual]
        beside = BESIDE_RESIDUAL if residual else 1.0
        self._optimizer = AdamW(
            [p for p, _ in trained],
            [owner.learning_rate * (1.0 if owner.residual else beside) for _, owner in trained],
            [owner.weight_decay for _, owner in trained],
        )
        self._few_weights = not residual and sum(p.numel() for p, _ in trained) < FEW_WEIGHTS
        self.network.residual_active = residual
        self._pace = Pace(self.config, self.history, 2 if self.network.has_residual else 1)

    def fit(self, training: Data, validation: Data) -> History:
        """Train until the budget is spent; raises NonFiniteLossError, or TrainingStopped once ``stop`` is set."""
        self._resume()
        started = time.monotonic() - self.history.seconds
        held_out = self._held_out_batches(validation)
        self._exposure = self._exposures(training)
        if not self.history.steps:
            self._look(held_out)
        self._run_stage(training, held_out, started)
        if self.network.has_residual and self.history.stage == 0:
            self._settle(held_out)
            self._run_stage(training, held_out, started)
        if self.network.has_residual:
            self._judge_residual(held_out)
            self.network.heed(self.history.residual_kept)
        self._load_into_network(self._best)
        gain, error = self._paired(self._lowest[0].double(), self._lowest[-1].double(), held_out)
        self.history.last_gain_nats, self.history.last_gain_std_error_nats = gain, _if_finite(error)
        self.history.kept = _mean(self._losses(self._best, held_out), held_out)
        self.history.seconds = time.monotonic() - started
        return self.history

    def _run_stage(self, training: Data, held_out: list[tuple], started: float) -> None:
        saved = time.monotonic()
        while not self._pace.stage_is_over(self.step, time.monotonic() - started):
            if self.stop.is_set():
                self._save()
                raise TrainingStopped(self.step)
            self._train_step(training)
            if self.step % self.config.evaluate_every == 0:
                self._look(held_out)
                spent = self.history.seconds = time.monotonic() - started
                if not self._pace.stage_is_over(self.step, spent) and self._pace.level_is_over(self.step, spent):
                    self._pace.begin_anneal(self.step, spent)
                    self._load_into_network(self._best)
                    torch._foreach_copy_(self._average, self._best)
                done = self._pace.done(self.step, spent)
                left = spent / done - spent if done > 0 else None
                message = f"held-out loss {self.history.held_out[-1]:.4f} nats"
                self.progress(Progress(self.label, done, left, message))
                if time.monotonic() - saved > self.config.checkpoint_seconds:
                    self._save()
                    saved = time.monotonic()
        if self.history.steps[-1] != self.step:
            self._look(held_out)
        if self._pace.has_annealed:
            self._prefer_last(held_out)

    def _prefer_last(self, held_out: list[tuple]) -> None:
        """Keep the annealed weights, unless earlier ones did better on held-out rows by more than chance.

        The best of many looks is best by chance too, so it has to be better by two standard errors. On few
        rows chance hides overfitting, and the best look is all there is to go by, except for a network that is
        kept simple: that one would be stopped before it has learned what it may.
        """
        last = self._losses(self._average, held_out)
        loss, error = self._paired(last, self._losses(self._best, held_out), held_out)
        if loss <= 2 * error and (self._are_many(held_out) or self.network.is_kept_simple):
            torch._foreach_copy_(self._best, self._average)
            self.history.best_step, self.history.best_loss = self.step, _mean(last, held_out)

    def _settle(self, held_out: list[tuple]) -> None:
        """Begin the residual's stage from the best weights of the stage before."""
        for values in (self._settled, self._average):
            torch._foreach_copy_(values, self._best)
        self._load_into_network(self._best)
        self._mark = self._losses(self._best, held_out).float()
        self.history.begin_stage(self.step)
        self._begin()
        self._save()

    @staticmethod
    def _are_many(held_out: list[tuple]) -> bool:
        return len(torch.cat([units for *_, units in held_out]).unique()) >= ROWS_TO_JUDGE

    def _judge_residual(self, held_out: list[tuple]) -> None:
        """Go back to the weights without a residual unless it lowered the loss by more than its standard error.

        By twice that on few rows, where the best of many looks gains by chance and an overfit residual costs more.
        """
        settled, best = (self._losses(values, held_out) for values in (self._settled, self._best))
        gain, error = self._paired(settled, best, held_out)
        self.history.residual_gain_nats, self.history.residual_gain_std_error_nats = gain, _if_finite(error)
        self.history.residual_kept = gain > (1 if self._are_many(held_out) else 2) * error
        if not self.history.residual_kept:
            torch._foreach_copy_(self._best, self._settled)

    def _paired(self, a: Tensor, b: Tensor, held_out: list[tuple]) -> tuple[float, float]:
        """Mean of the rows' losses ``a`` less ``b``, and its standard error over rows, or groups."""
        weights, units = (torch.cat([batch[i] for batch in held_out]).numpy() for i in (3, 4))
        return mean_and_error((a - b).numpy(), Sample(weights, "weight", groups=units))

    def _train_step(self, data: Data) -> None:
        generator = torch_stream("step", self.seed, self.step)
        rows = self._rows(data, generator)
        tokens = mirrored(data.tokens[rows].long(), self.network.layout, generator)
        dealt, draw = self._noised(tokens, generator)
        losses = row_losses(self.network, tokens, dealt, draw, self.mix.target_blocks, generator)
        loss = losses.mean() + self.network.penalty(data.n_draws, self._exposure).to(losses.device)
        if not math.isfinite(loss.item()):
            raise NonFiniteLossError(self.step)
        loss.backward()
        self._optimizer.step(self._pace.rate(self.step))
        self.step += 1
        window = self.config.average * (self.step - self.history.stage_start)
        torch._foreach_lerp_(self._average, [p.detach() for p in self.network.parameters()], 1 / (1 + window))

    def _batch_size(self, data: Data) -> int:
        large = self._few_weights and data.n_draws >= 4 * LARGE_BATCH
        return self.config.batch_size or (LARGE_BATCH if large else BATCH)

    def _rows(self, data: Data, generator: torch.Generator) -> Tensor:
        """The step's rows: a stretch of a fresh order each epoch, or draws in proportion to weight."""
        n, size = len(data.tokens), self._batch_size(data)
        if data.weights is not None:
            rows = data.rows_at((torch.arange(size) + torch.rand((), generator=generator)) / size)
            return rows[torch.randperm(size, generator=generator)]
        size = min(size, n)
        per_epoch = max(1, n // size)
        epoch, place = divmod(self.step, per_epoch)
        if getattr(self, "_epoch", None) != (self.history.stage, epoch):
            order = torch_stream("epoch", self.seed, epoch)
            self._epoch, self._order = (self.history.stage, epoch), torch.randperm(n, generator=order)
        return self._order[place * size : (place + 1) * size]

    def _exposures(self, data: Data) -> Tensor:
        """(L, L) mean weight in the loss with which position j is seen when i is scored, as [j, i]."""
        generator = torch_stream("exposure", self.seed)
        if data.weights is None:
            rows = torch.randint(len(data.tokens), (EXPOSURE_ROWS,), generator=generator)
        else:
            rows = data.rows_at(torch.rand(EXPOSURE_ROWS, dtype=data.weights.dtype, generator=generator))
        tokens = data.tokens[rows].long()
        dealt, draw = self._noised(tokens, generator)
        known = tokens != self.network.layout.vocab_sizes
        seen = (dealt.clean + dealt.noised * ~dealt.clean * draw.visibility) * known
        scored = (draw.scored & dealt.noised) * (draw.weight * dealt.weight)[:, None]
        return (seen.float().T @ scored.float() / len(rows)).to(self.network.device)

    def _held_out_batches(self, data: Data) -> list[tuple]:
        """Fixed rows, queries and noise, so that looks differ by the network alone."""
        generator = torch_stream("held out", self.seed)
        n = min(self.config.evaluation_rows, len(data.tokens))
        rows = torch.randperm(len(data.tokens), generator=generator)[:n]
        weights = torch.ones(n, dtype=torch.float64) if data.weights is None else data.weights[rows].double()
        units = rows if data.groups is None else data.groups[rows]
        copies = max(1, min(8, 8192 // n))
        batches = []
        for _ in range(copies):
            for part in torch.arange(n).split(2048):
                tokens = data.tokens[rows[part]].long()
                dealt, draw = self._noised(tokens, generator)
                batches.append((tokens, dealt, draw, weights[part], units[part]))
        return batches

    def _noised(self, tokens: Tensor, generator: torch.Generator) -> tuple[Dealt, Draw]:
        """What each row is asked, and its noise."""
        dealt = self.mix.draw(len(tokens), generator)
        return dealt, noise_batch(tokens, dealt.noised, self.process, self.schedule, self.network.layout, generator)

    @torch.no_grad()
    def _losses(self, values: list[Tensor], batches: list[tuple]) -> Tensor:
        """Held-out losses of the rows with these weights; the network keeps its own."""
        current = [p.detach().clone() for p in self.network.parameters()]
        self._load_into_network(values)
        losses = [
            row_losses(self.network, tokens, dealt, draw, self.mix.target_blocks) for tokens, dealt, draw, *_ in batches
        ]
        self._load_into_network(current)
        return torch.cat(losses).double()

    def _look(self, batches: list[tuple]) -> None:
        """Record the held-out loss of the averaged weights, and keep them if they are the best."""
        history, losses = self.history, self._losses(self._average, batches)
        loss = _mean(losses, batches)
        if not math.isfinite(loss):
            raise NonFiniteLossError(self.step)
        if history.best_loss is None or loss < history.best_loss:
            history.best_step, history.best_loss = self.step, loss
            torch._foreach_copy_(self._best, self._average)
        is_first = not history.held_out
        is_lowest = is_first or loss < min(history.held_out)
        self._lowest.append(losses.float() if is_lowest else self._lowest[-1])
        history.steps.append(self.step)
        history.held_out.append(loss)
        self._lowest = self._lowest[history.last_tenth - len(history.held_out) :]
        if is_first or history.is_progress(*self._paired(self._mark.double(), losses, batches)):
            history.progress_step, self._mark = self.step, losses.float()

    def _load_into_network(self, values: list[Tensor]) -> None:
        with torch.no_grad():
            torch._foreach_copy_([*self.network.parameters()], values)

    def _state(self) -> dict[str, list[Tensor]]:
        now = [*self.network.parameters()]
        optimizer = self._optimizer
        kinds = {"now": now, "average": self._average, "best": self._best, "settled": self._settled}
        return {**kinds, "mean": optimizer.mean, "square": optimizer.square}

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        tensors = {f"{kind}.{i}": value for kind, values in self._state().items() for i, value in enumerate(values)}
        tensors["lowest"], tensors["mark"] = torch.stack(self._lowest), self._mark
        facts = {"step": str(self.step), "history": json.dumps(self.history.__dict__)}
        write_state(self.checkpoint, tensors, facts, "the state of training")

    def _resume(self) -> None:
        """Go on from the saved state, or from the start where it can't be read."""
        if self.checkpoint is None or not self.checkpoint.exists():
            return
        saved = read_state(self.checkpoint)
        if saved is None or not self._restore(*saved):
            self.checkpoint.unlink()
            self.step, self.history = 0, History()
            self._begin()
            text = "the saved state can't be read or is of another release: training starts again"
            self.progress(Progress(self.label, 0.0, None, text))
            return
        self.progress(Progress(self.label, 0.0, None, f"resumed at step {self.step}"))

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, str]) -> bool:
        """Take over a saved state; false, with the network untouched, where it is not one of this network."""
        try:
            self.step, self.history = int(facts["step"]), History(**json.loads(facts["history"]))
            self._begin()
            pairs = [
                (value, tensors[f"{kind}.{i}"])
                for kind, values in self._state().items()
                for i, value in enumerate(values)
            ]
            lowest, mark = tensors["lowest"], tensors["mark"]
        except (KeyError, TypeError, ValueError):
            return False
        if any(value.shape != found.shape for value, found in pairs):
            return False
        self._optimizer.n_steps = self.step - self.history.stage_start
        with torch.no_grad():
            for value, found in pairs:
                value.copy_(found)
        self._lowest, self._mark = [*lowest], mark
        return True


def saved_step(checkpoint: Path) -> int:
    """The step at which a saved state goes on; 0 where it can't be read."""
    facts = read_facts(checkpoint)
    return 0 if facts is None else int(facts.get("step", 0))


def _mean(losses: Tensor, batches: list[tuple]) -> float:
    """Weighted mean of the held-out rows' losses."""
    weights = torch.cat([batch[3] for batch in batches])
    return float((losses * weights).sum() / weights.sum())


def _if_finite(error: float) -> float | None:
    return error if math.isfinite(error) else None
