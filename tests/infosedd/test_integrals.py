"""Ladder (b): every measure in the subset form, with the exact score and every subset, against enumeration."""

from math import log
from typing import get_args

import pytest
import torch

from infosedd import measures
from infosedd.blocks import EMPTY, Selection
from infosedd.losses import row_losses
from infosedd.measures import evaluate
from infosedd.noise import AllSubsets
from infosedd.orders import Order
from infosedd.queries import Dealt
from infosedd.scores import ExactScore
from tests.infosedd.laws import (
    LAYOUTS,
    QUESTIONS,
    Question,
    divergence,
    entropy,
    expected,
    layout_of,
    marginal,
    mutual_information,
    random_table,
)

ORDERS = get_args(Order)
TIGHT = 1e-9
"""Sums of a few thousand float64 terms of order 1."""


@pytest.mark.parametrize(("name", "question"), QUESTIONS, ids=str)
@pytest.mark.parametrize("order", ORDERS)
def test_both_estimators_are_exact(name: str, question: Question, order: Order) -> None:
    layout = LAYOUTS[name]
    table = random_table(layout, seed=0)
    loss, dynkin = expected(question.plan(layout, order), ExactScore(layout, table), AllSubsets())
    truth = question.truth(table, layout)
    assert loss == pytest.approx(truth, abs=TIGHT)
    assert dynkin == pytest.approx(truth, abs=TIGHT)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("expression", ["a+b+c", "a", "a[1]+b"])
def test_divergence_of_two_laws(expression: str, order: Order) -> None:
    layout = LAYOUTS["mixed"]
    p, q = random_table(layout, 0), random_table(layout, 1)
    chosen = Selection.parse(expression, layout.blocks)
    axes = torch.nonzero(layout.mask_of(chosen)).flatten().tolist()
    plan = measures.kl_divergence(layout, chosen, order=order)
    found = expected(plan, ExactScore(layout, p), AllSubsets(), ExactScore(layout, q))
    assert found == pytest.approx([divergence(marginal(p, axes), marginal(q, axes))] * 2, abs=TIGHT)


def test_conditional_divergence_is_averaged_over_the_first_law() -> None:
    layout = LAYOUTS["mixed"]
    p, q = random_table(layout, 2), random_table(layout, 3)
    x, z = (Selection.parse(e, layout.blocks) for e in ("a", "b"))
    xz, only_z = [0, 1, 2], [2]
    truth = divergence(marginal(p, xz), marginal(q, xz)) - divergence(marginal(p, only_z), marginal(q, only_z))
    plan = measures.kl_divergence(layout, x, z)
    found = expected(plan, ExactScore(layout, p), AllSubsets(), ExactScore(layout, q))
    assert found == pytest.approx([truth] * 2, abs=TIGHT)


def test_laws_with_zeros_leave_no_nan() -> None:
    """Parity: pairs say nothing, the whole says all."""
    layout = layout_of(x=(2, 3), y=(1, 3))
    table = torch.zeros(3, 3, 3, dtype=torch.float64)
    for i in range(3):
        for j in range(3):
            table[i, j, (i + j) % 3] = 1 / 9
    score, ln3 = ExactScore(layout, table), log(3)
    known = {
        Question("mutual_information", "x", "y"): ln3,
        Question("mutual_information", "x", "y", variant="joint"): ln3,
        Question("mutual_information", "x[0]", "y"): 0.0,
        Question("entropy", "y", z="x"): 0.0,
        Question("total_correlation", "x+y"): ln3,
        Question("dual_total_correlation", "x+y"): 2 * ln3,
        Question("o_information", "x+y"): -ln3,
    }
    for question, truth in known.items():
        assert expected(question.plan(layout), score, AllSubsets()) == pytest.approx([truth] * 2, abs=TIGHT), question


def test_a_divergence_without_common_support_is_infinite() -> None:
    layout = layout_of(a=(2, 2))
    p, q = torch.zeros(2, 2).double(), torch.zeros(2, 2).double()
    p[0, 0], q[0, 1] = 1, 1
    plan = measures.kl_divergence(layout, Selection.parse("a", layout.blocks))
    assert expected(plan, ExactScore(layout, p), AllSubsets(), ExactScore(layout, q)) == (float("inf"),) * 2


def test_values_of_rows_do_not_depend_on_the_batch() -> None:
    layout = LAYOUTS["mixed"]
    score = ExactScore(layout, random_table(layout, 5))
    plan = Question("mutual_information", "a", "b", z="c").plan(layout)
    whole = evaluate(plan, score, score.states, AllSubsets())
    parts = evaluate(plan, score, score.states, AllSubsets(), batch_size=5)
    torch.testing.assert_close(parts.loss_difference, whole.loss_difference, rtol=0, atol=1e-12)
    torch.testing.assert_close(parts.dynkin, whole.dynkin, rtol=0, atol=1e-12)


def test_pointwise_values_are_log_ratios() -> None:
    """With every subset, the loss difference of one row is its pointwise mutual information when Y is one token."""
    layout = layout_of(x=(2, 2), y=(1, 3))
    table = random_table(layout, 6)
    score = ExactScore(layout, table)
    values = evaluate(Question("mutual_information", "x", "y").plan(layout), score, score.states, AllSubsets())
    truth = (table / (marginal(table, [0, 1]) * marginal(table, [2]))).log().reshape(-1)
    torch.testing.assert_close(values.loss_difference, truth, rtol=0, atol=TIGHT)


@pytest.mark.parametrize("order", ORDERS)
def test_tokens_hidden_in_the_data_are_not_scored(order: Order) -> None:
    """A row whose token is unknown counts as if that position were not asked about."""
    layout = LAYOUTS["mixed"]
    table = random_table(layout, 7)
    score = ExactScore(layout, table)
    tokens = score.states.clone()
    tokens[:, 1] = layout.vocab_sizes[1]
    chances = table.reshape(-1)
    for question, truth in (
        (Question("entropy", "a+b"), entropy(table, [0, 2])),
        (Question("mutual_information", "c", "a+b"), mutual_information(table, [3], [0, 2])),
        (Question("mutual_information", "c", "a+b", variant="joint"), mutual_information(table, [3], [0, 2])),
        (Question("mutual_information", "a", "c"), mutual_information(table, [0], [3])),
    ):
        values = evaluate(question.plan(layout, order), score, tokens, AllSubsets())
        assert float(chances @ values.loss_difference) == pytest.approx(truth, abs=TIGHT), question
        assert float(chances @ values.dynkin) == pytest.approx(truth, abs=TIGHT), question


class _ExactNetwork:
    """An exact score where the training loss expects a network."""

    device = torch.device("cpu")

    def __init__(self, score: ExactScore) -> None:
        self.score, self.layout = score, score.layout

    def __call__(self, tokens, visibility, targets, generator=None):
        return self.score.log_posterior(tokens, visibility, targets)


def test_the_training_loss_of_the_true_score_is_the_entropy() -> None:
    """Absorbing: SUM over subsets of the loss is H(A | C)."""
    layout = LAYOUTS["mixed"]
    score = ExactScore(layout, random_table(layout, 8))
    tokens = score.states
    noised = layout.mask_of(Selection.parse("a+b", layout.blocks))
    clean = layout.mask_of(Selection.parse("c", layout.blocks))
    total = torch.zeros(len(tokens), dtype=torch.float64)
    for draw in AllSubsets().draws(tokens, noised, layout.vocab_sizes, torch.arange(len(tokens))):
        dealt = Dealt(noised.expand(tokens.shape), clean.expand(tokens.shape), torch.ones(len(tokens)))
        total += row_losses(_ExactNetwork(score), tokens, dealt, draw, ("a", "b"))
    truth = entropy(score.table, [0, 1, 2], [3])
    assert float(score.table.reshape(-1) @ total) == pytest.approx(truth, abs=1e-5)  # the loss is float32


def test_empty_selections_add_nothing() -> None:
    layout = LAYOUTS["mixed"]
    score = ExactScore(layout, random_table(layout, 9))
    whole = Selection.parse("a+b+c", layout.blocks)
    with_empty = measures.entropy(layout, whole, EMPTY)
    assert expected(with_empty, score, AllSubsets()) == expected(measures.entropy(layout, whole), score, AllSubsets())
