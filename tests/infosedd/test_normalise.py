import pytest
import torch

from infosedd.networks.normalise import log_probabilities


@pytest.mark.parametrize("shape", [(3, 5, 4), (3, 5, 20), (3, 1, 4), (3, 5, 1)])
def test_probabilities_sum_to_one_and_keep_the_ratios(shape: tuple[int, ...]) -> None:
    logits = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 30
    found = log_probabilities(logits)
    assert found.shape == logits.shape
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(shape[:-1], dtype=torch.float64))
    torch.testing.assert_close(found.diff(dim=-1), logits.diff(dim=-1))
