"""Dual total correlation DTC(X | Z) = H(x | z) - SUM_i H(x_i | x_rest, z) (Han 1978)."""

from infosedd.blocks import EMPTY, Selection
from infosedd.layout import Layout
from infosedd.measures.plan import Plan, Sides, Term
from infosedd.orders import Order, levels


def dual_total_correlation(layout: Layout, x: Selection, z: Selection = EMPTY, *, order: Order = "random") -> Plan:
    """Each entropy is its distance to the uniform law, whose logarithms cancel in the difference."""
    sides = Sides(layout)
    joint = (Term(-1.0, [sides.view(level, clean=z + coarser)], []) for level, coarser in levels(x, layout, order))
    return Plan((*joint, *(Term(1.0, [sides.view(one, clean=rest + z)], []) for one, rest in _each(layout, x))))


def _each(layout: Layout, x: Selection) -> list[tuple[Selection, Selection]]:
    """Each position of x, and the rest of x."""
    parts = dict(x.parts)
    pairs = []
    for name, positions in x.parts:
        for i in positions:
            one = Selection.of({name: [i]}, layout.blocks)
            others = {**parts, name: [j for j in positions if j != i]}
            pairs.append((one, Selection.of(others, layout.blocks)))
    return pairs
