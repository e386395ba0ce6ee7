"""The plain functions of a study: no Prefect here, so that each can be run and tested alone.

Between steps pass paths and hashes, never corpora or models: a step may run in another process.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from flows.home import Home
from flows.leash import held_by, stop_signal
from flows.progress import listener, stage
from flows.queries import training_queries
from flows.settings import settings
from flows.stored import stored_answer
from flows.study import MeasureSpec, Source, Study
from infosedd.blocks import EMPTY, Selection
from infosedd.corpus import Corpus
from infosedd.errors import InputError
from infosedd.results import Estimate
from infosedd.validation import explained

if TYPE_CHECKING:
    from infosedd.config import ModelConfig


@dataclass(frozen=True)
class Trained:
    """The model that a study uses, and whether it was there already."""

    model_id: str
    reused: bool
    seconds: float


@dataclass(frozen=True)
class Answer:
    """What came of one question: one estimate, or one a window; ``against`` names the other corpus of a divergence."""

    spec: MeasureSpec
    estimates: tuple[Estimate, ...]
    reused: bool
    seconds: float
    against: str = ""


def ingest(study: Study, home: Home) -> str:
    """Read the study's source, check the study against it, store the corpus; returns its id.

    A study of several corpora is read by ``pipeline.ingest_all``.
    """
    if study.grid or study.compare is not None:
        raise InputError(
            f"study {study.name} is of several corpora",
            where="and this command takes one",
            remedy="run it whole with `infosedd run`, or name one point: --set grid={} --set source.options.NAME=VALUE",
        )
    _check_source(study)
    corpus = read(study.source, study.corpus_name)
    check(study, corpus)
    check_model(study, corpus)
    corpus.save(home.corpora)
    return corpus.corpus_id


def _check_source(study: Study) -> None:
    """An InputError where the study leaves its data to the user, who gave none."""
    import connectors

    if study.source.path or study.source.connector is None or not connectors.get(study.source.connector).needs_source:
        return
    raise InputError(
        f"study {study.name} comes without data",
        where=f"and reads {study.source.connector}",
        remedy="give it: --source PATH, or with labels --source promoter=a.fa non_promoter=b.fa",
    )


def read(source: Source, name: str) -> Corpus:
    """The corpus that a source holds."""
    import connectors

    stage(f"reading {' '.join(source.path) or source.connector}")
    return connectors.ingest(source.connector, source.path, source.options, name=name, progress=listener())


def check(study: Study, corpus: Corpus) -> None:
    """An InputError where the study's questions, sites or motifs don't fit the corpus."""
    for number, spec in enumerate(study.measures):
        check_measure(spec, corpus, f"measure {number} of study {study.name}")
    for site in study.sites:
        length = corpus.block(site.block).length
        if not site.start < site.stop <= length:
            raise InputError(
                f"site {site.name!r} lies outside block {site.block!r}",
                where=f"in study {study.name}",
                remedy=f"positions go from 0 to {length - 1}, ranges are half open",
            )
    if study.motifs is not None:
        from flows.motifs import check_motifs

        check_motifs(study.motifs, corpus)


def check_model(study: Study, corpus: Corpus) -> None:
    """An InputError where the model's configuration is wrong, or the rows are too few to hold any out."""
    stage("checking the study")
    from infosedd.folds import plan_folds
    from infosedd.layout import Layout
    from infosedd.queries import QueryMix

    config = model_config(study, corpus)
    QueryMix(config.queries, Layout(corpus.blocks))
    plan_folds(corpus, config.folds, study.seed)


def model_config(study: Study, corpus: Corpus) -> "ModelConfig":
    """The configuration of the study's model: as the study says, trained for the questions that it asks."""
    from infosedd.config import ModelConfig

    try:
        config = ModelConfig.model_validate({**study.model, "queries": training_queries(study, corpus)})
    except ValidationError as failure:
        raise explained(failure, ModelConfig, f"[model] of study {study.name}") from None
    return _with_order(config, study)


def _with_order(config: "ModelConfig", study: Study) -> "ModelConfig":
    """Random order where a measure of the study needs it; an InputError where the study asks for the other."""
    from infosedd.orders import needs_random

    asking = [spec for spec in study.measures if needs_random(spec.measure, conditional=bool(spec.z))]
    if not asking or config.order == "random":
        return config
    if config.order != "auto":
        raise InputError(
            f"{asking[0].label} can't be read off a model trained with order = {config.order!r}",
            where=f"[model] of study {study.name}",
            remedy="set order = 'random', or leave it out",
        )
    return config.model_copy(update={"order": "random"})


def use_threads() -> None:
    """Give linear algebra as many threads as the settings say."""
    import torch

    threads = settings().threads
    if threads is not None:
        torch.set_num_threads(threads)


def check_measure(spec: MeasureSpec, corpus: Corpus, place: str) -> None:
    """An InputError where the blocks of a question are not in the corpus, overlap, or are too short."""
    try:
        _check_blocks(spec, corpus)
    except InputError as error:
        where = f"{error.where}, {place}" if error.where else place
        raise InputError(error.what, where=where, remedy=error.remedy) from None


def _check_blocks(spec: MeasureSpec, corpus: Corpus) -> None:
    parts = [corpus.select(text) for text in (spec.x, spec.y, spec.z) if text]
    for i, first in enumerate(parts):
        for second in parts[i + 1 :]:
            if first.overlaps(second):
                raise InputError(f"{first.text!r} and {second.text!r} overlap", remedy="name disjoint positions")
    if spec.mode != "whole":
        _check_windows(spec, corpus)


def _check_windows(spec: MeasureSpec, corpus: Corpus) -> None:
    """What ``Questions.profile`` would refuse once the model is trained."""
    x = corpus.select(spec.x)
    block, positions = x.one_run(spec.x)
    if spec.window > x.size:
        raise InputError(f"a window of {spec.window} is longer than {spec.x!r}", remedy=f"it has {x.size} positions")
    if spec.mode == "remove":
        given = [corpus.select(text) for text in (spec.y, spec.z) if text]
        window = Selection.of({block: positions[: spec.window]}, corpus.blocks)
        window.complement(sum(given, EMPTY), corpus.blocks)


def train(study: Study, home: Home, corpus_id: str) -> Trained:
    """Train the study's model, or find it in the registry; the model is recorded in the warehouse."""
    from infosedd.card import model_id
    from infosedd.registry import ModelRegistry
    from warehouse import Warehouse

    start = time.monotonic()
    stage("looking for a trained model")
    use_threads()
    corpus = Corpus.load(home.corpus(corpus_id))
    registry, config = ModelRegistry(home.models), model_config(study, corpus)
    parent_id = parent_of(study, home, corpus_id)
    key = model_id(corpus_id, config, study.seed, parent_id)
    if registry.is_training(key):
        finished, saved = registry.saved(key)
        others = f", others at step {', '.join(map(str, saved))}" if saved else ""
        stage(f"going on from what was saved: {finished} networks finished{others}")
    model, reused = registry.get_or_fit(
        corpus,
        config,
        seed=study.seed,
        device=settings().device,
        progress=listener(),
        parent=registry.open(parent_id, device=settings().device) if parent_id else None,
        stop=stop_signal(),
    )
    Warehouse(home.path).record_model(model.card, registry.path(model.card.model_id))
    return Trained(model.card.model_id, reused, time.monotonic() - start)


def parent_of(study: Study, home: Home, corpus_id: str) -> str | None:
    """Id of the model that the study's model starts from; none unless the study asks for a warm start."""
    if not study.warm_start:
        return None
    from infosedd.lineage import parent_for
    from infosedd.registry import ModelRegistry

    registry, corpus = ModelRegistry(home.models), Corpus.load(home.corpus(corpus_id))
    return parent_for(registry, corpus, model_config(study, corpus), study.seed, registry.corpus_of)


def n_missing(study: Study, home: Home, corpus_id: str, parent_id: str | None = None) -> int:
    """How many networks are to be trained for the study's model; 0 where it is there."""
    from infosedd.card import model_id
    from infosedd.fitting import Fitting
    from infosedd.registry import ModelRegistry

    corpus = Corpus.load(home.corpus(corpus_id))
    config = model_config(study, corpus)
    there = ModelRegistry(home.models).has(model_id(corpus_id, config, study.seed, parent_id))
    return 0 if there else len(Fitting(corpus, config, study.seed).jobs)


def train_network(
    study: Study, home: Home, corpus_id: str, number: int, parent_id: str | None = None, leash: Path | None = None
) -> int:
    """Train one of the networks of the study's model, for ``train`` to gather; returns the id of its process."""
    from infosedd.registry import ModelRegistry

    stage(f"training network {number + 1}")
    use_threads()
    corpus = Corpus.load(home.corpus(corpus_id))
    registry, config = ModelRegistry(home.models), model_config(study, corpus)
    parent = registry.open(parent_id, device=settings().device) if parent_id else None
    with held_by(leash):
        registry.fit_network(
            corpus,
            config,
            number,
            seed=study.seed,
            device=settings().device,
            progress=listener(),
            parent=parent,
            stop=stop_signal(),
        )
    return os.getpid()


def answer(study: Study, spec: MeasureSpec, home: Home, run_id: str, corpus_id: str, model_id: str) -> Answer:
    """Estimate one measure, or take it from the warehouse, and record it under the run."""
    from warehouse import Warehouse

    start = time.monotonic()
    corpus = Corpus.load(home.corpus(corpus_id))
    found = stored_answer(study, spec, home, corpus, model_id)
    estimates = found or compute(spec, home, corpus, model_id)
    Warehouse(home.path).record_estimates(
        run_id, study.name, corpus_id, model_id, study.seed, estimates, reused=bool(found)
    )
    return Answer(spec, tuple(estimates), bool(found), time.monotonic() - start)


def compute(spec: MeasureSpec, home: Home, corpus: Corpus, model_id: str) -> Sequence[Estimate]:
    """Estimate one measure from a trained model: one estimate, or one for each window."""
    from infosedd.registry import ModelRegistry

    stage(f"estimating {spec.label}" + ("" if spec.mode == "whole" else f" in windows of {spec.window}"))
    use_threads()
    model = ModelRegistry(home.models).open(model_id, corpus, device=settings().device)
    condition = spec.z or None
    if spec.mode != "whole":
        windows = {"window": spec.window, "step": spec.step, "mode": spec.mode}
        found = model.profile(spec.x, spec.y, condition, **windows, progress=listener()).estimates
    elif spec.y:
        found = (model.mutual_information(spec.x, spec.y, condition),)
    else:
        found = (getattr(model, spec.measure)(spec.x, condition),)
    return [_as_divergence(e) for e in found] if spec.measure == "jensen_shannon_divergence" else found


def _as_divergence(information: Estimate) -> Estimate:
    """The information of rows and the label of an even mixture, as the divergence of the two corpora that it is."""
    others = tuple(_as_divergence(other) for other in information.others)
    return replace(information, measure="jensen_shannon_divergence", others=others)


def report(study: Study, home: Home, run_id: str) -> Path:
    """Write the report page of a run; returns its path."""
    from flows.report import write_report

    stage("writing the report")
    return write_report(home.path, run_id, study=study)
