"""Motifs: binding sites become a corpus; count matrices are annotations, read by ``read_motifs``.

JASPAR's files of sites are FASTA, a site in upper case between flanks in lower case; the flanks are not
read (the fasta connector reads them too).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from connectors.encoding import Letters
from connectors.errors import MotifsError
from connectors.fasta_letters import Reader, alphabet_of, byte_counts
from connectors.fasta_options import LetterOptions
from connectors.info import ConnectorInfo
from connectors.motif_files import MATRIX_FORMATS, Motif, motif_format, parsed_motifs
from connectors.options import parse_options
from connectors.sequence_rows import SequenceRows, sequence_corpus
from connectors.sources import Source, resolve
from infosedd.corpus import Corpus


class MotifsOptions(LetterOptions):
    """Options of the motifs connector."""

    format: Literal["auto", "sites", "pfm", "jaspar", "meme", "transfac"] = Field(
        "auto", description="sites make a corpus; pfm, jaspar, meme (its minimal form) and transfac are matrices"
    )
    block: str = Field("site", description="name of the block of letters")
    label_block: str = Field("motif", description="name of the block of labels, where files are written LABEL=PATH")


def read(sources: Sequence[str], options: Mapping[str, object], name: str) -> Corpus:
    """Read files of sites as a corpus of one block of letters, and one of labels where files have them."""
    asked = parse_options(MotifsOptions, options, MotifsError, "motifs")
    files = resolve(sources, MotifsError)
    gathered = [_sites(source, asked) for source in files]
    alphabet = asked.alphabet_name
    reader = Reader(alphabet_of(byte_counts(gathered[0].flat)) if alphabet == "auto" else alphabet, asked)
    rows = SequenceRows(n_read=sum(len(sites.lengths) for sites in gathered))
    for source, sites in zip(files, gathered, strict=True):
        n = len(sites.lengths)
        label = rows.label_of.setdefault(source.label, len(rows.label_of))
        name_of_file = source.label or source.path.name.split(".")[0]
        rows.add(
            sites,
            [f"{name_of_file}:{number}" for number in range(1, n + 1)],
            reader,
            lambda row: str(row + 1),
            source,
            labels=np.full(n, label) if source.label else None,
        )
    return sequence_corpus(rows, files, reader, asked, "motifs", name, notes=["read as sites, without their flanks"])


def _sites(source: Source, asked: MotifsOptions) -> Letters:
    kind = asked.format if asked.format != "auto" else motif_format(source)
    if kind in MATRIX_FORMATS:
        raise source.fail(
            f"a matrix of counts ({kind}) holds no sites to make a corpus of",
            remedy="give the file of sites; connectors.motifs.read_motifs reads matrices to draw over a profile",
        )
    sites = [site for motif in parsed_motifs(source, kind) for site in motif.sites]
    lengths = np.array([len(site) for site in sites], np.int64)
    return Letters(np.frombuffer("".join(sites).encode("ascii", "replace"), np.uint8), lengths)


def read_motifs(path: str | Path, format: str = "auto") -> tuple[Motif, ...]:
    """The motifs of a file of matrices or sites, each with name, counts (L, 4) over ACGT and consensus."""
    source = resolve([path], MotifsError)[0]
    return parsed_motifs(source, format if format != "auto" else motif_format(source))


INFO = ConnectorInfo(
    name="motifs",
    summary="binding sites as sequences; matrices of counts as annotations",
    formats=("JASPAR sites", "as annotations: JASPAR and plain matrices, MEME (minimal), TRANSFAC"),
    options_model=MotifsOptions,
    read=read,
)
