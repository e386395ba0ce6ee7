"""The Ising connector against exact values, brute force and its own transfer matrix."""

import itertools
from math import log

import numpy as np
import pytest

import connectors
from connectors.errors import IsingError
from connectors.ising_exact import RowTransfer, energy_variance, exact, kaufman, kl_between_temperatures
from connectors.ising_sampler import ClusterSampler, candidate_bonds, integrated_time

# L, T, entropy (nats), energy, log partition function of the torus.
KAUFMAN = [
    (4, 1.5, 1.310159922815059, -31.210280983351385, 22.11701391171598),
    (4, 2.269, 4.481696381380592, -25.052302901243515, 15.522817095899551),
    (5, 3.0, 12.756486125454051, -23.385608258645686, 20.55168887833595),
    (8, 2.269, 18.067081900457456, -95.47528826322811, 60.1452168776404),
    (8, 3.0, 34.31334719871414, -53.84418738252257, 52.26140965955499),
    (10, 5.0, 64.88830724522995, -42.82395279301539, 73.45309780383303),
    (16, 2.269, 74.68222535173707, -372.0556922033622, 238.65564633162344),
]
# boundary, L, T, information between the halves (nats).
HALVES = [
    ("torus", 4, 1.5, 0.7015647132668903),
    ("torus", 8, 2.269, 1.1553646813956533),
    ("cylinder", 4, 2.5, 0.3793128499492564),
    ("cylinder", 8, 3.0, 0.5055382983780916),
    ("open", 4, 2.0, 0.513565866013006),
    ("open", 8, 5.0, 0.16762820549043056),
]


def brute_force(rows, width, temperature, boundary):
    """Probabilities of all configurations, (2^spins, spins) bits first."""
    spins = np.array(list(itertools.product((-1, 1), repeat=rows * width)))
    targets, present = candidate_bonds(rows, width, boundary)
    first, bond = np.nonzero(present)
    energy = -(spins[:, first] * spins[:, targets[first, bond]]).sum(1)
    weight = np.exp(-energy / temperature)
    return spins, energy, weight / weight.sum(), log(weight.sum())


@pytest.mark.parametrize(("size", "temperature", "entropy", "energy", "log_z"), KAUFMAN)
def test_kaufman(size, temperature, entropy, energy, log_z):
    found = kaufman(size, size, temperature)
    assert found.entropy == pytest.approx(entropy, abs=1e-9)
    assert found.energy == pytest.approx(energy, abs=1e-9)
    assert found.log_partition == pytest.approx(log_z, abs=1e-9)


@pytest.mark.parametrize(("boundary", "size", "temperature", "nats"), HALVES)
def test_information_between_halves(boundary, size, temperature, nats):
    assert RowTransfer(size, size, temperature, boundary).halves_information() == pytest.approx(nats, abs=1e-10)


@pytest.mark.parametrize("boundary", ["torus", "cylinder", "open"])
@pytest.mark.parametrize(("rows", "width"), [(4, 3), (3, 4), (2, 2), (6, 1)])
def test_transfer_matrix_against_enumeration(rows, width, boundary):
    spins, energy, law, log_z = brute_force(rows, width, 1.7, boundary)
    transfer = RowTransfer(rows, width, 1.7, boundary)
    assert transfer.log_partition == pytest.approx(log_z, abs=1e-12)
    assert transfer.exact.energy == pytest.approx((law * energy).sum(), abs=1e-10)
    assert transfer.exact.entropy == pytest.approx(-(law * np.log(law)).sum(), abs=1e-10)
    cut = rows // 2 * width
    halves = [spins[:, :cut], spins[:, cut:]]
    entropies = []
    for half in halves:
        codes = ((half + 1) // 2) @ (1 << np.arange(half.shape[1]))
        marginal = np.bincount(codes, weights=law)
        entropies.append(-(marginal * np.log(marginal)).sum())
    information = sum(entropies) + (law * np.log(law)).sum()
    assert transfer.halves_information() == pytest.approx(information, abs=1e-10)


def test_kaufman_agrees_with_the_transfer_matrix_on_rectangles_and_at_the_critical_point():
    critical = 2 / log(1 + 2**0.5)
    for rows, width, temperature in ((4, 6, 2.3), (6, 4, 2.3), (2, 2, 1.1), (8, 8, critical), (5, 3, 0.5)):
        transfer = RowTransfer(rows, width, temperature, "torus").exact
        found = kaufman(rows, width, temperature)
        assert found.log_partition == pytest.approx(transfer.log_partition, abs=1e-9)
        assert found.energy == pytest.approx(transfer.energy, abs=1e-7)


def test_energy_variance_against_enumeration():
    _, energy, law, _ = brute_force(4, 4, 2.269, "torus")
    mean = (law * energy).sum()
    assert energy_variance(4, 4, 2.269) == pytest.approx((law * energy**2).sum() - mean**2, rel=1e-6)


def test_kl_between_temperatures():
    assert kl_between_temperatures(4, 4, 2.5, 3.0) == pytest.approx(0.190998, abs=1e-6)
    assert kl_between_temperatures(4, 4, 2.269, 3.0) == pytest.approx(0.448569, abs=1e-6)
    assert kl_between_temperatures(4, 4, 2.5, 2.5) == pytest.approx(0, abs=1e-12)


def test_chain_has_its_closed_form():
    flip = 1 / (1 + np.exp(0.8))
    h2 = -flip * log(flip) - (1 - flip) * log(1 - flip)
    transfer = RowTransfer(32, 1, 2.5, "open")
    assert transfer.exact.entropy == pytest.approx(log(2) + 31 * h2, abs=1e-10)
    assert transfer.halves_information() == pytest.approx(log(2) - h2, abs=1e-10)
    assert exact(5000, 1, 2.5, "torus").entropy == pytest.approx(5000 * h2, rel=1e-3)


@pytest.mark.parametrize("boundary", ["torus", "cylinder", "open"])
def test_exact_draws_follow_the_law(boundary):
    spins, _, law, _ = brute_force(3, 3, 2.0, boundary)
    n = 40_000
    drawn = RowTransfer(3, 3, 2.0, boundary).sample(n, np.random.default_rng(0))
    seen = np.bincount(drawn @ (1 << np.arange(9)), minlength=512)
    expected = n * law[np.argsort(((spins + 1) // 2) @ (1 << np.arange(9)))]
    chi_square = ((seen - expected) ** 2 / expected).sum()
    assert abs(chi_square - 511) < 4 * np.sqrt(2 * 511)


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("temperature", [2.0, 2.269, 3.0])
def test_swendsen_wang_energy_and_variance(size, temperature):
    chains, sweeps = 128, 60 if size == 16 else 120
    sampler = ClusterSampler(size, size, temperature, "torus", chains, np.random.default_rng(3))
    for _ in range(40):
        sampler.sweep()
    energies = []
    for _ in range(sweeps):
        sampler.sweep()
        energies.append(sampler.energy())
    by_chain = np.array(energies).T
    truth, variance = kaufman(size, size, temperature).energy, energy_variance(size, size, temperature)
    squares = (by_chain - truth) ** 2
    for values, expected in ((by_chain, truth), (squares, variance)):
        means = values.mean(1)
        assert abs(means.mean() - expected) < 3 * means.std(ddof=1) / np.sqrt(chains)


@pytest.mark.parametrize("boundary", ["cylinder", "open"])
def test_swendsen_wang_with_open_edges(boundary):
    sampler = ClusterSampler(4, 4, 2.0, boundary, 256, np.random.default_rng(4))
    energies = []
    for sweep in range(80):
        sampler.sweep()
        if sweep >= 20:
            energies.append(sampler.energy())
    means = np.array(energies).mean(0)
    expected = exact(4, 4, 2.0, boundary).energy
    assert abs(means.mean() - expected) < 3 * means.std(ddof=1) / 16


def test_integrated_time_of_an_autoregression():
    rng = np.random.default_rng(5)
    series = np.zeros((4000, 20))
    for step in range(1, 4000):
        series[step] = 0.8 * series[step - 1] + rng.normal(size=20)
    assert integrated_time(series) == pytest.approx(0.5 + 0.8 / 0.2, rel=0.05)
    assert integrated_time(np.ones((10, 2))) == 0.5


def test_corpus_of_a_torus_and_its_truths():
    options = {"length": 4, "temperature": 2.269, "n": 500, "seed": 1}
    corpus = connectors.ingest("ising", [], options, name="ising")
    block = corpus.block("spins")
    assert (block.length, block.lattice, block.periodic) == (16, (4, 4), True)
    assert corpus.groups is None
    truths = {(truth.measure, truth.x): truth.nats for truth in connectors.truths("ising", options)}
    assert truths["entropy", "spins"] == pytest.approx(4.481696381380592, abs=1e-9)
    assert truths["mutual_information", "spins[0:8]"] == pytest.approx(0.7287433680094182, abs=1e-9)
    assert truths["total_correlation", "spins"] == pytest.approx(16 * log(2) - 4.481696381380592, abs=1e-9)
    for truth in connectors.truths("ising", options):
        corpus.select(truth.x)
        assert connectors.ingest("ising", [], options, name="again").corpus_id == corpus.corpus_id


def test_corpus_of_cluster_draws_groups_by_chain():
    options = {"length": 12, "n": 300, "chains": 32, "temperature": 3.0}
    corpus = connectors.ingest("ising", [], options, name="ising")
    assert corpus.n == 300
    assert len(np.unique(corpus.groups)) == 32
    assert "integrated autocorrelation time" in corpus.provenance.notes[0]
    fixed = connectors.ingest("ising", [], {**options, "burn_in": 5, "thin": 1}, name="ising")
    assert "5 sweeps of burn-in, a draw every 1 sweeps" in fixed.provenance.notes[0]


def test_chain_corpus():
    corpus = connectors.ingest("ising", [], {"length": 20, "width": 1, "boundary": "open", "n": 100}, name="chain")
    assert corpus.block("spins").lattice == (20,)
    assert not corpus.block("spins").periodic


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"length": 20, "method": "exact"}, "rows of at most 10 spins"),
        ({"length": 4, "thin": 3}, "exact draws do not read 'thin'"),
        ({"length": 1}, "greater than or equal to 2"),
        ({"temperature": 0}, "greater than 0"),
        ({"temperature": float("inf")}, "finite"),
        ({"boundary": "moebius"}, "torus"),
        ({"temprature": 2}, "did you mean 'temperature'"),
    ],
)
def test_what_it_refuses(options, says):
    with pytest.raises(IsingError, match=says):
        connectors.ingest("ising", [], options, name="a")


def test_no_file_is_read():
    with pytest.raises(IsingError, match="reads no file"):
        connectors.ingest("ising", ["a.csv"], {}, name="a")
