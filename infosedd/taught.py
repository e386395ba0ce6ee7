"""What training taught a model, and so which questions it may be asked."""

from functools import cached_property

import torch
from torch import Tensor

from infosedd.card import ModelCard
from infosedd.config import ModelConfig
from infosedd.errors import InputError
from infosedd.fitting import mix_of
from infosedd.layout import Layout
from infosedd.measures import Plan
from infosedd.queries import QueryMix, TrainingQuery

MOST_SAID = 4
"""Training queries that a message names."""


class Taught:
    """The part of a model that knows what its training asked."""

    card: ModelCard
    config: ModelConfig
    layout: Layout

    @cached_property
    def mix(self) -> QueryMix:
        """What training asked."""
        return mix_of(self.config, self.layout)

    def require_learned(self, plan: Plan) -> None:
        """An InputError that names what the model learned, unless training asked for all that the plan looks at."""
        missing = self.untaught(plan)
        if missing is None:
            return
        noised, shown = missing
        coarse = self.config.resolved_order == "coarse_to_fine"
        if coarse:  # a level is learned with all others of the same query
            noised, shown = plan.targets(), shown & ~plan.targets()
        targets, clean = (self.layout.selection_of(mask).text for mask in (noised, shown))
        learned = [_learned(query) for query in self.config.queries] or ["any token from any others"]
        more = f" and {len(learned) - MOST_SAID} more" if len(learned) > MOST_SAID else ""
        order = ", coarse to fine" if coarse else ""
        raise InputError(
            f"the model has not learned to predict {targets!r} from {clean or 'nothing'!r} with all else hidden",
            where=f"model {self.card.model_id}, which learned {'; '.join(learned[:MOST_SAID])}{more}{order}",
            remedy=f"train it with the query noised = {targets!r}, clean = {clean!r}",
        )

    def untaught(self, plan: Plan) -> tuple[Tensor, Tensor] | None:
        """Targets and shown tokens, (L,) bool each, of a view that no training query stands for.

        A token alone with nothing shown is counted, not learned, and so are several that are each alone.
        """
        for view in plan.views():
            each = [view.targets] if bool(view.noised.any()) else list(torch.eye(self.layout.seq_len)[view.targets] > 0)
            alone = self.config.process == "absorbing" or not bool(view.noised.any())
            if alone and len(each) and int(each[0].sum()) == 1 and not bool(view.clean.any()):
                continue
            for targets in each:
                if not self.mix.teaches(targets, view.clean):
                    return targets, view.clean
        return None

    def _require_random_order(self, question: str) -> None:
        if self.config.resolved_order != "random":
            raise InputError(
                f"the model was trained coarse to fine, which does not teach what {question} asks",
                where=f"model {self.card.model_id}",
                remedy="train it with order = 'random'",
            )


def _learned(query: TrainingQuery) -> str:
    """What a query teaches, in words."""
    shown = {
        "all": "",
        "window": f"windows of {query.window} of ",
        "all_but_window": f"all but windows of {query.window} of ",
        "prefix": "the first positions of ",
        "subset": "any of ",
    }[query.show]
    given = " and ".join(filter(None, [f"{shown}{query.clean}" if query.clean else "", query.given]))
    return f"{query.noised} from {given or 'nothing'}"
