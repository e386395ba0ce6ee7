"""Binding sites and count matrices as JASPAR, MEME and TRANSFAC write them, read by Biopython."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from connectors.errors import MotifsError
from connectors.fasta_records import as_text
from connectors.sources import Source

if TYPE_CHECKING:
    from Bio.motifs import Motif as BioMotif

LETTERS = "ACGT"
MATRIX_FORMATS = ("pfm", "jaspar", "meme", "transfac")
_OF_BIOPYTHON = {"meme": "minimal"}
_WAYS = "JASPAR sites or matrices, MEME's minimal form, or TRANSFAC"


@dataclass(frozen=True)
class MotifPlace:
    """Where a motif fits a sequence: a named span, 0-based and half open, as profiles draw sites; log-odds in nats."""

    name: str
    start: int
    stop: int
    strand: str
    nats: float


@dataclass(frozen=True, eq=False)
class Motif:
    """A matrix of counts: ``counts[i, j]`` sites have letter j of ACGT at position i.

    ``sites`` are the sites themselves where the file has them.
    """

    name: str
    counts: np.ndarray
    matrix_id: str = ""
    sites: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def consensus(self) -> str:
        """The commonest letter of each position; of several the first in the alphabet."""
        return "".join(LETTERS[i] for i in self.counts.argmax(axis=1))

    def log_odds(self, pseudocount: float = 0.5) -> np.ndarray:
        """(L, 4) of ln((counts[i, j] + pseudocount) / (SUM_j counts[i, j] + 4 pseudocount)) + ln 4, in nats."""
        weights = self.counts + pseudocount
        return np.log(4 * weights / weights.sum(axis=1, keepdims=True))

    def scores(self, codes: np.ndarray, pseudocount: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
        """Log-odds in nats of every place of every row, on the strand that was read and on the other: (n, P) each.

        ``codes`` (n, L) are 0 to 3 for ACGT and -1 for any other letter, which adds nothing; P = L - len(self) + 1.
        """
        odds = np.concatenate([self.log_odds(pseudocount), np.zeros((len(self), 1))], axis=1)
        places = codes.shape[1] - len(self) + 1
        forward, backward = np.zeros((2, len(codes), places))
        for i in range(len(self)):
            letters = codes[:, i : i + places]
            forward += odds[i][letters]
            backward += odds[len(self) - 1 - i][np.where(letters < 0, -1, 3 - letters)]
        return forward, backward

    def best_match(self, sequence: str, pseudocount: float = 0.5) -> MotifPlace:
        """The place in a sequence that fits the motif best, such as in the consensus of a block.

        The fit is the sum of ``log_odds`` over the letters, on either strand; a letter other than ACGT adds nothing.
        A sequence shorter than the motif is an error.
        """
        if len(sequence) < len(self):
            raise MotifsError(
                f"a sequence of {len(sequence)} letters is shorter than the motif's {len(self)}",
                where=f"motif {self.name}",
                remedy="give a longer one",
            )
        codes = np.array([[LETTERS.find(letter) for letter in sequence.upper()]])
        forward, backward = (scores[0] for scores in self.scores(codes, pseudocount))
        best = int(np.argmax(np.maximum(forward, backward)))
        strand = "+" if forward[best] >= backward[best] else "-"
        return MotifPlace(self.name, best, best + len(self), strand, float(max(forward[best], backward[best])))


def motif_format(source: Source) -> str:
    """sites, pfm, jaspar, meme or transfac, by content first and name second."""
    with source.open() as file:
        head = file.read(1 << 16)
    if b"\0" in head:
        raise source.fail("this is a binary file", remedy=f"give {_WAYS}")
    lines = [line for line in head.decode("utf-8-sig", "replace").splitlines() if line.strip()]
    kind = motif_format_of_lines(lines, ".sites" if lines and lines[0].startswith(">") else ".pfm")
    if kind is None:
        raise source.fail(f"this is none of {_WAYS}", remedy="check the file, or give `format`")
    return kind


def motif_format_of_lines(lines: Sequence[str], suffix: str) -> str | None:
    """The format that the first lines show; sites are FASTA named .sites, bare numbers are a matrix if named .pfm."""
    if not lines:
        return None
    if lines[0].startswith("MEME version"):
        return "meme"
    if any(re.match(r"P[0O]\s+A\s+C\s+G\s+T", line) for line in lines[:200]):
        return "transfac"
    if lines[0].startswith(">"):
        if len(lines) > 1 and re.match(r"\s*(A\s*\[|[\d.]+(\s+[\d.]+)+\s*$)", lines[1]):
            return "jaspar"
        return "sites" if suffix == ".sites" else None
    return "pfm" if suffix == ".pfm" and re.fullmatch(r"[\d.eE+\s-]+", lines[0]) else None


def parsed_motifs(source: Source, kind: str) -> tuple[Motif, ...]:
    """The motifs of a file; anything that Biopython stumbles over, or passes though it is cut short, is an error."""
    from Bio import motifs

    with source.open() as file:
        text = as_text(file).read()
    kept = "".join(f"{line}\n" for line in text.splitlines() if line.strip() or kind == "meme")
    try:
        found = list(motifs.parse(io.StringIO(kept), _OF_BIOPYTHON.get(kind, kind)))
    except Exception as cause:  # Biopython raises Exception itself on some bad files
        reason = str(cause).strip().splitlines()[0] if str(cause).strip() else type(cause).__name__
        raise source.fail(
            f"the motifs can't be read as {kind} ({reason[:120]})", remedy="check that the file was written whole"
        ) from cause
    if kind == "meme":
        _check_matrices(kept, len(found), source)
    if not found:
        raise source.fail("the file has no motifs", remedy="check that it was written whole")
    return tuple(_motif(motif, number, source) for number, motif in enumerate(found, 1))


def _motif(motif: "BioMotif", number: int, source: Source) -> Motif:
    read_from = getattr(motif, "alignment", None)
    sites = tuple(str(site) for site in read_from.sequences) if read_from is not None else ()
    name = motif.name or getattr(motif, "get", {}.get)("ID") or source.path.name.split(".")[0]
    where = f"motif {number} ({name})"
    if motif.counts is None or not len(motif):
        raise source.fail("a motif has no positions", where=where, remedy="check that the file was written whole")
    counts = np.array([motif.counts[letter] for letter in LETTERS], float).T
    wrong = ~np.isfinite(counts) | (counts < 0)
    if wrong.any() or not (counts.sum(axis=1) > 0).all():
        bad = wrong.any(axis=1) | (counts.sum(axis=1) <= 0)
        raise source.fail(
            f"position {int(np.argmax(bad)) + 1} has counts that are negative or all 0",
            where=where,
            remedy="counts are numbers of at least 0, some above",
        )
    counts.flags.writeable = False
    return Motif(str(name), counts, str(getattr(motif, "matrix_id", None) or ""), sites)


def _check_matrices(text: str, n_found: int, source: Source) -> None:
    """MEME states each motif and the width of its matrix: one that is missing or cut short is an error."""
    n_named, matrices, inside = 0, [], False
    for line in (line.strip() for line in text.splitlines()):
        if line.startswith("letter-probability matrix"):
            stated = re.search(r"\bw=\s*(\d+)", line)
            matrices.append((int(stated.group(1)) if stated else None, 0))
            inside = True
        elif inside and re.fullmatch(r"[\d.eE+-]+(\s+[\d.eE+-]+){3}", line):
            matrices[-1] = (matrices[-1][0], matrices[-1][1] + 1)
        elif line:
            inside = False
            n_named += bool(re.match(r"MOTIF\s", line))
    written_whole = "check that the file was written whole"
    for number, (width, n) in enumerate(matrices, 1):
        if width is not None and n != width:
            what = f"a motif has {n} positions of the {width} that it states"
            raise source.fail(what, where=f"motif {number}", remedy=written_whole)
    if not n_named == len(matrices) == n_found:
        what = f"the file names {n_named} motifs, has {len(matrices)} matrices, and {n_found} could be read"
        raise source.fail(what, remedy=written_whole)
