"""Information measures of arrays in one call: train, cross-fit, estimate.

Each function takes samples as (n, L) or (n,) integer or string arrays, torch tensors, pandas or
Polars columns, or lists of strings, and returns an ``Estimate`` in nats. Every row is held out once, so
``n_samples`` is n, or the sum of the counts, less the rows whose target tokens are all hidden, and
``pointwise`` has their values in row order.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from infosedd.arrays import Missing, corpus_of, shared_vocabulary
from infosedd.config import ModelConfig
from infosedd.corpus import Corpus
from infosedd.derived import Question, draws_of
from infosedd.errors import InputError
from infosedd.lags import lagged
from infosedd.model import ScoreModel
from infosedd.orders import needs_random
from infosedd.progress import Countdown, Progress, ProgressCallback, duration, on_stderr, silent
from infosedd.queries import TrainingQuery
from infosedd.refits import LearningCurve, PermutationNull, check_null, config_for, curve_of, null_of
from infosedd.results import Estimate


def mutual_information(
    x: Any,
    y: Any,
    condition: Any = None,
    *,
    weights: Any = None,
    groups: Any = None,
    config: ModelConfig | dict | None = None,
    seed: int = 0,
    device: str = "auto",
    missing: Missing = "error",
    progress: ProgressCallback = on_stderr,
) -> Estimate:
    """I(X; Y), or I(X; Y | Z) where ``condition`` is given, in nats.

    ``weights`` are counts if they are whole numbers. ``groups`` keeps related rows on one side of
    every split. ``progress`` is told how far training is. Raises InputError where the data can't be used.
    """
    corpus, question, config = _pair(x, y, condition, weights, groups, config, missing)
    return _ask(corpus, question, config, seed, device, progress)


def transfer_entropy(
    source: Any,
    target: Any,
    *,
    history: int = 1,
    source_history: int | None = None,
    config: ModelConfig | dict | None = None,
    seed: int = 0,
    device: str = "auto",
    missing: Missing = "error",
    progress: ProgressCallback = on_stderr,
) -> Estimate:
    """Transfer entropy I(source_past; target | target_past) in nats (Schreiber 2000).

    ``source`` and ``target`` are (T,) arrays, or (S, T) for S series of T moments each (a list of S equally long
    strings of at least S letters, say). ``history`` is the number of past moments of the target, and of the
    source unless ``source_history`` is given. Stretches of consecutive moments are the units of the
    folds and of the standard error.
    """
    series = corpus_of({"source": _as_series(source), "target": _as_series(target)}, missing=missing)
    pasts = {"source": history if source_history is None else source_history, "target": history}
    corpus = lagged(series, pasts)
    question, config = Question("source_past", "target", "target_past"), _config(config)
    config = config if config.queries else config_for(corpus, question, config)
    return _ask(corpus, question, config, seed, device, progress)


def _as_series(values: Any) -> Any:
    """One series (T,) as one row of T moments."""
    if isinstance(values, str):
        return [values]
    array = np.asarray(values)
    several = array.ndim > 1 or (array.dtype.kind in "OU" and all(isinstance(v, str) and len(v) > 1 for v in array))
    if several and array.ndim == 1 and len(array) > len(array[0]):
        raise InputError(
            f"{len(array)} strings of {len(array[0])} letters are one series of symbols, or as many short series",
            remedy=f"give one series as an array of shape (1, {len(array)}), several as arrays of (series, moments)",
        )
    return values if several else array[None, :]


def learning_curve(
    x: Any,
    y: Any,
    condition: Any = None,
    *,
    weights: Any = None,
    groups: Any = None,
    config: ModelConfig | dict | None = None,
    seed: int = 0,
    device: str = "auto",
    missing: Missing = "error",
    progress: ProgressCallback = on_stderr,
) -> LearningCurve:
    """I(X; Y | Z) from a quarter, a half and all of the draws (or groups), and whether it has settled: three fits.

    ``progress`` is told the cost once the first fit, of all rows, has been timed.
    """
    corpus, question, config = _pair(x, y, condition, weights, groups, config, missing)
    start = time.monotonic()
    whole = _ask(corpus, question, config, seed, device, progress)
    told = _told_cost(progress, "learning curve", 2, time.monotonic() - start)

    def refit(part: Corpus) -> Estimate:
        estimate = _ask(part, question, config, seed, device, silent)
        told.one_more(f"{estimate.nats:.4f} nats of {part.n:,} rows")
        return estimate

    return curve_of(corpus, refit, whole, seed)


def permutation_null(
    x: Any,
    y: Any,
    condition: Any = None,
    *,
    n_permutations: int = 20,
    weights: Any = None,
    groups: Any = None,
    config: ModelConfig | dict | None = None,
    seed: int = 0,
    device: str = "auto",
    missing: Missing = "error",
    progress: ProgressCallback = on_stderr,
) -> PermutationNull:
    """I(X; Y | Z) beside those of ``n_permutations`` refits on shuffled pairs, with the p-value.

    y is shuffled over the rows: whole groups where there are groups, among rows of equal z where there is
    a condition. Of counted rows every draw is a row here, in the estimate too, so that all are treated alike.
    ``progress`` is told the cost once the first fit, of the data as they are, has been timed.
    """
    corpus, question, config = _pair(x, y, condition, weights, groups, config, missing)
    corpus = draws_of(corpus, corpus.n_draws)
    check_null(corpus, question, n_permutations)
    start = time.monotonic()
    estimate = _ask(corpus, question, config, seed, device, progress)
    told = _told_cost(progress, "permutation null", n_permutations, time.monotonic() - start)

    def refit(shuffled: Corpus) -> Estimate:
        of_null = _ask(shuffled, question, config, seed, device, silent)
        told.one_more(f"{of_null.nats:.4f} nats where shuffled")
        return of_null

    return null_of(corpus, question, refit, estimate, n_permutations, seed)


def entropy(
    x: Any,
    condition: Any = None,
    *,
    weights: Any = None,
    groups: Any = None,
    config: ModelConfig | dict | None = None,
    seed: int = 0,
    device: str = "auto",
    missing: Missing = "error",
    progress: ProgressCallback = on_stderr,
) -> Estimate:
    """H(X), or H(X | Z), in nats. Options as in ``mutual_information``."""
    data = _Data(x, condition, weights, groups, missing)
    return _of_one("entropy", data, config, seed, device, progress)


def total_correlation(
    x: Any,
    condition: Any = None,
    *,
    weights: Any = None,
    groups: Any = None,
    config: ModelConfig | dict | None = None,
    seed: int = 0,
    device: str = "auto",
    missing: Missing = "error",
    progress: ProgressCallback = on_stderr,
) -> Estimate:
    """TC(X) = SUM_i H(x_i) - H(x), also given Z, in nats. Options as in ``mutual_information``."""
    data = _Data(x, condition, weights, groups, missing)
    return _of_one("total_correlation", data, config, seed, device, progress)


def dual_total_correlation(
    x: Any,
    condition: Any = None,
    *,
    weights: Any = None,
    groups: Any = None,
    config: ModelConfig | dict | None = None,
    seed: int = 0,
    device: str = "auto",
    missing: Missing = "error",
    progress: ProgressCallback = on_stderr,
) -> Estimate:
    """DTC(X) = H(x) - SUM_i H(x_i | rest), also given Z, in nats. Options as in ``mutual_information``."""
    data = _Data(x, condition, weights, groups, missing)
    return _of_one("dual_total_correlation", data, config, seed, device, progress)


def o_information(
    x: Any,
    condition: Any = None,
    *,
    weights: Any = None,
    groups: Any = None,
    config: ModelConfig | dict | None = None,
    seed: int = 0,
    device: str = "auto",
    missing: Missing = "error",
    progress: ProgressCallback = on_stderr,
) -> Estimate:
    """Omega(X) = TC(X) - DTC(X), also given Z, in nats. Options as in ``mutual_information``."""
    data = _Data(x, condition, weights, groups, missing)
    return _of_one("o_information", data, config, seed, device, progress)


def kl_divergence(
    x_p: Any,
    x_q: Any,
    *,
    weights_p: Any = None,
    weights_q: Any = None,
    groups_p: Any = None,
    groups_q: Any = None,
    config: ModelConfig | dict | None = None,
    seed: int = 0,
    device: str = "auto",
    missing: Missing = "error",
    progress: ProgressCallback = on_stderr,
) -> Estimate:
    """KL(p || q) in nats from draws of each; one model a corpus. See ``infosedd.divergence`` for its error."""
    from infosedd import divergence

    columns = {"p": x_p, "q": x_q}
    vocabulary = shared_vocabulary(columns, missing)
    p, q = (
        corpus_of({"x": x}, weights=w, groups=g, missing=missing, vocabularies={"x": vocabulary})
        for x, w, g in ((x_p, weights_p, groups_p), (x_q, weights_q, groups_q))
    )
    if p.blocks != q.blocks:
        raise InputError(
            f"the two corpora have {p.blocks[0].length} and {q.blocks[0].length} positions", remedy="cut or pad one"
        )
    config = _config(config)
    if not config.queries:
        config = config.model_copy(update={"queries": (TrainingQuery(noised="x"),)})
    return divergence.kl_divergence(_fit(p, config, seed, device, progress), _fit(q, config, seed, device, progress))


@dataclass(frozen=True)
class _Data:
    x: Any
    condition: Any
    weights: Any
    groups: Any
    missing: Missing


def _of_one(
    measure: str,
    data: _Data,
    config: ModelConfig | dict | None,
    seed: int,
    device: str,
    progress: ProgressCallback,
) -> Estimate:
    """Train on x given z from every subset of x, and read one measure."""
    columns = {"x": data.x} if data.condition is None else {"x": data.x, "z": data.condition}
    corpus = corpus_of(columns, weights=data.weights, groups=data.groups, missing=data.missing)
    config = _config(config)
    z = "" if data.condition is None else "z"
    if not config.queries:
        config = config.model_copy(update={"queries": (TrainingQuery(noised="x", clean=z),)})
        if needs_random(measure, conditional=bool(z)) and config.order == "auto":
            config = config.model_copy(update={"order": "random"})
    model = _fit(corpus, config, seed, device, progress)
    return getattr(model, measure)("x", z or None)


def _pair(
    x: Any, y: Any, condition: Any, weights: Any, groups: Any, config: ModelConfig | dict | None, missing: Missing
) -> tuple[Corpus, Question, ModelConfig]:
    """The data of a mutual information, the question, and a configuration that is trained for it."""
    columns = {"x": x, "y": y} if condition is None else {"x": x, "y": y, "z": condition}
    corpus = corpus_of(columns, weights=weights, groups=groups, missing=missing)
    question, config = Question("x", "y", "" if condition is None else "z"), _config(config)
    return corpus, question, config if config.queries else config_for(corpus, question, config)


def _ask(
    corpus: Corpus, question: Question, config: ModelConfig, seed: int, device: str, progress: ProgressCallback
) -> Estimate:
    return _fit(corpus, config, seed, device, progress).mutual_information(question.x, question.y, question.z or None)


def _told_cost(progress: ProgressCallback, stage: str, n_fits: int, seconds: float) -> Countdown:
    """Tell what more fits will cost, where one took ``seconds``; each that is done is to be counted down."""
    fits = "1 more fit" if n_fits == 1 else f"{n_fits} more fits"
    text = f"{fits}, about {duration(n_fits * seconds)} (the first took {seconds:.1f} s)"
    progress(Progress(stage, 0.0, n_fits * seconds, text))
    return Countdown(progress, stage, n_fits)


def _config(config: ModelConfig | dict | None) -> ModelConfig:
    return config if isinstance(config, ModelConfig) else ModelConfig.parse(config or {})


def _fit(corpus: Corpus, config: ModelConfig, seed: int, device: str, progress: ProgressCallback) -> ScoreModel:
    model = ScoreModel.fit(corpus, config, seed=seed, device=device, progress=progress)
    progress(Progress("train", 1.0, 0.0))
    return model
