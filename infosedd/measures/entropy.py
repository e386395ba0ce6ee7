"""Entropy H(X | Z) = SUM_i log N_i - KL(p(x | z) || uniform)."""

from infosedd.blocks import EMPTY, Selection
from infosedd.layout import Layout
from infosedd.measures.plan import Plan, Sides, Term
from infosedd.orders import Order, levels


def entropy(layout: Layout, x: Selection, z: Selection = EMPTY, *, order: Order = "random") -> Plan:
    sides = Sides(layout)
    terms = (Term(-1.0, [sides.view(level, clean=z + coarser)], []) for level, coarser in levels(x, layout, order))
    return Plan(tuple(terms), uniform=layout.mask_of(x))
