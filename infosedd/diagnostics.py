"""Checks of an estimate: each a named number, with a warning in plain words when it crosses its line."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from infosedd.estimation import Sample, mean_and_error
from infosedd.pace import History
from infosedd.results import NORMAL_95, Estimate


@dataclass(frozen=True)
class Check:
    """``value`` under ``name`` in the estimate's diagnostics; ``warning`` is empty when all is well."""

    name: str
    value: float
    warning: str = ""


def dynkin_gap(loss: np.ndarray, dynkin: np.ndarray, sample: Sample) -> list[Check]:
    """loss_difference - dynkin with its paired standard error; warns above 4 errors and 5 %."""
    gap, error = mean_and_error(loss - dynkin, sample)
    size = max(abs(mean_and_error(loss, sample)[0]), abs(mean_and_error(dynkin, sample)[0]))
    wide = abs(gap) > 4 * error and abs(gap) > 0.05 * size
    warning = f"the two estimators differ by {abs(gap):.3g} nats: the model is not yet good enough" if wide else ""
    return [Check("dynkin_gap_nats", gap, warning), Check("dynkin_gap_std_error_nats", error)]


def overfitting(held_out: float, held_out_error: float, on_training: float) -> list[Check]:
    """The measure on training rows less that on held-out rows; warns where far beyond the error."""
    gap = on_training - held_out
    wide = gap > 4 * held_out_error and gap > 0.3 * abs(held_out)
    text = f"{on_training:.3g} nats on training rows against {held_out:.3g} held out: the network overfits"
    return [Check("train_held_out_gap_nats", gap, text if wide else "")]


def undertrained(histories: Sequence[History]) -> list[Check]:
    """Share of all that was learned which the last tenth of training still gained; warns above 2 %."""
    shares = []
    for history in histories:
        losses = np.minimum.accumulate(history.held_out)
        learned = losses[0] - losses[-1]
        before = losses[max(0, int(0.9 * (len(losses) - 1)) - 1)]
        shares.append((before - losses[-1]) / learned if learned > 0 else 0.0)
    share = float(np.max(shares))
    text = "the held-out loss was still falling when training stopped: give it more steps"
    return [Check("still_falling_share", share, text if share > 0.02 else "")]


def above_ceiling(nats: float, error: float, ceiling: float, name: str) -> list[Check]:
    """Mutual information can't exceed an entropy; warns where it does by more than 4 errors."""
    over = nats - 4 * error > ceiling
    text = f"the estimate is above {name} = {ceiling:.3g} nats, which it can't exceed" if over else ""
    return [Check(f"{name}_nats", ceiling, text)]


def sample_size(n_effective: float, n_rows: int) -> list[Check]:
    """The effective sample size; warns below 200, where held-out losses say little."""
    text = f"only {n_effective:.0f} effective samples: not enough data for a firm number" if n_effective < 200 else ""
    return [Check("n_effective", n_effective, text), Check("n_rows", float(n_rows))]


def training_size(n_effective: float) -> list[Check]:
    """The effective sample size of the least training part; warns below 150, where a network learns little."""
    text = f"the network learned from only {n_effective:.0f} effective samples: more data would move the number"
    return [Check("n_training_effective", n_effective, text if n_effective < 150 else "")]


def duplicates(in_training: float, in_test: float) -> list[Check]:
    """Shares of test rows that are among the training rows, and that another test row repeats.

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


def disjoint_supports(log_ratios: np.ndarray, n_q: int) -> list[Check]:
    """Share of a KL carried by rows that q gives less than 1 / n_q of p's chance; warns above 20 %."""
    total = np.abs(log_ratios).sum()
    rare = log_ratios > np.log(n_q)
    share = float(log_ratios[rare].sum() / total) if total > 0 else 0.0
    text = "q hardly ever has what these rows of p have: the supports may be disjoint, the truth infinite"
    return [Check("rare_under_q_share", share, text if share > 0.2 else "")]


def seed_spread(seed_error: float, estimate: Estimate) -> list[Check]:
    """Standard error from the training seeds, apart from that of sampling; warns where it prevails and is wide."""
    sampling = max(0.0, estimate.std_error**2 - seed_error**2) ** 0.5
    wide = seed_error > sampling and seed_error > 0.05 * abs(estimate.nats)
    text = f"training seeds move the estimate by {seed_error:.3g} nats, more than which rows were drawn: add members"
    return [Check("seed_std_error_nats", seed_error, text if wide else ""), Check("sampling_std_error_nats", sampling)]


def no_dependence(nats: float, error: float) -> list[Check]:
    """Says when an interval of a mutual information reaches 0."""
    text = "no dependence was found that held-out data confirm: the interval holds 0"
    return [Check("z_score", nats / error if error > 0 else 0.0, text if nats - NORMAL_95 * error <= 0 else "")]
