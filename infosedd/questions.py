"""The questions a score model answers: each measure as a method that returns an ``Estimate``."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event
from typing import Literal, get_args

import numpy as np
import torch

from infosedd import diagnostics, measures
from infosedd.baselines import entropy_baselines, mutual_information_baselines, tokens_of
from infosedd.blocks import EMPTY, Selection, near_names
from infosedd.corpus import Corpus
from infosedd.diagnostics import Check
from infosedd.errors import InputError
from infosedd.estimation import Sample
from infosedd.evaluation import Part, Values, each_of, estimate_from, gains, values_of
from infosedd.folds import Fold, duplicate_shares, evenly, most_by_chance, row_keys
from infosedd.measures import Plan
from infosedd.networks import ScoreNetwork
from infosedd.noise import Noise
from infosedd.orders import needs_random
from infosedd.pace import History
from infosedd.parallel import side_by_side
from infosedd.progress import Countdown, ProgressCallback, silent
from infosedd.results import Estimate, Mode
from infosedd.taught import Taught

TRAINING_ROWS = 2000
"""Training rows that the overfitting check looks at."""


@dataclass(frozen=True)
class Profile:
    """What each window of x carries about y, one estimate a window, all from the same model."""

    estimates: tuple[Estimate, ...]
    starts: np.ndarray
    window: int
    mode: Mode

    @property
    def nats(self) -> np.ndarray:
        return np.array([e.nats for e in self.estimates])

    @property
    def std_error(self) -> np.ndarray:
        return np.array([e.std_error for e in self.estimates])

    def plot(self, ax=None, **options):
        """Draw the profile with its pointwise and simultaneous bands; returns the matplotlib axes."""
        from infosedd.plotting import plot_profile

        return plot_profile(self, ax, **options)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from infosedd.display import profile_html

        return profile_html(self)

    def __str__(self) -> str:
        best = max(self.estimates, key=lambda e: e.nats)
        return f"{len(self.estimates)} windows of {self.window} ({self.mode}), the highest {best.x}: {best}"


class Questions(Taught, ABC):
    """Every measure of a model; ``data=None`` means the held-out rows of the model's own corpus."""

    networks: Sequence[Sequence[ScoreNetwork]]
    histories: Sequence[History]
    corpus: Corpus | None

    @abstractmethod
    def attach(self, corpus: Corpus) -> object:
        """Give the model its own corpus."""

    @property
    @abstractmethod
    def folds(self) -> Sequence[Fold]:
        """The folds that the networks were trained on, in order."""

    @cached_property
    def duplicate_shares(self) -> tuple[float, float]:
        """Shares of the folds' test rows that are among their fold's training rows, and that repeat each other."""
        corpus = self.require_corpus()
        shares = [duplicate_shares(corpus, fold) for fold in self.folds]
        sizes = [len(fold.test) for fold in self.folds]
        in_training, in_test = np.average(shares, axis=0, weights=sizes)
        return float(in_training), float(in_test)

    @cached_property
    def trained_on(self) -> float:
        """The effective sample size of the least training part."""
        corpus = self.require_corpus()
        parts = [(fold.training, fold.weights(corpus, "training")) for fold in self.folds]
        return min(Sample.of(corpus, rows, weights=w).n_effective(len(rows)) for rows, w in parts)

    @abstractmethod
    def require_corpus(self) -> Corpus:
        """The model's own corpus; InputError where it is not at hand."""

    @abstractmethod
    def noise(self, n_rows: int, size: int) -> Noise:
        """The noise for ``n_rows`` rows of which ``size`` tokens are noised together."""

    def mutual_information(
        self,
        x: str,
        y: str,
        condition: str | None = None,
        data: Corpus | None = None,
        *,
        mode: Mode = "whole",
    ) -> Estimate:
        """I(X; Y | Z) in nats. With mode ``remove``, X is all of its blocks but ``x`` itself, and but y and z."""
        if mode not in get_args(Mode):
            raise InputError(f"there is no mode {mode!r}", remedy=near_names(mode, get_args(Mode)))
        named, target, z = self._select(x), self._select(y), self._given(condition)
        _require_disjoint(named, target, z)
        shown = named.complement(target + z, self.layout.blocks) if mode == "remove" else named
        plan = self._either_way(shown, target, z)
        values = self._values(plan, data)
        measure = "conditional_mutual_information" if z.parts else "mutual_information"
        facts = {"measure": measure, "mode": mode, "x": named.text, "y": target.text, "z": z.text}
        baselines = mutual_information_baselines(
            values.corpus, values.rows, shown, target, z, weights=values.weights, **facts
        )
        checks = _ceilings(values, shown, target, z)
        if mode == "whole":
            checks += diagnostics.no_dependence(*values.mean_and_error)
            checks += _prior(values, target)
        return self._estimate(plan, values, facts, baselines, checks, data)

    def entropy(self, x: str, condition: str | None = None, data: Corpus | None = None) -> Estimate:
        """H(X | Z) in nats; in expectation an upper bound where rows are held out."""
        chosen, z = self._select(x), self._given(condition)
        _require_disjoint(chosen, z)
        plan = measures.entropy(self.layout, chosen, z, order=self.config.resolved_order)
        values = self._values(plan, data)
        facts = {"measure": "entropy", "x": chosen.text, "z": z.text}
        baselines = entropy_baselines(values.corpus, values.rows, chosen, z, weights=values.weights, **facts)
        return self._estimate(plan, values, facts, baselines, [], data)

    def total_correlation(self, x: str, condition: str | None = None, data: Corpus | None = None) -> Estimate:
        """TC(X | Z) = SUM_i H(x_i | z) - H(x | z), in nats."""
        return self._multivariate("total_correlation", x, condition, data)

    def dual_total_correlation(self, x: str, condition: str | None = None, data: Corpus | None = None) -> Estimate:
        """DTC(X | Z) = H(x | z) - SUM_i H(x_i | rest, z), in nats; one network pass a position."""
        return self._multivariate("dual_total_correlation", x, condition, data)

    def o_information(self, x: str, condition: str | None = None, data: Corpus | None = None) -> Estimate:
        """Omega = TC - DTC, in nats: above 0 redundancy prevails, below synergy."""
        return self._multivariate("o_information", x, condition, data)

    def profile(
        self,
        x: str,
        y: str,
        condition: str | None = None,
        *,
        window: int = 6,
        step: int = 1,
        mode: Literal["keep", "remove"] = "keep",
        data: Corpus | None = None,
        progress: ProgressCallback = silent,
    ) -> Profile:
        """Mutual information of each window of one block with y: the window alone, or all but it."""
        block, positions = self._select(x).one_run(x)
        if not 1 <= window <= len(positions):
            raise InputError(f"a window of {window} does not fit into {x!r} of {len(positions)} positions")
        _require_step(step)
        starts = np.arange(positions[0], positions[-1] + 2 - window, step)
        names = [_run(block, i, i + window) for i in starts.tolist()]
        reports = Countdown(progress, "profile", len(names))

        def ask(name: str) -> Estimate:
            estimate = self.mutual_information(name, y, condition, data, mode=mode)
            reports.one_more(f"window {name}")
            return replace(estimate, pointwise=None, rows=None)

        estimates = side_by_side(ask, names, self.networks[0][0].device, Event())
        return Profile(tuple(estimates), starts, window, mode)

    def information_added(
        self,
        x: str,
        y: str,
        condition: str | None = None,
        *,
        step: int = 1,
        data: Corpus | None = None,
        progress: ProgressCallback = silent,
    ) -> tuple[Estimate, ...]:
        """I(x[i:i + step]; y | x[:i], Z): what each run of positions adds to those before it, in nats.

        The values add up to I(x; y | Z), by the chain rule. Train with a query that shows a ``prefix``
        (or a ``subset``) of x.
        """
        block, positions = self._select(x).one_run(x)
        _require_step(step)
        first, last = positions[0], positions[-1] + 1
        reports = Countdown(progress, "information added", -(-len(positions) // step))
        out = []
        for i in range(first, last, step):
            before = [_run(block, first, i)] if i > first else []
            given = "+".join([*before, *([condition] if condition else [])])
            out.append(self.mutual_information(_run(block, i, min(i + step, last)), y, given or None, data))
            reports.one_more(f"positions from {i}")
        return tuple(out)

    def pairwise_matrix(self, x: str, data: Corpus | None = None, *, progress: ProgressCallback = silent) -> np.ndarray:
        """(L, L) mutual information of each pair of positions in nats; 0 on the diagonal."""
        self._require_random_order("a matrix of pairs")
        singles = [Selection.of({name: [i]}, self.layout.blocks) for name, p in self._select(x).parts for i in p]
        reports, matrix = Countdown(progress, "matrix of pairs", len(singles)), np.zeros((len(singles), len(singles)))
        at_once = self.config.process == "absorbing" and self.config.integral == "subset"
        for i, shown in enumerate(singles):
            others = singles[i + 1 :]
            plans = [measures.mutual_information(self.layout, shown, other) for other in others]
            for plan in plans:
                self.require_learned(plan)
            if at_once and others:
                matrix[i + 1 :, i] = self._information_with(shown, others, data)
            else:
                matrix[i + 1 :, i] = [self._values(plan, data).mean_and_error[0] for plan in plans]
            reports.one_more(f"position {shown.text}")
        return matrix + matrix.T

    def _information_with(self, shown: Selection, others: Sequence[Selection], data: Corpus | None) -> np.ndarray:
        """(M,) mutual information of one position with each of M others, in one pass over the rows."""
        corpus, parts = self._parts(data)
        columns = torch.cat([torch.nonzero(self.layout.mask_of(other)).flatten() for other in others])
        mask, targets = self.layout.mask_of(shown), torch.zeros(self.layout.seq_len, dtype=torch.bool)
        targets[columns] = True

        def evaluated(part: Part) -> np.ndarray:
            score, _ = part.scores(None)
            return gains(score, self.layout.tokens_of(corpus, part.rows), mask, targets)[:, columns].numpy()

        values = np.concatenate(each_of(evaluated, parts, self.networks[0][0]))
        known = np.concatenate([~self.layout.hidden_in(corpus, part.rows, targets) for part in parts])
        order = columns.argsort().argsort().numpy()  # of the mask's positions, in the order of ``others``
        weights = [np.ones(len(part.rows)) if part.weights is None else part.weights for part in parts]
        weighing = np.concatenate(weights)[:, None] * known[:, order]
        if not weighing.any(0).all():
            raise InputError("every target token is unknown", where=f"in corpus {corpus.name!r}")
        return np.average(values, axis=0, weights=weighing)

    def _multivariate(self, measure: str, x: str, condition: str | None, data: Corpus | None) -> Estimate:
        chosen, z = self._select(x), self._given(condition)
        _require_disjoint(chosen, z)
        if needs_random(measure, conditional=bool(z.parts)):
            self._require_random_order(measure)
        plan = getattr(measures, measure)(self.layout, chosen, z, order=self.config.resolved_order)
        values = self._values(plan, data)
        return self._estimate(plan, values, {"measure": measure, "x": chosen.text, "z": z.text}, (), [], data)

    def _values(self, plan: Plan, data: Corpus | None, *, training: bool = False) -> Values:
        """Evaluate a plan on held-out rows, each by the network of its fold, or on other data by all networks."""
        self.require_learned(plan)
        corpus, parts = self._training_part() if training else self._parts(data)
        return values_of(plan, self.layout, corpus, parts, self.noise, seeds=not training)

    def _parts(self, data: Corpus | None) -> tuple[Corpus, list[Part]]:
        """The rows to evaluate, and by which networks."""
        if data is None or self._is_own(data):  # each row by a network that has not seen it
            corpus, folds = self.require_corpus(), zip(self.networks, self.folds, strict=True)
            return corpus, [Part(f.test, f.weights(corpus, "test"), [[n] for n in members]) for members, f in folds]
        self._require_same_blocks(data)
        by_seed = [[members[m] for members in self.networks] for m in range(self.config.members)]
        return data, [Part(np.arange(data.n), data.weights, by_seed)]

    def _training_part(self) -> tuple[Corpus, list[Part]]:
        """Some of the rows that the first fold's networks were trained on."""
        corpus, fold = self.require_corpus(), self.folds[0]
        whole = Part(fold.training, fold.weights(corpus, "training"), [[n] for n in self.networks[0]])
        return corpus, [whole.take(evenly(np.arange(len(whole.rows)), TRAINING_ROWS))]

    def _is_own(self, data: Corpus) -> bool:
        if data.corpus_id != self.card.corpus_id:
            return False
        if self.corpus is None:
            self.attach(data)
        return True

    def _estimate(
        self,
        plan: Plan,
        values: Values,
        facts: dict[str, str],
        baselines: Sequence[Estimate],
        checks: list[Check],
        data: Corpus | None,
    ) -> Estimate:
        checks = [*checks, *diagnostics.undertrained(self.histories)]
        if self.config.members > 1:
            checks += diagnostics.seed_spread(values.seed_errors[0], values.mean_and_error)
        if data is None or self._is_own(data):
            checks += diagnostics.duplicates(*self.duplicate_shares)
            checks += diagnostics.training_size(self.trained_on)
            if facts.get("mode", "whole") == "whole":
                on_training = self._values(plan, None, training=True).mean_and_error
                checks += diagnostics.overfitting(values.mean_and_error, on_training)
        elif self.corpus is not None:
            checks += self._seen(self.corpus, data)
        return estimate_from(values, facts, checks, baselines)

    def _seen(self, corpus: Corpus, data: Corpus) -> list[Check]:
        """How many of other rows the networks were trained on, or stopped by."""
        learned = np.unique(np.concatenate([rows for f in self.folds for rows in (f.training, f.validation)]))
        least = min(len(fold.training) for fold in self.folds)
        share = float(np.isin(row_keys(data), row_keys(corpus)[learned]).mean())
        n_held_out = len(np.unique(np.concatenate([fold.test for fold in self.folds])))
        by_chance = most_by_chance(self.duplicate_shares[0], n_held_out, len(learned) / least, data.n)
        return diagnostics.seen_in_training(share, by_chance)

    def _either_way(self, x: Selection, y: Selection, z: Selection) -> Plan:
        """The plan of I(x; y | z) that noises the smaller side, y where they are equal, if that was learned."""
        sides = [(x, y), (y, x)] if x.size < y.size else [(y, x), (x, y)]
        order, variant = self.config.resolved_order, self.config.variant
        plans = [
            measures.mutual_information(self.layout, clean, noised, z, variant=variant, order=order)
            for noised, clean in (sides if variant == "conditional" else sides[:1])
        ]
        return next((plan for plan in plans if self.untaught(plan) is None), plans[0])

    def _select(self, expression: str) -> Selection:
        return Selection.parse(expression, self.layout.blocks)

    def _given(self, condition: str | None) -> Selection:
        return self._select(condition) if condition else EMPTY

    def _require_same_blocks(self, data: Corpus) -> None:
        if data.blocks != self.layout.blocks:
            raise InputError(
                "the data's blocks differ from the model's",
                where=f"corpus {data.name!r}",
                remedy=f"it needs {[(b.name, b.length) for b in self.layout.blocks]} with the same vocabularies",
            )


def _run(block: str, start: int, stop: int) -> str:
    """The expression of a run of positions."""
    return f"{block}[{start}]" if stop == start + 1 else f"{block}[{start}:{stop}]"


def _require_disjoint(*selections: Selection) -> None:
    total = EMPTY
    for selection in selections:
        total = total + selection


def _require_step(step: int) -> None:
    if step < 1:
        raise InputError(f"a step of {step} positions leads nowhere", remedy="use a whole number of at least 1")


def _prior(values: Values, y: Selection) -> list[Check]:
    """How common the values of y are, where it is a label of one token."""
    if y.size != 1:
        return []
    codes = tokens_of(values.corpus, y, values.rows)[:, 0]
    return diagnostics.prior(codes, values.sample.weights, values.corpus.block(y.parts[0][0]).vocabulary.symbols)


def _ceilings(values: Values, x: Selection, y: Selection, z: Selection) -> list[Check]:
    """Entropies that the mutual information can't exceed, for sides small enough to count."""
    if z.parts:
        return []
    checks = []
    for name, side in (("entropy_x", x), ("entropy_y", y)):
        if side.size == 1:
            counted = entropy_baselines(
                values.corpus, values.rows, side, EMPTY, weights=values.weights, measure="entropy"
            )
            for ceiling in counted[:1]:
                checks += diagnostics.above_ceiling(*values.mean_and_error, ceiling.nats, name)
                checks += diagnostics.share_of_entropy(values.mean_and_error[0], ceiling.nats, name)
    return checks
