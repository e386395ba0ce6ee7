"""Curves of the Ising model that follow from its draws and entropies: energy, and specific heat."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flows.report.context import Context
from infosedd.corpus import Corpus
from infosedd.estimation import Sample, mean_and_error

if TYPE_CHECKING:
    from connectors.ising import IsingOptions
    from flows.report.curves import Axis, Curve

STEP = 1e-3
"""Step of ln T in the exact specific heat."""
ROWS_A_CHUNK = 4096


def derived(context: Context, axis: "Axis", found: "Sequence[Curve]") -> "list[Curve]":
    """Energy a spin from the draws, and specific heat a spin from the estimated entropies of all spins."""
    energies = _energy(context, axis)
    entropy = next((c for c in found if c.key == ("entropy", "spins", "", "") and len(c.at) > 1), None)
    heat = [_specific_heat(context, axis, entropy)] if entropy is not None else []
    return [*([energies] if energies else []), *heat]


def energies_of(corpus: Corpus, options: "IsingOptions") -> np.ndarray:
    """(n,) energies of the draws: minus the sum over neighbours of the product of their spins."""
    from connectors.ising_sampler import candidate_bonds

    targets, present = candidate_bonds(options.length, options.row_width, options.boundary)
    spins = corpus.tokens["spins"]
    unequal = np.empty(len(spins))
    for start in range(0, len(spins), ROWS_A_CHUNK):
        part = spins[start : start + ROWS_A_CHUNK]
        ends = part[:, targets.ravel()].reshape(len(part), *targets.shape)
        unequal[start : start + ROWS_A_CHUNK] = ((ends ^ part[:, :, None]) * present).sum(axis=(1, 2))
    return 2 * unequal - present.sum()


def _energy(context: Context, axis: "Axis") -> "Curve | None":
    from flows.report.curves import Curve

    ordered = sorted((t, key) for key, t in axis.of_corpus.items() if key in context.corpora)
    if not ordered:
        return None
    at = np.array([t for t, _ in ordered])
    sites = _options(axis, at[0]).length * _options(axis, at[0]).row_width
    means = [_mean_energy(context.corpora[key], _options(axis, t)) for t, key in ordered]
    dense = np.linspace(*axis.span, 41)
    line = _exact_energy(axis, dense) / sites
    return Curve(
        slug="energy",
        title="Energy per spin, from the draws",
        at=at,
        values=np.array([mean for mean, _ in means]) / sites,
        std_errors=np.array([error for _, error in means]) / sites,
        exact=_exact_energy(axis, at) / sites,
        line=(dense, line) if np.isfinite(line).all() else None,
    )


def _specific_heat(context: Context, axis: "Axis", entropy: "Curve") -> "Curve":
    """C = T dS/dT = dS / d ln T; between two temperatures the difference quotient is the mean of C over ln T."""
    from flows.report.curves import Curve

    sites = _options(axis, entropy.at[0]).length * _options(axis, entropy.at[0]).row_width
    per = 1 if context.study is not None and context.study.report.per_position else sites
    steps, errors = np.diff(np.log(entropy.at)), entropy.std_errors
    dense = np.linspace(*axis.span, 41)
    line = (_exact_entropy(axis, dense * np.exp(STEP)) - _exact_entropy(axis, dense * np.exp(-STEP))) / (2 * STEP)
    return Curve(
        slug="specific-heat",
        title="Specific heat per spin, from entropies",
        at=np.sqrt(entropy.at[1:] * entropy.at[:-1]),
        values=np.diff(entropy.values) / steps / per,
        std_errors=np.hypot(errors[1:], errors[:-1]) / steps / per,
        exact=np.diff(entropy.exact) / steps / per,
        line=(dense, line / sites) if np.isfinite(line).all() else None,
        note="Specific heat: the difference of neighbouring entropies over that of ln T, so the mean of C = T dS/dT in "
        "between; where the curve bends sharply the mean of a wide step lies below its peak.",
    )


def _options(axis: "Axis", temperature: float) -> "IsingOptions":
    from connectors.ising import IsingOptions

    return IsingOptions.model_validate({**axis.options, "temperature": float(temperature)})


def _mean_energy(corpus: Corpus, options: "IsingOptions") -> tuple[float, float]:
    return mean_and_error(energies_of(corpus, options), Sample.of(corpus, np.arange(corpus.n)))


def _exact_energy(axis: "Axis", temperatures: np.ndarray) -> np.ndarray:
    return np.array([_exact(axis, t)[0] for t in temperatures])


def _exact_entropy(axis: "Axis", temperatures: np.ndarray) -> np.ndarray:
    return np.array([_exact(axis, t)[1] for t in temperatures])


def _exact(axis: "Axis", temperature: float) -> tuple[float, float]:
    from connectors.ising_exact import exact

    asked = _options(axis, temperature)
    known = exact(asked.length, asked.row_width, asked.temperature, asked.boundary)
    return (known.energy, known.entropy) if known else (np.nan, np.nan)
