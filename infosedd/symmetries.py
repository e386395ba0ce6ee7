"""Mirror images of rows under the symmetries that their blocks declare, as further rows to train on."""

import torch
from torch import Tensor

from infosedd.blocks import Block
from infosedd.layout import Layout


def mirrored(tokens: Tensor, layout: Layout, generator: torch.Generator) -> Tensor:
    """``tokens`` (B, L), each row of each block replaced by one of its images, all of them equally likely."""
    if not any(block.symmetries for block in layout.blocks):
        return tokens
    out = tokens.clone()
    for block in layout.blocks:
        if block.symmetries:
            there = layout.slice_of(block.name)
            out[:, there] = _image(tokens[:, there], block, generator)
    return out


def _image(tokens: Tensor, block: Block, generator: torch.Generator) -> Tensor:
    n_rows, size = len(tokens), block.vocabulary.size
    height, width = block.lattice if block.lattice is not None and len(block.lattice) == 2 else (1, block.length)
    place = torch.arange(block.length)
    row, column = (place // width).expand(n_rows, -1), (place % width).expand(n_rows, -1)

    def coins() -> Tensor:
        return torch.rand(n_rows, 1, generator=generator) < 0.5

    if "rotations" in block.symmetries:
        turn = coins()
        row, column = torch.where(turn, column, row), torch.where(turn, width - 1 - row, column)
        over = coins()
        row, column = (torch.where(over, last - 1 - x, x) for x, last in ((row, height), (column, width)))
    if "reflections" in block.symmetries:
        row = torch.where(coins(), height - 1 - row, row)
        column = torch.where(coins(), width - 1 - column, column)
    if "translations" in block.symmetries:
        row = (row + torch.randint(height, (n_rows, 1), generator=generator)) % height
        column = (column + torch.randint(width, (n_rows, 1), generator=generator)) % width
    out = tokens.gather(1, row * width + column)
    if "symbol_flip" in block.symmetries:
        known = (out < size) & coins()
        out = torch.where(known, size - 1 - out, out)
    return out
