"""How the tokens of several blocks lie side by side in one row."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from infosedd.blocks import Block, Selection
from infosedd.corpus import Corpus


@dataclass(frozen=True)
class Layout:
    """Blocks in order; position p of a row belongs to one block and has that block's vocabulary.

    Codes stay local to their block: 0 to N_b - 1, and ``mask_id`` = N_b where hidden.
    """

    blocks: tuple[Block, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(block.name for block in self.blocks)

    @cached_property
    def starts(self) -> dict[str, int]:
        """Block name -> its first position."""
        lengths = [block.length for block in self.blocks]
        return dict(zip(self.names, np.cumsum([0, *lengths[:-1]]).tolist(), strict=True))

    @cached_property
    def seq_len(self) -> int:
        """Total number of positions L."""
        return sum(block.length for block in self.blocks)

    @cached_property
    def vocab_sizes(self) -> Tensor:
        """(L,) number of symbols at each position, which is also the mask's code there."""
        return torch.cat([torch.full((b.length,), b.vocabulary.size) for b in self.blocks])

    @cached_property
    def one_hot_starts(self) -> Tensor:
        """(L,) first column of each position in the concatenated one-hot encoding."""
        return self.vocab_sizes.cumsum(0) - self.vocab_sizes

    @cached_property
    def one_hot_width(self) -> int:
        return int(self.vocab_sizes.sum())

    def slice_of(self, name: str) -> slice:
        block = next(b for b in self.blocks if b.name == name)
        return slice(self.starts[name], self.starts[name] + block.length)

    def mask_of(self, selection: Selection) -> Tensor:
        """(L,) bool: the positions of a selection."""
        mask = torch.zeros(self.seq_len, dtype=torch.bool)
        for name, positions in selection.parts:
            mask[self.starts[name] + torch.tensor(positions)] = True
        return mask

    def blocks_of(self, mask: Tensor) -> tuple[str, ...]:
        """Names of the blocks that have a position in a (L,) or (B, L) mask."""
        anywhere = mask.reshape(-1, self.seq_len).any(0)
        return tuple(name for name in self.names if anywhere[self.slice_of(name)].any())

    def hidden_in(self, corpus: Corpus, rows: np.ndarray, mask: Tensor) -> np.ndarray:
        """(n, M) bool: which tokens of the M positions in ``mask`` (L,) the data hide."""
        out = [np.zeros((len(rows), 0), bool)]
        for block in self.blocks:
            there = np.flatnonzero(mask[self.slice_of(block.name)].numpy())
            if len(there):
                out.append(corpus.tokens[block.name][np.ix_(rows, there)] == block.vocabulary.mask_id)
        return np.concatenate(out, axis=1)

    def selection_of(self, mask: Tensor) -> Selection:
        """The selection of the positions in ``mask`` (L,)."""
        there = {name: torch.nonzero(mask[self.slice_of(name)]).flatten().tolist() for name in self.names}
        return Selection.of(there, self.blocks)

    def tokens_of(self, corpus: Corpus, rows: np.ndarray | None = None) -> Tensor:
        """(n, L) tokens of a corpus in the smallest integer type that torch computes with."""
        columns: Sequence[np.ndarray] = [corpus.tokens[name] for name in self.names]
        if rows is not None:
            columns = [codes[rows] for codes in columns]
        largest = max(int(size) for size in self.vocab_sizes)
        dtype = np.uint8 if largest <= 255 else np.int16 if largest <= 32767 else np.int32
        return torch.from_numpy(np.concatenate([codes.astype(dtype, copy=False) for codes in columns], axis=1))
