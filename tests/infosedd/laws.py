"""Small laws given as tables, and their measures by enumeration: slow, obvious, apart from the code under test."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from torch import Tensor

from infosedd import measures
from infosedd.blocks import EMPTY, Block, Selection, Vocabulary
from infosedd.layout import Layout
from infosedd.measures import Plan
from infosedd.noise import Noise
from infosedd.orders import Order
from infosedd.processes import NoiseProcess
from infosedd.scores import ExactScore

Axes = Sequence[int]


def block(name: str, length: int, size: int) -> Block:
    return Block(name, Vocabulary(tuple(f"s{i}" for i in range(size))), length)


def layout_of(**blocks: tuple[int, int]) -> Layout:
    """A layout of blocks ``name=(length, vocabulary size)``."""
    return Layout(tuple(block(name, length, size) for name, (length, size) in blocks.items()))


def random_table(layout: Layout, seed: int, floor: float = 0.0) -> Tensor:
    """A law from the flat Dirichlet, mixed with a share ``floor`` of the uniform law."""
    shape = tuple(layout.vocab_sizes.tolist())
    flat = np.random.default_rng(seed).dirichlet(np.ones(prod(shape)))
    return torch.from_numpy((1 - floor) * flat + floor / prod(shape)).reshape(shape)


def marginal(table: Tensor, axes: Axes) -> Tensor:
    """The law of some axes; the others keep length 1, so that marginals multiply."""
    others = [axis for axis in range(table.ndim) if axis not in axes]
    return table.sum(others, keepdim=True) if others else table


def entropy(table: Tensor, x: Axes, z: Axes = ()) -> float:
    """H(X | Z)."""

    def joint(axes: Axes) -> float:
        p = marginal(table, axes)
        return -float(torch.xlogy(p, p).sum())

    return joint([*x, *z]) - joint(z)


def mutual_information(table: Tensor, x: Axes, y: Axes, z: Axes = ()) -> float:
    return entropy(table, x, z) - entropy(table, x, [*y, *z])


def total_correlation(table: Tensor, x: Axes, z: Axes = ()) -> float:
    return sum(entropy(table, [i], z) for i in x) - entropy(table, x, z)


def dual_total_correlation(table: Tensor, x: Axes, z: Axes = ()) -> float:
    return entropy(table, x, z) - sum(entropy(table, [i], [*(j for j in x if j != i), *z]) for i in x)


def o_information(table: Tensor, x: Axes, z: Axes = ()) -> float:
    return total_correlation(table, x, z) - dual_total_correlation(table, x, z)


def divergence(p: Tensor, q: Tensor) -> float:
    """KL(p || q) of two tables."""
    return float((torch.xlogy(p, p) - torch.xlogy(p, q)).sum())


def noised(table: Tensor, axes: Axes, process: NoiseProcess, sigma_bar: float) -> Tensor:
    """The law after noise on some axes, which for the absorbing process gain the mask as their last state."""
    for axis in axes:
        size = table.shape[axis]
        transition = process.transition(size, torch.tensor(sigma_bar, dtype=torch.float64))[:size]
        table = torch.tensordot(table, transition, dims=([axis], [0])).movedim(-1, axis)
    return table


@dataclass(frozen=True)
class Question:
    """A measure of blocks, as a plan for the code under test and as a number by enumeration."""

    measure: str
    x: str
    y: str = ""
    z: str = ""
    variant: str = "conditional"

    def __str__(self) -> str:
        return f"{self.measure}({self.x};{self.y}|{self.z})-{self.variant}"

    def selections(self, layout: Layout) -> tuple[Selection, Selection, Selection]:
        x, y, z = (Selection.parse(e, layout.blocks) if e else EMPTY for e in (self.x, self.y, self.z))
        return x, y, z

    def axes(self, layout: Layout) -> tuple[list[int], list[int], list[int]]:
        x, y, z = (torch.nonzero(layout.mask_of(s)).flatten().tolist() for s in self.selections(layout))
        return x, y, z

    def plan(self, layout: Layout, order: Order = "random") -> Plan:
        x, y, z = self.selections(layout)
        if self.measure == "mutual_information":
            return measures.mutual_information(layout, x, y, z, variant=self.variant, order=order)
        return getattr(measures, self.measure)(layout, x, z, order=order)

    def truth(self, table: Tensor, layout: Layout) -> float:
        x, y, z = self.axes(layout)
        if self.measure == "mutual_information":
            return mutual_information(table, x, y, z)
        return globals()[self.measure](table, x, z)


LAYOUTS = {
    "one block": layout_of(a=(3, 2)),
    "two tokens": layout_of(a=(1, 4), b=(1, 2)),
    "mixed": layout_of(a=(2, 2), b=(1, 3), c=(1, 2)),
}

QUESTIONS = [
    ("one block", Question("entropy", "a")),
    ("one block", Question("entropy", "a[1]", z="a[0]+a[2]")),
    ("one block", Question("mutual_information", "a[0:2]", "a[2]")),
    ("one block", Question("mutual_information", "a[2]", "a[0]", variant="joint")),
    ("one block", Question("total_correlation", "a")),
    ("one block", Question("dual_total_correlation", "a")),
    ("one block", Question("o_information", "a")),
    ("two tokens", Question("entropy", "b", z="a")),
    ("two tokens", Question("mutual_information", "a", "b")),
    ("two tokens", Question("mutual_information", "a", "b", variant="joint")),
    ("mixed", Question("entropy", "a+b+c")),
    ("mixed", Question("entropy", "a[1]+b", z="c")),
    ("mixed", Question("mutual_information", "a", "b+c")),
    ("mixed", Question("mutual_information", "a", "b+c", variant="joint")),
    ("mixed", Question("mutual_information", "a[0]+b", "a[1]", z="c")),
    ("mixed", Question("mutual_information", "a[0]+b", "a[1]", z="c", variant="joint")),
    ("mixed", Question("total_correlation", "a+b+c")),
    ("mixed", Question("total_correlation", "a+b", z="c")),
    ("mixed", Question("dual_total_correlation", "a+b+c")),
    ("mixed", Question("dual_total_correlation", "a+b", z="c")),
    ("mixed", Question("o_information", "a+b+c")),
    ("mixed", Question("o_information", "a+c", z="b")),
]


def expected(plan: Plan, score: ExactScore, noise: Noise, score_q: ExactScore | None = None) -> tuple[float, float]:
    """Mean of both estimators (loss_difference, dynkin) over the law of ``score``, by its states and their chances."""
    chances = score.table.reshape(-1)
    there = chances > 0
    values = measures.evaluate(plan, score, score.states[there], noise, score_q=score_q)
    loss, dynkin = (float(chances[there] @ v) for v in (values.loss_difference, values.dynkin))
    return loss, dynkin
