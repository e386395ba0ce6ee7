"""Ladder (b): the same measures against dit, an independent implementation that counts in bits."""

from math import log

import numpy as np
import pytest
from torch import Tensor

from infosedd import measures
from infosedd.blocks import Selection
from infosedd.noise import AllSubsets
from infosedd.scores import ExactScore
from tests.infosedd.laws import LAYOUTS, QUESTIONS, Question, expected, random_table

dit = pytest.importorskip("dit")


def distribution(table: Tensor):
    states = [tuple(int(i) for i in state) for state in np.ndindex(*table.shape)]
    return dit.Distribution(states, table.reshape(-1).tolist())


def in_nats(question: Question, d, axes: tuple[list[int], list[int], list[int]]) -> float:
    x, y, z = axes
    if question.measure == "entropy":
        bits = dit.multivariate.entropy(d, x, z)
    elif question.measure == "mutual_information":
        bits = dit.multivariate.coinformation(d, [x, y], z)
    else:
        bits = getattr(dit.multivariate, question.measure)(d, [[i] for i in x], z)
    return float(bits) * log(2)


@pytest.mark.parametrize(("name", "question"), QUESTIONS, ids=str)
def test_measures_agree_with_dit(name: str, question: Question) -> None:
    layout = LAYOUTS[name]
    table = random_table(layout, seed=11)
    truth = in_nats(question, distribution(table), question.axes(layout))
    found = expected(question.plan(layout), ExactScore(layout, table), AllSubsets())
    assert found == pytest.approx([truth] * 2, abs=1e-9)


def test_divergence_agrees_with_dit() -> None:
    layout = LAYOUTS["mixed"]
    p, q = random_table(layout, 12), random_table(layout, 13)
    truth = dit.divergences.kullback_leibler_divergence(distribution(p), distribution(q)) * log(2)
    plan = measures.kl_divergence(layout, Selection.parse("a+b+c", layout.blocks))
    found = expected(plan, ExactScore(layout, p), AllSubsets(), ExactScore(layout, q))
    assert found == pytest.approx([truth] * 2, abs=1e-9)
