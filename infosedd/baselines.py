"""Classical baselines by counting: what a user would compute without a model.

Each is the mean of pointwise values over the sample, which gives it a standard error too. A joint
plug-in saturates at ln n: with more states than samples it says ln n whatever the truth. Its rows
always carry ``ln_n``, and a warning when they are near it.

Only rows whose tokens are all known are counted: an unknown token is no symbol. ``n_samples`` says how
many draws those are, and a note where they are not all.
"""

import numpy as np

from infosedd.blocks import Selection
from infosedd.corpus import Corpus
from infosedd.estimation import Sample, estimate_of
from infosedd.results import Estimate

SATURATED = 0.75
"""Distinct states as a share of the sample above which a joint plug-in is called saturated."""


def mutual_information_baselines(
    corpus: Corpus,
    rows: np.ndarray,
    x: Selection,
    y: Selection,
    z: Selection,
    /,
    *,
    weights: np.ndarray | None = None,
    **facts,
) -> tuple[Estimate, ...]:
    """Joint plug-in, Miller-Madow and, where Z is empty, the sum of per-position plug-ins; none without known rows.

    ``weights`` (n,) of the rows in place of the corpus's own.
    """
    rows, sample, notes = known_rows(corpus, x + y + z, rows, weights)
    if not len(rows):
        return ()
    a, b, c = (codes_of(corpus, s, rows) if s.parts else None for s in (x, y, z))
    joint = _pair(_pair(a, b), c)
    surprisals = [_surprisal(codes, sample) for codes in (_pair(a, c), _pair(b, c), joint, c)]
    values = surprisals[0] + surprisals[1] - surprisals[2] - surprisals[3]
    states = [_n_states(codes) for codes in (_pair(a, c), _pair(b, c), joint, c)]
    shift = (states[0] + states[1] - states[2] - states[3]) / 2
    out = _joint_estimates(values, shift, states[2] + 1, sample, notes, facts)
    per_position = None if z.parts else _per_position_values(corpus, rows, x, y, sample)
    if per_position is not None:
        each = estimate_of(per_position.sum(1), sample, estimator="per_position_plug_in", warnings=notes, **facts)
        out.append(each)
    return tuple(out)


def entropy_baselines(
    corpus: Corpus, rows: np.ndarray, x: Selection, z: Selection, /, *, weights: np.ndarray | None = None, **facts
) -> tuple[Estimate, ...]:
    """Joint plug-in and Miller-Madow entropies H(X | Z); none without known rows."""
    rows, sample, notes = known_rows(corpus, x + z, rows, weights)
    if not len(rows):
        return ()
    a, c = (codes_of(corpus, s, rows) if s.parts else None for s in (x, z))
    joint = _pair(a, c)
    values = _surprisal(joint, sample) - _surprisal(c, sample)
    shift = (_n_states(joint) - _n_states(c)) / 2
    return tuple(_joint_estimates(values, shift, _n_states(joint) + 1, sample, notes, facts))


def per_position_values(corpus: Corpus, rows: np.ndarray, x: Selection, y: Selection) -> np.ndarray | None:
    """(n, L) plug-in pointwise values of I(x_i; y) where Y is one token, or of I(x_i; y_i) where lengths agree.

    Their weighted column means are the classical per-position profile. None where lengths differ.
    """
    return _per_position_values(corpus, rows, x, y, Sample.of(corpus, rows))


def _per_position_values(
    corpus: Corpus, rows: np.ndarray, x: Selection, y: Selection, sample: Sample
) -> np.ndarray | None:
    xs, ys = tokens_of(corpus, x, rows), tokens_of(corpus, y, rows)
    if ys.shape[1] not in (1, xs.shape[1]):
        return None
    columns = []
    for i in range(xs.shape[1]):
        a, b = xs[:, i], ys[:, i if ys.shape[1] > 1 else 0]
        columns.append(_surprisal(a, sample) + _surprisal(b, sample) - _surprisal(_pair(a, b), sample))
    return np.stack(columns, axis=1)


def tokens_of(corpus: Corpus, selection: Selection, rows: np.ndarray) -> np.ndarray:
    """(n, L) codes of the selected positions, in the smallest type that holds those of all their blocks."""
    return np.concatenate([corpus.tokens[name][np.ix_(rows, np.array(p, int))] for name, p in selection.parts], axis=1)


def unknown(corpus: Corpus, selection: Selection, rows: np.ndarray) -> np.ndarray:
    """(n, L) bool: which of the selected tokens the data hide."""
    parts = [
        corpus.tokens[name][np.ix_(rows, np.array(p, int))] == corpus.block(name).vocabulary.mask_id
        for name, p in selection.parts
    ]
    return np.concatenate(parts, axis=1)


def known_rows(
    corpus: Corpus, selection: Selection, rows: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, Sample, tuple[str, ...]]:
    """The rows whose selected tokens are all known, how they count, and a note where they are not all."""
    kept = ~unknown(corpus, selection, rows).any(1)
    whole = Sample.of(corpus, rows, weights=weights)
    sample = Sample.of(corpus, rows[kept], weights=None if weights is None else weights[kept])
    n, of = sample.n_samples(int(kept.sum())), whole.n_samples(len(rows))
    notes = () if kept.all() else (f"counted on the {n:,} of {of:,} samples whose tokens are all known",)
    return rows[kept], sample, notes


def codes_of(corpus: Corpus, selection: Selection, rows: np.ndarray) -> np.ndarray:
    """(n,) one integer for each distinct combination of the selected tokens."""
    tokens = np.ascontiguousarray(tokens_of(corpus, selection, rows))
    packed = tokens.view(np.dtype((np.void, tokens.dtype.itemsize * tokens.shape[1]))).ravel()
    return np.unique(packed, return_inverse=True)[1]


def _joint_estimates(
    values: np.ndarray, shift: float, n_states: int, sample: Sample, notes: tuple[str, ...], facts: dict
) -> list[Estimate]:
    """The plug-in, and the one with Miller and Madow's (1955) bias term (states - 1) / 2n for each entropy."""
    n = sample.n_samples(len(values))
    ceiling = float(np.log(n))
    if n_states > SATURATED * n:
        notes = (f"saturated: its ceiling is ln n = {ceiling:.3f} nats, whatever the truth", *notes)
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
