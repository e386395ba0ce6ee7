"""KL(p || q) between two laws of the same blocks, each with its own score; evaluated on draws from p."""

from infosedd.blocks import EMPTY, Selection
from infosedd.layout import Layout
from infosedd.measures.plan import Plan, Sides, Term


def kl_divergence(layout: Layout, x: Selection, z: Selection = EMPTY) -> Plan:
    """Both sides look alike; ``evaluate`` gives q its own score."""
    view = Sides(layout).view(x, clean=z)
    return Plan((Term(1.0, [view], [view]),))
