"""O-information Omega = TC - DTC: above 0 where redundancy prevails, below where synergy does (Rosas et al. 2019)."""

from infosedd.blocks import EMPTY, Selection
from infosedd.layout import Layout
from infosedd.measures.dual_total_correlation import dual_total_correlation
from infosedd.measures.plan import Plan, Term
from infosedd.measures.total_correlation import total_correlation
from infosedd.orders import Order


def o_information(layout: Layout, x: Selection, z: Selection = EMPTY, *, order: Order = "random") -> Plan:
    minus = (Term(-t.coefficient, t.p, t.q) for t in dual_total_correlation(layout, x, z, order=order).terms)
    return Plan((*total_correlation(layout, x, z, order=order).terms, *minus))
