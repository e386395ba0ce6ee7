"""The exact score against conditionals by brute force, and tables that it refuses."""

import math

import pytest
import torch

from infosedd.errors import InputError
from infosedd.scores import ExactScore
from tests.infosedd.laws import LAYOUTS, layout_of, marginal, random_table


@pytest.mark.parametrize("name", LAYOUTS)
def test_posteriors_are_conditionals_of_the_table(name: str) -> None:
    layout = LAYOUTS[name]
    score = ExactScore(layout, random_table(layout, seed=1))
    last = layout.seq_len - 1
    tokens = score.states.clone()
    tokens[:, 0] = layout.vocab_sizes[0]  # hidden
    visibility = torch.ones(tokens.shape, dtype=torch.float64)
    visibility[:, 0] = 0
    found = score.log_posterior(tokens, visibility, [layout.names[0]])[layout.names[0]][:, 0].exp()
    conditional = score.table / marginal(score.table, range(1, last + 1))
    for row, state in enumerate(score.states.tolist()):
        torch.testing.assert_close(found[row], conditional[(slice(None), *state[1:])], rtol=0, atol=1e-12)


def test_partly_visible_tokens_weigh_in_by_their_likelihood() -> None:
    layout = layout_of(a=(1, 3), b=(1, 2))
    score = ExactScore(layout, random_table(layout, seed=2))
    row = torch.tensor([[3, 1]])  # a hidden, b noised
    sight = torch.tensor([[0.0, 0.4]], dtype=torch.float64)
    found = score.log_posterior(row, sight, ["a"])["a"][0, 0].exp()
    likelihood = torch.tensor([0.3, 0.7], dtype=torch.float64)  # (1 - v) / N, and v more for the symbol seen
    truth = (score.table * likelihood).sum(1)
    torch.testing.assert_close(found, truth / truth.sum(), rtol=0, atol=1e-12)
    # the visibility of a hidden token says nothing
    again = score.log_posterior(row, sight + torch.tensor([[0.9, 0.0]]), ["a"])["a"][0, 0].exp()
    torch.testing.assert_close(again, found, rtol=0, atol=1e-12)


def test_draws_follow_the_table() -> None:
    layout = LAYOUTS["mixed"]
    score = ExactScore(layout, random_table(layout, seed=4))
    n = 20_000
    rows = score.draw(n, torch.Generator().manual_seed(0))
    strides = torch.tensor([1, *layout.vocab_sizes.flip(0)[:-1].tolist()]).cumprod(0).flip(0)
    seen = torch.bincount((rows * strides).sum(1), minlength=len(score.states)).double() / n
    chances = score.table.reshape(-1)
    assert bool(((seen - chances).abs() <= 4 * (chances * (1 - chances) / n).sqrt()).all())


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (torch.full((3, 2), 1 / 6), "shape"),
        (torch.full((2, 3, 1), 1 / 6), "shape"),
        (torch.full((2, 3), 1 / 5), "probability law"),
        (torch.tensor([[0.6, 0.6, -0.2], [0.0, 0.0, 0.0]]), "probability law"),
        (torch.tensor([[math.nan, 0.5, 0.5], [0.0, 0.0, 0.0]]), "probability law"),
        (torch.tensor([[math.inf, 0.5, 0.5], [0.0, 0.0, 0.0]]), "probability law"),
    ],
)
def test_a_table_that_is_no_law_is_refused(table: torch.Tensor, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ExactScore(layout_of(a=(1, 2), b=(1, 3)), table.double())
