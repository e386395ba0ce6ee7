"""Source files: labels, files that ship, compression, hashes, and what is wrong with a file.

A source is written ``PATH``, ``LABEL=PATH`` or ``package:FILE`` (a data file that ships with
infosedd). Reading checks that the path is a regular, readable, non-empty file; compression is told
by content (gzip and bgzip, xz, bzip2, zstd), not by name.
"""

import bz2
import errno
import gzip
import hashlib
import io
import lzma
import re
import stat
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO, BinaryIO, cast

from connectors.errors import ConnectorError
from connectors.watching import WatchedFile
from infosedd.blocks import near_names
from infosedd.errors import SurroundingsError

PACKAGE_PREFIX = "package:"
COMPRESSION_SUFFIXES = (".gz", ".bgz", ".xz", ".bz2", ".zst")
_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}

_PASSING = frozenset(
    (errno.EIO, errno.EMFILE, errno.ENFILE, errno.ESTALE, errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.ETIMEDOUT)
)
"""What the system says when the disk, the network or a limit failed, and the file may be sound."""


@dataclass(frozen=True)
class Source:
    """One file: its label (empty where none was given), the text it was named by, and where it lies."""

    uri: str
    path: Path
    label: str = ""
    error: type[ConnectorError] = ConnectorError

    @property
    def suffix(self) -> str:
        """Suffix of the name in lower case, without the compression's: ``.csv`` of ``a.CSV.gz``."""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        while suffixes and suffixes[-1] in COMPRESSION_SUFFIXES:
            suffixes.pop()
        return suffixes[-1] if suffixes else ""

    def fail(self, what: str, *, where: str = "", remedy: str = "") -> ConnectorError:
        """The format's error, naming this file."""
        return self.error(what, where=f"{where} of {self.uri}" if where else f"in {self.uri}", remedy=remedy)

    def sha256(self) -> str:
        """Hash of the bytes as they lie on disk."""
        with WatchedFile(self.path, f"hashing {self.uri}") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def compression(self) -> str | None:
        with self.path.open("rb") as file:
            head = file.read(8)
        return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The decompressed bytes; a truncated or damaged stream is this format's error."""
        try:
            with (
                WatchedFile(self.path, f"reading {self.uri}") as raw,
                io.BufferedReader(raw, 1 << 20) as buffered,
                _decompressed(cast(BinaryIO, buffered), self.compression()) as file,
            ):
                yield file
        except EOFError as cause:
            raise self.fail("the compressed file ends too early", remedy="fetch or compress it again") from cause
        except (gzip.BadGzipFile, lzma.LZMAError, zlib.error) as cause:
            raise self.fail(f"the compressed file is damaged ({cause})", remedy="fetch or compress it again") from cause
        except OSError as cause:
            if cause.errno in _PASSING:
                raise SurroundingsError(
                    f"can't read the file ({cause.strerror})",
                    where=f"in {self.uri}",
                    remedy="the disk, the network or a limit failed: run it again",
                ) from cause
            if cause.errno is not None:
                raise self.fail(f"can't read the file ({cause.strerror})", remedy="check its rights") from cause
            raise self.fail(f"the compressed file is damaged ({cause})", remedy="fetch or compress it again") from cause

    @contextmanager
    def plain_path(self) -> Iterator[Path]:
        """A path to the decompressed bytes: the file itself, or a temporary copy that is removed after."""
        if self.compression() is None:
            yield self.path
            return
        with tempfile.NamedTemporaryFile(prefix="infosedd-", suffix=self.suffix) as copy:
            with self.open() as file:
                while chunk := file.read(1 << 20):
                    self._write(copy, chunk)
            yield Path(copy.name)

    def _write(self, copy: IO[bytes], chunk: bytes) -> None:
        try:
            copy.write(chunk)
            copy.flush()
        except OSError as cause:
            raise SurroundingsError(
                f"could not unpack the file ({cause.strerror})",
                where=self.uri,
                remedy="free space in the temporary folder",
            ) from cause


def resolve(sources: Sequence[str | Path], error: type[ConnectorError]) -> tuple[Source, ...]:
    """The files behind the given texts, checked; labels must be given to all or none and may repeat."""
    found = tuple(_resolve_one(str(source), error) for source in sources)
    if not found:
        raise error("no source is given", remedy="name at least one file")
    unlabelled = [source for source in found if not source.label]
    if unlabelled and len(unlabelled) < len(found):
        raise error("some sources have a label and some have none", where=unlabelled[0].uri, remedy="write LABEL=PATH")
    return found


def joint_sha256(sources: Sequence[Source]) -> str:
    """The file's own hash, or for several files the hash of their labels and hashes in order."""
    if len(sources) == 1:
        return sources[0].sha256()
    lines = "".join(f"{source.label}\t{source.sha256()}\n" for source in sources)
    return hashlib.sha256(lines.encode()).hexdigest()


def joint_uri(sources: Sequence[Source]) -> str:
    return " ".join(f"{source.label}={source.uri}" if source.label else source.uri for source in sources)


def _resolve_one(text: str, error: type[ConnectorError]) -> Source:
    label, uri = split_label(text)
    path = _package_path(uri, error) if uri.startswith(PACKAGE_PREFIX) else Path(uri).expanduser()
    return Source(uri, _checked(path, uri, error), label, error)


def names_data_set(text: str) -> bool:
    """May the hub have a data set of this name: ``owner/name`` or ``name``?"""
    return not text.startswith((".", "/", "~")) and text.count("/") <= 1


def split_label(text: str, folder: Path = Path()) -> tuple[str, str]:
    """Label and path of ``LABEL=PATH``; no label where a file of ``folder`` has the whole text as its name."""
    match = re.fullmatch(r"([\w.+-]+)=(.+)", text, re.DOTALL)
    if match is None or (folder / text).exists():
        return "", text
    return match[1], match[2]


def _package_path(uri: str, error: type[ConnectorError]) -> Path:
    folder = Path(str(resources.files("infosedd").joinpath("data")))
    name = uri.removeprefix(PACKAGE_PREFIX)
    known = sorted(entry.name for entry in folder.iterdir() if entry.suffix not in (".md", ".py"))
    if name not in known:
        raise error(f"no data file that ships is called {name!r}", where=uri, remedy=near_names(name, known))
    return folder / name


def _checked(path: Path, uri: str, error: type[ConnectorError]) -> Path:
    try:
        status = path.stat()
    except FileNotFoundError as cause:
        raise error("there is no such file", where=uri, remedy=_nearby(path)) from cause
    except (OSError, ValueError) as cause:
        reason = getattr(cause, "strerror", None) or cause
        raise error(f"can't read the path ({reason})", where=uri, remedy="check the path and its rights") from cause
    if stat.S_ISDIR(status.st_mode):
        raise error("this is a folder, not a file", where=uri, remedy="name the file in it")
    if not stat.S_ISREG(status.st_mode):
        raise error("this is a pipe or device, not a file", where=uri, remedy="save its content to a file first")
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except PermissionError as cause:
        raise error("no permission to read the file", where=uri, remedy="give yourself the right to read it") from cause
    if empty:
        raise error("the file is empty", where=uri, remedy="check that it was written whole")
    return path


def _nearby(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {folder} either"
    return near_names(path.name, sorted(entry.name for entry in folder.iterdir() if entry.is_file())[:20])


def _decompressed(file: BinaryIO, compression: str | None) -> BinaryIO:
    if compression == "gzip":
        return cast(BinaryIO, gzip.open(file, "rb"))
    if compression == "xz":
        return cast(BinaryIO, lzma.open(file, "rb"))
    if compression == "bzip2":
        return cast(BinaryIO, bz2.open(file, "rb"))
    if compression == "zstd":
        import pyarrow as pa

        return io.BufferedReader(cast(io.RawIOBase, pa.input_stream(file, compression="zstd")), 1 << 20)
    return file
