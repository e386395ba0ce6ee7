"""What plain counting says about a stored corpus: composition, lengths, one position, two positions."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from infosedd.blocks import Block
from infosedd.corpus import Corpus

PAIR_COLUMNS_LIMIT = 2000
"""No pairwise matrix where positions times symbols exceed this: it would take more than a second or two."""
PAIR_ROWS_LIMIT = 20_000
SYMBOLS_LIMIT = 25
"""Alphabets larger than this are words, not letters."""


@dataclass(frozen=True)
class Counted:
    """Plug-in information in nats, and the height it has by chance where there is none."""

    nats: np.ndarray
    chance: float
    n_rows: int


def has_letters(block: Block) -> bool:
    """Whether each symbol is one character, and there are few enough to tell apart."""
    return block.vocabulary.size <= SYMBOLS_LIMIT and all(len(symbol) == 1 for symbol in block.vocabulary.symbols)


def weights_of(corpus: Corpus) -> np.ndarray:
    """(n,) how many draws each row stands for."""
    return np.ones(corpus.n) if corpus.weights is None else corpus.weights


def position_counts(corpus: Corpus, block: Block, rows: np.ndarray | None = None) -> np.ndarray:
    """(L, N) weighted counts of each symbol at each position; hidden tokens are left out."""
    weights = weights_of(corpus) if rows is None else weights_of(corpus)[rows]
    size = block.vocabulary.size
    codes = corpus.tokens[block.name] if rows is None else corpus.tokens[block.name][rows]
    return np.stack([np.bincount(column, weights, size + 1)[:size] for column in codes.T])


def label_counts(corpus: Corpus, block: Block, target: Block) -> np.ndarray:
    """(L, N, K) weighted counts of symbol and label at each position."""
    size, classes = block.vocabulary.size, target.vocabulary.size
    weights, labels = weights_of(corpus), corpus.tokens[target.name][:, 0].astype(np.int64)
    tables = []
    for column in corpus.tokens[block.name].T:
        joint = np.bincount(column * np.int64(classes + 1) + labels, weights, (size + 1) * (classes + 1))
        tables.append(joint.reshape(size + 1, classes + 1)[:size, :classes])
    return np.stack(tables)


def symbol_information(joint: np.ndarray) -> np.ndarray:
    """(L, N) what each symbol of each position adds to the plug-in I(position; label), in nats.

    The term of symbol a is p(a) KL(p(label|a) || p(label)), so that a row adds up to the information.
    """
    share = joint / joint.sum(axis=(1, 2), keepdims=True)
    expected = share.sum(axis=2, keepdims=True) * share.sum(axis=1, keepdims=True)
    ratio = np.divide(share, expected, out=np.ones_like(share), where=share > 0)
    return (share * np.log(ratio)).sum(axis=2)


def per_position_information(joint: np.ndarray) -> Counted:
    """Plug-in I(position; label) for each position, in nats, with its first-order bias as the chance level."""
    n = float(joint.sum(axis=(1, 2)).max())
    seen, labels = (joint.sum(2) > 0).sum(1), (joint.sum(1) > 0).sum(1)
    chance = float(np.median((seen - 1) * (labels - 1))) / (2 * n)
    return Counted(symbol_information(joint).sum(axis=1), chance, round(n))


def can_pair(block: Block) -> bool:
    """Whether a matrix of all pairs says something and is quickly counted."""
    few = block.vocabulary.size <= SYMBOLS_LIMIT
    return few and block.length >= 3 and block.length * block.vocabulary.size <= PAIR_COLUMNS_LIMIT


def pairwise_information(corpus: Corpus, block: Block) -> Counted:
    """Plug-in I(position i; position j) for all pairs, in nats, NaN where i = j, from at most 20,000 rows."""
    rows = np.arange(corpus.n)
    if corpus.n > PAIR_ROWS_LIMIT:
        rows = np.sort(np.random.default_rng(0).choice(corpus.n, PAIR_ROWS_LIMIT, replace=False))
    length, size = block.length, block.vocabulary.size
    counts = np.zeros((length * size, length * size))
    for codes, weights in _chunks(corpus.tokens[block.name][rows], weights_of(corpus)[rows]):
        marked = (codes[:, :, None] == np.arange(size)).reshape(len(codes), -1).astype(np.float32)
        counts += marked.T @ (marked * weights[:, None].astype(np.float32))
    joint = counts.reshape(length, size, length, size).transpose(0, 2, 1, 3)
    total = joint.sum(axis=(2, 3), keepdims=True)
    share = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    expected = share.sum(axis=3, keepdims=True) * share.sum(axis=2, keepdims=True)
    ratio = np.divide(share, expected, out=np.ones_like(share), where=share > 0)
    nats = (share * np.log(ratio)).sum(axis=(2, 3))
    np.fill_diagonal(nats, np.nan)
    seen = float(np.median((position_counts(corpus, block) > 0).sum(axis=1)))
    n = float(weights_of(corpus)[rows].sum())
    return Counted(nats, (seen - 1) ** 2 / (2 * n), len(rows))


def commonest(corpus: Corpus, block: Block) -> tuple[list[str], np.ndarray]:
    """The commonest symbol of each position, and its share of the rows (0 to 1)."""
    counts = position_counts(corpus, block)
    total = np.maximum(counts.sum(axis=1), 1e-300)
    return [block.vocabulary.symbols[i] for i in counts.argmax(axis=1)], counts.max(axis=1) / total


def symbol_shares(corpus: Corpus, block: Block, rows: np.ndarray | None = None) -> np.ndarray:
    """(N,) share of each symbol over all positions of the block; pads and hidden tokens are left out."""
    counts = position_counts(corpus, block, rows).sum(axis=0)
    if block.vocabulary.pad is not None:
        counts[block.vocabulary.code_of[block.vocabulary.pad]] = 0
    return counts / max(counts.sum(), 1e-300)


def lengths(corpus: Corpus, block: Block) -> np.ndarray:
    """(n,) number of tokens of each row that are not the pad."""
    if block.vocabulary.pad is None:
        return np.full(corpus.n, block.length)
    return (corpus.tokens[block.name] != block.vocabulary.code_of[block.vocabulary.pad]).sum(axis=1)


def letter_heights(counts: np.ndarray) -> np.ndarray:
    """(L, N) heights of a sequence logo, in bits: share times (log2 N minus the position's entropy)."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return share * (np.log2(counts.shape[1]) + (share * logs).sum(axis=1, keepdims=True))


def _chunks(codes: np.ndarray, weights: np.ndarray, size: int = 4096) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for start in range(0, len(codes), size):
        yield codes[start : start + size], weights[start : start + size]
