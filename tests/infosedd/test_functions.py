"""The Python functions in one call, and data that is bad, small or empty of information."""

import math

import numpy as np
import pytest

import infosedd
from infosedd.errors import InputError
from infosedd.results import Estimate

RNG = np.random.default_rng(0)
STEPS = {"budget": "steps", "steps": 120, "batch_size": 128, "evaluate_every": 40, "warmup": 5}
PAIRS = {"folds": 2, "network": [{"kind": "pairwise", "learning_rate": 0.1}], "training": STEPS}
QUICK = {**PAIRS, "training": {**STEPS, "steps": 20}}


def finite(estimate: Estimate) -> None:
    """No NaN anywhere."""
    for each in (estimate, *estimate.others):
        assert all(math.isfinite(v) for v in (each.nats, each.std_error, each.ci_low, each.ci_high, each.terminal_kl))
        assert all(math.isfinite(v) for v in each.diagnostics.values())
    assert np.isfinite(estimate.pointwise).all()


def test_every_public_name_is_there() -> None:
    assert all(getattr(infosedd, name) is not None for name in infosedd.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        infosedd.nothing  # noqa: B018


def test_two_lists_of_strings() -> None:
    x = ["".join(row) for row in RNG.choice(list("ACGT"), (600, 2))]
    y = ["purine" if word[0] in "AG" else "other" for word in x]
    estimate = infosedd.mutual_information(x, y, config=PAIRS)
    finite(estimate)
    assert estimate.std_error < 0.02
    assert abs(estimate.nats - math.log(2)) <= 4 * estimate.std_error + 0.02
    assert estimate.n_samples == 600
    assert estimate.bits == pytest.approx(estimate.nats / math.log(2))
    assert (estimate.x, estimate.y) == ("x", "y")


def test_a_condition_takes_the_information_away() -> None:
    z = RNG.integers(0, 2, 500)
    estimate = infosedd.mutual_information(z, z, z, config=PAIRS)
    finite(estimate)
    assert estimate.measure == "conditional_mutual_information"
    assert abs(estimate.nats) <= 4 * estimate.std_error + 0.03


@pytest.mark.parametrize("variant", ["conditional", "joint"])
def test_both_variants(variant: str) -> None:
    x = RNG.integers(0, 2, 500)
    config = {**PAIRS, "variant": variant}
    estimate = infosedd.mutual_information(x, 1 - x, config=config)
    assert abs(estimate.nats - math.log(2)) <= 4 * estimate.std_error + 0.05
    assert estimate.std_error < 0.03


def test_measures_of_one_block() -> None:
    bit = RNG.integers(0, 2, (600, 1))
    copies = np.hstack([bit, bit, bit])
    truths = {"entropy": 1, "total_correlation": 2, "dual_total_correlation": 1, "o_information": 1}
    for name, in_bits in truths.items():
        estimate = getattr(infosedd, name)(copies, config=PAIRS)
        finite(estimate)
        assert estimate.measure == name
        assert estimate.std_error < 0.1
        assert abs(estimate.bits - in_bits) <= 4 * estimate.std_error / math.log(2) + 0.12, name


def test_divergence_of_two_product_laws() -> None:
    """KL = L SUM p ln(p / q); the second corpus has its symbols in another order of appearance."""
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.3, 0.4])
    x_p, x_q = (RNG.choice(list("abc"), (1500, 2), p=law) for law in (p, q))
    estimate = infosedd.kl_divergence(x_p, x_q, config=PAIRS)
    finite(estimate)
    truth = 2 * float((p * np.log(p / q)).sum())
    assert estimate.std_error < 0.06
    assert abs(estimate.nats - truth) <= 4 * estimate.std_error + 0.02
    assert estimate.measure == "kl_divergence"
    assert estimate.n_samples == 1500


def test_a_corpus_does_not_diverge_from_itself() -> None:
    x = RNG.integers(0, 3, (300, 2))
    estimate = infosedd.kl_divergence(x, x.copy(), config=PAIRS)
    finite(estimate)
    assert estimate.nats == pytest.approx(0, abs=1e-6)


def test_disjoint_supports_are_suspected_not_nan() -> None:
    estimate = infosedd.kl_divergence(np.zeros((200, 2), int), np.ones((200, 2), int), config=PAIRS)
    finite(estimate)
    assert estimate.nats > 3
    assert any("supports may be disjoint" in w for w in estimate.warnings)


def test_divergence_needs_the_same_shape() -> None:
    with pytest.raises(InputError, match="1 and 2 positions"):
        infosedd.kl_divergence(np.zeros((60, 1), int), np.zeros((60, 2), int), config=PAIRS)


def test_weights_that_are_counts_stand_for_rows() -> None:
    x = RNG.integers(0, 2, (600, 1))
    counts = RNG.integers(1, 5, 600)
    estimate = infosedd.entropy(x, weights=counts, config=QUICK)
    finite(estimate)
    assert estimate.n_samples == counts.sum()
    share = counts[x[:, 0] == 1].sum() / counts.sum()
    truth = -share * math.log(share) - (1 - share) * math.log(1 - share)
    assert estimate.nats == pytest.approx(truth, abs=0.02)


def test_a_table_of_counts_and_its_draws_one_by_one_agree() -> None:
    """Twelve symbols whose table of pairs is nearly diagonal: no row of the table stands for another."""
    x, y = (side.ravel() for side in np.indices((12, 12)))
    counts = np.where(x == y, 200, 2)
    network = [{"kind": "pairwise", "learning_rate": 0.1, "sparsity": 0.0}]
    config = {"folds": 2, "network": network, "training": {**STEPS, "steps": 200}}
    counted = infosedd.mutual_information(x, y, weights=counts, config=config)
    finite(counted)
    each = np.repeat(np.arange(144), counts)
    expanded = infosedd.mutual_information(x[each], y[each], config=config)
    joint = counts / counts.sum()
    truth = math.log(144) + float((joint * np.log(joint)).sum())  # both marginals are uniform
    assert math.log(12) - truth > 0.1
    for estimate in (counted, expanded):
        assert estimate.n_samples == counts.sum()
        assert abs(estimate.nats - truth) <= 4 * estimate.std_error + 0.03
        assert not any("evaluated rows are among" in w for w in estimate.warnings)
    assert counted.std_error == pytest.approx(expanded.std_error, rel=0.1)
    assert counted.diagnostics["duplicate_share"] == pytest.approx(expanded.diagnostics["duplicate_share"], abs=0.02)
    assert counted.rows.tolist() == list(range(144))
    assert np.average(counted.pointwise, weights=counts) == pytest.approx(counted.nats)


def test_groups_widen_the_error_bar() -> None:
    x = np.repeat(RNG.choice([0, 0, 0, 1], 60), 10)
    groups = [f"g{i:03}" for i in np.repeat(np.arange(60), 10)]
    apart, together = (infosedd.entropy(x, groups=g, config=QUICK) for g in (None, groups))
    assert together.std_error > 2 * apart.std_error
    assert together.diagnostics["n_effective"] == pytest.approx(60)


@pytest.mark.parametrize("length", [1, 3])
def test_constant_columns_have_no_entropy(length: int) -> None:
    constant = np.full((200, length), 7)
    for measure in (infosedd.entropy, infosedd.o_information):
        estimate = measure(constant, config=QUICK)
        finite(estimate)
        assert estimate.nats == pytest.approx(0, abs=1e-6)
        assert estimate.std_error == pytest.approx(0, abs=1e-6)


def test_constant_columns_carry_no_information() -> None:
    constant, other = np.zeros((200, 2), int), RNG.integers(0, 3, (200, 2))
    for x, y in ((constant, other), (other, constant), (constant, constant)):
        estimate = infosedd.mutual_information(x, y, config=PAIRS)
        finite(estimate)
        assert abs(estimate.nats) <= 4 * estimate.std_error + 0.03


def test_a_constant_position_among_others() -> None:
    x = np.hstack([RNG.integers(0, 2, (400, 1)), np.zeros((400, 1), int)])
    estimate = infosedd.entropy(x, config=PAIRS)
    finite(estimate)
    assert abs(estimate.nats - math.log(2)) <= 4 * estimate.std_error + 0.04


def test_fewer_rows_than_a_batch_and_the_fewest_that_do() -> None:
    x = RNG.integers(0, 2, 50)
    estimate = infosedd.mutual_information(x, x, config=PAIRS)
    finite(estimate)
    assert estimate.n_samples == 50
    assert any("effective samples" in w for w in estimate.warnings)
    with pytest.raises(InputError, match=r"49 rows are too few.*at least 50"):
        infosedd.mutual_information(x[:49], x[:49], config=PAIRS)


def test_hidden_values_are_left_out_and_said() -> None:
    y = RNG.integers(0, 2, 400).astype(float)
    x = y.copy()
    y[:100] = np.nan
    with pytest.raises(InputError, match="y has a missing value, row 0"):
        infosedd.mutual_information(x, y, config=PAIRS)
    estimate = infosedd.mutual_information(x, y, missing="hide", config=PAIRS)
    finite(estimate)
    assert estimate.diagnostics["rows_left_out_share"] == pytest.approx(0.25)
    assert any("25.0% of the rows have no known target" in w for w in estimate.warnings)
    assert estimate.rows.tolist() == list(range(100, 400))
    assert estimate.n_samples == 300
    assert estimate.nats == pytest.approx(np.log(2), abs=0.05)  # not scaled down by the rows left out


def test_tokens_that_z_explains_have_no_total_correlation_given_it() -> None:
    """x is eight noisy copies of z, independent given z: TC is large, TC given z is 0."""
    z = RNG.integers(0, 4, 3000)
    x = np.where(RNG.random((3000, 8)) < 0.8, z[:, None], RNG.integers(0, 4, (3000, 8)))
    estimate = infosedd.total_correlation(x, z, config={"folds": 2, "training": {"budget": "steps", "steps": 400}})
    assert abs(estimate.nats) <= 4 * estimate.std_error + 0.1  # 400 steps leave a bias under 0.1
    assert estimate.std_error < 0.1


def test_a_constant_side_says_nothing() -> None:
    x = RNG.integers(0, 4, (400, 3))
    constant = np.array(["s"] * 400)
    for other in (constant, np.array(["same"] * 400)):
        estimate = infosedd.mutual_information(x, other, config=PAIRS)
        assert abs(estimate.nats) <= 4 * estimate.std_error + 1e-3  # 1e-3: half a count among 400 rows
        assert estimate.std_error < 0.02


@pytest.mark.parametrize("n", [200, 6000])
def test_constant_columns_do_not_upset_the_default_network(n: int) -> None:
    plain = {"folds": 2, "training": {**STEPS, "steps": 10}}
    letters, constant = RNG.integers(0, 3, n), np.zeros(n, int)
    finite(infosedd.mutual_information(constant, letters, config=plain))
    finite(infosedd.mutual_information(letters, letters, constant, config=plain))
    assert infosedd.entropy(["A"] * n, config=plain).nats == 0.0


def test_the_scale_of_weights_does_not_matter() -> None:
    x, y = RNG.integers(0, 2, 2000), (RNG.random(2000) < 0.1).astype(int)
    for scale in (0.7, 1 / 2000):
        estimate = infosedd.mutual_information(x, y, weights=np.full(2000, scale), config=PAIRS)
        assert abs(estimate.nats) <= 4 * estimate.std_error + 0.002  # one free parameter of 800 training rows
        assert estimate.std_error < 0.01


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: infosedd.mutual_information([1, 2], [1]), "numbers of rows differ: x has 2, y has 1"),
        (lambda: infosedd.mutual_information([1, 2] * 50, [1, 2] * 50, seed="x"), "seed 'x' is no seed"),
        (lambda: infosedd.transfer_entropy([0, 1] * 50, [1, 0] * 50, history="2"), "history of '2' is no number"),
        (lambda: infosedd.mutual_information([1, 2], [1, 2], [1]), "numbers of rows differ"),
        (lambda: infosedd.entropy([]), "x is empty"),
        (lambda: infosedd.entropy([0.5] * 60), "not whole"),
        (lambda: infosedd.entropy(RNG.integers(0, 2, 60), config={"fold": 2}), "did you mean 'folds'"),
        (lambda: infosedd.entropy(RNG.integers(0, 2, 60), device="abacus"), "device 'abacus' can't be used"),
        (lambda: infosedd.entropy(RNG.integers(0, 2, 60), groups=[1] * 60), "1 groups can't be split"),
        (lambda: infosedd.entropy(RNG.integers(0, 2, 60), weights=[0] * 60), "add up to 0"),
    ],
)
def test_bad_input_is_named(call, said: str) -> None:
    with pytest.raises(InputError, match=said):
        call()
