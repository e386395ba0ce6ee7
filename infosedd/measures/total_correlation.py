"""Total correlation TC(X | Z) = SUM_i H(x_i | z) - H(x | z) = KL(p(x | z) || PROD_i p(x_i | z)) (Watanabe 1960)."""

from infosedd.blocks import EMPTY, Selection
from infosedd.layout import Layout
from infosedd.measures.plan import Plan, Sides, Term


def total_correlation(layout: Layout, x: Selection, z: Selection = EMPTY) -> Plan:
    sides = Sides(layout)
    return Plan((Term(1.0, [sides.view(x, clean=z)], [sides.view(x, noised=EMPTY, clean=z)]),))
