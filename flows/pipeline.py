"""A whole study, step after step; the steps are plain functions or Prefect tasks over them."""

import secrets
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING, Any

from flows import comparing, steps
from flows.grid import grid_points
from flows.home import Home
from flows.liveness import alive, mark_left_runs
from flows.steps import Answer, Trained
from flows.study import MeasureSpec, Study
from flows.truths import known_answers, known_of_sides
from infosedd.corpus import Corpus
from infosedd.errors import InfoseddError, SurroundingsError, TrainingStopped
from infosedd.version import VERSION

if TYPE_CHECKING:
    from warehouse import Warehouse

VERSIONS_OF = ("torch", "numpy", "prefect", "duckdb", "polars", "pyarrow")


Awaited = Callable[[], Any]
"""Gives a result as soon as it is there."""


def at_once(run: "Run", step: str, function: Callable[..., Any], *given: object) -> Awaited:
    """Does a step here and now."""
    with run.during(step):
        result = function(*given)
    return lambda: result


@dataclass(frozen=True)
class Steps:
    """What a study does; ``study_flow`` puts Prefect tasks in place of the plain functions."""

    ingest: Callable[..., str] = steps.ingest
    ingest_sides: Callable[..., tuple[str, str, str]] = comparing.ingest_sides
    train: Callable[..., Trained] = steps.train
    answer: Callable[..., Answer] = steps.answer
    answer_between: Callable[..., Answer] = comparing.answer_between
    report: Callable[..., Path] = steps.report
    begin: Callable[..., Awaited] = at_once
    train_network: Callable[..., int] | None = None
    """Trains one network of a model, where ``begin`` has it done elsewhere."""


@dataclass(frozen=True)
class Asked:
    """One corpus of a run, its model, and the answers that are there or to come."""

    study: Study
    corpus: Corpus
    model: Trained
    answers: tuple[Awaited, ...]

    def part(self) -> "Part":
        return Part(self.study, self.corpus, self.model, tuple(answer() for answer in self.answers))


@dataclass(frozen=True)
class Part:
    """One corpus of a run, its model, and the answers about it."""

    study: Study
    corpus: Corpus = field(repr=False)
    model: Trained
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Outcome:
    """What a run of a study gave: a part for each point of its grid, or for each side of its comparison."""

    run_id: str
    study: Study
    parts: tuple[Part, ...]
    report: Path | None
    seconds: float

    @property
    def corpus(self) -> Corpus:
        """The corpus of the first part, the only one of most studies."""
        return self.parts[0].corpus

    @property
    def model(self) -> Trained:
        """The model of the first part."""
        return self.parts[0].model

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers, part after part."""
        return tuple(answer for part in self.parts for answer in part.answers)


def ingest_all(study: Study, home: Home, does: Steps = Steps()) -> tuple[str, ...]:
    """Read all that a study reads; returns the ids: one a point of its grid, or p, q and mixture of a comparison."""
    if study.compare is not None:
        return does.ingest_sides(study, home)
    return tuple(does.ingest(point, home) for point in grid_points(study))


def carry_out(
    study: Study,
    home: Home,
    does: Steps = Steps(),
    *,
    corpus_ids: Sequence[str] | None = None,
    questions: tuple[MeasureSpec, ...] | None = None,
    flow_run_id: str = "",
    command: str = "",
    publish: bool = True,
    report: bool = True,
) -> Outcome:
    """Run a study; ``corpus_ids`` name its data where it was read already, ``command`` resumes it.

    ``questions`` are asked instead of the study's own. One run of many does not ``publish``: whoever runs
    them all does.
    """
    start = time.monotonic()
    run_id = new_run_id()
    with recorded(run_id, study, home, flow_run_id, command, publish) as run:
        with run.during("ingest"):
            corpora = [Corpus.load(home.corpus(i)) for i in corpus_ids or ingest_all(study, home, does)]
            for corpus in corpora:
                run.warehouse.record_corpus(corpus)
        if study.compare is not None:
            asked = _compared(run, study, home, does, corpora, questions)
        else:
            points = list(zip(grid_points(study), corpora, strict=True))
            _train_networks(run, points, home, does)
            asked = [_point(run, point, home, does, corpus, questions, len(points) > 1) for point, corpus in points]
        parts = [each.part() for each in asked]
        run.warehouse.finish_run(run_id, "completed")
        if publish:
            run.warehouse.publish()
        page = None
        if report:
            with run.during("report"):
                page = does.report(study, home, run_id)
    return Outcome(run_id, study, tuple(parts), page, time.monotonic() - start)


def _point(
    run: "Run",
    study: Study,
    home: Home,
    does: Steps,
    corpus: Corpus,
    questions: tuple[MeasureSpec, ...] | None,
    one_of_several: bool,
) -> Asked:
    """Train on one corpus and ask what is asked of it."""
    asked = study.measures if questions is None else questions
    with run.during("ingest"):
        if known := known_answers(study.source, study.name, corpus, asked):
            run.warehouse.record_truths(known)
    return _asked_alone(run, study, home, does, corpus, asked, f" of {corpus.name}" if one_of_several else "")


def _asked_alone(
    run: "Run", study: Study, home: Home, does: Steps, corpus: Corpus, asked: Sequence[MeasureSpec], of: str
) -> Asked:
    """Train on one corpus and ask questions of its model; ``of`` names it where a run has several."""
    with run.during(f"train{of}"):
        trained = does.train(study, home, corpus.corpus_id)
    ids = (run.run_id, corpus.corpus_id, trained.model_id)
    answers = [does.begin(run, f"estimate {spec.label}{of}", does.answer, study, spec, home, *ids) for spec in asked]
    return Asked(study, corpus, trained, tuple(answers))


def _train_networks(run: "Run", works: Sequence[tuple[Study, Corpus]], home: Home, does: Steps) -> None:
    """Where work is taken elsewhere: train all networks that are missing, of all corpora at once."""
    if does.train_network is None:
        return
    awaited = []
    for study, corpus in works:
        parent_id = steps.parent_of(study, home, corpus.corpus_id)
        for number in range(steps.n_missing(study, home, corpus.corpus_id, parent_id)):
            step = f"train network {number + 1} of {corpus.name}"
            given = (study, home, corpus.corpus_id, number, parent_id)
            awaited.append(does.begin(run, step, does.train_network, *given))
    for result in awaited:
        result()


def _compared(
    run: "Run",
    study: Study,
    home: Home,
    does: Steps,
    corpora: Sequence[Corpus],
    questions: tuple[MeasureSpec, ...] | None,
) -> list[Asked]:
    """Train on both corpora and their mixture, as far as they are asked about, and ask; the mixture comes first."""
    sides = comparing.Sides(*corpora)
    with run.during("ingest"):
        if known := known_of_sides(study, sides.p, sides.q):
            run.warehouse.record_truths(known)
    of_p, of_q, of_mixture = comparing.works(study, sides)
    asked = [work.asked if questions is None else questions for work in (of_mixture, of_p, of_q)]
    works = ((of_p, sides.p), (of_q, sides.q), (of_mixture, sides.mixture))
    _train_networks(run, [(work.study, corpus) for work, corpus in works if work.study.measures], home, does)
    parts = []
    if of_mixture.study.measures:
        parts.append(_asked_alone(run, of_mixture.study, home, does, sides.mixture, asked[0], " of both together"))
    if not of_p.study.measures:
        return parts
    p = _asked_alone(run, of_p.study, home, does, sides.p, asked[1], f" of {sides.p.name}")
    q = _asked_alone(run, of_q.study, home, does, sides.q, asked[2], f" of {sides.q.name}")
    if questions is None:
        p, q = _against(run, p, q, home, does), _against(run, q, p, home, does)
    return [*parts, p, q]


def _against(run: "Run", here: Asked, there: Asked, home: Home, does: Steps) -> Asked:
    """The part with what is asked of it against the other."""
    sides = [comparing.Side(part.corpus.corpus_id, part.model.model_id, part.corpus.name) for part in (here, there)]
    answers = []
    for spec in comparing.directed(here.study):
        step = f"estimate {spec.label} of {here.corpus.name} against {there.corpus.name}"
        answers.append(does.begin(run, step, does.answer_between, here.study, spec, home, run.run_id, *sides))
    return replace(here, answers=(*answers, *here.answers))


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
        # KeyboardInterrupt and what Prefect makes of SIGTERM are no Exception; a stopped worker raises one
        if isinstance(failure, TrainingStopped) or not isinstance(failure, Exception):
            status, text = "interrupted", "asked to stop"
        elif isinstance(failure, InfoseddError):
            status, text = "failed", str(failure)
        else:
            status, text = "failed", f"{type(failure).__name__}: {failure}"
        step = f"{self.step}: " if self.step else ""
        told = f"{step}{text}; resume with `{self.command}`"
        failure.add_note(told)  # for Prefect's log, and for whoever is notified
        try:
            self.warehouse.finish_run(self.run_id, status, told)
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
