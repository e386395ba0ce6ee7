"""Checks of a study's number on the study's own data: what each trains, what it asks, what must come of it.

Plain functions, and the run that puts them in order; ``check_flow`` puts Prefect tasks in their place.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from flows import steps
from flows.home import Home
from flows.pipeline import new_run_id, recorded
from flows.progress import listener, remark, stage
from flows.queries import asking
from flows.settings import settings
from flows.steps import Answer, Trained, model_config
from flows.study import NEEDS_Y, MeasureSpec, Study
from infosedd.blocks import near_names
from infosedd.consistency import CHECKS, Skipped, Verdict, case_of, judge
from infosedd.corpus import Corpus
from infosedd.derived import Question, draws_of, subset
from infosedd.errors import InputError
from infosedd.progress import duration
from infosedd.refits import SHARES, LearningCurve, PermutationNull, check_null, config_for, shuffles_of
from infosedd.results import Estimate

if TYPE_CHECKING:
    from infosedd.card import ModelCard
    from infosedd.config import ModelConfig
    from warehouse.records import Check

CURVE, NULL = "learning_curve", "permutation_null"
NULL_REFITS = 20
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Wanted:
    """Which checks, and on how many rows."""

    rows: int | None = None
    curve: bool = False
    null: int = 0
    """Refits on shuffled pairs; 0: no null."""
    only: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The checks in order; an InputError for one that is not known."""
        known = (*CHECKS, CURVE, NULL)
        for name in self.only:
            if name not in known:
                raise InputError(f"there is no check {name!r}", where="in --only", remedy=near_names(name, known))
        added = {n for n, on in ((CURVE, self.curve), (NULL, self.null)) if on}
        asked = set(self.only or CHECKS) | added
        return tuple(name for name in known if name in asked)

    @property
    def n_refits(self) -> int:
        return self.null or NULL_REFITS


@dataclass(frozen=True)
class Reference:
    """The number that is checked: the study's own, or one from fewer rows."""

    corpus_id: str
    model_id: str
    estimate: Estimate


@dataclass(frozen=True)
class Cost:
    """Models to train, those of them that are there already, and about how long the rest takes."""

    n_fits: int
    n_stored: int
    seconds: float

    def __str__(self) -> str:
        if self.n_stored == self.n_fits:
            return f"models to train: none, all {self.n_fits} are stored"
        stored = f" and {self.n_stored} stored" if self.n_stored else ""
        return f"models to train: {self.n_fits - self.n_stored}{stored}, about {duration(self.seconds)}"


@dataclass(frozen=True)
class Fit:
    """A model to train, and what to ask it."""

    corpus: Corpus
    config: "ModelConfig"
    question: Question


@dataclass(frozen=True)
class Work:
    """The fits of one check, made when they are needed, and what their answers mean."""

    name: str
    n_fits: int
    fits: Callable[[], Iterator[Fit]]
    verdict: Callable[[Sequence[Estimate]], Verdict]


@dataclass(frozen=True)
class Checked:
    """What a run of checks gave."""

    run_id: str
    study: Study
    corpus: Corpus = field(repr=False)
    model: Trained
    reference: Reference
    cost: Cost
    verdicts: tuple[Verdict, ...]
    skipped: tuple[Skipped, ...]
    seconds: float

    @property
    def failed(self) -> tuple[Verdict, ...]:
        return tuple(v for v in self.verdicts if not v.passed)


def asked_of(study: Study) -> MeasureSpec:
    """The study's first mutual information, whole; an InputError where it asks for none."""
    asked = [spec for spec in study.measures if spec.measure in NEEDS_Y]
    if not asked:
        raise InputError(
            "the checks need a mutual information",
            where=f"study {study.name} asks for none",
            remedy="add a [[measures]] with x and y",
        )
    return next((spec for spec in asked if spec.mode == "whole"), asked[0].model_copy(update={"mode": "whole"}))


def refer(study: Study, answer: Answer, home: Home, corpus_id: str, model_id: str, wanted: Wanted) -> Reference:
    """The study's own answer, or that of a model of the draws that the checks are held to."""
    from infosedd.registry import ModelRegistry
    from warehouse import Warehouse

    corpus, base = _corpus_and_draws(study, home, corpus_id, wanted)
    if base.n == corpus.n_draws:
        return Reference(corpus_id, model_id, answer.estimates[0])
    base.save(home.corpora)
    spec, warehouse = answer.spec, Warehouse(home.path)
    fit = Fit(base, model_config(study, base), Question(spec.x, spec.y, spec.z))
    estimate, card = _asked(fit, study, home, f"training on {base.n:,} of {corpus.n_draws:,} draws")
    warehouse.record_corpus(base)
    warehouse.record_model(card, ModelRegistry(home.models).path(card.model_id))
    return Reference(base.corpus_id, card.model_id, estimate)


def cost(study: Study, spec: MeasureSpec, home: Home, corpus_id: str, reference: Reference, wanted: Wanted) -> Cost:
    """What the checks will train, counted before the first is."""
    import torch

    from infosedd.card import load_card, model_id
    from infosedd.registry import ModelRegistry

    registry = ModelRegistry(home.models)
    stage("counting what the checks will train")
    steps.use_threads()
    made = [work_of(name, study, spec, home, corpus_id, reference, wanted) for name in wanted.names]
    fits = [fit for work in made if isinstance(work, Work) for fit in work.fits()]
    ids = [model_id(fit.corpus.corpus_id, fit.config, study.seed) for fit in fits]
    new = [fit for fit, each in zip(fits, ids, strict=True) if not registry.has(each)]
    card = load_card(home.models / reference.model_id)
    side_by_side = min(len(card.histories), torch.get_num_threads())
    as_long = sum(fit.config.training.steps / card.config["training"]["steps"] for fit in new)
    return Cost(len(fits), len(fits) - len(new), as_long * card.train_seconds / max(1, side_by_side))


def check(
    name: str, study: Study, spec: MeasureSpec, home: Home, corpus_id: str, reference: Reference, wanted: Wanted
) -> Verdict | Skipped:
    """Carry out one check: train or reuse its models, ask them, judge."""
    work = work_of(name, study, spec, home, corpus_id, reference, wanted)
    if isinstance(work, Skipped):
        return work
    several = work.n_fits > 1
    return work.verdict(
        [
            _asked(fit, study, home, f"check {name}" + (f", fit {i} of {work.n_fits}" if several else ""))[0]
            for i, fit in enumerate(work.fits(), 1)
        ]
    )


def work_of(
    name: str, study: Study, spec: MeasureSpec, home: Home, corpus_id: str, reference: Reference, wanted: Wanted
) -> Work | Skipped:
    """The fits of a check and their verdict, or why it is skipped."""
    base = _corpus_and_draws(study, home, corpus_id, wanted)[1]
    config, question = model_config(study, base), Question(spec.x, spec.y, spec.z)
    if name == CURVE:
        return _curve_work(base, config, question, reference.estimate, study.seed)
    if name == NULL:
        return _null_work(base, config, question, reference.estimate, study.seed, wanted.n_refits)
    case = case_of(name, base, question, study.seed)
    if isinstance(case, Skipped):
        return case
    from infosedd.card import load_card

    components = load_card(home.models / reference.model_id).components
    own = config_for(case.corpus, case.question, config, case.copies, components)
    fit = Fit(case.corpus, own, case.question)
    return Work(name, 1, lambda: iter([fit]), lambda found: judge(case, reference.estimate, found[0]))


def _curve_work(base: Corpus, config: "ModelConfig", question: Question, whole: Estimate, seed: int) -> Work:
    def fits() -> Iterator[Fit]:
        return (Fit(subset(base, share, seed), config, question) for share in SHARES[:-1])

    def verdict(found: Sequence[Estimate]) -> Verdict:
        curve = LearningCurve(SHARES, (*found, whole))
        half = curve.estimates[-2]
        figures = {f"nats_of_{share:g}": e.nats for share, e in zip(curve.shares, curve.estimates, strict=True)}
        claim = f"half of the rows give the same within errors; {curve}"
        return Verdict(CURVE, claim, curve.settled, whole.nats, whole.std_error, half.nats, curve.tolerance, figures)

    return Work(CURVE, len(SHARES) - 1, fits, verdict)


def _null_work(
    base: Corpus, config: "ModelConfig", question: Question, whole: Estimate, seed: int, n_refits: int
) -> Work:
    check_null(base, question, n_refits)

    def fits() -> Iterator[Fit]:
        return (Fit(shuffle, config, question) for shuffle in shuffles_of(base, question, n_refits, seed))

    def verdict(found: Sequence[Estimate]) -> Verdict:
        null = PermutationNull(whole, np.array([e.nats for e in found]))
        passed = null.p_value <= max(SIGNIFICANT, 1 / (1 + n_refits))
        figures = {
            "p_value": null.p_value, "refits": float(n_refits), "null_mean_nats": null.mean,
            "null_spread_nats": null.spread, "null_highest_nats": float(null.null.max()),
        }  # fmt: skip
        claim = (
            f"above what {n_refits} refits on shuffled pairs give, of mean {null.mean:.3g} and spread "
            f"{null.spread:.2g}: p = {null.p_value:.3g}"
        )
        return Verdict(NULL, claim, passed, whole.nats, whole.std_error, null.mean, None, figures)

    return Work(NULL, n_refits, fits, verdict)


def _corpus_and_draws(study: Study, home: Home, corpus_id: str, wanted: Wanted) -> tuple[Corpus, Corpus]:
    """The study's corpus, and the draws of it that are checked, one a row."""
    corpus = Corpus.load(home.corpus(corpus_id))
    base = draws_of(corpus, wanted.rows, study.seed)
    return corpus, base if base.n == corpus.n_draws else replace(base, name=f"{corpus.name}: {base.n:,} draws")


def _asked(fit: Fit, study: Study, home: Home, label: str) -> tuple[Estimate, "ModelCard"]:
    """Train or find the model, and ask it."""
    from infosedd.registry import ModelRegistry

    stage(label)
    steps.use_threads()
    tell = listener()
    model, _ = ModelRegistry(home.models).get_or_fit(
        fit.corpus,
        fit.config,
        seed=study.seed,
        device=settings().device,
        progress=lambda progress: tell(replace(progress, stage=label)),
    )
    question = fit.question
    return model.mutual_information(question.x, question.y, question.z or None), model.card


@dataclass(frozen=True)
class CheckSteps:
    """What a run of checks does; ``check_flow`` puts Prefect tasks in place of the plain functions."""

    ingest: Callable[..., str] = steps.ingest
    train: Callable[..., Trained] = steps.train
    answer: Callable[..., Answer] = steps.answer
    refer: Callable[..., Reference] = refer
    cost: Callable[..., Cost] = cost
    check: Callable[..., Verdict | Skipped] = check


def carry_out_checks(
    study: Study,
    home: Home,
    wanted: Wanted,
    does: CheckSteps = CheckSteps(),
    *,
    corpus_id: str | None = None,
    flow_run_id: str = "",
    command: str = "",
) -> Checked:
    """Check a study's number on its own data; each outcome is in the warehouse as soon as it is known."""
    start = time.monotonic()
    names, spec, run_id = wanted.names, asked_of(study), new_run_id()
    with recorded(run_id, study, home, flow_run_id, command, True) as run:
        with run.during("ingest"):
            corpus_id = corpus_id or does.ingest(study, home)
            corpus = Corpus.load(home.corpus(corpus_id))
            run.warehouse.record_corpus(corpus)
        asking_it = asking(study, (spec,), corpus)
        with run.during("train"):
            trained = does.train(asking_it, home, corpus_id)
        with run.during(f"estimate {spec.label}"):
            answer = does.answer(asking_it, spec, home, run_id, corpus_id, trained.model_id)
        with run.during("train the reference"):
            reference = does.refer(asking_it, answer, home, corpus_id, trained.model_id, wanted)
            to_come = does.cost(asking_it, spec, home, corpus_id, reference, wanted)
        remark(f"{', '.join(names)}; {to_come}")
        outcomes: list[Verdict | Skipped] = []
        for name in names:
            with run.during(f"check {name}"):
                found = does.check(name, asking_it, spec, home, corpus_id, reference, wanted)
                if isinstance(found, Verdict):
                    run.warehouse.record_checks([check_row(found, study, reference, run_id)])
            outcomes.append(found)
        run.warehouse.finish_run(run_id, "completed")
        run.warehouse.publish()
    return Checked(
        run_id=run_id,
        study=study,
        corpus=corpus,
        model=trained,
        reference=reference,
        cost=to_come,
        verdicts=tuple(v for v in outcomes if isinstance(v, Verdict)),
        skipped=tuple(s for s in outcomes if isinstance(s, Skipped)),
        seconds=time.monotonic() - start,
    )


def check_row(verdict: Verdict, study: Study, reference: Reference, run_id: str) -> "Check":
    """The row of a verdict in the warehouse's table ``checks``."""
    from warehouse.records import Check

    tolerance = verdict.tolerance
    return Check(
        study=study.name,
        corpus_id=reference.corpus_id,
        name=verdict.name,
        claim=verdict.claim,
        passed=verdict.passed,
        observed_nats=verdict.observed,
        expected_nats=verdict.expected,
        tolerance_nats=tolerance if tolerance is not None and isfinite(tolerance) else None,
        model_id=reference.model_id,
        seed=study.seed,
        run_id=run_id,
    )
