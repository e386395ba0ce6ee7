"""Variants: the genotypes of samples in a VCF file, a row a sample, or a row a haplotype.

A block is a chromosome or a named region, its positions are the sites in order, its tokens genotypes.
A table of samples beside the VCF gives labels.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from connectors.encoding import Tally
from connectors.errors import VariantsError
from connectors.info import ConnectorInfo
from connectors.options import parse_options
from connectors.sources import Source, joint_sha256, joint_uri, resolve
from connectors.variant_blocks import SampleRows, SiteColumns, genotype_block, label_blocks
from connectors.variant_options import BLOCK_NAME, REGION, VariantsOptions
from connectors.vcf import HAPLOID, Calls, Site, calls
from infosedd.blocks import Block
from infosedd.corpus import Corpus, Provenance


def read(sources: Sequence[str], options: Mapping[str, object], name: str) -> Corpus:
    """Read genotypes as a corpus of one block for each chromosome, region or site, and of labels if there are any."""
    asked = parse_options(VariantsOptions, options, VariantsError, "variants")
    files, panels = _told_apart(sources)
    samples, gathered, skipped = _gather(files, asked)
    rows = _rows(samples, gathered, asked)
    blocks: list[Block] = []
    tokens: dict[str, np.ndarray] = {}
    for block, columns in gathered.items():
        made, tokens[block] = genotype_block(block, columns, rows, samples, asked, files[0])
        blocks.append(made)
    for panel in panels:
        for made, codes in label_blocks(panel, samples, rows, asked):
            if made.name in tokens:
                raise panel.fail(f"two blocks are called {made.name!r}", remedy="choose `labels`, or name `regions`")
            blocks.append(made)
            tokens[made.name] = codes
    rows.tally.check_some_left(VariantsError, f"in {files[0].uri}")
    keep = rows.tally.keep
    twice = asked.tokens == "haplotype"
    ids = [f"{samples[s]}_{h + 1}" if twice else samples[s] for s, h in zip(rows.samples, rows.haplotype, strict=True)]
    return Corpus(
        name=name,
        blocks=tuple(blocks),
        tokens={block: codes[keep] for block, codes in tokens.items()},
        groups=rows.samples[keep] if twice else None,
        sequence_ids=pa.array(ids, pa.string()).filter(pa.array(keep)),
        provenance=Provenance(
            connector="variants",
            source_uri=joint_uri([*files, *panels]),
            source_sha256=joint_sha256([*files, *panels]),
            options=asked.model_dump(exclude_defaults=True),
            n_read=len(keep),
            dropped=rows.tally.dropped,
            hidden=rows.tally.hidden,
            notes=tuple(_notes(gathered, skipped)),
        ),
    )


def read_sites(sources: Sequence[str], options: Mapping[str, object] | None = None) -> dict[str, tuple[Site, ...]]:
    """The site at each position of each block that ``read`` makes with these options."""
    asked = parse_options(VariantsOptions, options or {}, VariantsError, "variants")
    _, gathered, _ = _gather(_told_apart(sources)[0], asked)
    return {block: tuple(columns.sites) for block, columns in gathered.items()}


def _told_apart(sources: Sequence[str]) -> tuple[list[Source], list[Source]]:
    """VCF files, and tables of samples: what has more than one column and doesn't start as VCF does."""
    files, panels = [], []
    for text in sources:
        source = resolve([text], VariantsError)[0]
        with source.open() as file:
            head = file.read(1 << 16)
        first = head.decode("utf-8-sig", "replace").partition("\n")[0]
        table = b"\0" not in head and not first.startswith("#") and ("\t" in first or "," in first)
        (panels if table else files).append(source)
    if not files:
        raise VariantsError("no VCF file is given", remedy="name one, which starts with ##fileformat=VCF")
    return files, panels


def _gather(
    files: Sequence[Source], asked: VariantsOptions
) -> tuple[tuple[str, ...], dict[str, SiteColumns], dict[str, int]]:
    """Samples, the calls of each block, and how many sites were left out for each reason."""
    samples: tuple[str, ...] = ()
    gathered: dict[str, SiteColumns] = {block: SiteColumns() for block in asked.regions}
    skipped: dict[str, int] = {}
    for source in files:
        found = None
        for found in calls(source):
            if samples and found.samples != samples:
                raise source.fail("the files have different samples", remedy="give files of the same samples")
            samples = found.samples
            reason = _left_out(found, asked)
            blocks = [] if reason else list(_blocks_of(found.site, asked))
            if not blocks:
                reason = reason or "is in no region"
                skipped[reason] = skipped.get(reason, 0) + 1
            for block in blocks:
                _append(gathered.setdefault(block, SiteColumns()), found, block, asked, source)
        if found is None:
            raise source.fail("the file has no sites", remedy="check that it was written whole")
    for block, columns in gathered.items():
        if not columns.sites:
            text = asked.regions[block]
            raise files[0].fail(f"no site lies in region {block!r} ({text})", remedy="is the chromosome called so?")
    if not gathered:
        reasons = ", ".join(f"{count} as each {reason}" for reason, count in skipped.items())
        raise files[0].fail("every site was left out", remedy=f"left out {reasons}; choose another policy")
    return samples, gathered, skipped


def _append(columns: SiteColumns, found: Calls, block: str, asked: VariantsOptions, source: Source) -> None:
    if len(columns.sites) == asked.max_length:
        raise source.fail(
            f"block {block!r} has more sites than the {asked.max_length:,} that a block may have",
            where=f"line {found.site.line}",
            remedy="choose `regions`, or raise `max_length`",
        )
    columns.sites.append(found.site)
    columns.alleles.append(found.alleles)
    columns.phased.append(found.phased)


def _left_out(found: Calls, asked: VariantsOptions) -> str:
    """Why a site is not read; empty where it is."""
    if asked.filter == "pass" and not found.site.passed:
        return "did not pass its filters"
    known = found.alleles[found.alleles >= 0]
    alike = len(known) == 0 or bool((known == known[0]).all())
    return "is the same in all samples" if asked.constant == "drop" and alike else ""


def _blocks_of(site: Site, asked: VariantsOptions) -> Iterator[str]:
    """Names of the blocks that a site belongs to."""
    if not asked.regions:
        chromosome = re.sub(r"[^A-Za-z0-9_.-]", "_", site.chromosome)
        name = chromosome if BLOCK_NAME.fullmatch(chromosome) else f"chr{chromosome}"
        yield name if asked.blocks == "chromosome" else f"{name}_{site.position}"
        return
    for block, text in asked.regions.items():
        match = REGION.fullmatch(text)
        if match is None or match["chromosome"] != site.chromosome:
            continue
        start, stop = (int(match[part].replace(",", "")) if match[part] else None for part in ("start", "stop"))
        if start is None or stop is None or start <= site.position <= stop:
            yield block


def _rows(samples: Sequence[str], gathered: Mapping[str, SiteColumns], asked: VariantsOptions) -> SampleRows:
    """A row a sample; or two, but one for a sample that is haploid at every site."""
    n = len(samples)
    if asked.tokens != "haplotype":
        return SampleRows(np.arange(n), np.zeros(n, np.int64), Tally(n))
    columns = [alleles for block in gathered.values() for alleles in block.alleles]
    single = np.logical_and.reduce([alleles[:, 1] == HAPLOID for alleles in columns])
    both = np.repeat(np.arange(n), 2)
    second = np.tile([0, 1], n)
    kept = (second == 0) | ~single[both]
    return SampleRows(both[kept], second[kept], Tally(int(kept.sum())))


def _notes(gathered: Mapping[str, SiteColumns], skipped: Mapping[str, int]) -> list[str]:
    notes = [f"{count} sites are left out: each {reason}" for reason, count in skipped.items()]
    for block, columns in list(gathered.items())[:50]:
        ends = str(columns.sites[0]) if len(columns.sites) == 1 else f"{columns.sites[0]} to {columns.sites[-1]}"
        notes.append(f"{block} has {len(columns.sites)} sites, {ends}")
    return notes


INFO = ConnectorInfo(
    name="variants",
    summary="genotypes or haplotypes of samples, a block a chromosome, region or site, with labels of samples",
    formats=("VCF", "VCF with a table of samples", "each also .gz .bgz .xz .zst"),
    options_model=VariantsOptions,
    read=read,
)
