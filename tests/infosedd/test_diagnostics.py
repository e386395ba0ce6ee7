"""Each check: its number, and the line that its warning crosses."""

import numpy as np
import pytest

from infosedd import diagnostics
from infosedd.estimation import Sample
from infosedd.pace import History
from infosedd.results import Estimate

NOISE = np.random.default_rng(0).normal(0, 1, 400)
NOISE -= NOISE.mean()


def only(checks: list[diagnostics.Check], name: str) -> diagnostics.Check:
    (check,) = (c for c in checks if c.name == name)
    return check


def test_a_gap_between_the_estimators() -> None:
    def gap(shift: float, spread: float, size: float = 1.0) -> diagnostics.Check:
        dynkin = np.full(400, size)
        checks = diagnostics.dynkin_gap(dynkin + shift + spread * NOISE, dynkin, Sample())
        assert only(checks, "dynkin_gap_std_error_nats").value == pytest.approx(spread / 20, rel=0.1)
        return only(checks, "dynkin_gap_nats")

    assert gap(0.2, 0.1).value == pytest.approx(0.2)
    assert "differ by 0.2 nats" in gap(0.2, 0.1).warning
    assert "differ" in gap(-0.2, 0.1).warning
    assert gap(0.2, 1.2).warning == ""  # 3.3 errors
    assert gap(0.04, 0.01).warning == ""  # 4 %
    assert gap(0.2, 0.1, size=10).warning == ""  # 2 %
    assert gap(0.009, 0.001, size=0.01).warning == ""  # too small to matter


def test_overfitting() -> None:
    def check(held_out: float, error: float, on_training: float) -> diagnostics.Check:
        return only(diagnostics.overfitting((held_out, error), (on_training, 0.02)), "train_held_out_gap_nats")

    assert check(0.5, 0.01, 0.9).value == pytest.approx(0.4)
    assert "0.9 nats on training rows against 0.5 held out" in check(0.5, 0.01, 0.9).warning
    assert check(0.5, 0.2, 0.9).warning == ""  # within 4 errors
    assert check(5.0, 0.01, 6.0).warning == ""  # 20 %
    assert check(0.5, 0.01, 0.1).warning == ""  # better on held-out rows
    assert check(-0.1, 0.01, 0.3).warning != ""
    assert diagnostics.overfitting((0.001, 0.0001), (0.009, 0.0001))[0].warning == ""  # too small to matter


def test_a_table_that_the_rows_fill_says_what_the_model_misses() -> None:
    def check(nats: float, error: float, states: int) -> list[diagnostics.Check]:
        known = {"measure": "mutual_information", "x": "x", "n_samples": 2000}
        counted = Estimate(
            **known,
            nats=0.37,
            std_error=0.01,
            ci_low=0.35,
            ci_high=0.39,
            estimator="miller_madow",
            diagnostics={"distinct_states": float(states)},
        )
        main = Estimate(**known, nats=nats, std_error=error, ci_low=nats - error, ci_high=nats + error)
        return diagnostics.counting(main, [counted])

    assert "gives 0.37 nats" in check(0.0, 0.001, 8)[0].warning
    assert check(0.36, 0.01, 8)[0].warning == ""
    assert check(0.0, 0.1, 8)[0].warning == ""
    assert check(0.0, 0.001, 500) == []


def history(losses: list[float]) -> History:
    return History(steps=list(range(len(losses))), held_out=losses)


def test_training_that_stopped_too_early() -> None:
    falling = [10 - i * 0.2 for i in range(21)]
    settled = [10 * 0.5**i for i in range(21)]
    check = only(diagnostics.undertrained([history(settled), history(falling)]), "still_falling_share")
    assert check.value > 0.09  # the last tenth of a straight line gained a tenth of all
    assert "still falling" in check.warning
    assert only(diagnostics.undertrained([history(settled)]), "still_falling_share").warning == ""
    # noise that rises again is no progress
    assert diagnostics.undertrained([history([*settled, 3.0, 2.0, 1.0])])[0].warning == ""
    for nothing_learned in ([1.0], [1.0, 1.0], [1.0, 2.0, 3.0]):
        check = diagnostics.undertrained([history(nothing_learned)])[0]
        assert (check.value, check.warning) == (0.0, "")


def test_above_a_ceiling() -> None:
    (check,) = diagnostics.above_ceiling(1.0, 0.05, 0.7, "entropy_y")
    assert (check.name, check.value) == ("entropy_y_nats", 0.7)
    assert "above entropy_y = 0.7 nats" in check.warning
    assert diagnostics.above_ceiling(1.0, 0.08, 0.7, "entropy_y")[0].warning == ""
    assert diagnostics.above_ceiling(0.6, 0.0, 0.7, "entropy_y")[0].warning == ""


def test_sample_sizes() -> None:
    few = diagnostics.sample_size(199.0, 500)
    assert "only 199 effective samples" in only(few, "n_effective").warning
    assert only(few, "n_rows").value == 500
    assert only(diagnostics.sample_size(200.0, 500), "n_effective").warning == ""


def test_few_training_rows() -> None:
    (few,) = diagnostics.training_size(149.0)
    assert (few.name, few.value) == ("n_training_effective", 149.0)
    assert "learned from only 149 effective samples" in few.warning
    assert diagnostics.training_size(150.0)[0].warning == ""


def test_duplicates_between_training_and_test() -> None:
    (many,) = diagnostics.duplicates(0.35, 0.05)
    assert many.value == pytest.approx(0.35)
    assert "30% more of the evaluated rows" in many.warning
    assert diagnostics.duplicates(0.2, 0.05)[0].warning == ""
    assert diagnostics.duplicates(1.0, 1.0)[0].warning == ""  # few states: repeats are what the law gives


def test_hidden_targets() -> None:
    assert diagnostics.hidden_targets(0.0, 0.0) == []
    tokens, rows = diagnostics.hidden_targets(0.25, 0.1)
    assert (tokens.value, rows.value) == (0.25, 0.1)
    assert "25.0% of the target tokens are unknown" in tokens.warning
    assert "10.0% of the rows have no known target" in tokens.warning


def test_supports_that_may_be_disjoint() -> None:
    (check,) = diagnostics.disjoint_supports(np.array([0.1, 0.2, 9.0]), n_q=1000)
    assert check.value == pytest.approx(9 / 9.3)
    assert "supports may be disjoint" in check.warning
    assert diagnostics.disjoint_supports(np.array([3.0, 3.0, 3.0, 1.0]), n_q=1000)[0].warning == ""
    assert diagnostics.disjoint_supports(np.zeros(3), n_q=10)[0].value == 0


def test_no_dependence() -> None:
    (check,) = diagnostics.no_dependence(0.019, 0.01)
    assert check.value == pytest.approx(1.9)
    assert "the interval holds 0" in check.warning
    assert diagnostics.no_dependence(0.021, 0.01)[0].warning == ""
    assert diagnostics.no_dependence(0.0, 0.0)[0].value == 0


def test_the_prior_and_the_share_of_the_entropy_are_reported() -> None:
    codes, weights = np.array([0, 0, 1, 2]), np.array([1.0, 1.0, 2.0, 9.0])  # code 2 is hidden
    found = {check.name: check.value for check in diagnostics.prior(codes, weights, ("no", "yes"))}
    assert found == {"prior_y no": 0.5, "prior_y yes": 0.5}
    assert diagnostics.prior(codes, None, [str(i) for i in range(17)]) == []
    assert only(diagnostics.share_of_entropy(0.3, 0.6, "entropy_y"), "share_of_entropy_y").value == 0.5
    assert diagnostics.share_of_entropy(0.0, 0.0, "entropy_y") == []


def test_a_training_value_from_few_rows_is_no_sign_of_overfitting() -> None:
    assert diagnostics.overfitting((0.5, 0.01), (0.9, 0.15))[0].warning == ""


def test_hidden_tokens_on_the_shown_side() -> None:
    assert diagnostics.hidden_shown(0.0) == []
    assert (
        "50.0% of the tokens that are shown or conditioned on are unknown" in diagnostics.hidden_shown(0.5)[0].warning
    )


def test_rows_that_training_has_seen() -> None:
    (check,) = diagnostics.seen_in_training(1.0, 0.1)
    assert check.value == 1.0
    assert check.warning.startswith("100% of the rows given are among those that the model was trained on")
    assert diagnostics.seen_in_training(1.0, 1.0)[0].warning == ""  # few states: all are known
    assert diagnostics.seen_in_training(0.04, 0.1)[0].warning == ""


def test_what_noise_leaves_out() -> None:
    small = Estimate("entropy", 2e-5, 1e-6, 0, 0, 10)
    assert diagnostics.terminal(0.0, small) == []
    assert "leaves up to 0.001 nats out" in diagnostics.terminal(1e-3, small)[0].warning
    assert diagnostics.terminal(1e-3, Estimate("entropy", 1.0, 1e-6, 0, 0, 10))[0].warning == ""


def test_supports_are_judged_by_weight() -> None:
    ratios = np.array([0.1, 9.0])
    assert diagnostics.disjoint_supports(ratios, 1000, np.array([9000.0, 1.0]))[0].warning == ""
