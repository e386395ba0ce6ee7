"""KL(p || q) between two corpora, each with a score model of its own."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from infosedd import diagnostics, measures
from infosedd.baselines import tokens_of
from infosedd.blocks import Selection
from infosedd.corpus import Corpus
from infosedd.errors import InputError
from infosedd.estimation import Sample, estimate_of, mean_and_error
from infosedd.folds import by_row, evenly
from infosedd.integrals import Integrals
from infosedd.model import ScoreModel
from infosedd.networks import ScoreNetwork
from infosedd.parallel import threads_for
from infosedd.results import NORMAL_95, Estimate
from infosedd.scores import LearnedScore, Score

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
    blocks = p.layout.blocks
    chosen = Selection.parse(x or "+".join(p.layout.names), blocks)
    plan = measures.kl_divergence(p.layout, chosen, order=p.config.resolved_order)
    corpus, rows = p.require_corpus(), np.concatenate([fold.test for fold in p.folds])
    noise = p.noise(len(rows), plan.noised_size())
    same = p.card.corpus_id == q.card.corpus_id
    if same and (p.card.seed, p.config.folds) != (q.card.seed, q.config.folds):
        raise InputError(
            "p and q are models of one corpus with different folds, so each has seen the other's held-out rows",
            remedy="train both with the same seed and number of folds",
        )

    def against(score_of_fold: Callable[[int], Score], chosen_of: Callable[[np.ndarray], np.ndarray] = np.asarray):
        """Rows in order, weights, two integrals; of each fold's held-out rows those that ``chosen_of`` leaves."""
        parts: list[Integrals] = []
        taken = [chosen_of(fold.test) for fold in p.folds]
        with threads_for(p.networks[0][0].n_parameters):
            for i, (members, held_out) in enumerate(zip(p.networks, taken, strict=True)):
                tokens = p.layout.tokens_of(corpus, held_out)
                score_q = score_of_fold(i)
                parts.append(measures.evaluate(plan, LearnedScore(members), tokens, noise, score_q=score_q))
        counts = [fold.weights(corpus, "test") for fold in p.folds]
        weights = None if corpus.weights is None else np.concatenate([chosen_of(c) for c in counts if c is not None])
        loss, dynkin = (np.concatenate([getattr(p, n).numpy() for p in parts]) for n in ("loss_difference", "dynkin"))
        return by_row(np.concatenate(taken), weights, loss, dynkin)

    def refit(members: Sequence[ScoreNetwork]) -> float:
        """The mean over some rows, the same for each network, with one of q's networks alone."""
        most = -(-REFIT_ROWS // len(p.folds))
        evaluated, weights, values, _ = against(lambda _: LearnedScore(members), lambda held: evenly(held, most))
        return mean_and_error(values, Sample.of(corpus, evaluated, weights=weights))[0]

    if same:  # the fold's own network of q has not seen the fold's test rows either
        rows, _, loss, dynkin = against(lambda i: LearnedScore(q.networks[i]))
        refits = []
    else:
        everyone = LearnedScore([network for members in q.networks for network in members])
        rows, _, loss, dynkin = against(lambda _: everyone)
        refits = [refit(members) for members in q.networks] if len(q.networks) > 1 else []
    sample = Sample.of(corpus, rows)
    facts: dict[str, Any] = {"measure": "kl_divergence", "x": chosen.text}
    main = estimate_of(loss, sample, **facts)
    spread = _jackknife(refits)
    error = float(np.hypot(main.std_error, spread))
    checks = [
        *diagnostics.dynkin_gap(loss, dynkin, sample),
        *diagnostics.sample_size(sample.n_effective(len(rows)), len(rows)),
        *diagnostics.undertrained([*p.histories, *q.histories]),
        *diagnostics.disjoint_supports(loss, q.require_corpus().n_draws),
        _missing_in_q(corpus, rows, q.require_corpus(), chosen),
        diagnostics.Check("refit_std_error_nats", spread, "" if same or refits else ONE_NETWORK),
    ]
    terminal = noise.terminal_factor(plan.noised_size()) * abs(main.nats)
    return replace(
        main,
        std_error=error,
        ci_low=main.nats - NORMAL_95 * error,
        ci_high=main.nats + NORMAL_95 * error,
        terminal_kl=terminal,
        warnings=tuple(check.warning for check in checks if check.warning),
        diagnostics={check.name: check.value for check in checks},
        pointwise=loss,
        rows=rows,
        others=(
            estimate_of(dynkin, sample, estimator="dynkin", terminal_kl=terminal, **facts),
            _per_position(corpus, rows, q.require_corpus(), chosen, facts),
        ),
    )


def _jackknife(values: list[float]) -> float:
    """Standard error from estimates that each left out one of K parts: (K - 1) / K SUM (v - mean)^2, its root."""
    k = len(values)
    return float(np.sqrt((k - 1) / k * ((np.array(values) - np.mean(values)) ** 2).sum())) if k > 1 else 0.0


def _missing_in_q(p: Corpus, rows: np.ndarray, q: Corpus, x: Selection) -> diagnostics.Check:
    """Share of p's rows with a symbol that q never has at its place, though by p's share q should often have it."""
    ours, theirs = tokens_of(p, x, rows), tokens_of(q, x, np.arange(q.n))
    places = [(name, i) for name, positions in x.parts for i in positions]
    weights = np.ones(len(rows)) if p.weights is None else np.asarray(p.weights)[rows]
    told, hit, most = "", np.zeros(len(rows), bool), 0.0
    for column, (name, i) in enumerate(places):
        symbols = p.block(name).vocabulary.symbols
        share = np.bincount(ours[:, column], weights, len(symbols) + 1)[: len(symbols)] / weights.sum()
        seen = np.bincount(theirs[:, column], minlength=len(symbols) + 1)[: len(symbols)] > 0
        missing = np.flatnonzero(~seen & (share * q.n >= EXPECTED_BUT_MISSING))
        hit |= np.isin(ours[:, column], missing)
        if len(missing) and share[missing].max() > most:
            most = float(share[missing].max())
            told = f"{symbols[missing[share[missing].argmax()]]!r} at {name}[{i}], which {most:.1%} of p's rows have"
    value = float(weights[hit].sum() / weights.sum())
    text = f"q never has {told}: the supports look disjoint, the truth may be infinite"
    return diagnostics.Check("missing_in_q_share", value, text if told else "")


def _per_position(p: Corpus, rows: np.ndarray, q: Corpus, x: Selection, facts: dict[str, Any]) -> Estimate:
    """SUM_i KL(p_i || q_i) of single positions, by counts with half a count added in q."""
    ours, theirs = tokens_of(p, x, rows), tokens_of(q, x, np.arange(q.n))
    sizes = [p.block(name).vocabulary.size for name, positions in x.parts for _ in positions]
    sample = Sample.of(p, rows)
    weights = None if q.weights is None else q.weights if q.weight_kind == "count" else q.weights / q.weights.mean()
    w = np.ones(len(rows)) if sample.weights is None else sample.weights
    values = np.zeros(len(rows))
    for i, size in enumerate(sizes):
        count_p = np.bincount(ours[:, i], w, size + 1)[:size]
        count_q = np.bincount(theirs[:, i], weights, size + 1)[:size] + 0.5
        ratio = np.log(np.maximum(count_p, 1e-300) / count_p.sum()) - np.log(count_q / count_q.sum())
        values += np.append(ratio, 0.0)[ours[:, i]]
    return estimate_of(values, sample, estimator="per_position_plug_in", **facts)
