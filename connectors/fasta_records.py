"""Records of FASTA, FASTQ, GenBank and plain files, in batches of letters.

FASTA is a '>' header line and lines of letters up to the next. Line ends may be LF, CRLF or CR;
blank lines, spaces and tabs between letters are skipped; lines that start with '#' or ';' may stand
before the first header. FASTQ and GenBank are read by Biopython.
"""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO

import numpy as np

from connectors.encoding import Letters
from connectors.sources import Source

_CHUNK = 1 << 23
_BATCH = 4096
_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\n\v\f"
_FIRST_WORD = re.compile(r"^[^\S\n]*(\S*)", re.MULTILINE)


@dataclass(frozen=True)
class Batch:
    """Some records: headers without '>', letters as bytes, and how many spaces stood between letters."""

    headers: list[str]
    letters: Letters
    spaces: int = 0

    @cached_property
    def ids(self) -> list[str]:
        """The first word of each header."""
        return _FIRST_WORD.findall("\n".join(self.headers))


def sequence_format(source: Source) -> str:
    """fasta, fastq, genbank or plain, by the first characters."""
    with source.open() as file:
        head = file.read(4096)
    if b"\0" in head:
        raise source.fail("this is a binary file", remedy="give FASTA, FASTQ, GenBank or one sequence a line")
    text = head.removeprefix(_BOM).lstrip()
    for line in text.splitlines():
        if line.startswith((b"#", b";")) or not line.strip():
            continue
        if line.startswith(b">"):
            return "fasta"
        if line.startswith(b"@"):
            return "fastq"
        return "genbank" if line.startswith(b"LOCUS ") else _plain_or_none(source, line)
    raise source.fail("the file has no sequence", remedy="check that it was written whole")


def batches(source: Source, kind: str) -> Iterator[Batch]:
    """The records of a file in the given format."""
    readers = {"fasta": _fasta, "fastq": _fastq, "genbank": _genbank, "plain": _plain}
    yield from readers[kind](source)


def _plain_or_none(source: Source, line: bytes) -> str:
    letters = line.strip()
    if letters.isalpha() or all(chr(c).isalpha() or c in b"-.*" for c in letters):
        return "plain"
    if source.suffix in (".fa", ".fasta", ".fna", ".faa", ".ffn", ".frn", ".fas"):
        raise source.fail("there is text before the first '>'", where="line 1", remedy="start each record with '>'")
    raise source.fail(
        "this is neither FASTA, FASTQ, GenBank nor one sequence a line", remedy="check the file, or give `format`"
    )


def _fasta(source: Source) -> Iterator[Batch]:
    with source.open() as file:
        pending: list[bytes] = []
        started = False
        while chunk := _unix_lines(file.read(_CHUNK)):
            if not started:
                chunk, started = _from_first_header(chunk, source), True
            pending.append(chunk)
            cut = _last_record(pending)
            if cut > 0:
                data = b"".join(pending)
                yield _parsed(data[:cut], source)
                pending = [data[cut:]]
        if pending and any(pending):
            yield _parsed(b"".join(pending), source)


def _unix_lines(chunk: bytes) -> bytes:
    """CR and CRLF as LF; a CRLF cut by the end of a chunk leaves a blank line, which is skipped."""
    return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in chunk else chunk


def _from_first_header(chunk: bytes, source: Source) -> bytes:
    chunk = chunk.removeprefix(_BOM)
    offset = 0
    for number, line in enumerate(chunk.split(b"\n", 1000)):
        if line.startswith(b">"):
            return chunk[offset:]
        if line.strip() and not line.startswith((b"#", b";")):
            raise source.fail(
                "there is text before the first '>'", where=f"line {number + 1}", remedy="start each record with '>'"
            )
        offset += len(line) + 1
    raise source.fail("no line starts with '>'", remedy="check that the file is FASTA")


def _last_record(pending: Sequence[bytes]) -> int:
    """Offset of the last header in the joined pieces, 0 where there is none after the first byte."""
    before = sum(map(len, pending[:-1]))
    inside = pending[-1].rfind(b"\n>")
    if inside >= 0:
        return before + inside + 1
    at_seam = pending[-1].startswith(b">") and before and pending[-2].endswith(b"\n")
    return before if at_seam else 0


def _parsed(data: bytes, source: Source) -> Batch:
    """Headers and letters of whole records; the work for each record is one split of its first line."""
    if b"\0" in data:
        raise source.fail("there are zero bytes among the records", remedy="check that the file is text")
    records = [record.partition(b"\n") for record in data[1:].split(b"\n>")]
    bodies = b"\0".join([record[2] for record in records])
    letters = bodies.translate(None, _BLANKS)
    spaces = len(bodies) - len(letters) - bodies.count(b"\n")
    ends = np.flatnonzero(np.frombuffer(letters, np.uint8) == 0)
    lengths = np.diff(np.concatenate([[-1], ends, [len(letters)]])) - 1
    headers = b"\n".join([record[0] for record in records]).decode("utf-8", "replace").split("\n")
    return Batch(headers, Letters(np.frombuffer(letters.translate(None, b"\0"), np.uint8), lengths), spaces)


def _fastq(source: Source) -> Iterator[Batch]:
    from Bio.SeqIO.QualityIO import FastqGeneralIterator

    with source.open() as file:
        records = FastqGeneralIterator(as_text(file))
        yield from _in_batches(((header, sequence) for header, sequence, _ in records), source)


def _genbank(source: Source) -> Iterator[Batch]:
    from Bio import SeqIO

    with source.open() as file:
        records = SeqIO.parse(as_text(file), "genbank")
        yield from _in_batches(((f"{r.id} {r.description}", str(r.seq)) for r in records), source)


def _plain(source: Source) -> Iterator[Batch]:
    with source.open() as file:
        lines = ("".join(line.split()) for line in as_text(file))
        kept = ((str(number), line) for number, line in enumerate(lines, 1) if line and line[0] not in "#;")
        yield from _in_batches(kept, source)


def as_text(file: IO[bytes]) -> IO[str]:
    """Text with one line end; bytes that aren't UTF-8 come through as marks, which no alphabet holds."""
    return io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline=None)


def _in_batches(records: Iterator[tuple[str, str]], source: Source) -> Iterator[Batch]:
    from Bio.Seq import UndefinedSequenceError

    headers: list[str] = []
    sequences: list[bytes] = []
    number = 0
    while True:
        try:
            header, sequence = next(records)
        except StopIteration:
            break
        except UndefinedSequenceError as cause:
            raise source.fail(
                "the record has no letters", where=f"record {number + 1}", remedy="fetch it with its sequence"
            ) from cause
        except (ValueError, AssertionError) as cause:
            raise source.fail(
                f"the record is malformed ({str(cause).strip() or type(cause).__name__})",
                where=f"record {number + 1}",
                remedy="check that the file was written whole",
            ) from cause
        number += 1
        headers.append(" ".join(header.split()))
        sequences.append("".join(sequence.split()).encode("ascii", "replace"))
        if len(headers) == _BATCH:
            yield _batch(headers, sequences)
            headers, sequences = [], []
    if headers:
        yield _batch(headers, sequences)


def _batch(headers: list[str], sequences: list[bytes]) -> Batch:
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    return Batch(headers, Letters(np.frombuffer(b"".join(sequences), np.uint8), lengths))
