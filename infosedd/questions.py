"""The questions a score model answers: each measure as a method that returns an ``Estimate``."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot
from threading import Event
from typing import Literal

import numpy as np
import torch

from infosedd import diagnostics, measures
from infosedd.baselines import entropy_baselines, mutual_information_baselines, tokens_of
from infosedd.blocks import EMPTY, Selection
from infosedd.card import ModelCard
from infosedd.config import ModelConfig
from infosedd.corpus import Corpus
from infosedd.errors import InputError
from infosedd.estimation import Sample, estimate_of, mean_and_error, seed_error
from infosedd.folds import Fold, by_row, evenly
from infosedd.layout import Layout
from infosedd.measures import Plan
from infosedd.networks import ScoreNetwork
from infosedd.noise import Noise
from infosedd.orders import needs_random
from infosedd.pace import History
from infosedd.parallel import side_by_side, threads_for
from infosedd.progress import Countdown, ProgressCallback, silent
from infosedd.results import Estimate, Mode
from infosedd.scores import LearnedScore

TRAINING_ROWS = 2000
"""Training rows that the overfitting check looks at."""


@dataclass(frozen=True)
class Values:
    """A plan's values for each evaluated row: (n,) each, with the corpus the rows belong to."""

    corpus: Corpus
    rows: np.ndarray
    weights: np.ndarray | None
    """Of each row in what was evaluated: the number of its draws there, where rows are counted."""
    loss_difference: np.ndarray
    dynkin: np.ndarray
    terminal_factor: float
    noisy: bool
    """Does the noise that was drawn leave chance in each row's value?"""
    seed_errors: tuple[float, float] = (0.0, 0.0)
    """Standard errors from the training seeds, of both estimators; 0 for one member a fold."""

    def mean_and_error(self, sample: Sample) -> tuple[float, float]:
        """The measure and its standard error: of the rows that were drawn, and of the training seeds."""
        mean, error = mean_and_error(self.loss_difference, sample)
        return mean, hypot(error, self.seed_errors[0])


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
        """Draw the profile with its pointwise band; returns the matplotlib axes."""
        from infosedd.plotting import plot_profile

        return plot_profile(self, ax, **options)


class Questions(ABC):
    """Every measure of a model; ``data=None`` means the held-out rows of the model's own corpus."""

    card: ModelCard
    config: ModelConfig
    layout: Layout
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

    @property
    @abstractmethod
    def duplicate_shares(self) -> tuple[float, float]:
        """Shares of the first fold's test rows that are among its training rows, and that repeat each other."""

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
        named, target, z = self._select(x), self._select(y), self._given(condition)
        _require_disjoint(named, target, z)
        shown = self._complement(named, target + z) if mode == "remove" else named
        noised, clean = self._sides(shown, target)
        plan = measures.mutual_information(
            self.layout, clean, noised, z, variant=self.config.variant, order=self.config.resolved_order
        )
        values = self._values(plan, data)
        measure = "conditional_mutual_information" if z.parts else "mutual_information"
        facts = {"measure": measure, "mode": mode, "x": named.text, "y": target.text, "z": z.text}
        baselines = mutual_information_baselines(values.corpus, values.rows, shown, target, z, **facts)
        checks = self._ceilings(values, shown, target, z)
        if mode == "whole":
            checks += diagnostics.no_dependence(*values.mean_and_error(self._sample(values)))
        return self._estimate(plan, values, facts, baselines, noised, checks, data)

    def entropy(self, x: str, condition: str | None = None, data: Corpus | None = None) -> Estimate:
        """H(X | Z) in nats; in expectation an upper bound where rows are held out."""
        chosen, z = self._select(x), self._given(condition)
        _require_disjoint(chosen, z)
        self._require_learned(chosen)
        plan = measures.entropy(self.layout, chosen, z, order=self.config.resolved_order)
        values = self._values(plan, data)
        facts = {"measure": "entropy", "x": chosen.text, "z": z.text}
        baselines = entropy_baselines(values.corpus, values.rows, chosen, z, **facts)
        return self._estimate(plan, values, facts, baselines, chosen, [], data)

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
        block, positions = self._one_run(x)
        if not 1 <= window <= len(positions):
            raise InputError(f"a window of {window} does not fit into {x!r} of {len(positions)} positions")
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
        block, positions = self._one_run(x)
        first, last = positions[0], positions[-1] + 1
        reports = Countdown(progress, "information added", -(-len(positions) // step))
        out = []
        for i in range(first, last, step):
            before = [_run(block, first, i)] if i > first else []
            given = "+".join([*before, *([condition] if condition else [])])
            out.append(self.mutual_information(_run(block, i, min(i + step, last)), y, given or None, data))
            reports.one_more(f"positions from {i}")
        return tuple(out)

    def pairwise_matrix(self, x: str, data: Corpus | None = None) -> np.ndarray:
        """(L, L) mutual information of each pair of positions in nats; 0 on the diagonal."""
        selection = self._select(x)
        self._require_learned(selection)
        self._require_random_order("a matrix of pairs")
        singles = [Selection.of({name: [i]}, self.layout.blocks) for name, p in selection.parts for i in p]
        matrix = np.zeros((len(singles), len(singles)))
        for i in range(len(singles)):
            for j in range(i):
                plan = measures.mutual_information(self.layout, singles[j], singles[i])
                values = self._values(plan, data)
                sample = self._sample(values)
                matrix[i, j] = matrix[j, i] = mean_and_error(values.loss_difference, sample)[0]
        return matrix

    def _multivariate(self, measure: str, x: str, condition: str | None, data: Corpus | None) -> Estimate:
        chosen, z = self._select(x), self._given(condition)
        _require_disjoint(chosen, z)
        self._require_learned(chosen)
        if needs_random(measure, conditional=bool(z.parts)):
            self._require_random_order(measure)
        plan = getattr(measures, measure)(self.layout, chosen, z, order=self.config.resolved_order)
        values = self._values(plan, data)
        return self._estimate(plan, values, {"measure": measure, "x": chosen.text, "z": z.text}, (), chosen, [], data)

    def _sample(self, values: Values) -> Sample:
        return Sample.of(values.corpus, values.rows, noisy=values.noisy, weights=values.weights)

    def _values(self, plan: Plan, data: Corpus | None, *, training: bool = False) -> Values:
        """Evaluate a plan on held-out rows, each by the network of its fold, or on other data by all networks."""
        if data is not None and data.corpus_id == self.card.corpus_id:  # each row by a network that has not seen it
            if self.corpus is None:
                self.attach(data)
            data = None
        if data is not None:
            self._require_same_blocks(data)
            work = [([n for members in self.networks for n in members], np.arange(data.n), data.weights)]
            corpus = data
        else:
            corpus = self.require_corpus()
            folds, part = (self.folds[:1], "training") if training else (self.folds, "test")
            work = [
                (members, getattr(fold, part), fold.weights(corpus, part))
                for members, fold in zip(self.networks, folds, strict=False)
            ]
        parts = []
        for networks, rows, weights in work:
            chosen = evenly(np.arange(len(rows)), TRAINING_ROWS) if training else np.arange(len(rows))
            chosen = chosen[self._has_known_target(corpus, rows[chosen], plan)]
            parts.append((networks, rows[chosen], None if weights is None else weights[chosen]))
        noise = self.noise(sum(len(rows) for _, rows, _ in parts), plan.noised_size())
        rows = np.concatenate([rows for _, rows, _ in parts])
        weights = None if corpus.weights is None else np.concatenate([weights for _, _, weights in parts])

        def evaluated(member: int | None) -> tuple[np.ndarray, np.ndarray]:
            """Both estimators, by all networks of a fold averaged, or by those of one seed."""
            step = self.config.members
            chosen = [(n if member is None else n[member::step], there) for n, there, _ in parts]
            found = [
                measures.evaluate(plan, LearnedScore(n), self.layout.tokens_of(corpus, there), noise)
                for n, there in chosen
            ]
            both = (torch.cat(p).numpy() for p in zip(*((p.loss_difference, p.dynkin) for p in found), strict=True))
            _, _, loss, dynkin = by_row(rows, weights, *both)
            return loss, dynkin

        with threads_for(self.networks[0][0].n_parameters):
            loss, dynkin = evaluated(None)
            seeds = range(0 if training or self.config.members == 1 else self.config.members)
            by_seed = [evaluated(member) for member in seeds]
        if not (np.isfinite(loss).all() and np.isfinite(dynkin).all()):
            bad = int((~np.isfinite(loss) | ~np.isfinite(dynkin)).sum())
            raise InputError(
                f"{bad} of {len(rows)} values are not finite numbers",
                where=f"model {self.card.model_id}",
                remedy="the network's scores diverged: train it with a lower learning rate",
            )
        terminal = noise.terminal_factor(plan.noised_size())
        noisy = plan.noised_size() > 1 or terminal > 0
        rows, weights = by_row(rows, weights)
        sample = Sample.of(corpus, rows, noisy=noisy, weights=weights)
        one, other = (seed_error([mean_and_error(values[i], sample)[0] for values in by_seed]) for i in range(2))
        return Values(corpus, rows, weights, loss, dynkin, terminal, noisy, seed_errors=(one, other))

    def _has_known_target(self, corpus: Corpus, rows: np.ndarray, plan: Plan) -> np.ndarray:
        """(n,) bool: is at least one token known of those that the plan predicts?"""
        known = (self.layout.tokens_of(corpus, rows) != self.layout.vocab_sizes) & plan.targets()
        kept = known.any(1).numpy()
        if not kept.any():
            raise InputError("every target token is unknown", where=f"in corpus {corpus.name!r}")
        return kept

    def _estimate(
        self,
        plan: Plan,
        values: Values,
        facts: dict,
        baselines: Sequence[Estimate],
        noised: Selection,
        checks: list[diagnostics.Check],
        data: Corpus | None,
    ) -> Estimate:
        sample = self._sample(values)
        main = estimate_of(values.loss_difference, sample, seed_error=values.seed_errors[0], **facts)
        terminal = values.terminal_factor * abs(main.nats)
        checks = [
            *checks,
            *diagnostics.dynkin_gap(values.loss_difference, values.dynkin, sample),
            *diagnostics.undertrained(self.histories),
            *diagnostics.sample_size(sample.n_effective(len(values.rows)), len(values.rows)),
            *diagnostics.hidden_targets(*_hidden(values, noised)),
        ]
        if self.config.members > 1:
            checks += diagnostics.seed_spread(values.seed_errors[0], main)
        if data is None:
            checks += diagnostics.duplicates(*self.duplicate_shares)
            learned = [(f.training, f.weights(values.corpus, "training")) for f in self.folds]
            trained_on = [Sample.of(values.corpus, rows, weights=w).n_effective(len(rows)) for rows, w in learned]
            checks += diagnostics.training_size(min(trained_on))
            if facts.get("mode", "whole") == "whole":
                seen = self._values(plan, None, training=True)
                on_training = mean_and_error(seen.loss_difference, self._sample(seen))[0]
                checks += diagnostics.overfitting(main.nats, main.std_error, on_training)
        dynkin = estimate_of(
            values.dynkin, sample, seed_error=values.seed_errors[1], estimator="dynkin", terminal_kl=terminal, **facts
        )
        return replace(
            main,
            terminal_kl=terminal,
            warnings=tuple(check.warning for check in checks if check.warning),
            diagnostics={check.name: check.value for check in checks},
            pointwise=values.loss_difference,
            rows=values.rows,
            others=(dynkin, *baselines),
        )

    def _ceilings(self, values: Values, x: Selection, y: Selection, z: Selection) -> list[diagnostics.Check]:
        """Entropies that the mutual information can't exceed, for sides small enough to count."""
        if z.parts:
            return []
        sample = self._sample(values)
        checks = []
        for name, side in (("entropy_x", x), ("entropy_y", y)):
            if side.size == 1:
                ceiling = entropy_baselines(values.corpus, values.rows, side, EMPTY, measure="entropy")[0].nats
                checks += diagnostics.above_ceiling(*values.mean_and_error(sample), ceiling, name)
        return checks

    def _sides(self, x: Selection, y: Selection) -> tuple[Selection, Selection]:
        """(noised, clean): the smaller side is noised, y where they are equal, if the model has learned it."""
        sides = (x, y) if x.size < y.size else (y, x)
        if self.config.variant == "joint":
            self._require_learned(x + y)
        elif not self._has_learned(sides[0]) and self._has_learned(sides[1]):
            return sides[1], sides[0]
        else:
            self._require_learned(sides[0])
        return sides

    def _has_learned(self, targets: Selection) -> bool:
        """Has training noised every token of ``targets``?"""
        noised = [self._select(query.noised) for query in self.config.queries]
        return not noised or all(
            any(i in seen.positions(name) for seen in noised) for name, positions in targets.parts for i in positions
        )

    def _require_learned(self, targets: Selection) -> None:
        if not self._has_learned(targets):
            raise InputError(
                f"the model has not learned to predict {targets.text!r}",
                where=f"model {self.card.model_id}",
                remedy="train it with queries that noise it",
            )

    def _require_random_order(self, question: str) -> None:
        if self.config.resolved_order != "random":
            raise InputError(
                f"the model was trained coarse to fine, which does not teach what {question} asks",
                where=f"model {self.card.model_id}",
                remedy="train it with order = 'random'",
            )

    def _select(self, expression: str) -> Selection:
        return Selection.parse(expression, self.layout.blocks)

    def _given(self, condition: str | None) -> Selection:
        return self._select(condition) if condition else EMPTY

    def _complement(self, selection: Selection, others: Selection) -> Selection:
        """The other positions of the blocks that a selection touches, without those of ``others``."""
        lengths = {block.name: block.length for block in self.layout.blocks}
        rest = {
            name: sorted(set(range(lengths[name])) - set(positions) - set(others.positions(name)))
            for name, positions in selection.parts
        }
        if not any(rest.values()):
            raise InputError(
                f"nothing is left of {selection.text!r} when it is removed", remedy="name a smaller window"
            )
        return Selection.of(rest, self.layout.blocks)

    def _one_run(self, x: str) -> tuple[str, tuple[int, ...]]:
        selection = self._select(x)
        if len(selection.parts) != 1 or np.any(np.diff(selection.parts[0][1]) != 1):
            raise InputError(f"a profile slides over one run of positions of one block, not over {x!r}")
        return selection.parts[0]

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


def _hidden(values: Values, noised: Selection) -> tuple[float, float]:
    """Share of evaluated target tokens that are unknown, and of the corpus's rows whose targets all are."""
    sizes = np.array([values.corpus.block(name).vocabulary.size for name, positions in noised.parts for _ in positions])
    hidden = tokens_of(values.corpus, noised, values.rows) == sizes
    everywhere = tokens_of(values.corpus, noised, np.arange(values.corpus.n)) == sizes
    return float(hidden.mean()), float(everywhere.all(1).mean())
