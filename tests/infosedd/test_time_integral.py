"""Ladder (b): the time integral of both processes with the exact score, by a quadrature without chance.

Where noise stops at t = 1, the integral leaves out KL(p_1 || q_1). Both are computed here by
enumeration, so that the integral is checked to be KL(p_0 || q_0) - KL(p_1 || q_1) itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import log

import numpy as np
import pytest
import torch
from torch import Tensor

from infosedd import measures
from infosedd.blocks import Selection
from infosedd.layout import Layout
from infosedd.measures import Plan, evaluate
from infosedd.noise import Draw, draw_at
from infosedd.processes import PROCESSES, AbsorbingProcess, NoiseProcess
from infosedd.schedules import SCHEDULES, Schedule
from infosedd.scores import ExactScore
from tests.infosedd.laws import LAYOUTS, QUESTIONS, Question, divergence, marginal, noised, random_table

FLOOR = 0.3
"""Share of the uniform law in each table: zeros in complex t stay away from [0, 1], and Gauss-Legendre converges."""

NODES = {"absorbing": 6, "uniform": 24}
"""With the log-linear schedule the absorbing integrand is a polynomial in t of a degree below the number of tokens."""

BOTH = [pytest.param(kind(), id=name) for name, kind in PROCESSES.items()]


@dataclass(frozen=True)
class Quadrature:
    """Every x_t of every row, weighted by its chance; row r stands at Gauss-Legendre node r mod ``n_nodes`` in t."""

    process: NoiseProcess
    schedule: Schedule
    n_nodes: int

    def draws(self, tokens: Tensor, noised: Tensor, vocab_sizes: Tensor, rows: Tensor) -> Iterator[Draw]:
        nodes, weights = (torch.from_numpy(v) for v in np.polynomial.legendre.leggauss(self.n_nodes))
        t, share = ((nodes + 1) / 2)[rows % self.n_nodes], (weights / 2)[rows % self.n_nodes]
        sigma_bar = self.schedule.sigma_bar(t)
        weight = self.schedule.sigma(t) * share
        places = torch.nonzero(noised).flatten().tolist()
        transitions = [self.process.transition(int(vocab_sizes[place]), sigma_bar) for place in places]
        rows_here = torch.arange(len(tokens))
        for state in product(*(range(transition.shape[-1]) for transition in transitions)):
            xt, chance = tokens.clone(), torch.ones(len(tokens), dtype=torch.float64)
            for place, symbol, transition in zip(places, state, transitions, strict=True):
                xt[:, place] = symbol
                chance = chance * transition[rows_here, tokens[:, place], symbol]
            yield draw_at(self.process, tokens, xt, noised, vocab_sizes, sigma_bar[:, None], weight * chance)

    def terminal_factor(self, size: int) -> float:
        return 1.0 - (1.0 - self.schedule.terminal) ** size


def time_integral(
    plan: Plan, score: ExactScore, noise: Quadrature, score_q: ExactScore | None = None
) -> tuple[float, float]:
    """Both estimators' means over the law of ``score``."""
    tokens = score.states.repeat_interleave(noise.n_nodes, 0)
    chances = score.table.reshape(-1)
    found = []
    constant = (
        float(plan.uniform.double() @ score.layout.vocab_sizes.double().log()) if plan.uniform is not None else 0.0
    )
    values = evaluate(plan, score, tokens, noise, score_q=score_q, batch_size=len(tokens))
    for each in (values.loss_difference, values.dynkin):
        # a row's share at one node carries the constant too, which counts once
        found.append(float(chances @ (each - constant).reshape(-1, noise.n_nodes).sum(1)) + constant)
    return found[0], found[1]


def uniform_in(table: Tensor, axes: list[int], given: Tensor) -> Tensor:
    """The law ``given`` of other axes, times the uniform law of ``axes``."""
    sizes = [table.shape[i] if i in axes else 1 for i in range(table.ndim)]
    return given * torch.ones(sizes, dtype=torch.float64) / torch.tensor(sizes).prod()


def divergences(question: Question, table: Tensor, layout: Layout) -> list[tuple[float, Tensor, Tensor, list[int]]]:
    """(coefficient, p, q, noised axes) of each KL term of a question, straight from its definition."""
    x, y, z = question.axes(layout)
    pz = marginal(table, z)
    if question.measure == "mutual_information":
        apart = marginal(table, [*x, *z]) * marginal(table, [*y, *z]) / pz
        smaller = y if question.variant == "conditional" else [*x, *y]
        return [(1.0, marginal(table, [*x, *y, *z]), apart, smaller)]
    p = marginal(table, [*x, *z])
    whole = (-1.0, p, uniform_in(table, x, pz), x)
    if question.measure == "entropy":
        return [whole]
    rest = [[*(j for j in x if j != i), *z] for i in x]
    each = [(1.0, p, uniform_in(table, [i], marginal(table, r)), [i]) for i, r in zip(x, rest, strict=True)]
    if question.measure == "dual_total_correlation":
        return [whole, *each]
    apart = pz
    for i in x:
        apart = apart * marginal(table, [i, *z]) / pz
    together = (1.0, p, apart, x)
    if question.measure == "total_correlation":
        return [together]
    return [together, *((-c, p, q, axes) for c, p, q, axes in (whole, *each))]


def left_out(question: Question, table: Tensor, layout: Layout, process: NoiseProcess, total: float) -> float:
    """SUM of coefficient KL(p_1 || q_1), the terminal term."""
    return sum(
        coefficient * divergence(noised(p, axes, process, total), noised(q, axes, process, total))
        for coefficient, p, q, axes in divergences(question, table, layout)
    )


@pytest.mark.parametrize(("name", "question"), QUESTIONS, ids=str)
def test_terms_by_definition_add_up_to_the_measure(name: str, question: Question) -> None:
    layout = LAYOUTS[name]
    table = random_table(layout, 0)
    x, _, _ = question.axes(layout)
    constant = sum(log(layout.vocab_sizes[i]) for i in x) if question.measure == "entropy" else 0.0
    total = sum(c * divergence(p, q) for c, p, q, _ in divergences(question, table, layout))
    assert constant + total == pytest.approx(question.truth(table, layout), abs=1e-12)


@pytest.mark.parametrize("process", BOTH)
@pytest.mark.parametrize(("name", "question"), QUESTIONS, ids=str)
def test_the_time_integral_and_its_terminal_term_are_the_measure(
    process: NoiseProcess, name: str, question: Question
) -> None:
    layout, schedule = LAYOUTS[name], SCHEDULES["log_linear"]()
    table = random_table(layout, 0, FLOOR)
    noise = Quadrature(process, schedule, NODES[process.name])
    found = time_integral(question.plan(layout), ExactScore(layout, table), noise)
    terminal = left_out(question, table, layout, process, schedule.total)
    assert found == pytest.approx([question.truth(table, layout) - terminal] * 2, abs=1e-9)


@pytest.mark.parametrize("process", BOTH)
@pytest.mark.parametrize("terminal", [1e-4, 0.2])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_gives_the_same_number(process: NoiseProcess, schedule: str, terminal: float) -> None:
    layout, question = LAYOUTS["two tokens"], Question("mutual_information", "a", "b", variant="joint")
    chosen = SCHEDULES[schedule](terminal=terminal)
    table = random_table(layout, 1, FLOOR)
    found = time_integral(question.plan(layout), ExactScore(layout, table), Quadrature(process, chosen, 64))
    truth = question.truth(table, layout)
    rest = left_out(question, table, layout, process, chosen.total)
    assert found == pytest.approx([truth - rest] * 2, abs=1e-9)
    assert -1e-12 <= rest <= Quadrature(process, chosen, 1).terminal_factor(2) * truth  # the bound that is reported


@pytest.mark.parametrize("process", BOTH)
def test_divergence_of_two_laws(process: NoiseProcess) -> None:
    layout, schedule = LAYOUTS["mixed"], SCHEDULES["log_linear"]()
    p, q = random_table(layout, 2, FLOOR), random_table(layout, 3, FLOOR)
    plan = measures.kl_divergence(layout, Selection.parse("a+b", layout.blocks))
    found = time_integral(
        plan, ExactScore(layout, p), Quadrature(process, schedule, NODES[process.name]), ExactScore(layout, q)
    )
    p, q = marginal(p, [0, 1, 2]), marginal(q, [0, 1, 2])
    rest = divergence(*(noised(law, [0, 1, 2], process, schedule.total) for law in (p, q)))
    assert found == pytest.approx([divergence(p, q) - rest] * 2, abs=1e-9)


def test_hidden_tokens_are_not_scored_in_time_either() -> None:
    layout, schedule = LAYOUTS["two tokens"], SCHEDULES["log_linear"]()
    score = ExactScore(layout, random_table(layout, 4, FLOOR))
    plan = Question("mutual_information", "b", "a").plan(layout)
    hidden = layout.vocab_sizes.repeat(24, 1)
    for process in (AbsorbingProcess(), PROCESSES["uniform"]()):
        values = evaluate(plan, score, hidden, _Still(process, schedule))
        assert torch.equal(values.loss_difference, torch.zeros(24, dtype=torch.float64))


@dataclass(frozen=True)
class _Still:
    """One time, and noise that changes nothing."""

    process: NoiseProcess
    schedule: Schedule

    def draws(self, tokens: Tensor, noised: Tensor, vocab_sizes: Tensor, rows: Tensor) -> Iterator[Draw]:
        sigma_bar = torch.full((len(tokens), 1), 0.5, dtype=torch.float64)
        yield draw_at(
            self.process, tokens, tokens, noised, vocab_sizes, sigma_bar, torch.ones(len(tokens), dtype=torch.float64)
        )

    def terminal_factor(self, size: int) -> float:
        return 0.0
