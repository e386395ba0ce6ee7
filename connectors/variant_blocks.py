"""Blocks of genotypes from the calls of many sites, and blocks of labels from a table of samples."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from connectors.encoding import Tally
from connectors.fasta_records import as_text
from connectors.sources import Source
from connectors.variant_options import VariantsOptions
from connectors.vcf import HAPLOID, MISSING, Site
from infosedd.blocks import Block, Vocabulary, near_names

_PAIR = 1 << 16
"""Pairs of allele numbers as one number: the first times this, plus the second."""


@dataclass
class SiteColumns:
    """The calls of one block, a column a site."""

    sites: list[Site] = field(default_factory=list)
    alleles: list[np.ndarray] = field(default_factory=list)
    phased: list[np.ndarray] = field(default_factory=list)


@dataclass
class SampleRows:
    """One entry for each row of the corpus-to-be: its sample, which of the two haplotypes (0 or 1), what drops it."""

    samples: np.ndarray
    haplotype: np.ndarray
    tally: Tally


def genotype_block(
    block: str, columns: SiteColumns, rows: SampleRows, samples: Sequence[str], asked: VariantsOptions, source: Source
) -> tuple[Block, np.ndarray]:
    """The block and the (rows, sites) codes of its genotypes."""
    alleles = np.stack(columns.alleles, axis=1)[rows.samples].astype(np.int64)
    known_phase = np.stack(columns.phased, axis=1)[rows.samples]
    first, second = alleles[..., 0], alleles[..., 1]
    if asked.tokens == "haplotype":
        keys = np.where(rows.haplotype[:, None] == 0, first, second)
        missing = keys < 0
    else:
        missing = (first == MISSING) | (second == MISSING)
        ordered = asked.tokens == "phased"
        low, high = (first, second) if ordered else (np.minimum(first, second), np.maximum(first, second))
        keys = np.where(second == HAPLOID, first * _PAIR + _PAIR - 1, low * _PAIR + high)
    het = (first != second) & (second != HAPLOID) & ~missing
    unphased = het & ~known_phase & (asked.tokens != "genotype")
    _apply(asked.missing, missing, "a missing genotype", columns, rows, samples, source, "missing = hide, keep or drop")
    _apply(asked.unphased, unphased, "an unphased genotype", columns, rows, samples, source, "tokens = genotype")
    present = np.unique(keys[~missing & ~unphased])
    if not len(present):
        raise source.fail(f"block {block!r} has no genotype that is known", remedy="leave its sites out")
    symbols = [_symbol(int(key), asked.tokens) for key in present]
    codes = np.searchsorted(present, keys)
    if asked.missing == "keep" and missing.any():
        symbols.append(".")
    codes[missing] = len(present)
    codes[unphased] = len(symbols)
    return Block(block, Vocabulary(tuple(symbols)), len(columns.sites)), codes


def _symbol(key: int, tokens: str) -> str:
    if tokens == "haplotype":
        return str(key)
    first, second = divmod(key, _PAIR)
    if second == _PAIR - 1:
        return str(first)
    return f"{first}{'/' if tokens == 'genotype' else '|'}{second}"


def _apply(
    policy: str, mask: np.ndarray, reason: str, columns: SiteColumns, rows: SampleRows, samples: Sequence[str],
    source: Source, remedy: str,
) -> None:  # fmt: skip
    """Drop rows, count hidden tokens, or stop at the first of a mask (rows, sites)."""
    if policy == "error" and mask.any():
        row, position = (int(i) for i in np.argwhere(mask)[0])
        site = columns.sites[position]
        where = f"line {site.line} ({site}), sample {samples[int(rows.samples[row])]!r}"
        raise source.fail(f"there is {reason}", where=where, remedy=f"give {remedy}")
    if policy == "drop":
        rows.tally.drop(np.asarray(mask.any(axis=1)), reason)
    elif policy == "hide":
        rows.tally.hide(mask.sum(axis=1), reason)


def label_blocks(
    panel: Source, samples: Sequence[str], rows: SampleRows, asked: VariantsOptions
) -> Iterator[tuple[Block, np.ndarray]]:
    """Blocks of one token from the columns of a table of samples."""
    with panel.open() as file:
        text = as_text(file).read()
    header = text.partition("\n")[0]
    lines = list(csv.DictReader(text.splitlines(), delimiter="\t" if "\t" in header else ","))
    columns = [*lines[0]] if lines else []
    key = asked.sample_column or (columns[0] if columns else "")
    wanted = [column for column in columns if column and column != key] if asked.labels is None else asked.labels
    for column in (key, *wanted):
        if column not in columns:
            raise panel.fail(f"there is no column {column!r}", remedy=near_names(column, columns))
    line_of = {line[key]: line for line in lines}
    lost = np.array([name not in line_of for name in samples])
    if lost.any() and asked.unlabelled == "error":
        name = samples[int(np.argmax(lost))]
        raise panel.fail(f"the table lacks sample {name!r}", remedy="add it, or give unlabelled = drop")
    rows.tally.drop(lost[rows.samples], "a sample that the table lacks")
    for column in wanted:
        values = [(line_of[name][column] or "").strip() if name in line_of else "" for name in samples]
        empty = np.array([value == "" for value in values])
        rows.tally.drop(empty[rows.samples], f"no {column}")
        symbols = sorted({value for value in values if value})
        if not symbols:
            raise panel.fail(f"column {column!r} has no values", remedy="choose other `labels`")
        code_of = {symbol: code for code, symbol in enumerate(symbols)}
        codes = np.array([code_of.get(value, 0) for value in values])
        yield Block(column, Vocabulary(tuple(symbols)), 1), codes[rows.samples][:, None]
