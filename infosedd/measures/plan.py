"""A measure as a plan: a sum of KL terms between two sides, each an integral over noise.

Every measure below is a few lines that name the sides. To add one, write a file that returns a
``Plan`` and list it in ``infosedd/measures/__init__.py``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from infosedd.blocks import EMPTY, Selection
from infosedd.integrals import Integrals, Side, View, integrate
from infosedd.layout import Layout
from infosedd.noise import Noise
from infosedd.scores import Score


@dataclass(frozen=True)
class Term:
    """``coefficient`` times KL(p || q)."""

    coefficient: float
    p: Side
    q: Side

    def noised_size(self) -> int:
        """Number of tokens that are noised together."""
        return int(torch.stack([view.targets for view in self.p]).any(0).sum())


@dataclass(frozen=True)
class Plan:
    """SUM of terms, plus log N for each known token of ``uniform`` (entropies are differences to the uniform law)."""

    terms: tuple[Term, ...]
    uniform: Tensor | None = field(default=None)

    def targets(self) -> Tensor:
        """(L,) bool: every token that some term predicts."""
        return torch.stack([view.targets for term in self.terms for view in term.p]).any(0)

    def views(self) -> Iterator[View]:
        """Every view of both sides."""
        return (view for term in self.terms for side in (term.p, term.q) for view in side)

    def noised_size(self) -> int:
        """The largest number of tokens that any term noises together."""
        return max(term.noised_size() for term in self.terms)


def evaluate(
    plan: Plan,
    score: Score,
    tokens: Tensor,
    noise: Noise,
    *,
    score_q: Score | None = None,
    rows: Tensor | None = None,
    batch_size: int | None = None,
) -> Integrals:
    """Both estimators of the plan for each row of ``tokens`` (n, L), in nats; ``rows`` as in ``integrate``."""
    layout = score.layout
    constant = torch.zeros(len(tokens), dtype=torch.float64)
    if plan.uniform is not None:
        known = (tokens != layout.vocab_sizes) & plan.uniform
        constant = (known * layout.vocab_sizes.double().log()).sum(1)
    total = Integrals(constant, constant.clone())
    for term in plan.terms:
        part = integrate(score, tokens, term.p, term.q, noise, score_q=score_q, rows=rows, batch_size=batch_size)
        share = noise.terminal_factor(term.noised_size())
        total = total + part.bounded(share).times(term.coefficient)
    return total


class Sides:
    """Builds views from selections of one layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def view(self, targets: Selection, *, noised: Selection | None = None, clean: Selection = EMPTY) -> View:
        """Predicts ``targets``; sees ``noised`` (by default the targets) as noise left them, and ``clean``."""
        mask = self.layout.mask_of
        return View(mask(targets), mask(targets if noised is None else noised), mask(clean))

    def common(self, a: Selection, b: Selection) -> Selection:
        """The positions that two selections share."""
        shared = {name: sorted(set(positions) & set(b.positions(name))) for name, positions in a.parts}
        return Selection.of(shared, self.layout.blocks)
