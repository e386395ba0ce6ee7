"""Closed forms behind the tasks with a known answer, in nats."""

from math import log

import numpy as np

_MAX_STATES = 4**10
_MONTE_CARLO_DRAWS = 200_000


def entropy_of(law: np.ndarray) -> float:
    """-SUM p ln p, with 0 ln 0 = 0."""
    positive = law[law > 0]
    return float(-(positive * np.log(positive)).sum())


def bernoulli_entropy(p: float) -> float:
    """h2(p) = -p ln p - (1-p) ln(1-p)."""
    return entropy_of(np.array([p, 1 - p]))


def channel_entropy(error: float, letters: int) -> float:
    """Entropy of a symmetric channel's output given its input: -(1-e) ln(1-e) - e ln(e/(K-1))."""
    return bernoulli_entropy(error) + error * log(letters - 1)


def series_error(error: float, letters: int) -> float:
    """Error of two equal symmetric channels in series: 2 e (1-e) + e^2 (K-2)/(K-1)."""
    return 2 * error * (1 - error) + error**2 * (letters - 2) / (letters - 1)


def table_information(table: np.ndarray) -> float:
    """Mutual information of a joint table: H(X) + H(Y) - H(X,Y)."""
    return entropy_of(table.sum(1)) + entropy_of(table.sum(0)) - entropy_of(table.ravel())


def joint_table(letters: int, nats: float, rng: np.random.Generator) -> np.ndarray:
    """A random K x K joint table whose mutual information is ``nats``, to rounding.

    A random permutation with random marginals and a random table mixed in is weakened towards the
    product of its marginals; on that line the information rises from 0, so bisection finds the weight.
    """
    while True:
        strong = np.zeros((letters, letters))
        strong[np.arange(letters), rng.permutation(letters)] = rng.dirichlet(np.full(letters, 20.0))
        rough = rng.dirichlet(np.ones(letters * letters)).reshape(letters, letters)
        share = 0.1
        while share > 1e-6 and table_information((1 - share) * strong + share * rough) <= nats:
            share /= 2
        start = (1 - share) * strong + share * rough
        if table_information(start) > nats:
            break
    product = np.outer(start.sum(1), start.sum(0))

    low, high = 0.0, 1.0
    while nats > 0 and low < (middle := (low + high) / 2) < high:
        information = table_information(middle * start + (1 - middle) * product)
        low, high = (middle, high) if information < nats else (low, middle)
    return low * start + (1 - low) * product


def rewired_information(rho: float, length: int, letters: int) -> float:
    """I(X;Y) where Y is X with probability rho, else independent; M = K^L equally likely words.

    (rho + (1-rho)/M) ln(rho M + 1-rho) + (1 - 1/M) (1-rho) ln(1-rho), with 1/M taken as is for any L.
    """
    log_m = length * log(letters)
    inverse = np.exp(-log_m)
    equal = rho + (1 - rho) * inverse
    nats = equal * (log_m + np.log(equal)) if equal > 0 else 0.0
    if rho < 1:
        nats += (1 - inverse) * (1 - rho) * log(1 - rho)
    return float(nats)


def sticky_output_entropy(length: int, letters: int, stay: float, error: float, seed: int) -> tuple[float, str]:
    """H(Y) of a sticky chain seen through a symmetric channel, and how it was got.

    The forward algorithm gives p(y); it runs over all K^L words where these are few, else over draws.
    """
    move = np.full((letters, letters), (1 - stay) / (letters - 1))
    np.fill_diagonal(move, stay)
    emit = np.full((letters, letters), error / (letters - 1))
    np.fill_diagonal(emit, 1 - error)
    if letters**length <= _MAX_STATES:
        law = _all_word_probabilities(length, move, emit)
        return entropy_of(law), f"forward algorithm over all {letters}^{length} words"
    log_p = _drawn_log_probabilities(length, move, emit, np.random.default_rng([seed, 3]))
    error_nats = log_p.std(ddof=1) / np.sqrt(len(log_p))
    return float(-log_p.mean()), f"forward algorithm on {len(log_p):,} draws, standard error {error_nats:.2g} nats"


def _all_word_probabilities(length: int, move: np.ndarray, emit: np.ndarray) -> np.ndarray:
    letters = len(move)
    forward = emit.T / letters  # row y, column x: p(x_1 = x, y_1 = y)
    for _ in range(length - 1):
        forward = ((forward @ move)[:, None, :] * emit.T[None]).reshape(-1, letters)
    return forward.sum(1)


def _drawn_log_probabilities(length: int, move: np.ndarray, emit: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    letters, n = len(move), _MONTE_CARLO_DRAWS
    state = rng.integers(letters, size=n)
    forward = np.full((n, letters), 1 / letters)
    log_p = np.zeros(n)
    for position in range(length):
        if position:
            state = _next_letter(state, move, rng)
            forward = forward @ move
        forward = forward * emit.T[_next_letter(state, emit, rng)]
        norm = forward.sum(1)
        log_p += np.log(norm)
        forward /= norm[:, None]
    return log_p


def _next_letter(state: np.ndarray, law: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One draw from row ``state`` of a table of transition probabilities."""
    return (rng.random(len(state))[:, None] > np.cumsum(law, axis=1)[state, :-1]).sum(1)
