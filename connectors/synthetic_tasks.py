"""How each task with a known answer is drawn, and the answer.

X, Y and Z are blocks ``x``, ``y``, ``z`` of L letters out of K. h(e) is the noise entropy of a K-ary
symmetric channel with error e: -(1-e) ln(1-e) - e ln(e/(K-1)).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np
from pydantic import Field

from connectors.errors import SyntheticError
from connectors.info import Truth
from connectors.options import Options
from connectors.synthetic_truths import (
    bernoulli_entropy,
    channel_entropy,
    entropy_of,
    joint_table,
    rewired_information,
    series_error,
    sticky_output_entropy,
)
from infosedd.blocks import Block, Vocabulary

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ERASED = "_"

Draw = tuple[tuple[Block, ...], dict[str, np.ndarray]]


class SyntheticOptions(Options):
    """Options of the synthetic connector; each task reads some of them and refuses the others."""

    task: str = Field(description="which task; the connector's summary lists them")
    n: int = Field(20_000, ge=1, description="number of draws")
    seed: int = Field(0, ge=0, description="seed of the tables and the draws")
    length: int = Field(8, ge=1, description="letters in a block, L")
    letters: int = Field(4, ge=2, le=len(_LETTERS), description="size of the alphabet, K")
    nats: float = Field(1.0, ge=0, description="paired_letters: nats that each pair carries, below ln K")
    error: float = Field(0.1, ge=0, le=1, description="channels: probability that a letter becomes one of the others")
    erased: float = Field(0.3, ge=0, le=1, description="erasure_channel: probability that a letter is erased")
    rho: float = Field(0.5, ge=0, le=1, description="rewired_pairs: probability that Y is X rather than independent")
    stay: float = Field(0.7, ge=0, le=1, description="sticky_channel: probability that a letter repeats the one before")
    beta_j: float = Field(0.4, allow_inf_nan=False, description="spin_chain: coupling over temperature")
    redrawn: float = Field(0.1, ge=0, le=1, description="label_noise: probability that the label is redrawn")
    side: Literal["p", "q"] = Field("p", description="product_tables: which of the two laws to draw from")


@dataclass(frozen=True)
class Task:
    """One task: the parameters it reads, its draw, its answers, what it can't do, and its answers about two corpora."""

    reads: tuple[str, ...]
    draw: Callable[[SyntheticOptions], Draw]
    truths: Callable[[SyntheticOptions], tuple[Truth, ...]]
    check: Callable[[SyntheticOptions], None] = lambda asked: None
    divergences: Callable[[SyntheticOptions, SyntheticOptions], tuple[Truth, ...]] | None = None


def _vocabulary(size: int) -> Vocabulary:
    return Vocabulary(tuple(_LETTERS[:size]))


def _blocks(asked: SyntheticOptions, **tokens: np.ndarray) -> Draw:
    """Blocks over the task's own alphabet, one for each (n, length) array of codes."""
    blocks = tuple(Block(name, _vocabulary(asked.letters), codes.shape[1]) for name, codes in tokens.items())
    return blocks, dict(tokens)


def _rng(asked: SyntheticOptions, stream: int = 1) -> np.random.Generator:
    """Stream 0 makes tables, stream 1 draws."""
    return np.random.default_rng([asked.seed, stream])


def _uniform(asked: SyntheticOptions, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(asked.letters, size=(asked.n, asked.length), dtype=np.uint8)


def _through_channel(codes: np.ndarray, error: float, letters: int, rng: np.random.Generator) -> np.ndarray:
    """Each letter becomes one of the K - 1 others with probability ``error``."""
    shift = rng.integers(1, letters, size=codes.shape, dtype=np.uint8)
    return np.where(rng.random(codes.shape) < error, (codes + shift) % letters, codes).astype(np.uint8)


# Pairs of letters, each with a table of its own.


def pair_tables(asked: SyntheticOptions) -> list[np.ndarray]:
    rng = _rng(asked, 0)
    return [joint_table(asked.letters, asked.nats, rng) for _ in range(asked.length)]


def _check_pairs(asked: SyntheticOptions) -> None:
    ceiling = log(asked.letters)
    if asked.nats >= 0.95 * ceiling:
        raise SyntheticError(
            f"a pair of {asked.letters} letters can't carry {asked.nats:g} nats in a random table",
            remedy=f"give fewer than {0.95 * ceiling:.3f}, or more letters",
        )


def _draw_pairs(asked: SyntheticOptions) -> Draw:
    rng = _rng(asked)
    x = np.empty((asked.n, asked.length), np.uint8)
    y = np.empty_like(x)
    for position, table in enumerate(pair_tables(asked)):
        cells = np.searchsorted(np.cumsum(table.ravel())[:-1], rng.random(asked.n), side="right")
        x[:, position], y[:, position] = np.divmod(cells, asked.letters)
    return _blocks(asked, x=x, y=y)


def _pair_truths(asked: SyntheticOptions) -> tuple[Truth, ...]:
    tables = pair_tables(asked)
    total = asked.length * asked.nats
    h_x, h_y = (sum(entropy_of(table.sum(axis)) for table in tables) for axis in (1, 0))
    return (
        Truth("mutual_information", total, "x", "y"),
        Truth("total_correlation", total, "x+y"),
        Truth("entropy", h_x, "x"),
        Truth("entropy", h_y, "y"),
        Truth("entropy", h_x + h_y - total, "x+y"),
    )


# Channels.


def _draw_channel(asked: SyntheticOptions) -> Draw:
    rng = _rng(asked)
    x = _uniform(asked, rng)
    return _blocks(asked, x=x, y=_through_channel(x, asked.error, asked.letters, rng))


def _channel_truths(asked: SyntheticOptions) -> tuple[Truth, ...]:
    noise = asked.length * channel_entropy(asked.error, asked.letters)
    top = asked.length * log(asked.letters)
    return (
        Truth("mutual_information", top - noise, "x", "y"),
        Truth("entropy", top, "x"),
        Truth("entropy", top + noise, "x+y"),
        Truth("entropy", noise, "y", z="x"),
    )


def _draw_erasure(asked: SyntheticOptions) -> Draw:
    rng = _rng(asked)
    x = _uniform(asked, rng)
    y = np.where(rng.random(x.shape) < asked.erased, asked.letters, x)
    seen = Block("y", Vocabulary((*_LETTERS[: asked.letters], _ERASED)), asked.length)
    return (Block("x", _vocabulary(asked.letters), asked.length), seen), {"x": x, "y": y}


def _erasure_truths(asked: SyntheticOptions) -> tuple[Truth, ...]:
    top = asked.length * log(asked.letters)
    return (
        Truth("mutual_information", (1 - asked.erased) * top, "x", "y"),
        Truth("entropy", top, "x"),
        Truth("entropy", (1 - asked.erased) * top + asked.length * bernoulli_entropy(asked.erased), "y"),
    )


def _draw_rewired(asked: SyntheticOptions) -> Draw:
    rng = _rng(asked)
    x, other = _uniform(asked, rng), _uniform(asked, rng)
    return _blocks(asked, x=x, y=np.where(rng.random((asked.n, 1)) < asked.rho, x, other))


def _rewired_truths(asked: SyntheticOptions) -> tuple[Truth, ...]:
    nats = rewired_information(asked.rho, asked.length, asked.letters)
    return Truth("mutual_information", nats, "x", "y"), Truth("entropy", asked.length * log(asked.letters), "x")


def _draw_sticky(asked: SyntheticOptions) -> Draw:
    rng = _rng(asked)
    shape = (asked.n, asked.length)
    moves = np.where(rng.random(shape) < asked.stay, 0, rng.integers(1, asked.letters, shape))
    moves[:, 0] = rng.integers(asked.letters, size=asked.n)
    x = (np.cumsum(moves, axis=1) % asked.letters).astype(np.uint8)
    return _blocks(asked, x=x, y=_through_channel(x, asked.error, asked.letters, rng))


def _sticky_truths(asked: SyntheticOptions) -> tuple[Truth, ...]:
    h_y, note = sticky_output_entropy(asked.length, asked.letters, asked.stay, asked.error, asked.seed)
    noise = asked.length * channel_entropy(asked.error, asked.letters)
    h_x = log(asked.letters) + (asked.length - 1) * channel_entropy(1 - asked.stay, asked.letters)
    return (
        Truth("mutual_information", h_y - noise, "x", "y", note=note),
        Truth("entropy", h_x, "x"),
        Truth("entropy", h_y, "y", note=note),
        Truth("total_correlation", asked.length * log(asked.letters) - h_x, "x"),
    )


def _draw_series(asked: SyntheticOptions) -> Draw:
    rng = _rng(asked)
    x = _uniform(asked, rng)
    z = _through_channel(x, asked.error, asked.letters, rng)
    return _blocks(asked, x=x, z=z, y=_through_channel(z, asked.error, asked.letters, rng))


def _series_truths(asked: SyntheticOptions) -> tuple[Truth, ...]:
    both = series_error(asked.error, asked.letters)
    one = asked.length * (log(asked.letters) - channel_entropy(asked.error, asked.letters))
    two = asked.length * (log(asked.letters) - channel_entropy(both, asked.letters))
    return (
        Truth("conditional_mutual_information", 0.0, "x", "y", "z"),
        Truth("mutual_information", two, "x", "y"),
        Truth("mutual_information", one, "x", "z"),
        Truth("mutual_information", one, "z", "y"),
    )


# Synergy and redundancy.


def _draw_parity(asked: SyntheticOptions) -> Draw:
    x = _uniform(asked, _rng(asked))
    return _blocks(asked, x=x, y=(x.sum(axis=1, keepdims=True, dtype=np.int64) % asked.letters).astype(np.uint8))


def _parity_truths(asked: SyntheticOptions) -> tuple[Truth, ...]:
    one = log(asked.letters)
    return (
        Truth("mutual_information", one, "x", "y"),
        Truth("mutual_information", 0.0 if asked.length > 1 else one, "x[0]", "y"),
        Truth("total_correlation", one, "x+y"),
        Truth("dual_total_correlation", asked.length * one, "x+y"),
        Truth("o_information", (1 - asked.length) * one, "x+y"),
    )


def _draw_copies(asked: SyntheticOptions) -> Draw:
    letter = _rng(asked).integers(asked.letters, size=(asked.n, 1), dtype=np.uint8)
    return _blocks(asked, x=np.repeat(letter, asked.length, axis=1))


def _copies_truths(asked: SyntheticOptions) -> tuple[Truth, ...]:
    one = log(asked.letters)
    return (
        Truth("entropy", one, "x"),
        Truth("total_correlation", (asked.length - 1) * one, "x"),
        Truth("dual_total_correlation", one, "x"),
        Truth("o_information", (asked.length - 2) * one, "x"),
    )


def _check_copies(asked: SyntheticOptions) -> None:
    if asked.length < 2:
        raise SyntheticError("copies of one variable need at least two positions", remedy="give length = 2 or more")


# Spins, independence, labels, two laws.


def _draw_spins(asked: SyntheticOptions) -> Draw:
    rng = _rng(asked)
    flips = rng.random((asked.n, asked.length)) < 1 / (1 + np.exp(2 * asked.beta_j))
    flips[:, 0] = rng.random(asked.n) < 0.5
    spins = np.cumsum(flips, axis=1) % 2
    block = Block(
        "spins",
        Vocabulary(("-", "+")),
        asked.length,
        lattice=(asked.length,),
        symmetries=("reflections", "symbol_flip"),
    )
    return (block,), {"spins": spins}


def _spin_truths(asked: SyntheticOptions) -> tuple[Truth, ...]:
    step = bernoulli_entropy(1 / (1 + np.exp(2 * asked.beta_j)))
    half = asked.length // 2
    whole = (
        Truth("entropy", log(2) + (asked.length - 1) * step, "spins"),
        Truth("total_correlation", (asked.length - 1) * (log(2) - step), "spins"),
    )
    if not half:
        return whole
    left, right = f"spins[0:{half}]", f"spins[{half}:{asked.length}]"
    return *whole, Truth("mutual_information", log(2) - step, left, right)


def _draw_independent(asked: SyntheticOptions) -> Draw:
    rng = _rng(asked)
    return _blocks(asked, x=_uniform(asked, rng), y=_uniform(asked, rng))


def _independent_truths(asked: SyntheticOptions) -> tuple[Truth, ...]:
    top = asked.length * log(asked.letters)
    return (
        Truth("mutual_information", 0.0, "x", "y"),
        Truth("entropy", top, "x"),
        Truth("total_correlation", 0.0, "x+y"),
    )


def _draw_label(asked: SyntheticOptions) -> Draw:
    rng = _rng(asked)
    x = _uniform(asked, rng)
    label = x[:, :1] < asked.letters // 2
    redrawn = rng.random((asked.n, 1)) < asked.redrawn
    label = np.where(redrawn, rng.random((asked.n, 1)) < 0.5, label).astype(np.uint8)
    blocks = (Block("x", _vocabulary(asked.letters), asked.length), Block("label", Vocabulary(("0", "1")), 1))
    return blocks, {"x": x, "label": label}


def _label_truths(asked: SyntheticOptions) -> tuple[Truth, ...]:
    note = "the ceiling: the label depends on the first letter only"
    nats = log(2) - bernoulli_entropy(asked.redrawn / 2)
    return (
        Truth("mutual_information", nats, "x", "label", note=note),
        Truth("mutual_information", nats, "x[0]", "label"),
        Truth("entropy", log(2), "label"),
    )


def _check_label(asked: SyntheticOptions) -> None:
    if asked.letters % 2:
        raise SyntheticError("two equal classes need an even number of letters", remedy="give letters = 2, 4, 6 ...")


def _laws(asked: SyntheticOptions) -> Mapping[str, np.ndarray]:
    rng = _rng(asked, 0)
    return {side: rng.dirichlet(np.full(asked.letters, 5.0)) for side in ("p", "q")}


def _draw_product(asked: SyntheticOptions) -> Draw:
    stream = {"p": 1, "q": 2}[asked.side]
    law = _laws(asked)[asked.side]
    x = _rng(asked, stream).choice(asked.letters, size=(asked.n, asked.length), p=law).astype(np.uint8)
    return _blocks(asked, x=x)


def _product_truths(asked: SyntheticOptions) -> tuple[Truth, ...]:
    return (
        Truth("entropy", asked.length * entropy_of(_laws(asked)[asked.side]), "x"),
        Truth("total_correlation", 0.0, "x"),
    )


def _product_divergences(asked: SyntheticOptions, other: SyntheticOptions) -> tuple[Truth, ...]:
    """KL of two products of one law a letter: L times that of the laws."""
    if (asked.length, asked.letters) != (other.length, other.letters):
        return ()
    here, there = _laws(asked)[asked.side], _laws(other)[other.side]
    kl = asked.length * float((here * np.log(here / there)).sum())
    return (Truth("kl_divergence", kl, "x", note="KL of the two laws of a letter, times the length"),)


TASKS: dict[str, Task] = {
    "paired_letters": Task(("length", "letters", "nats"), _draw_pairs, _pair_truths, _check_pairs),
    "symmetric_channel": Task(("length", "letters", "error"), _draw_channel, _channel_truths),
    "erasure_channel": Task(("length", "letters", "erased"), _draw_erasure, _erasure_truths),
    "rewired_pairs": Task(("length", "letters", "rho"), _draw_rewired, _rewired_truths),
    "parity": Task(("length", "letters"), _draw_parity, _parity_truths),
    "copies": Task(("length", "letters"), _draw_copies, _copies_truths, _check_copies),
    "sticky_channel": Task(("length", "letters", "stay", "error"), _draw_sticky, _sticky_truths),
    "spin_chain": Task(("length", "beta_j"), _draw_spins, _spin_truths),
    "series_channels": Task(("length", "letters", "error"), _draw_series, _series_truths),
    "product_tables": Task(
        ("length", "letters", "side"), _draw_product, _product_truths, divergences=_product_divergences
    ),
    "label_noise": Task(("length", "letters", "redrawn"), _draw_label, _label_truths, _check_label),
    "independent": Task(("length", "letters"), _draw_independent, _independent_truths),
}
