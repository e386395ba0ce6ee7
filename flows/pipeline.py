"""A whole study, step after step; the steps are plain functions or Prefect tasks over them."""

import secrets
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING

from flows import steps
from flows.home import Home
from flows.liveness import alive, mark_left_runs
from flows.steps import Answer, Trained
from flows.study import MeasureSpec, Study
from flows.truths import known_answers
from infosedd.corpus import Corpus
from infosedd.errors import InfoseddError, SurroundingsError
from infosedd.version import VERSION

if TYPE_CHECKING:
    from warehouse import Warehouse

VERSIONS_OF = ("torch", "numpy", "prefect", "duckdb", "polars", "pyarrow")


@dataclass(frozen=True)
class Steps:
    """What a study does; ``study_flow`` puts Prefect tasks in place of the plain functions."""

    ingest: Callable[..., str] = steps.ingest
    train: Callable[..., Trained] = steps.train
    answer: Callable[..., Answer] = steps.answer
    report: Callable[..., Path] = steps.report


@dataclass(frozen=True)
class Outcome:
    """What a run of a study gave."""

    run_id: str
    study: Study
    corpus: Corpus = field(repr=False)
    model: Trained
    answers: tuple[Answer, ...]
    report: Path | None
    seconds: float


def carry_out(
    study: Study,
    home: Home,
    does: Steps = Steps(),
    *,
    corpus_id: str | None = None,
    questions: tuple[MeasureSpec, ...] | None = None,
    flow_run_id: str = "",
    command: str = "",
    publish: bool = True,
    report: bool = True,
) -> Outcome:
    """Run a study; ``corpus_id`` names its data where it was read already, ``command`` resumes it.

    ``questions`` are asked instead of the study's own. One run of many does not ``publish``: whoever runs
    them all does.
    """
    start = time.monotonic()
    run_id = new_run_id()
    with recorded(run_id, study, home, flow_run_id, command, publish) as run:
        with run.during("ingest"):
            corpus_id = corpus_id or does.ingest(study, home)
            corpus = Corpus.load(home.corpus(corpus_id))
            run.warehouse.record_corpus(corpus)
            known = known_answers(study.source, study.name, corpus, study.measures if questions is None else questions)
            if known:
                run.warehouse.record_truths(known)
        with run.during("train"):
            trained = does.train(study, home, corpus_id)
        answers = []
        for spec in study.measures if questions is None else questions:
            with run.during(f"estimate {spec.label}"):
                answers.append(does.answer(study, spec, home, run_id, corpus_id, trained.model_id))
        run.warehouse.finish_run(run_id, "completed")
        if publish:
            run.warehouse.publish()
        page = None
        if report:
            with run.during("report"):
                page = does.report(study, home, run_id)
    return Outcome(run_id, study, corpus, trained, tuple(answers), page, time.monotonic() - start)


@dataclass
class Run:
    """A run in the warehouse, and the step it is at."""

    run_id: str
    warehouse: "Warehouse"
    command: str
    step: str = ""

    @contextmanager
    def during(self, step: str) -> Iterator[None]:
        self.step = step
        yield
        self.step = ""

    def end_early(self, failure: BaseException, publish: bool) -> None:
        """Write down what ended the run, in which step, and the command that resumes it."""
        if not isinstance(failure, Exception):  # KeyboardInterrupt, and what Prefect makes of SIGTERM
            status, text = "interrupted", "asked to stop"
        elif isinstance(failure, InfoseddError):
            status, text = "failed", str(failure)
        else:
            status, text = "failed", f"{type(failure).__name__}: {failure}"
        step = f"{self.step}: " if self.step else ""
        try:
            self.warehouse.finish_run(self.run_id, status, f"{step}{text}; resume with `{self.command}`")
            if publish:
                self.warehouse.publish()
        except SurroundingsError as second:
            failure.add_note(f"the run could not be marked as {status}: {second}")


@contextmanager
def recorded(run_id: str, study: Study, home: Home, flow_run_id: str, command: str, publish: bool) -> Iterator[Run]:
    """A run that is recorded whatever becomes of it; runs whose process died before are marked first."""
    from warehouse import Warehouse

    warehouse = Warehouse(home.path)
    again = shlex.join(["infosedd", "run", str(home.study_of(run_id)), "--home", str(home.path)])
    run = Run(run_id, warehouse, command or again)
    if publish:
        mark_left_runs(home)
    with alive(home, run_id, run.command):
        warehouse.start_run(run_id, study.name, flow_run_id or None, versions())
        try:
            home.keep_study(run_id, study.model_dump_json(indent=1))
            if publish:
                warehouse.publish()  # what an earlier run wrote before it was killed is found and reused
            yield run
        except BaseException as failure:
            run.end_early(failure, publish)
            raise


def new_run_id() -> str:
    """Sortable by time, and unique."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def versions() -> dict[str, str]:
    """What the numbers were made with."""
    return {"infosedd": VERSION, "python": python_version(), **{name: version(name) for name in VERSIONS_OF}}
