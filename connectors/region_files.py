"""Regions as BED, GFF3 and GTF files write them.

BED: chromosome, start (from 0), stop (exclusive), then name, score and strand if there; more columns
are not read. Lines that start with '#', 'track' or 'browser' are skipped. GFF3 and GTF: nine columns
separated by tabs, start and stop from 1 and both inside; what follows '##FASTA' is not read.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from connectors.fasta_records import as_text
from connectors.sources import Source
from infosedd.blocks import near_names

BED_SUFFIXES = (".bed", ".narrowpeak", ".broadpeak")
GFF_SUFFIXES = (".gff", ".gff3", ".gtf")
_NOT_REGIONS = ("#", "track ", "browser ")
_GFF_ID = re.compile(r"(?:^|;)\s*(?:ID|Name|gene_id|transcript_id)[= ]\"?([^\";]+)")
_HEAD_LINES = 200


class Region(NamedTuple):
    """A stretch [start, stop) of a sequence, counted from 0; ``strand`` is + or -, or . where it has none."""

    chromosome: str
    start: int
    stop: int
    strand: str
    name: str
    feature: str
    line: int


def region_format(source: Source) -> str:
    """fasta, bed or gff, by content first and name second."""
    with source.open() as file:
        head = file.read(1 << 16)
    if b"\0" in head:
        raise source.fail("this is a binary file", remedy="give BED, GFF or GTF, and the genome as FASTA")
    lines = [line for line in head.decode("utf-8-sig", "replace").splitlines()[:_HEAD_LINES] if line.strip()]
    told = [line for line in lines if not line.startswith((*_NOT_REGIONS, ";"))]
    if told and told[0].startswith(">"):
        return "fasta"
    kind = format_of_lines(lines)
    if kind is None and source.suffix in (*BED_SUFFIXES, *GFF_SUFFIXES):
        kind = "bed" if source.suffix in BED_SUFFIXES else "gff"
    if kind is None:
        raise source.fail("this is neither BED, GFF, GTF nor FASTA", remedy="check the file, or give `format`")
    return kind


def format_of_lines(lines: Sequence[str]) -> str | None:
    """bed or gff, where the first line that holds a region has the columns of one."""
    if lines and lines[0].startswith("##gff-version"):
        return "gff"
    cells = next((line.split("\t") for line in lines if not line.startswith(_NOT_REGIONS)), [])
    if len(cells) == 9 and cells[3].isdigit() and cells[4].isdigit() and cells[6] in ("+", "-", ".", "?"):
        return "gff"
    return "bed" if len(cells) >= 3 and cells[1].isdigit() and cells[2].isdigit() else None


def bed_regions(source: Source) -> Iterator[Region]:
    """The regions of a BED file, in order."""
    with source.open() as file:
        for number, line in enumerate(as_text(file), 1):
            if not line.strip() or line.startswith(_NOT_REGIONS):
                continue
            cells = line.rstrip("\n").split("\t") if "\t" in line else line.split()
            if len(cells) < 3:
                raise source.fail(
                    f"a region has {len(cells)} columns", where=f"line {number}", remedy="write chromosome, start, stop"
                )
            name, strand = (cells[i].strip() if len(cells) > i else "" for i in (3, 5))
            region = Region(cells[0].strip(), *_span(cells[1:3], source, number), strand or ".", name, "", number)
            yield _checked(region, 0, source)


def gff_regions(source: Source, features: Sequence[str]) -> Iterator[Region]:
    """The regions of a GFF3 or GTF file whose third column is one of ``features``, in order."""
    others: dict[str, None] = {}
    found = False
    with source.open() as file:
        for number, line in enumerate(as_text(file), 1):
            if line.startswith("##FASTA"):
                break
            if not line.strip() or line.startswith("#"):
                continue
            cells = line.rstrip("\n").split("\t")
            if len(cells) != 9:
                raise source.fail(
                    f"a line has {len(cells)} columns where GFF and GTF have 9",
                    where=f"line {number}",
                    remedy="separate columns by one tab",
                )
            if cells[2] not in features:
                others[cells[2]] = None
                continue
            found = True
            start, stop = _span(cells[3:5], source, number)
            name = _GFF_ID.search(cells[8])
            strand = "." if cells[6] == "?" else cells[6]
            region = Region(cells[0], start - 1, stop, strand, name[1].strip() if name else "", cells[2], number)
            yield _checked(region, 1, source)
    if not found:
        raise source.fail(
            f"no line is of the feature {' or '.join(map(repr, features))}",
            remedy=f"give `feature`; {near_names(features[0], [*others][:20])}",
        )


def _span(cells: Sequence[str], source: Source, line: int) -> tuple[int, int]:
    for cell in cells:
        if not cell.strip().isdecimal():
            raise source.fail(
                f"{cell.strip()!r} is no position", where=f"line {line}", remedy="start and stop are whole numbers"
            )
    return int(cells[0]), int(cells[1])


def _checked(region: Region, first: int, source: Source) -> Region:
    """The region; one that is empty, runs backwards or has another strand than + - . is an error."""
    where = f"line {region.line}"
    if region.start < 0:
        raise source.fail("a region starts at 0 where positions count from 1", where=where, remedy="add 1 to it")
    if region.stop <= region.start:
        rule = "start is below stop" if first == 0 else "start is at most stop, whatever the strand"
        raise source.fail(
            f"a region goes from {region.start + first} to {region.stop}", where=where, remedy=f"its {rule}"
        )
    if region.strand not in ("+", "-", "."):
        raise source.fail(f"{region.strand!r} is no strand", where=where, remedy="write +, - or . (none)")
    if not region.chromosome:
        raise source.fail("a region names no sequence", where=where, remedy="write it in the first column")
    return region
