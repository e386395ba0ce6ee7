"""Ladder (c): chance alone. The exact score with drawn noise on drawn rows, within 4 standard errors."""

import pytest
import torch

from infosedd import measures
from infosedd.blocks import Selection
from infosedd.estimation import Sample, mean_and_error
from infosedd.measures import Plan, evaluate
from infosedd.noise import AllSubsets, Noise, SubsetNoise, TimeNoise
from infosedd.processes import PROCESSES
from infosedd.schedules import SCHEDULES
from infosedd.scores import ExactScore
from tests.infosedd.laws import LAYOUTS, Question, divergence, random_table

LAYOUT = LAYOUTS["mixed"]
ROWS = 4000
ASKED = [
    Question("entropy", "a+b"),
    Question("mutual_information", "a", "b+c"),
    Question("mutual_information", "a", "b+c", variant="joint"),
    Question("mutual_information", "a", "b", z="c"),
    Question("total_correlation", "a+b+c"),
    Question("dual_total_correlation", "a+b+c"),
    Question("o_information", "a+b+c"),
]


def check(plan: Plan, truth: float, noise: Noise, *, largest_error: float, stated_bias: float = 0.0, **more) -> None:
    """Both estimators within 4 standard errors of the truth, and the errors small enough to mean something."""
    score = ExactScore(LAYOUT, random_table(LAYOUT, 21, floor=0.1))
    rows = score.draw(ROWS, torch.Generator().manual_seed(5))
    values = evaluate(plan, score, rows, noise, **more)
    for found in (values.loss_difference.numpy(), values.dynkin.numpy()):
        mean, error = mean_and_error(found, Sample())
        assert error <= largest_error
        assert abs(mean - truth) <= 4 * error + stated_bias


@pytest.mark.parametrize("n_draws", [1, 3])
@pytest.mark.parametrize("question", ASKED, ids=str)
def test_drawn_subsets(question: Question, n_draws: int) -> None:
    truth = question.truth(random_table(LAYOUT, 21, floor=0.1), LAYOUT)
    check(question.plan(LAYOUT), truth, SubsetNoise(n_draws, seed=3), largest_error=0.03 * n_draws**-0.25)


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("question", ASKED, ids=str)
def test_drawn_times(question: Question, process: str) -> None:
    schedule = SCHEDULES["log_linear"]()
    truth = question.truth(random_table(LAYOUT, 21, floor=0.1), LAYOUT)
    noise = TimeNoise(PROCESSES[process](), schedule, n_draws=2, seed=4)
    # the terminal term is at most this share of each term's divergence, which log 24 bounds
    bias = noise.terminal_factor(4) * 3.2
    check(question.plan(LAYOUT), truth, noise, largest_error=0.04, stated_bias=bias)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_leave_no_bias(schedule: str) -> None:
    question = Question("mutual_information", "a", "b+c")
    truth = question.truth(random_table(LAYOUT, 21, floor=0.1), LAYOUT)
    for process in PROCESSES.values():
        noise = TimeNoise(process(), SCHEDULES[schedule](), n_draws=2, seed=6)
        check(question.plan(LAYOUT), truth, noise, largest_error=0.05, stated_bias=noise.terminal_factor(2) * truth)


def test_divergence() -> None:
    p, q = random_table(LAYOUT, 21, floor=0.1), random_table(LAYOUT, 22, floor=0.1)
    plan = measures.kl_divergence(LAYOUT, Selection.parse("a+b+c", LAYOUT.blocks))
    other = ExactScore(LAYOUT, q)
    check(plan, divergence(p, q), SubsetNoise(2, seed=1), largest_error=0.03, score_q=other)


def test_noise_is_unbiased_row_by_row() -> None:
    """Averaged over seeds, a row's value is that of all subsets, whatever its place among the rows."""
    score = ExactScore(LAYOUT, random_table(LAYOUT, 23, floor=0.1))
    plan = Question("entropy", "a+b").plan(LAYOUT)
    exact = evaluate(plan, score, score.states, AllSubsets()).loss_difference
    seeds = 300
    drawn = torch.stack(
        [evaluate(plan, score, score.states, SubsetNoise(1, seed)).loss_difference for seed in range(seeds)]
    )
    error = drawn.std(0) / seeds**0.5
    assert bool((error < 0.12).all())
    assert bool(((drawn.mean(0) - exact).abs() <= 4 * error + 1e-9).all())


def test_the_conditional_variant_of_a_label_needs_no_luck() -> None:
    """One noised token has one subset: the estimate is the plain mean of pointwise values."""
    score = ExactScore(LAYOUT, random_table(LAYOUT, 24))
    plan = Question("mutual_information", "a+b", "c").plan(LAYOUT)
    drawn, all_of_them = (evaluate(plan, score, score.states, noise) for noise in (SubsetNoise(), AllSubsets()))
    torch.testing.assert_close(drawn.loss_difference, all_of_them.loss_difference, rtol=0, atol=1e-12)
