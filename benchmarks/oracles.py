"""What an oracle that knows the densities says of each row: pointwise values of a task, in nats.

Their mean is the best estimate that the rows allow, and their spread gives the least standard error
that any honest estimate can have.
"""

from collections.abc import Callable
from math import log

import numpy as np

from connectors.ising_exact import exact
from connectors.synthetic import SyntheticOptions
from connectors.synthetic_tasks import pair_tables
from infosedd.corpus import Corpus

Oracle = Callable[[Corpus], np.ndarray]


def zero(corpus: Corpus) -> np.ndarray:
    return np.zeros(corpus.n)


def pairs(seed: int, **options) -> Oracle:
    """SUM_i log p(x_i, y_i) / (p(x_i) p(y_i)) of the tables that the task was drawn from."""
    tables = pair_tables(SyntheticOptions(task="paired_letters", seed=seed, **options))

    def values(corpus: Corpus) -> np.ndarray:
        x, y = corpus.tokens["x"], corpus.tokens["y"]
        ratios = (np.log(t / (t.sum(1, keepdims=True) * t.sum(0))) for t in tables)
        return np.sum([ratio[x[:, i], y[:, i]] for i, ratio in enumerate(ratios)], axis=0)

    return values


def channel(error: float, letters: int = 4) -> Oracle:
    def values(corpus: Corpus) -> np.ndarray:
        return _through(corpus, error, letters) + corpus.tokens["x"].shape[1] * log(letters)

    return values


def erasure(letters: int = 4) -> Oracle:
    return lambda corpus: (corpus.tokens["y"] != letters).sum(1) * log(letters)


def label(redrawn: float, letters: int = 4) -> Oracle:
    def values(corpus: Corpus) -> np.ndarray:
        as_drawn = (corpus.tokens["x"][:, :1] < letters // 2) == corpus.tokens["label"]
        return np.where(as_drawn[:, 0], log(2 - redrawn), log(redrawn))

    return values


def rewired(rho: float, letters: int = 4) -> Oracle:
    def values(corpus: Corpus) -> np.ndarray:
        x, y = corpus.tokens["x"], corpus.tokens["y"]
        n_states = float(letters) ** x.shape[1]
        return np.log((rho * (x == y).all(1) + (1 - rho) / n_states) * n_states)

    return values


def parity(letters: int = 4) -> Oracle:
    return lambda corpus: np.full(corpus.n, log(letters))


def sticky(stay: float = 0.7, error: float = 0.1, letters: int = 4) -> Oracle:
    """log p(y | x) - log p(y), the latter by the forward algorithm."""
    move = np.full((letters, letters), (1 - stay) / (letters - 1))
    emit = np.full((letters, letters), error / (letters - 1))
    np.fill_diagonal(move, stay)
    np.fill_diagonal(emit, 1 - error)

    def values(corpus: Corpus) -> np.ndarray:
        y = corpus.tokens["y"]
        ahead, log_p = np.full((corpus.n, letters), 1 / letters), np.zeros(corpus.n)
        for column in y.T:
            seen = ahead * emit[:, column].T
            total = seen.sum(1, keepdims=True)
            log_p += np.log(total[:, 0])
            ahead = seen / total @ move
        return _through(corpus, error, letters) - log_p

    return values


def spin_chain(measure: str, beta_j: float = 0.4) -> Oracle:
    flip = 1 / (1 + np.exp(2 * beta_j))

    def values(corpus: Corpus) -> np.ndarray:
        spins = corpus.tokens["spins"]
        same = spins[:, 1:] == spins[:, :-1]
        bonds = np.where(same, log(1 - flip), log(flip))
        log_p = bonds.sum(1) - log(2)
        if measure == "entropy":
            return -log_p
        if measure == "total_correlation":
            return log_p + spins.shape[1] * log(2)
        return bonds[:, spins.shape[1] // 2 - 1] + log(2)

    return values


def ising_entropy(length: int, temperature: float) -> Oracle:
    """-log p(spins) = E / T + log Z."""
    known = exact(length, length, temperature, "torus")
    assert known is not None

    def values(corpus: Corpus) -> np.ndarray:
        spins = corpus.tokens["spins"].reshape(-1, length, length) * 2.0 - 1
        bonds = [(spins * np.roll(spins, 1, axis)).sum((1, 2)) for axis in (1, 2)]
        return known.log_partition - np.add(*bonds) / temperature

    return values


def _through(corpus: Corpus, error: float, letters: int) -> np.ndarray:
    """log p(y | x) of a symmetric channel."""
    same = corpus.tokens["x"] == corpus.tokens["y"]
    return np.where(same, log(1 - error), log(error / (letters - 1))).sum(1)
