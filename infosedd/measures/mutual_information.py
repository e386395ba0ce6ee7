"""Mutual information I(X; Y | Z) = KL(p(x, y | z) || p(x | z) p(y | z)), averaged over z."""

from typing import Literal

from infosedd.blocks import EMPTY, Selection
from infosedd.layout import Layout
from infosedd.measures.plan import Plan, Sides, Term

Variant = Literal["conditional", "joint"]


def mutual_information(
    layout: Layout, x: Selection, y: Selection, z: Selection = EMPTY, *, variant: Variant = "conditional"
) -> Plan:
    """The conditional variant noises Y only and compares X shown with X hidden; the joint one noises both.

    Both are the same number; the conditional one needs one network pass for a label Y.
    """
    sides = Sides(layout)
    if variant == "conditional":
        shown = sides.view(y, clean=x + z)
        hidden = sides.view(y, clean=z)
        return Plan((Term(1.0, [shown], [hidden]),))
    together = sides.view(x + y, clean=z)
    apart = [sides.view(x, clean=z), sides.view(y, clean=z)]
    return Plan((Term(1.0, [together], apart),))
