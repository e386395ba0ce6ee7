"""KL(p || q) between two laws of the same blocks, each with its own score; evaluated on draws from p."""

from infosedd.blocks import EMPTY, Selection
from infosedd.layout import Layout
from infosedd.measures.plan import Plan, Sides, Term
from infosedd.orders import Order, levels


def kl_divergence(layout: Layout, x: Selection, z: Selection = EMPTY, *, order: Order = "random") -> Plan:
    """Both sides look alike; ``evaluate`` gives q its own score."""
    views = (Sides(layout).view(level, clean=z + coarser) for level, coarser in levels(x, layout, order))
    return Plan(tuple(Term(1.0, [view], [view]) for view in views))
