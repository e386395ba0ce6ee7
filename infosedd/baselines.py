"""Classical baselines by counting: what a user would compute without a model.

Each is the mean of pointwise values over the sample, which gives it a standard error too. A joint
plug-in saturates at ln n: with more states than samples it says ln n whatever the truth. Its rows
always carry ``ln_n``, and a warning when they are near it.
"""

import numpy as np

from infosedd.blocks import Selection
from infosedd.corpus import Corpus
from infosedd.estimation import Sample, estimate_of
from infosedd.results import Estimate

SATURATED = 0.75
"""Distinct states as a share of the sample above which a joint plug-in is called saturated."""


def mutual_information_baselines(
    corpus: Corpus, rows: np.ndarray, x: Selection, y: Selection, z: Selection, /, **facts
) -> tuple[Estimate, ...]:
    """Joint plug-in, Miller-Madow and, where Z is empty, the sum of per-position plug-ins."""
    sample = Sample.of(corpus, rows)
    a, b, c = (codes_of(corpus, s, rows) if s.parts else None for s in (x, y, z))
    joint = _pair(_pair(a, b), c)
    surprisals = [_surprisal(codes, sample) for codes in (_pair(a, c), _pair(b, c), joint, c)]
    values = surprisals[0] + surprisals[1] - surprisals[2] - surprisals[3]
    states = [_n_states(codes) for codes in (_pair(a, c), _pair(b, c), joint, c)]
    shift = (states[0] + states[1] - states[2] - states[3]) / 2
    out = _joint_estimates(values, shift, states[2] + 1, sample, facts)
    per_position = None if z.parts else per_position_values(corpus, rows, x, y)
    if per_position is not None:
        out.append(estimate_of(per_position.sum(1), sample, estimator="per_position_plug_in", **facts))
    return tuple(out)


def entropy_baselines(corpus: Corpus, rows: np.ndarray, x: Selection, z: Selection, /, **facts) -> tuple[Estimate, ...]:
    """Joint plug-in and Miller-Madow entropies H(X | Z)."""
    sample = Sample.of(corpus, rows)
    a, c = (codes_of(corpus, s, rows) if s.parts else None for s in (x, z))
    joint = _pair(a, c)
    values = _surprisal(joint, sample) - _surprisal(c, sample)
    return tuple(_joint_estimates(values, (_n_states(joint) - _n_states(c)) / 2, _n_states(joint) + 1, sample, facts))


def per_position_values(corpus: Corpus, rows: np.ndarray, x: Selection, y: Selection) -> np.ndarray | None:
    """(n, L) plug-in pointwise values of I(x_i; y) where Y is one token, or of I(x_i; y_i) where lengths agree.

    Their weighted column means are the classical per-position profile. None where lengths differ.
    """
    xs, ys = tokens_of(corpus, x, rows), tokens_of(corpus, y, rows)
    if ys.shape[1] not in (1, xs.shape[1]):
        return None
    sample = Sample.of(corpus, rows)
    columns = []
    for i in range(xs.shape[1]):
        a, b = xs[:, i], ys[:, i if ys.shape[1] > 1 else 0]
        columns.append(_surprisal(a, sample) + _surprisal(b, sample) - _surprisal(_pair(a, b), sample))
    return np.stack(columns, axis=1)


def tokens_of(corpus: Corpus, selection: Selection, rows: np.ndarray) -> np.ndarray:
    """(n, L) codes of the selected positions."""
    columns = [corpus.tokens[name][rows][:, list(p)] for name, p in selection.parts]
    return np.concatenate([column.astype(np.int32) for column in columns], axis=1)


def codes_of(corpus: Corpus, selection: Selection, rows: np.ndarray) -> np.ndarray:
    """(n,) one integer for each distinct combination of the selected tokens."""
    tokens = np.ascontiguousarray(tokens_of(corpus, selection, rows))
    packed = tokens.view(np.dtype((np.void, tokens.dtype.itemsize * tokens.shape[1]))).ravel()
    return np.unique(packed, return_inverse=True)[1]


def _joint_estimates(values: np.ndarray, shift: float, n_states: int, sample: Sample, facts: dict) -> list[Estimate]:
    """The plug-in, and the one with Miller and Madow's (1955) bias term (states - 1) / 2n for each entropy."""
    n = sample.n_samples(len(values))
    ceiling = float(np.log(n))
    saturated = n_states > SATURATED * len(values)
    notes = (f"saturated: its ceiling is ln n = {ceiling:.3f} nats, whatever the truth",) if saturated else ()
    more = {"warnings": notes, "diagnostics": {"ln_n": ceiling, "distinct_states": float(n_states)}}
    return [
        estimate_of(values, sample, estimator="plug_in", **facts, **more),
        estimate_of(values + shift / n, sample, estimator="miller_madow", **facts, **more),
    ]


def _surprisal(codes: np.ndarray | None, sample: Sample) -> np.ndarray:
    """-log of each row's observed frequency; 0 for no codes."""
    if codes is None:
        return np.zeros(1)
    weights = np.ones(len(codes)) if sample.weights is None else sample.weights
    counts = np.bincount(codes, weights)
    return -np.log(np.maximum(counts, 1e-300)[codes] / weights.sum())


def _n_states(codes: np.ndarray | None) -> int:
    """Number of distinct states, less one."""
    return 0 if codes is None else len(np.unique(codes)) - 1


def _pair(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
    """Codes of the pairs of two code columns."""
    if a is None or b is None:
        return b if a is None else a
    return np.unique(a.astype(np.int64) * (int(b.max()) + 1) + b, return_inverse=True)[1]
