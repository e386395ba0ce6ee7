"""A long read is told: how far it is, and how long the rest may take."""

import bz2
import errno
import gzip
import lzma
from collections.abc import Callable

import pyarrow as pa
import pytest

import connectors
from connectors import watching
from infosedd.errors import SurroundingsError
from infosedd.progress import Progress

RECORDS = b"".join(b">%d\n%s\n" % (i, b"ACGT" * 50) for i in range(20_000))


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_reading_is_told_as_a_share_of_the_bytes_on_disk(
    tmp_path, monkeypatch: pytest.MonkeyPatch, compress: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(watching, "_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(watching, "_EVERY_SECONDS", 0.0)
    path = tmp_path / "a.fa"
    path.write_bytes(compress(RECORDS))
    heard: list[Progress] = []
    corpus = connectors.ingest("fasta", [path], name="a", progress=heard.append)
    assert corpus.n == 20_000
    reading = [report for report in heard if report.stage == f"reading {path}"]
    assert reading[-1].done == 1
    assert reading[-1].seconds_left == 0
    assert reading[-1].message.endswith(f"of {path.stat().st_size / 1e6:,.0f} MB")
    assert heard[-1].stage == f"hashing {path}"


def test_a_short_read_is_not_worth_a_word(tmp_path) -> None:
    (tmp_path / "a.fa").write_text(">a\nACGT\n")
    heard: list[Progress] = []
    connectors.ingest(None, [tmp_path / "a.fa"], name="a", progress=heard.append)
    assert heard == []


def test_zstd_reads_through_the_watched_file(tmp_path) -> None:
    (tmp_path / "a.fa.zst").write_bytes(pa.compress(RECORDS, codec="zstd", asbytes=True))
    assert connectors.ingest("fasta", [tmp_path / "a.fa.zst"], name="a").n == 20_000


def test_a_disk_that_fails_is_not_the_files_fault(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.fa").write_text(">a\nACGT\n")

    def failing(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(watching.WatchedFile, "readinto", failing)
    with pytest.raises(SurroundingsError, match=r"Input/output error.*a\.fa"):
        connectors.ingest("fasta", [tmp_path / "a.fa"], name="a")
