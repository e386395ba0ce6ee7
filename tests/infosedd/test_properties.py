"""Ladder (b): what must hold of any law, searched by Hypothesis with the exact score and every subset."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch import Tensor

from infosedd import measures
from infosedd.blocks import Selection
from infosedd.noise import AllSubsets
from infosedd.scores import ExactScore
from tests.infosedd.laws import Question, expected, layout_of

TIGHT = 1e-9
quick = settings(max_examples=15, deadline=None, derandomize=True)


@st.composite
def laws(draw, n_positions: int = 3) -> Tensor:
    """A table over a few positions with 2 or 3 symbols each; some entries may be 0."""
    shape = tuple(draw(st.integers(2, 3)) for _ in range(n_positions))
    weights = draw(hnp.arrays(float, shape, elements=st.floats(0, 1).map(lambda v: v if v > 0.05 else 0.0)))
    table = torch.from_numpy(weights)
    table[(0,) * n_positions] += 1  # never all 0
    return table / table.sum()


def score_of(table: Tensor) -> ExactScore:
    return ExactScore(layout_of(**{name: (1, size) for name, size in zip("xyz", table.shape, strict=False)}), table)


def ask(table: Tensor, x: str, y: str, z: str = "", variant: str = "conditional") -> float:
    score = score_of(table)
    plan = Question("mutual_information", x, y, z, variant).plan(score.layout)
    loss, dynkin = expected(plan, score, AllSubsets())
    assert abs(loss - dynkin) < TIGHT
    return loss


def entropy(table: Tensor, x: str, z: str = "") -> float:
    score = score_of(table)
    return expected(Question("entropy", x, z=z).plan(score.layout), score, AllSubsets())[0]


@quick
@given(laws())
def test_a_law_does_not_diverge_from_itself(table: Tensor) -> None:
    score = score_of(table)
    plan = measures.kl_divergence(score.layout, Selection.parse("x+y+z", score.layout.blocks))
    assert expected(plan, score, AllSubsets(), score) == (0.0, 0.0)


@quick
@given(laws(2), laws(2))
def test_divergence_is_not_negative(p: Tensor, q: Tensor) -> None:
    if p.shape != q.shape:
        return
    plan = measures.kl_divergence(score_of(p).layout, Selection.parse("x+y", score_of(p).layout.blocks))
    loss, dynkin = expected(plan, score_of(p), AllSubsets(), score_of(q))
    assert loss > -TIGHT
    assert dynkin > -TIGHT


@quick
@given(laws(), st.randoms(use_true_random=False))
def test_new_names_for_symbols_change_nothing(table: Tensor, random) -> None:
    renamed = table
    for axis, size in enumerate(table.shape):
        renamed = renamed.index_select(axis, torch.tensor(random.sample(range(size), size)))
    assert abs(ask(table, "x", "y+z") - ask(renamed, "x", "y+z")) < TIGHT
    assert abs(ask(table, "x", "y", "z") - ask(renamed, "x", "y", "z")) < TIGHT
    assert abs(entropy(table, "x+y+z") - entropy(renamed, "x+y+z")) < TIGHT


@quick
@given(laws())
def test_mutual_information_is_symmetric_and_the_variants_agree(table: Tensor) -> None:
    one = ask(table, "x", "y+z")
    assert abs(one - ask(table, "y+z", "x")) < TIGHT
    assert abs(one - ask(table, "x", "y+z", variant="joint")) < TIGHT
    assert one > -TIGHT


@quick
@given(laws())
def test_chain_rule(table: Tensor) -> None:
    assert abs(ask(table, "x", "y+z") - ask(table, "x", "y") - ask(table, "x", "z", "y")) < TIGHT
    assert abs(entropy(table, "x+y+z") - entropy(table, "x+y") - entropy(table, "z", "x+y")) < TIGHT
    assert abs(ask(table, "x", "y") - entropy(table, "x") + entropy(table, "x", "y")) < TIGHT


@quick
@given(laws(2), st.randoms(use_true_random=False))
def test_data_processing(table: Tensor, random) -> None:
    """A function of y, or y through a channel, says no more about x than y does."""
    size = table.shape[1]
    merged = torch.zeros(table.shape[0], 2, dtype=torch.float64)
    for symbol in range(size):
        merged[:, random.randrange(2)] += table[:, symbol]
    channel = torch.tensor([[random.random() + 1e-3 for _ in range(3)] for _ in range(size)], dtype=torch.float64)
    passed = table @ (channel / channel.sum(1, keepdim=True))
    whole = ask(table, "x", "y")
    assert ask(merged, "x", "y") <= whole + TIGHT
    assert ask(passed / passed.sum(), "x", "y") <= whole + TIGHT


@quick
@given(laws())
def test_a_part_says_no_more_than_the_whole(table: Tensor) -> None:
    assert ask(table, "x", "y") <= ask(table, "x", "y+z") + TIGHT


@quick
@given(laws(2))
def test_entropy_is_the_information_of_a_copy(table: Tensor) -> None:
    law = table.reshape(-1)[: min(6, table.numel())]
    law = law / law.sum()
    copy = torch.diag(law)
    assert abs(ask(copy, "x", "y") - entropy(copy, "x")) < TIGHT


@quick
@given(laws())
def test_bounds_of_multivariate_measures(table: Tensor) -> None:
    score = score_of(table)
    names = ("total_correlation", "dual_total_correlation", "o_information")
    plans = [Question(name, "x+y+z").plan(score.layout) for name in names]
    total, dual, omega = (expected(plan, score, AllSubsets())[0] for plan in plans)
    assert min(total, dual) > -TIGHT
    assert abs(omega - total + dual) < TIGHT
    assert total <= 2 * dual + TIGHT  # TC <= (n - 1) DTC, Austin 2018
    assert dual <= 2 * total + TIGHT
