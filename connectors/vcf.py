"""Genotypes as VCF files write them: sites in rows, samples in columns, GT first among the sample's fields.

A genotype is allele numbers (0 the reference) joined by '/' where their phase is unknown and '|' where
it is known; '.' is a missing allele.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from connectors.fasta_records import as_text
from connectors.sources import Source

_COLUMNS = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT")
_GENOTYPE = re.compile(r"(\d{1,4}|\.)([/|](\d{1,4}|\.))*")
MISSING, HAPLOID = -1, -2
"""Stand for an allele that is not known, and for the second allele of a call that has one."""


@dataclass(frozen=True)
class Site:
    """A place where samples differ: position from 1, its alleles (the reference first), and its filters."""

    chromosome: str
    position: int
    id: str
    alleles: tuple[str, ...]
    passed: bool
    line: int

    def __str__(self) -> str:
        name = f" {self.id}" if self.id not in ("", ".") else ""
        return f"{self.chromosome}:{self.position} {self.alleles[0]}>{','.join(self.alleles[1:]) or '.'}{name}"


@dataclass(frozen=True)
class Calls:
    """The genotypes of all samples at one site.

    ``alleles`` (n, 2) are allele numbers, ``MISSING`` where not known; a haploid call has ``HAPLOID`` for its
    second. ``phased`` (n,) says which calls have a known phase.
    """

    site: Site
    samples: tuple[str, ...]
    alleles: np.ndarray
    phased: np.ndarray


def calls(source: Source) -> Iterator[Calls]:
    """The calls of each site of a file, in order."""
    samples: tuple[str, ...] | None = None
    parsed: dict[str, tuple[int, int, bool]] = {}
    with source.open() as file:
        if file.read(3) == b"BCF":
            raise source.fail("this is BCF", remedy="convert it with `bcftools view -O z -o out.vcf.gz`")
    with source.open() as file:
        for number, line in enumerate(as_text(file), 1):
            if number == 1 and not line.startswith("##fileformat=VCF"):
                raise source.fail("this is no VCF file", where="line 1", remedy="it starts with ##fileformat=VCFv4")
            if line.startswith("##") or not line.strip():
                continue
            cells = line.rstrip("\n").split("\t")
            if samples is None:
                samples = _samples(cells, source, number)
                continue
            if len(cells) != len(_COLUMNS) + len(samples):
                raise source.fail(
                    f"a site has {len(cells)} columns, the header {len(_COLUMNS) + len(samples)}",
                    where=f"line {number}",
                    remedy="separate columns by one tab",
                )
            yield _calls(cells, samples, parsed, source, number)
    if samples is None:
        raise source.fail("there is no line #CHROM", remedy="check that the file was written whole")


def _samples(cells: list[str], source: Source, line: int) -> tuple[str, ...]:
    where = f"line {line}"
    if tuple(cells[:8]) != _COLUMNS[:8]:
        raise source.fail("there is no line #CHROM before the sites", where=where, remedy="give the header of the VCF")
    samples = tuple(cells[9:])
    if not samples:
        raise source.fail("the file has sites but no samples", where=where, remedy="give a VCF with genotypes")
    repeated = sorted({name for name in samples if samples.count(name) > 1}) if len(set(samples)) < len(samples) else []
    if repeated:
        raise source.fail(f"two samples are called {repeated[0]!r}", where=where, remedy="give each its own name")
    return samples


def _calls(
    cells: list[str], samples: tuple[str, ...], parsed: dict[str, tuple[int, int, bool]], source: Source, line: int
) -> Calls:
    where = f"line {line}"
    if not cells[1].isdecimal():
        raise source.fail(f"{cells[1]!r} is no position", where=where, remedy="positions are whole numbers")
    alleles = (cells[3], *(() if cells[4] == "." else cells[4].split(",")))
    site = Site(cells[0], int(cells[1]), cells[2], alleles, cells[6] in ("PASS", "."), line)
    keys = cells[8].split(":")
    if "GT" not in keys:
        raise source.fail("a site has no genotypes (GT)", where=where, remedy="give a VCF whose FORMAT has GT")
    field = keys.index("GT")
    triples = np.empty((len(samples), 3), np.int16)
    for i, cell in enumerate(cells[9:]):
        parts = cell.split(":")
        text = parts[field] if field < len(parts) else "."
        found = parsed.get(text)
        if found is None:
            found = parsed[text] = _genotype(text, f"{where}, sample {samples[i]!r}", source)
        triples[i] = found
    highest = int(triples[:, :2].max(initial=0))
    if highest >= len(alleles):
        sample = samples[int(np.argmax(triples[:, :2].max(axis=1)))]
        raise source.fail(
            f"allele {highest} is not among the {len(alleles)} of the site",
            where=f"{where}, sample {sample!r}",
            remedy="0 is the reference, 1 the first of ALT",
        )
    return Calls(site, samples, triples[:, :2], triples[:, 2] > 0)


def _genotype(text: str, where: str, source: Source) -> tuple[int, int, bool]:
    """Two allele numbers and whether their phase is known; a haploid call has ``HAPLOID`` for its second."""
    if not _GENOTYPE.fullmatch(text):
        raise source.fail(f"{text!r} is no genotype", where=where, remedy="write 0/1, 0|1, 1 or ./.")
    parts = re.split(r"[/|]", text)
    if len(parts) > 2:
        raise source.fail(f"{text!r} has {len(parts)} alleles", where=where, remedy="give calls of one or two alleles")
    numbers = [MISSING if part == "." else int(part) for part in parts]
    if len(numbers) == 1:
        return (MISSING, MISSING, True) if numbers[0] == MISSING else (numbers[0], HAPLOID, True)
    return numbers[0], numbers[1], "|" in text
