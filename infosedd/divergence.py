"""KL(p || q) between two corpora, each with a score model of its own."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from infosedd import diagnostics, measures
from infosedd.baselines import known_rows, tokens_of
from infosedd.blocks import Selection
from infosedd.corpus import Corpus
from infosedd.errors import InputError
from infosedd.estimation import estimate_of, mean_and_error
from infosedd.evaluation import BySeed, Part, Values, estimate_from, values_of
from infosedd.folds import evenly
from infosedd.model import ScoreModel
from infosedd.networks import ScoreNetwork
from infosedd.results import Estimate

REFIT_ROWS = 4000
"""Rows on which the networks of q are told apart: their spread needs fewer than the estimate."""
ONE_NETWORK = "q has a fixed split and so one network: the interval doesn't cover what another network would find"
EXPECTED_BUT_MISSING = 10
"""A symbol is told to be missing in q where q would have it in so many rows, had it p's share of it."""


def kl_divergence(p: ScoreModel, q: ScoreModel, x: str | None = None) -> Estimate:
    """KL(p || q) of the blocks ``x`` (default: all), in nats, on the held-out rows of p.

    Unlike a mutual information it is first order in the error of q's score, since the rows follow
    p: its standard error therefore adds the jackknife spread over q's networks, each trained on
    another part of q, to the sampling error. Infinite where q lacks something that p has, which
    no sample can tell from rare: a warning says when few rows carry much of it.
    """
    if p.layout.blocks != q.layout.blocks:
        raise InputError(
            "the two corpora have different blocks or vocabularies",
            where=f"{p.card.corpus_name!r} and {q.card.corpus_name!r}",
            remedy="give both the same block names, lengths and symbols",
        )
    if (p.config.process, p.config.resolved_order) != (q.config.process, q.config.resolved_order):
        raise InputError("the two models noise in different ways", remedy="give both the same process and order")
    chosen = Selection.parse(x or "+".join(p.layout.names), p.layout.blocks)
    plan = measures.kl_divergence(p.layout, chosen, order=p.config.resolved_order)
    p.require_learned(plan)
    q.require_learned(plan)
    same = p.card.corpus_id == q.card.corpus_id
    if same and (p.card.seed, p.config.folds) != (q.card.seed, q.config.folds):
        raise InputError(
            "p and q are models of one corpus with different folds, so each has seen the other's held-out rows",
            remedy="train both with the same seed and number of folds",
        )
    values = values_of(plan, p.layout, p.require_corpus(), _parts(p, q, same), p.noise)
    refits = [] if same else _refits(plan, p, q)
    spread = (_jackknife([loss for loss, _ in refits]), _jackknife([dynkin for _, dynkin in refits]))
    facts = {"measure": "kl_divergence", "x": chosen.text}
    whole, sample = q.require_corpus(), values.sample
    checks = [
        *diagnostics.undertrained([*p.histories, *q.histories]),
        *diagnostics.disjoint_supports(values.loss_difference, whole.n_draws, sample.weights),
        _missing_in_q(values, whole, chosen),
        diagnostics.Check("refit_std_error_nats", spread[0], "" if same or refits else ONE_NETWORK),
    ]
    if max(p.config.members, q.config.members) > 1:
        checks += diagnostics.seed_spread(values.seed_errors[0], values.mean_and_error)
    return estimate_from(values, facts, checks, _per_position(values, whole, chosen, facts), spread)


def _parts(p: ScoreModel, q: ScoreModel, same: bool) -> list[Part]:
    """The held-out rows of p, each with p's networks of its fold, and those of q that have not seen them."""
    corpus, everyone = p.require_corpus(), _by_seed(q.networks)
    return [
        Part(
            fold.test,
            fold.weights(corpus, "test"),
            _by_seed([members]),
            _by_seed([q.networks[i]]) if same else everyone,
        )
        for i, (members, fold) in enumerate(zip(p.networks, p.folds, strict=True))
    ]


def _by_seed(networks: Sequence[Sequence[ScoreNetwork]]) -> BySeed:
    return list(zip(*networks, strict=True))


def _refits(plan: measures.Plan, p: ScoreModel, q: ScoreModel) -> list[tuple[float, float]]:
    """Both estimators' means over some rows, the same for each of q's folds, with that fold's networks alone."""
    if len(q.networks) == 1:
        return []
    most = -(-REFIT_ROWS // len(p.folds))
    some = [part.take(evenly(np.arange(len(part.rows)), most)) for part in _parts(p, q, same=False)]
    out = []
    for members in q.networks:
        parts = [replace(part, networks_q=_by_seed([members])) for part in some]
        values = values_of(plan, p.layout, p.require_corpus(), parts, p.noise, seeds=False)
        means = [mean_and_error(v, values.sample)[0] for v in (values.loss_difference, values.dynkin)]
        out.append((means[0], means[1]))
    return out


def _jackknife(values: list[float]) -> float:
    """Standard error from estimates that each left out one of K parts: (K - 1) / K SUM (v - mean)^2, its root."""
    k = len(values)
    return float(np.sqrt((k - 1) / k * ((np.array(values) - np.mean(values)) ** 2).sum())) if k > 1 else 0.0


def _missing_in_q(values: Values, q: Corpus, x: Selection) -> diagnostics.Check:
    """Share of p's rows with a symbol that q never has at its place, though by p's share q should often have it."""
    p, rows = values.corpus, values.rows
    ours, theirs = tokens_of(p, x, rows), tokens_of(q, x, np.arange(q.n))
    places = [(name, i) for name, positions in x.parts for i in positions]
    weights = np.ones(len(rows)) if values.sample.weights is None else values.sample.weights
    told, hit, most = "", np.zeros(len(rows), bool), 0.0
    for column, (name, i) in enumerate(places):
        symbols = p.block(name).vocabulary.symbols
        share = np.bincount(ours[:, column], weights, len(symbols) + 1)[: len(symbols)] / weights.sum()
        seen = np.bincount(theirs[:, column], q.weights, len(symbols) + 1)[: len(symbols)] > 0
        missing = np.flatnonzero(~seen & (share * q.n_draws >= EXPECTED_BUT_MISSING))
        hit |= np.isin(ours[:, column], missing)
        if len(missing) and share[missing].max() > most:
            most = float(share[missing].max())
            told = f"{symbols[missing[share[missing].argmax()]]!r} at {name}[{i}], which {most:.1%} of p's rows have"
    value = float(weights[hit].sum() / weights.sum())
    text = f"q never has {told}: the supports look disjoint, the truth may be infinite"
    return diagnostics.Check("missing_in_q_share", value, text if told else "")


def _per_position(values: Values, q: Corpus, x: Selection, facts: dict) -> list[Estimate]:
    """SUM_i KL(p_i || q_i) of single positions, by counts with half a count added in q; none without known rows."""
    p = values.corpus
    rows, sample, notes = known_rows(p, x, values.rows, values.weights)
    if not len(rows):
        return []
    ours, theirs = tokens_of(p, x, rows), tokens_of(q, x, np.arange(q.n))
    sizes = [p.block(name).vocabulary.size for name, positions in x.parts for _ in positions]
    weights = None if q.weights is None else q.weights if q.weight_kind == "count" else q.weights / q.weights.mean()
    w = np.ones(len(rows)) if sample.weights is None else sample.weights
    each = np.zeros(len(rows))
    for i, size in enumerate(sizes):
        count_p = np.bincount(ours[:, i], w, size)
        count_q = np.bincount(theirs[:, i], weights, size + 1)[:size] + 0.5
        ratio = np.log(np.maximum(count_p, 1e-300) / count_p.sum()) - np.log(count_q / count_q.sum())
        each += ratio[ours[:, i]]
    return [estimate_of(each, sample, estimator="per_position_plug_in", warnings=notes, **facts)]
