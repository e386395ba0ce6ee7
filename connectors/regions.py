"""Regions of a genome: BED files, or windows about the start sites of a GFF or GTF, with the genome's FASTA.

Sources are the region files and the genome, told apart by content; ``genome=hg38.fa`` names the genome
where the region files have labels. Regions of the minus strand are read as their reverse complement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from connectors.encoding import Letters
from connectors.errors import RegionsError
from connectors.fasta_letters import OFF_END, Reader, alphabet_of, byte_counts
from connectors.fasta_options import LetterOptions
from connectors.genome import GenomeLetters, Spans, genome_letters
from connectors.info import ConnectorInfo
from connectors.options import parse_options
from connectors.region_files import Region, bed_regions, gff_regions, region_format
from connectors.sequence_rows import SequenceRows, sequence_corpus
from connectors.sources import Source, resolve
from infosedd.blocks import near_names
from infosedd.corpus import Corpus


class RegionsOptions(LetterOptions):
    """Options of the regions connector."""

    too_long: ClassVar[str] = "take windows of one length about an `anchor`"

    format: Literal["auto", "bed", "gff"] = Field("auto", description="how regions are written; gff is GFF3 or GTF")
    feature: Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)] = Field(
        ["gene"], min_length=1, description="GFF and GTF: the features (third column) that are read"
    )
    anchor: Literal["auto", "whole", "start", "center", "end"] = Field(
        "auto", description="whole regions, or windows about start, center or end; auto: whole for BED, else start"
    )
    upstream: int = Field(200, ge=0, description="letters of a window before its anchor, which is at this position")
    downstream: int = Field(50, ge=0, description="letters of a window after its anchor")
    strand: Literal["use", "ignore", "require"] = Field(
        "use", description="use: minus is read backwards, none as plus; ignore: all as plus; require: none is an error"
    )
    off_end: Literal["error", "drop", "hide", "pad"] = Field(
        "error", description="positions past the ends of a sequence: error | drop the region | hide | pad"
    )
    missing_sequence: Literal["error", "drop"] = Field(
        "error", description="regions on a sequence that the genome lacks: error | drop"
    )
    label_from: Literal["none", "name", "feature"] = Field(
        "none", description="labels from BED's fourth column (name) or the feature of GFF and GTF"
    )
    groups: Literal["overlap", "chromosome", "none"] = Field(
        "overlap", description="regions that are split and counted together: those that share letters, or a sequence"
    )

    @property
    def pads(self) -> bool:
        return self.lengths == "pad" or self.off_end == "pad"


@dataclass(frozen=True)
class _Asked:
    """All regions of all files, the number of the file of each, and the stretches that are read for them."""

    regions: Sequence[Region]
    files: Sequence[Source]
    file_of: np.ndarray
    spans: Spans

    def source(self, row: int) -> Source:
        return self.files[int(self.file_of[row])]

    def where(self, row: int) -> str:
        region, spans = self.regions[row], self.spans
        span = f"{spans.chromosomes[row]}:{spans.starts[row]}-{spans.stops[row]}"
        return f"line {region.line}, {span}"


def read(sources: Sequence[str], options: Mapping[str, object], name: str) -> Corpus:
    """Read regions of a genome as a corpus of one block of letters, and one of labels where there are any."""
    asked = parse_options(RegionsOptions, options, RegionsError, "regions")
    files, kinds, genome = _told_apart(sources, asked)
    wanted = _asked_for(files, kinds, asked)
    _refuse_long(wanted, asked)
    letters = genome_letters(genome, wanted.spans)
    rows = SequenceRows(n_read=len(wanted.regions))
    placed = _placed(wanted, letters, asked, rows)
    reader = _reader(letters, asked)
    groups = _groups(wanted.spans, asked.groups)
    labels = _labels(wanted, asked, rows)
    minus = _minus(wanted.regions, asked)
    for number, source in enumerate(files):
        for part, piece in letters.pieces(placed[wanted.file_of[placed] == number]):
            rows.add(
                _on_strand(piece, minus[part], reader),
                [_id(wanted, row) for row in part],
                reader,
                lambda row, part=part: f"{part[row] + 1} ({wanted.where(int(part[row]))})",
                source,
                labels=None if labels is None else labels[part],
                groups=None if groups is None else groups[part],
            )
    return sequence_corpus(
        rows, (*files, *genome), reader, asked, "regions", name,
        groups=np.concatenate(rows.groups) if groups is not None and rows.groups else None,
        notes=_notes(wanted, letters, kinds, asked, groups),
    )  # fmt: skip


def _told_apart(sources: Sequence[str], asked: RegionsOptions) -> tuple[Sequence[Source], list[str], Sequence[Source]]:
    """Region files with their formats, and genome files."""
    kinds = [(text, region_format(resolve([text], RegionsError)[0])) for text in sources]
    genome = [text for text, kind in kinds if kind == "fasta"]
    texts = [text for text, kind in kinds if kind != "fasta"]
    if not texts:
        raise RegionsError("no file of regions is given", remedy="give BED, GFF or GTF besides the genome")
    files = resolve(texts, RegionsError)
    if not genome:
        raise files[0].fail("no genome is given", remedy="add its FASTA file, such as genome=hg38.fa.gz")
    formats = [asked.format if asked.format != "auto" else kind for _, kind in kinds if kind != "fasta"]
    return files, formats, tuple(source for text in genome for source in resolve([text], RegionsError))


def _asked_for(files: Sequence[Source], kinds: Sequence[str], asked: RegionsOptions) -> _Asked:
    regions: list[Region] = []
    numbers: list[np.ndarray] = []
    anchors: list[str] = []
    for number, (source, kind) in enumerate(zip(files, kinds, strict=True)):
        found = list(bed_regions(source) if kind == "bed" else gff_regions(source, asked.feature))
        if not found:
            raise source.fail("the file has no regions", remedy="check that it was written whole")
        if asked.label_from == ("feature" if kind == "bed" else "name"):
            raise source.fail(f"there is no {asked.label_from} to take labels from", remedy="set `label_from`")
        without = next((region for region in found if region.strand == "."), None)
        if asked.strand == "require" and without is not None:
            raise source.fail("a region has no strand", where=f"line {without.line}", remedy="give strand = use")
        auto = "whole" if kind == "bed" else "start"
        regions += found
        numbers.append(np.full(len(found), number))
        anchors += [auto if asked.anchor == "auto" else asked.anchor] * len(found)
    return _Asked(regions, files, np.concatenate(numbers), _spans(regions, np.array(anchors), asked))


def _minus(regions: Sequence[Region], asked: RegionsOptions) -> np.ndarray:
    return np.array([region.strand == "-" for region in regions]) & (asked.strand != "ignore")


def _spans(regions: Sequence[Region], anchors: np.ndarray, asked: RegionsOptions) -> Spans:
    """The regions themselves, or [anchor - upstream, anchor + downstream] on their strand."""
    starts = np.array([region.start for region in regions], np.int64)
    stops = np.array([region.stop for region in regions], np.int64)
    minus = _minus(regions, asked)
    first, last = np.where(minus, stops - 1, starts), np.where(minus, starts, stops - 1)
    middle = starts + (stops - starts) // 2
    site = np.select([anchors == "start", anchors == "end"], [first, last], middle)
    whole = anchors == "whole"
    before = np.where(minus, asked.downstream, asked.upstream)
    after = np.where(minus, asked.upstream, asked.downstream)
    return Spans(
        [region.chromosome for region in regions],
        np.where(whole, starts, site - before),
        np.where(whole, stops, site + after + 1),
    )


def _refuse_long(wanted: _Asked, asked: RegionsOptions) -> None:
    """An error for a region longer than a block may be, before the genome is read."""
    lengths = wanted.spans.stops - wanted.spans.starts
    row = int(np.argmax(lengths))
    if lengths[row] > asked.max_length and asked.lengths in ("reject", "pad"):
        raise wanted.source(row).fail(
            f"a region of {lengths[row]:,} letters is longer than the {asked.max_length:,} that a block may have",
            where=wanted.where(row),
            remedy=f"{asked.too_long}, give lengths = drop or crop, or raise `max_length`",
        )


def _placed(wanted: _Asked, letters: GenomeLetters, asked: RegionsOptions, rows: SequenceRows) -> np.ndarray:
    """The rows whose sequence the genome has; the others, and those past its end, by their policy."""
    lost = np.flatnonzero(~letters.found)
    if len(lost) and asked.missing_sequence == "error":
        row = int(lost[0])
        name = wanted.spans.chromosomes[row]
        known = [*letters.length_of]
        other = name.removeprefix("chr") if name.startswith("chr") else f"chr{name}"
        hint = f"it calls it {other!r}" if other in letters.length_of else near_names(name, known[:20])
        raise wanted.source(row).fail(
            f"the genome has no sequence {name!r}", where=wanted.where(row),
            remedy=f"{hint}; or give missing_sequence = drop",
        )  # fmt: skip
    rows.drop(len(lost), "a sequence that the genome lacks")
    off = np.flatnonzero(letters.off_end)
    if len(off) and asked.off_end == "error":
        row = int(off[0])
        name = wanted.spans.chromosomes[row]
        raise wanted.source(row).fail(
            f"the region goes past the end of {name!r}, which has {letters.length_of[name]:,} letters",
            where=wanted.where(row),
            remedy="is this the genome's release? if so, give off_end = drop, hide or pad",
        )
    found = np.flatnonzero(letters.found)
    if not len(found):
        raise wanted.files[0].fail("no region lies on a sequence of the genome", remedy="give the right genome")
    return found


def _reader(letters: GenomeLetters, asked: RegionsOptions) -> Reader:
    alphabet = asked.alphabet_name
    if alphabet == "auto":
        counts = byte_counts(letters.flat[: 1 << 20])
        counts[OFF_END] = 0
        alphabet = alphabet_of(counts)
    reader = Reader(alphabet, asked)
    if asked.strand != "ignore" and not reader.nucleic:
        raise RegionsError("only DNA and RNA have strands", remedy="give alphabet = dna or rna, or strand = ignore")
    return reader


def _on_strand(letters: Letters, minus: np.ndarray, reader: Reader) -> Letters:
    """Rows of the minus strand as their reverse complement."""
    if not minus.any():
        return letters
    turned = reader.reverse_complement(letters)
    return Letters(np.where(np.repeat(minus, letters.lengths), turned.flat, letters.flat), letters.lengths)


def _id(wanted: _Asked, row: int) -> str:
    region, spans = wanted.regions[row], wanted.spans
    if region.name not in ("", "."):
        return region.name
    return f"{region.chromosome}:{spans.starts[row]}-{spans.stops[row]}({region.strand})"


def _labels(wanted: _Asked, asked: RegionsOptions, rows: SequenceRows) -> np.ndarray | None:
    """Codes of the labels: of the file, or of the column that ``label_from`` names."""
    labelled = bool(wanted.files[0].label)
    if asked.label_from == "none":
        texts = [wanted.files[number].label for number in wanted.file_of] if labelled else None
    elif labelled:
        raise RegionsError("labels come from the files and from a column", remedy="give LABEL=PATH or `label_from`")
    else:
        texts = [getattr(region, asked.label_from) for region in wanted.regions]
    if texts is None:
        return None
    if "" in texts:
        row = texts.index("")
        raise wanted.source(row).fail("a region has no name", where=wanted.where(row), remedy="set `label_from`")
    return np.array([rows.label_of.setdefault(text, len(rows.label_of)) for text in texts])


def _groups(spans: Spans, policy: str) -> np.ndarray | None:
    """Codes of regions that share a letter (chained), or a sequence; None where each is alone."""
    if policy == "none":
        return None
    chromosomes = np.unique(np.array(spans.chromosomes), return_inverse=True)[1]
    if policy == "chromosome":
        return chromosomes
    order = np.lexsort((spans.starts, chromosomes))
    begins = np.ones(len(order), bool)
    reach, last = 0, -1
    for i, row in enumerate(order):
        here = int(chromosomes[row])
        begins[i] = here != last or spans.starts[row] >= reach
        reach = int(spans.stops[row]) if begins[i] else max(reach, int(spans.stops[row]))
        last = here
    if begins.all():
        return None
    codes = np.empty(len(order), np.int64)
    codes[order] = np.cumsum(begins) - 1
    return codes


def _notes(
    wanted: _Asked, letters: GenomeLetters, kinds: Sequence[str], asked: RegionsOptions, groups: np.ndarray | None
) -> list[str]:
    notes = [f"read as {', '.join(dict.fromkeys(kinds))}"]
    unstranded = sum(region.strand == "." for region in wanted.regions)
    if unstranded and asked.strand == "use":
        notes.append(f"{unstranded} regions have no strand and are read as plus")
    if asked.off_end == "pad" and (padded := int(letters.off_end.sum())):
        notes.append(f"{padded} positions past the end of a sequence are padded")
    if groups is not None and asked.groups == "overlap":
        shared = int((np.bincount(groups)[groups] > 1).sum())
        notes.append(f"{shared} regions overlap another; those that share letters are groups")
    return notes


INFO = ConnectorInfo(
    name="regions",
    summary="regions of a genome, or windows about start sites, with strands and labels",
    formats=("BED", "GFF3", "GTF", "each with the genome's FASTA", "each also .gz .bgz .xz .zst"),
    options_model=RegionsOptions,
    read=read,
)
