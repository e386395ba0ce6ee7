"""The tasks with a known answer: their stated truths, and draws that agree with them."""

from math import log

import numpy as np
import pytest

import connectors
from connectors.errors import SyntheticError
from connectors.synthetic import draw
from connectors.synthetic_tasks import TASKS
from connectors.synthetic_truths import channel_entropy, joint_table, table_information

# task, options, measure, x, y, nats: values worked out apart from this code.
KNOWN = [
    ("paired_letters", {"length": 50}, "mutual_information", "x", "y", 50.0),
    ("paired_letters", {"length": 10, "nats": 0.05}, "mutual_information", "x", "y", 0.5),
    ("symmetric_channel", {"length": 8}, "mutual_information", "x", "y", 7.6108),
    ("symmetric_channel", {"length": 1, "error": 0.085604}, "mutual_information", "x", "y", 1.0),
    ("symmetric_channel", {"length": 1, "error": 0.273074}, "mutual_information", "x", "y", 0.5),
    ("symmetric_channel", {"length": 5, "error": 0.75}, "mutual_information", "x", "y", 0.0),
    ("erasure_channel", {"length": 8}, "mutual_information", "x", "y", 7.7632),
    ("rewired_pairs", {"length": 8}, "mutual_information", "x", "y", 4.8521),
    ("parity", {"length": 4}, "mutual_information", "x", "y", log(4)),
    ("parity", {"length": 4}, "total_correlation", "x+y", "", log(4)),
    ("parity", {"length": 4}, "dual_total_correlation", "x+y", "", 4 * log(4)),
    ("parity", {"length": 4}, "o_information", "x+y", "", -3 * log(4)),
    ("copies", {"length": 5}, "o_information", "x", "", 3 * log(4)),
    ("sticky_channel", {}, "mutual_information", "x", "y", 5.7631),
    ("spin_chain", {"length": 32}, "entropy", "spins", "", 19.8859),
    ("spin_chain", {"length": 32}, "mutual_information", "spins[0:16]", "spins[16:32]", 0.07403),
    ("spin_chain", {"length": 32}, "total_correlation", "spins", "", 2.2948),
    ("series_channels", {"length": 1}, "mutual_information", "x", "y", 0.69987),
    ("series_channels", {"length": 1}, "mutual_information", "x", "z", 0.95135),
    ("series_channels", {"length": 4}, "conditional_mutual_information", "x", "y", 0.0),
    ("label_noise", {"redrawn": 0.1}, "mutual_information", "x", "label", 0.4946),
    ("label_noise", {"redrawn": 0.5}, "mutual_information", "x", "label", 0.1308),
    ("label_noise", {"redrawn": 1.0}, "mutual_information", "x", "label", 0.0),
    ("independent", {}, "mutual_information", "x", "y", 0.0),
]


def plug_in(corpus, expression):
    """Entropy of a selection by counting; right where states are few."""
    selection = corpus.select(expression)
    code = np.zeros(corpus.n, np.int64)
    for name, positions in selection.parts:
        for position in positions:
            code = code * corpus.block(name).vocabulary.size + corpus.tokens[name][:, position]
    counts = np.bincount(code)
    law = counts[counts > 0] / counts.sum()
    return float(-(law * np.log(law)).sum())


def plug_in_measure(corpus, truth):
    def entropy(*names):
        named = [name for name in names if name]
        return plug_in(corpus, "+".join(named)) if named else 0.0

    x, y, z = truth.x, truth.y, truth.z
    if truth.measure == "entropy":
        return entropy(x, z) - entropy(z)
    if truth.measure in ("mutual_information", "conditional_mutual_information"):
        return entropy(x, z) + entropy(y, z) - entropy(x, y, z) - entropy(z)
    positions = [f"{name}[{i}]" for name, places in corpus.select(x).parts for i in places]
    singles = sum(plug_in(corpus, position) for position in positions)
    whole = plug_in(corpus, x)
    rest = sum(whole - plug_in(corpus, "+".join(p for p in positions if p != place)) for place in positions)
    total, dual = singles - whole, whole - rest
    return {"total_correlation": total, "dual_total_correlation": dual, "o_information": total - dual}[truth.measure]


@pytest.mark.parametrize(("task", "options", "measure", "x", "y", "nats"), KNOWN)
def test_stated_truths(task, options, measure, x, y, nats):
    _, truths = draw(task, n=2, **options)
    found = [truth.nats for truth in truths if (truth.measure, truth.x, truth.y) == (measure, x, y)]
    assert found == [pytest.approx(nats, abs=2e-4 if nats else 1e-12)]


@pytest.mark.parametrize("task", [task for task in TASKS if task != "product_tables"])
def test_draws_agree_with_every_truth_by_counting(task):
    reads = TASKS[task].reads
    options = {"length": 3 if task != "spin_chain" else 6}
    if "letters" in reads and task not in ("paired_letters",):
        options["letters"] = 2
    if task == "paired_letters":
        options.update(length=1, nats=0.4)
    corpus, truths = draw(task, n=200_000, seed=3, **options)
    assert corpus.n == 200_000
    for truth in truths:
        assert plug_in_measure(corpus, truth) == pytest.approx(truth.nats, abs=0.012), truth


def test_product_tables_kl():
    options = {"task": "product_tables", "n": 100_000, "length": 2, "seed": 1}
    here, there = (connectors.ingest("synthetic", [], {**options, "side": side}, name=side) for side in "pq")
    truths = connectors.divergences("synthetic", {**options, "side": "p"}, {**options, "side": "q"})
    p, q = (np.bincount(corpus.tokens["x"].ravel(), minlength=4) / 200_000 for corpus in (here, there))
    kl = next(truth.nats for truth in truths if truth.measure == "kl_divergence")
    assert 2 * (p * np.log(p / q)).sum() == pytest.approx(kl, abs=0.01)
    assert kl > 0.05
    assert connectors.divergences("synthetic", options, options)[0].nats == 0
    assert connectors.divergences("synthetic", options, {**options, "length": 3}) == ()
    assert connectors.divergences("synthetic", {"task": "parity"}, options) == ()
    assert connectors.divergences("table", {}, {}) == ()


@pytest.mark.parametrize("nats", [0.0, 0.05, 0.5, 1.0, 1.3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_joint_table_carries_exactly_what_is_asked(nats, seed):
    table = joint_table(4, nats, np.random.default_rng(seed))
    assert table.sum() == pytest.approx(1, abs=1e-12)
    assert (table >= 0).all()
    assert table_information(table) == pytest.approx(nats, abs=1e-12)


def test_pairs_have_tables_of_their_own():
    corpus, _ = draw("paired_letters", n=50_000, length=3, seed=0)
    x, y = corpus.tokens["x"], corpus.tokens["y"]
    tables = [np.bincount(x[:, i] * 4 + y[:, i], minlength=16).reshape(4, 4) / 50_000 for i in range(3)]
    assert np.abs(tables[0] - tables[1]).max() > 0.05
    for table in tables:
        assert table_information(table) == pytest.approx(1, abs=0.02)


def test_long_sticky_chain_says_how_sure_it_is():
    _, truths = draw("sticky_channel", n=2, length=20)
    assert "standard error" in truths[0].note
    _, exact = draw("sticky_channel", n=2, length=9)
    assert truths[0].nats > exact[0].nats
    assert truths[0].nats < 20 * (log(4) - channel_entropy(0.1, 4))


def test_seed_makes_the_corpus():
    one, two, other = (draw("paired_letters", n=100, seed=seed)[0] for seed in (0, 0, 1))
    assert one.corpus_id == two.corpus_id != other.corpus_id


def test_provenance_keeps_what_the_task_reads():
    corpus = connectors.ingest("synthetic", [], {"task": "parity", "n": 10, "length": 3}, name="parity")
    assert corpus.provenance.options == {"task": "parity", "n": 10, "seed": 0, "length": 3, "letters": 4}
    assert connectors.truths("synthetic", {"task": "parity", "length": 3})[0].nats == pytest.approx(log(4))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"task": "pairty"}, "did you mean 'parity'"),
        ({"task": "parity", "rho": 0.5}, "does not read 'rho'"),
        ({"task": "paired_letters", "nats": 1.4}, "can't carry 1.4 nats"),
        ({"task": "label_noise", "letters": 3}, "even number of letters"),
        ({"task": "copies", "length": 1}, "at least two positions"),
        ({"task": "parity", "n": 0}, "greater than or equal to 1"),
        ({"n": 5}, "the option .* is required"),
    ],
)
def test_what_it_refuses(options, says):
    with pytest.raises(SyntheticError, match=says):
        connectors.ingest("synthetic", [], options, name="a")
