"""Which connector a path asks for, by its content first and its name second."""

from dataclasses import dataclass
from pathlib import Path

from connectors.errors import ConnectorError
from connectors.motif_files import motif_format_of_lines
from connectors.region_files import BED_SUFFIXES, GFF_SUFFIXES, format_of_lines
from connectors.sources import resolve, split_label

_TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".arrow", ".feather", ".ipc")
_SEQUENCE_SUFFIXES = (
    ".fa", ".fasta", ".fna", ".faa", ".ffn", ".frn", ".fas", ".mfa", ".afa", ".fq", ".fastq", ".gb", ".gbk", ".genbank",
)  # fmt: skip
_LETTERS = frozenset("ACGTUNRYSWKMBDHVacgtunryswkmbdhv-.")
_HEAD = 1 << 16
_MARKS = (",", "\t", ";", "|")


@dataclass(frozen=True)
class Guess:
    """The connector that a path asks for, and what told."""

    connector: str
    reason: str


def guess(path: str | Path) -> Guess:
    """The connector for a source; an error where nothing tells."""
    _, text = split_label(str(path))
    folder = Path(text).expanduser()
    if folder.is_dir():
        return _guess_folder(folder)
    source = resolve([str(path)], ConnectorError)[0]
    with source.open() as file:
        head = file.read(_HEAD)
    by_content = _guess_head(head.removeprefix(b"\xef\xbb\xbf"), source.suffix, whole=len(head) < _HEAD)
    if by_content is not None:
        return by_content
    if b"\0" not in head:
        if source.suffix in _TABLE_SUFFIXES:
            return Guess("table", f"the name ends with {source.suffix}")
        if source.suffix in (*BED_SUFFIXES, *GFF_SUFFIXES):
            return Guess("regions", f"the name ends with {source.suffix}")
        if source.suffix in _SEQUENCE_SUFFIXES:
            return Guess("fasta", f"the name ends with {source.suffix}")
        if source.suffix in (".txt", ".text", ".md"):
            return Guess("text", f"the name ends with {source.suffix}")
    raise source.fail("can't tell what kind of file this is", remedy="name the connector with --connector")


def _guess_folder(folder: Path) -> Guess:
    if any((folder / file).exists() for file in ("dataset_info.json", "state.json", "dataset_dict.json")):
        return Guess("hub", "the folder holds a saved data set")
    if any(folder.rglob("*.txt")):
        return Guess("text", "the folder holds .txt files")
    raise ConnectorError("can't tell what this folder holds", where=str(folder), remedy="name a file, or the connector")


def _guess_head(head: bytes, suffix: str, whole: bool) -> Guess | None:
    if head.startswith((b"PAR1", b"ARROW1")):
        return Guess("table", "the file is Parquet or Arrow")
    if b"\0" in head:
        return None
    lines = [line for line in head.decode("utf-8", "replace").splitlines() if line.strip()]
    if not whole and len(lines) > 1:
        lines = lines[:-1]
    if lines and lines[0].startswith("##fileformat=VCF"):
        return Guess("variants", "the file is VCF")
    if (kind := motif_format_of_lines(lines, suffix)) is not None:
        return Guess("motifs", f"the file holds motifs ({kind})")
    regions = format_of_lines(lines)
    if regions == "gff" or (regions == "bed" and suffix in BED_SUFFIXES):
        return Guess("regions", f"the lines are {regions.upper()}")
    told = [line for line in lines if not line.startswith(("#", ";"))]
    if not told:
        return None
    first = told[0]
    if first.startswith(">"):
        return Guess("fasta", "a line starts with '>'")
    if first.startswith("@") and len(told) > 2 and told[2].startswith("+"):
        return Guess("fasta", "the lines are FASTQ")
    if first.startswith("LOCUS "):
        return Guess("fasta", "the file is GenBank")
    if first.lstrip().startswith("{"):
        return Guess("table", "the lines are JSON")
    if all(set(line.strip()) <= _LETTERS for line in told[:100]):
        return Guess("fasta", "every line is a sequence of nucleotides")
    return _guess_text(told[:100])


def _guess_text(lines: list[str]) -> Guess | None:
    counts = {mark: [line.count(mark) for line in lines] for mark in _MARKS}
    for mark, per_line in counts.items():
        if per_line[0] and len(lines) > 1 and len(set(per_line)) == 1:
            return Guess("table", f"every line has {per_line[0]} {mark!r}")
    words = sum(len(line.split()) for line in lines)
    alphabetic = sum(character.isalpha() or character.isspace() for line in lines for character in line)
    if words > 2 * len(lines) and alphabetic > 0.8 * sum(map(len, lines)):
        return Guess("text", "the lines read like prose")
    return None
