"""From a plan to an estimate: each row's values by the networks that may judge it, their checks, mean and error."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import hypot
from threading import Event
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from infosedd import diagnostics, measures
from infosedd.corpus import Corpus
from infosedd.diagnostics import Check
from infosedd.errors import InputError
from infosedd.estimation import Sample, estimate_of, mean_and_error, seed_error
from infosedd.folds import by_row
from infosedd.integrals import Integrals, batch_size_for
from infosedd.layout import Layout
from infosedd.measures import Plan
from infosedd.networks import ScoreNetwork
from infosedd.noise import Noise
from infosedd.parallel import SMALL_NETWORK, side_by_side, threads_for
from infosedd.results import Estimate
from infosedd.scores import LearnedScore, Score

Job = TypeVar("Job")
Result = TypeVar("Result")
BySeed = Sequence[Sequence[ScoreNetwork]]
"""Networks whose posteriors are averaged, those of each training seed apart."""


@dataclass(frozen=True)
class Part:
    """Rows of a corpus that the same networks evaluate, how often each counts, and q's networks where it has its own.

    ``weights`` are none where the corpus has none.
    """

    rows: np.ndarray
    weights: np.ndarray | None
    networks: BySeed
    networks_q: BySeed | None = None

    @property
    def n_seeds(self) -> int:
        return max(len(self.networks), len(self.networks_q or ()))

    def take(self, chosen: np.ndarray) -> "Part":
        """The part of some of its rows, as (n,) bool or numbers within it."""
        return replace(self, rows=self.rows[chosen], weights=None if self.weights is None else self.weights[chosen])

    def scores(self, seed: int | None) -> tuple[Score, Score | None]:
        """The scores of p and of q, of one training seed or of all."""
        return _score(self.networks, seed), None if self.networks_q is None else _score(self.networks_q, seed)


@dataclass(frozen=True)
class Values:
    """A plan's values for each evaluated row: (n,) each, with the corpus the rows belong to."""

    corpus: Corpus
    rows: np.ndarray
    weights: np.ndarray | None
    """Of each row in what was evaluated: the number of its draws there, where rows are counted."""
    loss_difference: np.ndarray
    dynkin: np.ndarray
    terminal_kl: float
    """Bound of what the integral leaves out, in nats."""
    noisy: bool
    """Does the noise that was drawn leave chance in each row's value?"""
    hidden_targets: float
    """Share of the target tokens that the data hide."""
    hidden_shown: float
    """Share of the tokens to be shown that the data hide."""
    left_out: float
    """Share of the rows that were left out, as they have no known target."""
    seed_errors: tuple[float, float] = (0.0, 0.0)
    """Standard errors from the training seeds, of both estimators; 0 for one seed."""

    @property
    def sample(self) -> Sample:
        return Sample.of(self.corpus, self.rows, noisy=self.noisy, weights=self.weights)

    @property
    def mean_and_error(self) -> tuple[float, float]:
        """The measure and its standard error: of the rows that were drawn, and of the training seeds."""
        mean, error = mean_and_error(self.loss_difference, self.sample)
        return mean, hypot(error, self.seed_errors[0])


def values_of(
    plan: Plan,
    layout: Layout,
    corpus: Corpus,
    parts: Sequence[Part],
    noise_for: Callable[[int, int], Noise],
    *,
    seeds: bool = True,
) -> Values:
    """Evaluate a plan on all parts; rows without a known target are left out.

    ``noise_for`` (rows, tokens noised together) is the noise; with ``seeds`` it is also told how far
    the training seeds are apart, where there are several. Raises InputError for values that are no numbers.
    """
    n_rows = sum(len(part.rows) for part in parts)
    parts, targets_hidden, shown_hidden = _known(plan, layout, corpus, parts)
    rows = np.concatenate([part.rows for part in parts])
    noise = noise_for(len(rows), plan.noised_size())
    weights = [part.weights for part in parts if part.weights is not None]
    counted = np.concatenate(weights) if weights else None
    members = range(parts[0].n_seeds) if seeds and parts[0].n_seeds > 1 else ()

    def evaluated(job: tuple[int | None, Part]) -> Integrals:
        member, part = job
        score, score_q = part.scores(member)
        tokens = layout.tokens_of(corpus, part.rows)
        return measures.evaluate(plan, score, tokens, noise, score_q=score_q, rows=torch.from_numpy(part.rows))

    jobs = [(member, part) for member in (None, *members) for part in parts]
    found = each_of(evaluated, jobs, parts[0].networks[0][0])
    whole, *by_seed = (found[i : i + len(parts)] for i in range(0, len(found), len(parts)))
    distinct, total, loss, dynkin = _joined(whole, rows, counted)
    _require_finite(corpus, loss, dynkin)
    noisy = plan.noised_size() > 1 or noise.terminal_factor(1) > 0
    sample = Sample.of(corpus, distinct, noisy=noisy, weights=total)
    means = [[mean_and_error(v, sample)[0] for v in _joined(f, rows, counted)[2:]] for f in by_seed]
    errors = (seed_error([m[0] for m in means]), seed_error([m[1] for m in means]))
    left_out = 1 - len(rows) / n_rows
    terminal = sum(abs(mean_and_error(t, sample)[0]) for t in _terminals(whole, rows, counted))
    return Values(
        corpus, distinct, total, loss, dynkin, terminal, noisy, targets_hidden, shown_hidden, left_out, errors
    )


def estimate_from(
    values: Values,
    facts: dict[str, str],
    checks: Sequence[Check],
    others: Sequence[Estimate],
    refit_errors: tuple[float, float] = (0.0, 0.0),
) -> Estimate:
    """The estimate by both estimators, with the checks that every measure has before those given.

    ``refit_errors`` are standard errors of both estimators beside those of sampling and of training seeds.
    """
    sample, terminal = values.sample, values.terminal_kl
    errors = [hypot(*both) for both in zip(values.seed_errors, refit_errors, strict=True)]
    main = estimate_of(values.loss_difference, sample, seed_error=errors[0], **facts)
    dynkin = estimate_of(values.dynkin, sample, seed_error=errors[1], estimator="dynkin", terminal_kl=terminal, **facts)
    checks = [
        *checks,
        *diagnostics.dynkin_gap(values.loss_difference, values.dynkin, sample),
        *diagnostics.counting(main, others),
        *diagnostics.sample_size(sample.n_effective(len(values.rows)), len(values.rows)),
        *diagnostics.hidden_targets(values.hidden_targets, values.left_out),
        *diagnostics.hidden_shown(values.hidden_shown),
        *diagnostics.terminal(terminal, main),
    ]
    return replace(
        main,
        terminal_kl=terminal,
        warnings=tuple(check.warning for check in checks if check.warning),
        diagnostics={check.name: check.value for check in checks},
        pointwise=values.loss_difference,
        rows=values.rows,
        others=(dynkin, *others),
    )


def gains(score: Score, tokens: Tensor, shown: Tensor, targets: Tensor) -> Tensor:
    """(n, L) log p(x_i | the shown tokens) - log p(x_i) of each target token by itself; 0 for any other, or unknown."""
    layout, out = score.layout, torch.zeros(tokens.shape, dtype=torch.float64)
    names = layout.blocks_of(targets)
    for here in torch.arange(len(tokens)).split(batch_size_for(layout)):
        clean = tokens[here].long()
        known = clean != layout.vocab_sizes
        for sign, visible in ((1, shown & known), (-1, torch.zeros_like(known))):
            seen = torch.where(visible, clean, layout.vocab_sizes)
            for name, log_posterior in score.log_posterior(seen, visible.double(), names).items():
                there = layout.slice_of(name)
                codes = clean[:, there].clamp(max=log_posterior.shape[-1] - 1)[..., None]
                out[here, there] += sign * log_posterior.double().gather(-1, codes).squeeze(-1)
        out[here] *= known & targets
    return out


def each_of(work: Callable[[Job], Result], jobs: Sequence[Job], network: ScoreNetwork) -> list[Result]:
    """Results in the order of ``jobs``: side by side for a small network, which gains nothing from more threads."""
    n_parameters = network.n_parameters
    if len(jobs) > 1 and n_parameters < SMALL_NETWORK:
        with threads_for(SMALL_NETWORK):  # the caller's own, which it gets back
            return side_by_side(work, jobs, network.device, Event())
    with threads_for(n_parameters):
        return [work(job) for job in jobs]


def _score(networks: BySeed, seed: int | None) -> LearnedScore:
    if seed is None:
        return LearnedScore([network for those in networks for network in those])
    return LearnedScore(networks[seed] if len(networks) > 1 else networks[0])


def _known(plan: Plan, layout: Layout, corpus: Corpus, parts: Sequence[Part]) -> tuple[list[Part], float, float]:
    """The parts of rows with a known target, and the shares of hidden tokens among targets and shown ones."""
    targets = plan.targets()
    shown = torch.stack([view.clean for view in plan.views()]).any(0) & ~targets
    kept, hidden, rows = [], np.zeros(2), 0
    for part in parts:
        unknown = [layout.hidden_in(corpus, part.rows, mask) for mask in (targets, shown)]
        known = np.logical_not(unknown[0].all(axis=1))
        kept.append(part.take(known))
        hidden += [u[known].sum() for u in unknown]
        rows += int(known.sum())
    kept = [part for part in kept if len(part.rows)]
    if not kept:
        raise InputError("every target token is unknown", where=f"in corpus {corpus.name!r}")
    sizes = [int(mask.sum()) for mask in (targets, shown)]
    shares = [float(h / (rows * size)) if size else 0.0 for h, size in zip(hidden, sizes, strict=True)]
    return kept, shares[0], shares[1]


def _joined(found: Sequence[Integrals], rows: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Distinct rows, their weights, and both estimators' values."""
    loss, dynkin = (torch.cat([getattr(f, n) for f in found]).numpy() for n in ("loss_difference", "dynkin"))
    return by_row(rows, weights, loss, dynkin)


def _terminals(found: Sequence[Integrals], rows: np.ndarray, weights: np.ndarray | None) -> Sequence[np.ndarray]:
    return [
        by_row(rows, weights, torch.cat(each).numpy())[2] for each in zip(*(f.terminals for f in found), strict=True)
    ]


def _require_finite(corpus: Corpus, *values: np.ndarray) -> None:
    bad = ~np.logical_and.reduce([np.isfinite(v) for v in values])
    if bad.any():
        raise InputError(
            f"{int(bad.sum())} of {len(bad)} values are not finite numbers",
            where=f"of corpus {corpus.name!r}",
            remedy="the network's scores diverged: train it with a lower learning rate",
        )
