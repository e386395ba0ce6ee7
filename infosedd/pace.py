"""How fast training steps and when it stops: for each stage a warm-up, a level phase, and a cosine to zero."""

import math
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

WORTH_THE_NAME = 1e-3
"""Share of all that was learned from which a gain is progress."""


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
    batch_size: int | None = Field(
        default=None,
        ge=2,
        description="rows a step; none: 512, or 2048 where few weights train on many rows",
    )
    patience: int = Field(
        default=600, ge=1, description="least number of steps without progress before convergence is declared"
    )
    evaluate_every: int = Field(default=100, ge=1, description="steps between looks at the held-out loss")
    evaluation_rows: int = Field(default=8192, ge=1, description="most held-out rows in each look")
    average: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="share of a stage's steps so far over which the weights that are judged and kept are averaged",
    )
    warmup: int = Field(default=50, ge=0, description="steps over which the learning rate rises")
    checkpoint_seconds: float = Field(
        default=30.0, gt=0, description="seconds between saved states, where a folder is given"
    )


@dataclass
class History:
    """What training saw: held-out loss (nats a row) by step, and where it is in its stages."""

    steps: list[int] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)
    best_step: int = 0
    best_loss: float | None = None
    """Held-out loss of the weights that are kept so far: not always the lowest, as chance makes that one low."""
    seconds: float = 0.0
    stage: int = 0
    stage_start: int = 0
    progress_step: int = 0
    """Step of the last look that made progress on the one before it that did, or with which the stage began."""
    anneal_start: int | None = None
    anneal_steps: int = 0
    residual_gain_nats: float | None = None
    """By how much the residual lowered the held-out loss; none where there is no residual."""
    residual_gain_std_error_nats: float | None = None
    residual_kept: bool | None = None
    last_gain_nats: float | None = None
    """By how much the lowest held-out loss fell since ``last_tenth``; none while training goes on."""
    last_gain_std_error_nats: float | None = None
    """Its standard error, paired by row or group; none where one alone is held out."""
    kept: float | None = None
    """Held-out loss of the weights that were kept; none while training goes on."""

    @property
    def last_tenth(self) -> int:
        """Number of the look after which the last tenth of training came."""
        return max(0, int(0.9 * (len(self.held_out) - 1)) - 1)

    def is_progress(self, gain: float, std_error: float) -> bool:
        """Is a gain in held-out loss (nats) more than chance, and worth the name beside all that was learned?"""
        learned = self.held_out[0] - min(self.held_out)
        return gain > max(std_error, WORTH_THE_NAME * learned)

    @property
    def still_falls(self) -> bool:
        """Is the last gain larger than chance makes it? Yes where that can't be told."""
        gain, error = self.last_gain_nats, self.last_gain_std_error_nats
        return gain is None or error is None or gain > 2 * error

    def begin_stage(self, step: int) -> None:
        self.stage += 1
        self.stage_start, self.anneal_start, self.anneal_steps = step, None, 0
        self.progress_step = step


class Pace:
    """Decides by the budget and the history; every stage has an equal share of a limited budget."""

    SMALLEST_ANNEAL = 300

    def __init__(self, config: TrainingConfig, history: History, n_stages: int) -> None:
        self.config, self.history, self.n_stages = config, history, n_stages

    def rate(self, step: int) -> float:
        """Share of the peak learning rate at a step."""
        done = step - self.history.stage_start
        if done < self.config.warmup:
            return (done + 1) / self.config.warmup
        if self.config.budget == "steps":
            return _cosine(done / max(1, self._last_step - self.history.stage_start))
        if self.history.anneal_start is None:
            return 1.0
        return _cosine((step - self.history.anneal_start) / self.history.anneal_steps)

    def level_is_over(self, step: int, spent: float) -> bool:
        """Is it time to anneal?"""
        if self.config.budget == "steps" or self.history.anneal_start is not None:
            return False
        if self.config.budget == "seconds":
            return spent > self._last_second - 0.3 * self.config.seconds / self.n_stages
        return self._has_stalled(step) or step - self.history.stage_start >= 0.7 * self._stage_steps

    def begin_anneal(self, step: int, spent: float) -> None:
        if self.config.budget == "seconds":
            length = int(step / max(spent, 1e-9) * (self._last_second - spent))
        else:
            longest = self._last_step - step
            length = min(max(self.SMALLEST_ANNEAL, int(0.3 * (step - self.history.stage_start))), longest)
        self.history.anneal_start, self.history.anneal_steps = step, max(1, length)

    def stage_is_over(self, step: int, spent: float) -> bool:
        if self.config.budget == "seconds" and spent > self._last_second:
            return True
        if self._is_idle_residual(step):
            return True
        if self.history.anneal_start is not None:
            return step >= self.history.anneal_start + self.history.anneal_steps
        return step >= self._last_step

    @property
    def has_annealed(self) -> bool:
        """Has the stage come to rest, with its rate at zero, rather than ended for want of progress?"""
        return self.config.budget == "steps" or self.history.anneal_start is not None

    def done(self, step: int, spent: float) -> float:
        """Share of the whole training that is behind, as if a level phase stopped making progress now."""
        if self.config.budget == "seconds":
            return min(1.0, spent / self.config.seconds)
        if self.config.budget == "steps":
            return min(1.0, step / self.config.steps)
        in_stage = step - self.history.stage_start
        if self.history.anneal_start is not None:
            length = self.history.anneal_start + self.history.anneal_steps - self.history.stage_start
        else:
            wait = self._patience(step) - (step - self.history.progress_step)
            length = in_stage + max(0.0, wait) + max(self.SMALLEST_ANNEAL, 0.3 * in_stage)
        return (self.history.stage + min(1.0, in_stage / length)) / self.n_stages

    def _is_idle_residual(self, step: int) -> bool:
        """Has a residual brought nothing by the end of its level phase? Then there is nothing to anneal."""
        if self.config.budget != "convergence" or self.history.stage == 0 or self.history.anneal_start is not None:
            return False
        return self.history.best_step <= self.history.stage_start and self._has_stalled(step)

    @property
    def _stage_steps(self) -> float:
        return self.config.steps / self.n_stages

    @property
    def _last_step(self) -> int:
        return max(self.history.stage_start + 1, round(self._stage_steps * (self.history.stage + 1)))

    @property
    def _last_second(self) -> float:
        return self.config.seconds * (self.history.stage + 1) / self.n_stages

    def _patience(self, step: int) -> float:
        """Less before a residual: a plateau there is the residual's to leave."""
        before_residual = self.history.stage < self.n_stages - 1
        least, share = (self.config.patience / 2, 0.25) if before_residual else (self.config.patience, 0.4)
        return max(least, share * (step - self.history.stage_start))

    def _has_stalled(self, step: int) -> bool:
        return step - self.history.progress_step >= self._patience(step)


def _cosine(done: float) -> float:
    """From 1 to 0 as ``done`` goes from 0 to 1."""
    return 0.5 * (1 + math.cos(math.pi * min(1.0, max(0.0, done))))
