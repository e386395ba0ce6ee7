"""What a corpus holds, in numbers: rows read and kept, lengths, duplicates, groups, splits and composition."""

from dataclasses import dataclass

import numpy as np

from infosedd.blocks import Block
from infosedd.corpus import SPLITS, Corpus

N_IN_JSON = 64
"""So many symbols of a block are listed with their shares, the commonest first."""
_PART = 1 << 22


@dataclass(frozen=True)
class BlockSummary:
    """A block: how long its sequences are without padding, and how often each symbol occurs."""

    name: str
    length: int
    n_symbols: int
    lengths: str
    hidden_share: float
    composition: tuple[tuple[str, float], ...]
    """Symbols with their share of all tokens, hidden ones included, the commonest first."""

    def commonest(self, n: int) -> tuple[tuple[str, float], ...]:
        return self.composition[:n]


def block_summaries(corpus: Corpus) -> list[BlockSummary]:
    """One summary a block."""
    return [_summary(block, corpus.tokens[block.name]) for block in corpus.blocks]


def row_facts(corpus: Corpus) -> list[str]:
    """Sentences about the rows: how many were read and kept, which repeat, what they are split and grouped into."""
    read, dropped = corpus.provenance.n_read, corpus.provenance.n_dropped
    facts = [f"rows read: {read:,}, left out {dropped:,}, in the corpus {corpus.n:,}"] if read else []
    repeated = n_repeated(corpus)
    facts.append(f"duplicates: {repeated:,} rows ({repeated / corpus.n:.1%}) equal an earlier one in every block")
    if corpus.sequence_ids is not None:
        same = corpus.n - len(corpus.sequence_ids.unique())
        facts.append(f"ids: {same:,} repeat an earlier one")
    if corpus.groups is not None:
        facts.append(f"groups: {len(np.unique(corpus.groups)):,}, split and counted together")
    if corpus.splits is not None:
        counts = np.bincount(corpus.splits, minlength=len(SPLITS))
        facts.append("split: " + ", ".join(f"{name} {n:,}" for name, n in zip(SPLITS, counts, strict=True) if n))
    return facts


def n_repeated(corpus: Corpus) -> int:
    """Rows that equal an earlier one in every block."""
    from connectors.encoding import repeated_rows

    return repeated_rows(*corpus.tokens.values())


def _summary(block: Block, codes: np.ndarray) -> BlockSummary:
    vocabulary = block.vocabulary
    counts = np.zeros(vocabulary.size + 1, np.int64)
    per_part = max(1, _PART // block.length)
    for low in range(0, len(codes), per_part):
        counts += np.bincount(codes[low : low + per_part].ravel(), minlength=len(counts))
    shares = counts / counts.sum()
    order = np.argsort(-counts[:-1], kind="stable")
    return BlockSummary(
        name=block.name,
        length=block.length,
        n_symbols=vocabulary.size,
        lengths=_lengths(block, codes),
        hidden_share=float(shares[-1]),
        composition=tuple((vocabulary.symbols[i], float(shares[i])) for i in order[:N_IN_JSON]),
    )


def _lengths(block: Block, codes: np.ndarray) -> str:
    """``12 to 16, median 14`` where rows are padded, else the block's length."""
    if block.vocabulary.pad is None:
        return str(block.length)
    pad = block.vocabulary.code_of[block.vocabulary.pad]
    lengths = block.length - (codes == pad).sum(axis=1)
    return f"{lengths.min()} to {lengths.max()}, median {np.median(lengths):g}"
