"""Ladder (a): generators, transitions, samples and concrete scores against matrix_exp and brute force, float64."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from infosedd.processes import PROCESSES, AbsorbingProcess, NoiseProcess
from infosedd.scores import ExactScore
from tests.infosedd.laws import LAYOUTS, noised, random_table

BOTH = [pytest.param(kind(), id=name) for name, kind in PROCESSES.items()]
LEVELS = [1e-6, 0.05, 0.7, 3.0, 9.2]


def level(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


@pytest.mark.parametrize("process", BOTH)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(size=st.integers(1, 9), sigma_bar=st.floats(0, 12))
def test_transition_is_the_exponential_of_the_generator(process: NoiseProcess, size: int, sigma_bar: float) -> None:
    q = process.generator(size)
    assert q.dtype == torch.float64
    torch.testing.assert_close(q.sum(1), torch.zeros(len(q), dtype=torch.float64), rtol=0, atol=1e-10)
    assert bool((q - torch.diag(q.diag()) >= 0).all())
    transition = process.transition(size, level(sigma_bar))
    torch.testing.assert_close(transition, torch.matrix_exp(sigma_bar * q), rtol=0, atol=1e-10)
    torch.testing.assert_close(transition.sum(1), torch.ones(len(q), dtype=torch.float64), rtol=0, atol=1e-10)


@pytest.mark.parametrize("process", BOTH)
def test_transitions_compose_and_start_at_the_generator(process: NoiseProcess) -> None:
    first, second, both = (process.transition(4, level(s)) for s in (0.3, 0.9, 1.2))
    torch.testing.assert_close(first @ second, both, rtol=0, atol=1e-10)
    slope = torch.autograd.functional.jacobian(lambda s: process.transition(4, s), level(0.0))
    torch.testing.assert_close(slope, process.generator(4), rtol=0, atol=1e-10)


@pytest.mark.parametrize("process", BOTH)
def test_transitions_come_in_batches(process: NoiseProcess) -> None:
    levels = torch.tensor([[0.1, 0.2], [0.3, 4.0]], dtype=torch.float64)
    batch = process.transition(3, levels)
    for i, j in itertools.product(range(2), range(2)):
        assert torch.equal(batch[i, j], process.transition(3, levels[i, j]))


@pytest.mark.parametrize("process", BOTH)
def test_stationary_law_stays_and_is_where_noise_ends(process: NoiseProcess) -> None:
    law = process.stationary(5)
    assert law.sum().item() == pytest.approx(1, abs=1e-12)
    torch.testing.assert_close(law @ process.generator(5), torch.zeros_like(law), rtol=0, atol=1e-10)
    end = process.transition(5, level(60.0))
    torch.testing.assert_close(end, law.expand(len(law), -1), rtol=0, atol=1e-10)


@pytest.mark.parametrize("process", BOTH)
@pytest.mark.parametrize("sigma_bar", [0.0, 0.4, 2.5])
def test_samples_follow_the_transition_at_each_position(process: NoiseProcess, sigma_bar: float) -> None:
    n, sizes = 20_000, torch.tensor([2, 5])
    x0 = torch.tensor([[1, 3]]).repeat(n, 1)
    levels = torch.full((n, 1), sigma_bar, dtype=torch.float64)
    xt = process.sample(x0, levels, sizes, torch.Generator().manual_seed(7))
    for position, size in enumerate(sizes.tolist()):
        chances = process.transition(size, level(sigma_bar))[x0[0, position]]
        seen = torch.bincount(xt[:, position], minlength=len(chances)).double() / n
        error = (chances * (1 - chances) / n).sqrt()
        assert bool(((seen - chances).abs() <= 4 * error).all())


@pytest.mark.parametrize("process", BOTH)
def test_hidden_tokens_stay_hidden(process: NoiseProcess) -> None:
    sizes = torch.tensor([3, 4])
    hidden = sizes.repeat(500, 1)
    for sigma_bar in (0.5, 8.0):
        levels = torch.full((500, 1), sigma_bar, dtype=torch.float64)
        assert torch.equal(process.sample(hidden, levels, sizes, torch.Generator().manual_seed(0)), hidden)


@pytest.mark.parametrize("process", BOTH)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_scored_moves_come_back_at_the_reverse_rate(process: NoiseProcess, size: int) -> None:
    q = process.generator(size)
    sources = [(y, x) for y in range(size) for x in range(len(q)) if x != y and q[y, x] > 0]
    assert all(q[y, x].item() == pytest.approx(process.reverse_rate(size), abs=1e-15) for y, x in sources)


@pytest.mark.parametrize("process", BOTH)
@pytest.mark.parametrize("sigma_bar", LEVELS)
def test_clean_ratio_is_a_ratio_of_transitions(process: NoiseProcess, sigma_bar: float) -> None:
    size = 3
    transition = process.transition(size, level(sigma_bar))
    for x0, xt in itertools.product(range(size), range(len(transition))):
        if transition[x0, xt] == 0 or (isinstance(process, AbsorbingProcess) and xt < size):
            continue  # impossible, or without moves
        tokens = torch.tensor([[x0]]), torch.tensor([[xt]])
        ratio = process.clean_ratio(*tokens, size, torch.tensor([[sigma_bar]], dtype=torch.float64))[0, 0]
        torch.testing.assert_close(ratio, transition[x0, :size] / transition[x0, xt], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("process", BOTH)
@pytest.mark.parametrize("sigma_bar", LEVELS[1:])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_concrete_score_is_the_ratio_of_noised_laws(process: NoiseProcess, sigma_bar: float, layout) -> None:
    score = ExactScore(layout, random_table(layout, seed=3))
    law = noised(score.table, range(layout.seq_len), process, sigma_bar)
    states = torch.tensor(list(itertools.product(*(range(s) for s in law.shape))))
    levels = torch.full((len(states), 1), sigma_bar, dtype=torch.float64)
    absorbing = isinstance(process, AbsorbingProcess)
    masked = states == layout.vocab_sizes
    visibility = (~masked).double() if absorbing else torch.exp(-levels).expand(states.shape)
    posteriors = score.log_posterior(states, visibility, layout.names)
    for name, log_posterior in posteriors.items():
        there = layout.slice_of(name)
        scores = process.concrete_score(states[:, there], log_posterior.exp(), levels)
        for position in range(there.start, there.stop):
            for symbol in range(int(layout.vocab_sizes[position])):
                moved = states.clone()
                moved[:, position] = symbol
                truth = law[tuple(moved.T)] / law[tuple(states.T)]
                if absorbing:  # a token that is not masked has no moves
                    truth = torch.where(masked[:, position], truth, 0.0)
                found = scores[:, position - there.start, symbol]
                torch.testing.assert_close(found, truth, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("process", BOTH)
def test_the_mean_clean_ratio_is_the_score(process: NoiseProcess) -> None:
    posterior = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
    levels = torch.tensor([[0.8]], dtype=torch.float64)
    xt = torch.tensor([[3 if isinstance(process, AbsorbingProcess) else 1]])
    ratios = [process.clean_ratio(torch.tensor([[a]]), xt, 3, levels) for a in range(3)]
    mean = sum(p * r for p, r in zip(posterior, ratios, strict=True))
    torch.testing.assert_close(mean, process.concrete_score(xt, posterior[None, None], levels), rtol=0, atol=1e-10)


@pytest.mark.parametrize("process", BOTH)
def test_evidence_is_the_likelihood_of_a_noised_token(process: NoiseProcess) -> None:
    size, absorbing = 3, isinstance(process, AbsorbingProcess)
    xt = torch.tensor([[size]] if absorbing else [[0], [1], [2]])
    evidence = process.log_evidence(xt, size, torch.full((len(xt), 1), 0.6, dtype=torch.float64))[:, 0]
    likelihood = process.transition(size, level(0.6))[:size, xt[:, 0]].T.log()
    torch.testing.assert_close(evidence.log_softmax(1), likelihood.log_softmax(1), rtol=0, atol=1e-10)
