"""Information measures of arrays in one call: train, cross-fit, estimate.

Each function takes samples as (n, L) or (n,) integer or string arrays, torch tensors, pandas or
Polars columns, or lists of strings, and returns an ``Estimate`` in nats whose ``n_samples`` is n
and whose ``pointwise`` values are in row order.
"""

from dataclasses import dataclass
from typing import Any

from infosedd.arrays import Missing, corpus_of, shared_vocabulary
from infosedd.config import ModelConfig
from infosedd.corpus import Corpus
from infosedd.errors import InputError
from infosedd.model import ScoreModel
from infosedd.orders import needs_random
from infosedd.queries import TrainingQuery
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
) -> Estimate:
    """I(X; Y), or I(X; Y | Z) where ``condition`` is given, in nats.

    ``weights`` are counts if they are whole numbers. ``groups`` keeps related rows on one side of
    every split. Raises InputError where the data can't be used.
    """
    columns = {"x": x, "y": y} if condition is None else {"x": x, "y": y, "z": condition}
    corpus = corpus_of(columns, weights=weights, groups=groups, missing=missing)
    config = _config(config)
    z = "" if condition is None else "z"
    if not config.queries:
        noised, other = ("x", "y") if corpus.block("x").length < corpus.block("y").length else ("y", "x")
        queries = [TrainingQuery(noised=noised, clean=_join(other, z)), TrainingQuery(noised=noised, clean=z)]
        if config.variant == "joint":
            queries = [TrainingQuery(noised=n, clean=z) for n in ("x+y", "x", "y")]
        config = config.model_copy(update={"queries": tuple(queries)})
    return _fit(corpus, config, seed, device).mutual_information("x", "y", z or None)


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
) -> Estimate:
    """H(X), or H(X | Z), in nats. Options as in ``mutual_information``."""
    data = _Data(x, condition, weights, groups, missing)
    return _of_one("entropy", data, config, seed, device)


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
) -> Estimate:
    """TC(X) = SUM_i H(x_i) - H(x), also given Z, in nats. Options as in ``mutual_information``."""
    data = _Data(x, condition, weights, groups, missing)
    return _of_one("total_correlation", data, config, seed, device)


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
) -> Estimate:
    """DTC(X) = H(x) - SUM_i H(x_i | rest), also given Z, in nats. Options as in ``mutual_information``."""
    data = _Data(x, condition, weights, groups, missing)
    return _of_one("dual_total_correlation", data, config, seed, device)


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
) -> Estimate:
    """Omega(X) = TC(X) - DTC(X), also given Z, in nats. Options as in ``mutual_information``."""
    data = _Data(x, condition, weights, groups, missing)
    return _of_one("o_information", data, config, seed, device)


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
    return divergence.kl_divergence(_fit(p, config, seed, device), _fit(q, config, seed, device))


@dataclass(frozen=True)
class _Data:
    x: Any
    condition: Any
    weights: Any
    groups: Any
    missing: Missing


def _of_one(measure: str, data: _Data, config: ModelConfig | dict | None, seed: int, device: str) -> Estimate:
    """Train on x given z from every subset of x, and read one measure."""
    columns = {"x": data.x} if data.condition is None else {"x": data.x, "z": data.condition}
    corpus = corpus_of(columns, weights=data.weights, groups=data.groups, missing=data.missing)
    config = _config(config)
    z = "" if data.condition is None else "z"
    if not config.queries:
        config = config.model_copy(update={"queries": (TrainingQuery(noised="x", clean=z),)})
        if needs_random(measure, conditional=bool(z)) and config.order == "auto":
            config = config.model_copy(update={"order": "random"})
    model = _fit(corpus, config, seed, device)
    return getattr(model, measure)("x", z or None)


def _config(config: ModelConfig | dict | None) -> ModelConfig:
    return config if isinstance(config, ModelConfig) else ModelConfig.parse(config or {})


def _join(*parts: str) -> str:
    return "+".join(part for part in parts if part)


def _fit(corpus: Corpus, config: ModelConfig, seed: int, device: str) -> ScoreModel:
    return ScoreModel.fit(corpus, config, seed=seed, device=device)
