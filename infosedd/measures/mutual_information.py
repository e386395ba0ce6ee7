"""Mutual information I(X; Y | Z) = KL(p(x, y | z) || p(x | z) p(y | z)), averaged over z."""

from typing import Literal

from infosedd.blocks import EMPTY, Selection
from infosedd.layout import Layout
from infosedd.measures.plan import Plan, Sides, Term
from infosedd.orders import Order, levels

Variant = Literal["conditional", "joint"]


def mutual_information(
    layout: Layout,
    x: Selection,
    y: Selection,
    z: Selection = EMPTY,
    *,
    variant: Variant = "conditional",
    order: Order = "random",
) -> Plan:
    """The conditional variant noises Y only and compares X shown with X hidden; the joint one noises both.

    Both are the same number; the conditional one needs one network pass for a label Y.
    """
    sides = Sides(layout)
    if variant == "conditional":
        terms = (
            Term(1.0, [sides.view(level, clean=x + z + coarser)], [sides.view(level, clean=z + coarser)])
            for level, coarser in levels(y, layout, order)
        )
        return Plan(tuple(terms))
    terms = (
        Term(1.0, [sides.view(level, clean=z + coarser)], _apart(sides, (x, y), level, coarser, z))
        for level, coarser in levels(x + y, layout, order)
    )
    return Plan(tuple(terms))


def _apart(sides: Sides, blocks: tuple[Selection, ...], level: Selection, coarser: Selection, z: Selection) -> list:
    """One view for each of X and Y, which sees what is coarser of its own only."""
    inner = [(sides.common(level, block), sides.common(coarser, block)) for block in blocks]
    return [sides.view(mine, clean=z + own) for mine, own in inner if mine.parts]
