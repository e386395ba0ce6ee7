"""Total correlation TC(X | Z) = SUM_i H(x_i | z) - H(x | z) = KL(p(x | z) || PROD_i p(x_i | z)) (Watanabe 1960)."""

from infosedd.blocks import EMPTY, Selection
from infosedd.layout import Layout
from infosedd.measures.plan import Plan, Sides, Term
from infosedd.orders import Order, levels


def total_correlation(layout: Layout, x: Selection, z: Selection = EMPTY, *, order: Order = "random") -> Plan:
    sides = Sides(layout)
    terms = (
        Term(1.0, [sides.view(level, clean=z + coarser)], [sides.view(level, noised=EMPTY, clean=z)])
        for level, coarser in levels(x, layout, order)
    )
    return Plan(tuple(terms))
