"""Time series as rows: each moment with its past, so that transfer entropy is a conditional mutual information."""

from numbers import Integral

import numpy as np

from infosedd.blocks import Block
from infosedd.corpus import Corpus, Provenance
from infosedd.errors import InputError

STRETCHES = 400
"""Stretches of consecutive moments that a corpus is cut into; each is one unit of the error and the folds."""
PASTS = 5
"""Pasts that a stretch is as long as at least, so that few of its moments share one with the next stretch."""


def lagged(series: Corpus, history: dict[str, int]) -> Corpus:
    """One row a moment: for each block ``b`` of ``series``, ``b`` at that moment and ``b_past``, its history before.

    A block of ``series`` of length T is one time series a row. A block with a history of 0 has no past.
    Consecutive moments share their pasts and are not independent, so stretches of them are groups: of equal
    length, a few times that of the past.
    """
    if wrong := [past for past in history.values() if not isinstance(past, Integral)]:
        raise InputError(f"a history of {wrong[0]!r} is no number of moments", remedy="give a whole number")
    lengths = {block.name: block.length for block in series.blocks}
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"the series differ in length: {text}", remedy="give series of the same moments")
    n_moments, longest = next(iter(lengths.values())), max(history.values())
    n_rows = n_moments - longest
    if min(history.values()) < 0 or longest < 1:
        raise InputError(f"a history of {min(history.values())} moments says nothing", remedy="give at least 1")
    if n_rows < 1:
        raise InputError(
            f"series of {n_moments} moments have no moment with a past of {longest}",
            remedy="give longer series or a shorter history",
        )
    blocks, tokens = [], {}
    for block in series.blocks:
        codes = series.tokens[block.name]
        blocks.append(Block(block.name, block.vocabulary, 1))
        tokens[block.name] = codes[:, longest:].reshape(-1, 1)
        if past := history.get(block.name, 0):
            views = np.lib.stride_tricks.sliding_window_view(codes[:, :-1], past, axis=1)
            blocks.append(Block(f"{block.name}_past", block.vocabulary, past))
            tokens[f"{block.name}_past"] = np.ascontiguousarray(views[:, longest - past :]).reshape(-1, past)
    stretch = min(n_rows, max(PASTS * longest, series.n * n_rows // STRETCHES))
    per_series = -(-n_rows // stretch)
    groups = (np.arange(series.n)[:, None] * per_series + np.arange(n_rows)[None, :] // stretch).ravel()
    return Corpus(
        name=f"{series.name}, lagged",
        blocks=tuple(blocks),
        tokens=tokens,
        groups=groups,
        provenance=Provenance(n_read=series.n * n_rows),
    )
