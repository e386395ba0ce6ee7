"""What may be asked of a model, as the queries that it was trained on tell."""

from collections.abc import Callable

import pytest

from infosedd.card import ModelCard
from infosedd.config import ModelConfig
from infosedd.divergence import kl_divergence
from infosedd.errors import InputError
from infosedd.model import ScoreModel
from tests.infosedd.laws import layout_of


def untrained(queries: list[dict], order: str) -> ScoreModel:
    """A model without networks: it can only refuse."""
    config = ModelConfig.parse({"queries": queries, "order": order})
    card = ModelCard("m", "c", "c", "absorbing", "none", (), {}, 0, 0, 0.0, 0.0, "", 0, "2026-01-01")
    return ScoreModel(card, config, layout_of(x=(4, 2), y=(4, 2), z=(1, 2)), [])


@pytest.mark.parametrize(
    ("queries", "ask", "missing"),
    [
        ([{"noised": "y", "clean": "x"}], lambda m: m.mutual_information("x", "y"), "'y' from 'nothing'"),
        ([{"noised": "z", "clean": "x"}], lambda m: m.mutual_information("x", "z", "y"), "'z' from 'x\\+y'"),
        ([{"noised": "z", "clean": "x"}], lambda m: m.entropy("z", "y"), "'z' from 'y'"),
        ([{"noised": "z", "clean": "x"}], lambda m: m.information_added("x", "z"), "'z' from 'x\\[0\\]'"),
        ([{"noised": "z", "clean": "x"}], lambda m: m.pairwise_matrix("x"), "'x\\[1\\]' from 'x\\[0\\]'"),
        ([{"noised": "z"}], lambda m: kl_divergence(m, m, "x+y"), "'x\\+y' from 'nothing'"),
    ],
)
def test_what_was_not_trained_is_refused(queries: list[dict], ask: Callable, missing: str) -> None:
    with pytest.raises(InputError, match=f"has not learned to predict {missing}.*which learned {queries[0]['noised']}"):
        ask(untrained(queries, "random"))


def test_coarse_to_fine_does_not_teach_a_token_from_all_others() -> None:
    model = untrained([{"noised": "y", "clean": "x"}, {"noised": "y"}], "coarse_to_fine")
    for ask in (model.dual_total_correlation, model.o_information, model.pairwise_matrix):
        with pytest.raises(InputError, match=r"trained coarse to fine.*train it with order = 'random'"):
            ask("y")
