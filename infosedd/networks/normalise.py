"""Logits to log probabilities, fast for a few symbols too."""

from torch import Tensor

FEW_SYMBOLS, SEVERAL_TOKENS = 8, 4
"""Below so many symbols, from so many tokens on, torch is several times faster along a middle dimension."""


def log_probabilities(logits: Tensor) -> Tensor:
    """Log-softmax of (B, L, N) logits over the N symbols."""
    if logits.shape[-1] < FEW_SYMBOLS and logits.shape[-2] >= SEVERAL_TOKENS:
        return logits.transpose(-1, -2).log_softmax(-2).transpose(-1, -2)
    return logits.log_softmax(-1)
