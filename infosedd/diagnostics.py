"""Checks of an estimate: each a named number, with a warning in plain words when it crosses its line."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np

from infosedd.estimation import Sample, mean_and_error
from infosedd.pace import History
from infosedd.results import NORMAL_95, Estimate

NEGLIGIBLE = 0.01
"""Nats below which a gap between two figures for one quantity is not warned of, whatever its share."""
LABELS_LIMIT = 16
"""Of a label with more values it is not said how common each is."""


@dataclass(frozen=True)
class Check:
    """``value`` under ``name`` in the estimate's diagnostics; ``warning`` is empty when all is well."""

    name: str
    value: float
    warning: str = ""


def dynkin_gap(loss: np.ndarray, dynkin: np.ndarray, sample: Sample) -> list[Check]:
    """loss_difference - dynkin with its paired standard error; warns above 4 errors, 5 % and 0.01 nats."""
    gap, error = mean_and_error(loss - dynkin, sample)
    size = max(abs(mean_and_error(loss, sample)[0]), abs(mean_and_error(dynkin, sample)[0]))
    wide = abs(gap) > max(4 * error, 0.05 * size, NEGLIGIBLE)
    warning = f"the two estimators differ by {abs(gap):.3g} nats: the model is not yet good enough" if wide else ""
    return [Check("dynkin_gap_nats", gap, warning), Check("dynkin_gap_std_error_nats", error)]


def overfitting(held_out: tuple[float, float], on_training: tuple[float, float]) -> list[Check]:
    """The measure on training rows less that on held-out rows, each with its error; warns where far beyond both."""
    gap = on_training[0] - held_out[0]
    wide = gap > max(4 * hypot(held_out[1], on_training[1]), 0.3 * abs(held_out[0]), NEGLIGIBLE)
    text = f"{on_training[0]:.3g} nats on training rows against {held_out[0]:.3g} held out: the network overfits"
    return [Check("train_held_out_gap_nats", gap, text if wide else "")]


def undertrained(histories: Sequence[History]) -> list[Check]:
    """Share of all learned that the last tenth of training gained, where beyond two errors; warns above 2 %."""
    shares = []
    for history in histories:
        losses = np.minimum.accumulate(history.held_out)
        learned = losses[0] - losses[-1]
        shares.append(
            (losses[history.last_tenth] - losses[-1]) / learned if learned > 0 and history.still_falls else 0.0
        )
    share = float(np.max(shares))
    text = "the held-out loss was still falling when training stopped: give it more steps"
    return [Check("still_falling_share", share, text if share > 0.02 else "")]


def above_ceiling(nats: float, error: float, ceiling: float, name: str) -> list[Check]:
    """Mutual information can't exceed an entropy; warns where it does by more than 4 errors."""
    over = nats - 4 * error > ceiling
    text = f"the estimate is above {name} = {ceiling:.3g} nats, which it can't exceed" if over else ""
    return [Check(f"{name}_nats", ceiling, text)]


def share_of_entropy(nats: float, entropy: float, name: str) -> list[Check]:
    """The estimate as a share of an entropy that it can't exceed: I / H, 0 to 1 but for its error."""
    return [Check(f"share_of_{name}", nats / entropy)] if entropy > 0 else []


def prior(codes: np.ndarray, weights: np.ndarray | None, symbols: Sequence[str]) -> list[Check]:
    """How common each value of a label is among the evaluated rows, 0 to 1; what is known about it depends on that."""
    if len(symbols) > LABELS_LIMIT:
        return []
    counts = np.bincount(codes, weights, len(symbols) + 1)[: len(symbols)]
    return [Check(f"prior_y {symbol}", float(n / counts.sum())) for symbol, n in zip(symbols, counts, strict=True)]


def counting(estimate: Estimate, others: Sequence[Estimate]) -> list[Check]:
    """Miller-Madow less the estimate, where counting can be trusted: 20 draws or more for each distinct state.

    Warns where the two differ by more than 4 errors, 5 % and twice 0.01 nats.
    """
    checks = []
    for counted in (e for e in others if e.estimator == "miller_madow"):
        if counted.n_samples >= 20 * counted.diagnostics["distinct_states"]:
            gap = counted.nats - estimate.nats
            wide = abs(gap) > max(4 * estimate.std_error, 0.05 * abs(counted.nats), 2 * NEGLIGIBLE)
            text = f"counting, for which these rows are enough, gives {counted.nats:.4g} nats: the model misses some"
            checks.append(Check("counting_gap_nats", gap, text if wide else ""))
    return checks


def sample_size(n_effective: float, n_rows: int) -> list[Check]:
    """The effective sample size; warns below 200, where held-out losses say little."""
    text = f"only {n_effective:.0f} effective samples: not enough data for a firm number" if n_effective < 200 else ""
    return [Check("n_effective", n_effective, text), Check("n_rows", float(n_rows))]


def training_size(n_effective: float) -> list[Check]:
    """The effective sample size of the least training part; warns below 150, where a network learns little."""
    text = f"the network learned from only {n_effective:.0f} effective samples: more data would move the number"
    return [Check("n_training_effective", n_effective, text if n_effective < 150 else "")]


def duplicates(in_training: float, in_test: float) -> list[Check]:
    """Shares of test rows that are among the training rows of their fold, and that another test row repeats.

    Where few states make repeats common both are high, and all is well. Only rows that are rare among
    themselves yet known from training make overfitting look like information.
    """
    leaked = in_training - in_test
    text = f"{leaked:.0%} more of the evaluated rows are among the training rows than repeat each other"
    return [Check("duplicate_share", in_training, text if leaked > 0.2 and in_test < 0.5 else "")]


def hidden_targets(share: float, rows_share: float) -> list[Check]:
    """Target tokens that the data itself hides: of the evaluated rows, and rows left out since all of theirs are."""
    texts = []
    if rows_share > 0:
        texts.append(f"{rows_share:.1%} of the rows have no known target and were left out")
    if share > 0:
        texts.append(f"{share:.1%} of the target tokens are unknown and count for nothing: the value is too low")
    if not texts:
        return []
    return [Check("hidden_target_share", share, "; ".join(texts)), Check("rows_left_out_share", rows_share)]


def hidden_shown(share: float) -> list[Check]:
    """Tokens to be shown that the data hide: the target is then predicted from less than was asked."""
    text = (
        f"{share:.1%} of the tokens that are shown or conditioned on are unknown: the value is not that of whole rows"
    )
    return [Check("hidden_shown_share", share, text)] if share > 0 else []


def seen_in_training(share: float, by_chance: float) -> list[Check]:
    """Share of the rows given that the model was trained on; warns above the largest share that chance explains."""
    text = f"{share:.0%} of the rows given are among those that the model was trained on: the value is too high"
    return [Check("seen_in_training_share", share, text if share > by_chance else "")]


def terminal(bound: float, estimate: Estimate) -> list[Check]:
    """Bound of what noise still hides at t = 1; warns where it is beyond 2 errors and 1 % of the estimate."""
    if bound == 0:
        return []
    wide = bound > 2 * estimate.std_error and bound > 0.01 * abs(estimate.nats)
    text = f"the noise at t = 1 leaves up to {bound:.3g} nats out: use the subset form, or fewer tokens"
    return [Check("terminal_kl_nats", bound, text if wide else "")]


def disjoint_supports(log_ratios: np.ndarray, n_q: float, weights: np.ndarray | None = None) -> list[Check]:
    """Share of a KL carried by rows that q gives less than 1 / n_q of p's chance; warns above 20 %.

    ``weights`` (n,) say how often each row counts.
    """
    carried = log_ratios if weights is None else weights * log_ratios
    total = np.abs(carried).sum()
    rare = log_ratios > np.log(n_q)
    share = float(carried[rare].sum() / total) if total > 0 else 0.0
    text = "q hardly ever has what these rows of p have: the supports may be disjoint, the truth infinite"
    return [Check("rare_under_q_share", share, text if share > 0.2 else "")]


def seed_spread(seed_error: float, mean_and_error: tuple[float, float]) -> list[Check]:
    """Standard error from the training seeds, apart from that of sampling; warns where it prevails and is wide."""
    nats, error = mean_and_error
    sampling = max(0.0, error**2 - seed_error**2) ** 0.5
    wide = seed_error > sampling and seed_error > 0.05 * abs(nats)
    text = f"training seeds move the estimate by {seed_error:.3g} nats, more than which rows were drawn: add members"
    return [Check("seed_std_error_nats", seed_error, text if wide else ""), Check("sampling_std_error_nats", sampling)]


def no_dependence(nats: float, error: float) -> list[Check]:
    """Says when an interval of a mutual information reaches 0."""
    text = "no dependence was found that held-out data confirm: the interval holds 0"
    return [Check("z_score", nats / error if error > 0 else 0.0, text if nats - NORMAL_95 * error <= 0 else "")]
