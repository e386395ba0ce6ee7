"""Random streams, one a purpose, that no plain seed gives.

Data is often simulated with ``default_rng(0)`` or ``manual_seed(0)``. Folds or noise drawn from the very
same stream would depend on the data, and the estimates with them, so every stream here is keyed by
its purpose beside the seed.
"""

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:  # connectors use these streams without paying for torch
    import torch


def numpy_stream(purpose: str, *keys: int) -> np.random.Generator:
    """A numpy generator that depends on the purpose and all of the keys (at least 0)."""
    return np.random.default_rng([crc32(purpose.encode()), *keys])


def torch_stream(purpose: str, *keys: int) -> "torch.Generator":
    """A torch generator, on the CPU, that depends on the purpose and all of the keys (at least 0)."""
    import torch

    return torch.Generator().manual_seed(torch_seed(purpose, *keys))


def torch_seed(purpose: str, *keys: int) -> int:
    """A seed for torch's global generator that depends on the purpose and all of the keys (at least 0)."""
    sequence = np.random.SeedSequence([crc32(purpose.encode()), *keys])
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))
