"""Entropy H(X | Z) = SUM_i log N_i - KL(p(x | z) || uniform)."""

from infosedd.blocks import EMPTY, Selection
from infosedd.layout import Layout
from infosedd.measures.plan import Plan, Sides, Term


def entropy(layout: Layout, x: Selection, z: Selection = EMPTY) -> Plan:
    return Plan((Term(-1.0, [Sides(layout).view(x, clean=z)], []),), uniform=layout.mask_of(x))
