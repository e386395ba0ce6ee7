"""What a run shows in Prefect's UI: stages in the log, a progress bar, a table of estimates, the report."""

import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from functools import wraps
from io import BytesIO
from typing import ParamSpec, TypeVar, cast
from uuid import UUID

import httpx
from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.exceptions import PrefectException
from prefect.logging import get_run_logger

from flows.pipeline import Outcome
from flows.progress import listener, listening
from flows.steps import Answer
from infosedd.progress import Progress, silent

SECONDS_BETWEEN = 3.0
P = ParamSpec("P")
R = TypeVar("R")


def told(function: Callable[P, R], aloud: bool = True) -> Callable[P, R]:
    """A step that tells its progress to its task's log and a progress bar, and ``aloud`` to the flow's listener."""

    @wraps(function)
    def step(*args: P.args, **kwargs: P.kwargs) -> R:
        with _telling_prefect(aloud):
            return function(*args, **kwargs)

    return step


@contextmanager
def _telling_prefect(aloud: bool) -> Iterator[None]:
    before, bar, context = listener() if aloud else silent, _Bar(), copy_context()

    def tell(progress: Progress) -> None:
        before(progress)
        context.copy().run(bar, progress)  # a step may tell from threads of its own, which don't know the task

    with listening(tell):
        yield
    bar.finish()


class _Bar:
    """One progress artifact for each stage that takes longer than a moment; stages go to the log."""

    def __init__(self) -> None:
        self.log = get_run_logger()
        self.stage, self.told_at = "", time.monotonic()
        self.artifact: UUID | None = None
        self.failed = False

    def __call__(self, progress: Progress) -> None:
        if progress.stage != self.stage:
            self.finish()
            self.stage, self.artifact = progress.stage, None
            self.log.info("%s", progress.stage)
        if time.monotonic() - self.told_at < SECONDS_BETWEEN:
            return
        self.told_at = time.monotonic()
        percent = 100.0 * min(1.0, max(0.0, progress.done))
        self._draw(percent)
        if progress.message:
            self.log.info("%s: %.0f %%, %s", self.stage, percent, progress.message)

    def finish(self) -> None:
        if self.artifact is not None:
            self._draw(100.0)

    def _draw(self, percent: float) -> None:
        """Show how far the stage is; a server that fails is told once, and ends the bars of this step, not the step."""
        if self.failed:
            return
        try:
            if self.artifact is None:
                self.artifact = cast(UUID, create_progress_artifact(percent, description=self.stage))
            else:
                update_progress_artifact(self.artifact, percent)
        except (PrefectException, httpx.HTTPError) as error:
            self.failed = True
            self.log.warning("the progress bar ends, the Prefect server failed: %s: %s", type(error).__name__, error)


def show(outcome: Outcome) -> None:
    """The estimates of a run as a table, and the way to its report."""
    key = _key(outcome.study.name)
    create_table_artifact(_rows(outcome), key=f"{key}-estimates", description=f"{outcome.study.title} (nats)")
    if outcome.report is not None:
        create_link_artifact(outcome.report.as_uri(), link_text=f"report of {outcome.run_id}", key=f"{key}-report")
    for answer in outcome.answers:
        if answer.spec.mode != "whole":
            picture = _profile_picture(answer)
            create_markdown_artifact(picture, key=f"{key}-profile-{answer.spec.mode}", description=answer.spec.label)


def _rows(outcome: Outcome) -> list[dict]:
    return [
        {
            "corpus": part.corpus.name, "against": answer.against, "measure": e.measure, "mode": e.mode,
            "x": e.x, "y": e.y, "z": e.z, "nats": round(e.nats, 5), "std error": round(e.std_error, 5),
            "n": e.n_samples, "warnings": "; ".join(e.warnings), "reused": answer.reused,
        }
        for part in outcome.parts
        for answer in part.answers
        for e in answer.estimates
    ]  # fmt: skip


def _key(name: str) -> str:
    """Prefect's keys are lower case letters, digits and dashes."""
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name.lower()).strip("-")


def _profile_picture(answer: Answer) -> str:
    from infosedd.plotting import plot_profile

    axes = plot_profile(answer)
    figure, picture = axes.get_figure(root=True), BytesIO()
    assert figure is not None
    figure.savefig(picture, format="png", dpi=110, bbox_inches="tight")
    return f"![{answer.spec.label}](data:image/png;base64,{b64encode(picture.getvalue()).decode()})"
