"""Every file of ``invalid/`` gives the error or the reading that ``cases.toml`` states."""

import os
import tomllib
from pathlib import Path

import pytest

import connectors
from connectors import errors
from infosedd.errors import InputError

FOLDER = Path(__file__).parent / "invalid"
CASES = tomllib.loads((FOLDER / "cases.toml").read_text())["case"]


def _error_class(name: str) -> type[InputError]:
    return InputError if name == "InputError" else getattr(errors, name)


def _ingest(case: dict):
    return connectors.ingest(case.get("connector"), [FOLDER / case["file"]], case.get("options", {}), name="case")


@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{case['file']}" for n, case in enumerate(CASES)])
def test_case(case):
    if "error" not in case:
        corpus = _ingest(case)
        assert corpus.n == case["rows"]
        assert dict(corpus.provenance.dropped) == case.get("dropped", {})
        assert dict(corpus.provenance.hidden) == case.get("hidden", {})
        for note in case.get("notes", []):
            assert note in corpus.provenance.notes
        return
    with pytest.raises(InputError) as caught:
        _ingest(case)
    assert type(caught.value) is _error_class(case["error"])
    line = str(caught.value)
    assert "\n" not in line
    assert caught.value.remedy
    for part in case["says"]:
        assert part in line


def test_every_file_has_a_case():
    named = {case["file"] for case in CASES}
    assert {path.name for path in FOLDER.iterdir()} - named == {"cases.toml", ".gitattributes"}


def test_at_least_forty_errors_over_formats():
    failing = [case for case in CASES if "error" in case]
    assert len(failing) >= 40
    assert len({case["error"] for case in failing}) >= 4


@pytest.mark.parametrize("connector", ["fasta", "table", "text"])
def test_missing_file_names_the_near_one(connector, tmp_path):
    (tmp_path / "data.csv").write_text("x\n1\n")
    with pytest.raises(InputError, match="there is no such file") as caught:
        connectors.ingest(connector, [tmp_path / "dat.csv"], {}, name="a")
    assert "did you mean 'data.csv'?" in str(caught.value)
    assert isinstance(caught.value, errors.ConnectorError)


@pytest.mark.parametrize("connector", ["fasta", "table"])
def test_folder(connector, tmp_path):
    with pytest.raises(InputError, match="this is a folder, not a file"):
        connectors.ingest(connector, [tmp_path], {}, name="a")


def test_folder_without_texts(tmp_path):
    with pytest.raises(errors.TextError, match="no file in the folder matches"):
        connectors.ingest("text", [tmp_path], {}, name="a")


@pytest.mark.parametrize("connector", ["fasta", "table", "text", None])
def test_pipe_is_refused_without_hanging(connector, tmp_path):
    os.mkfifo(tmp_path / "pipe.fa")
    with pytest.raises(InputError, match="pipe or device"):
        connectors.ingest(connector, [tmp_path / "pipe.fa"], {}, name="a")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_no_permission(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text(">a\nACGT\n")
    path.chmod(0)
    with pytest.raises(errors.FastaError, match="no permission"):
        connectors.ingest("fasta", [path], {}, name="a")


def test_one_very_long_line(tmp_path):
    path = tmp_path / "long.fa"
    path.write_bytes(b">a\n" + b"ACGT" * 2_500_000 + b"\n>b\nACGT\n")
    with pytest.raises(errors.FastaError, match=r"unequal lengths|longer than"):
        connectors.ingest("fasta", [path], {}, name="a")
    corpus = connectors.ingest("fasta", [path], {"window": 4000, "alphabet": "dna"}, name="a")
    assert corpus.n == 2500
    assert corpus.provenance.dropped == {"a record shorter than the window of 4000": 1}


def test_a_table_in_latin_1_says_how_to_convert_it(tmp_path):
    path = tmp_path / "cafe.csv"
    path.write_bytes("a,b\ncafé,1\nthé,2\n".encode("latin-1") * 30)
    with pytest.raises(errors.TableError, match=r"cafe\.csv.*UTF-8.*iconv"):
        connectors.ingest("table", [path], {}, name="a")


def test_unknown_names():
    with pytest.raises(errors.ConnectorError, match="did you mean 'table'"):
        connectors.ingest("tabel", ["a.csv"], {}, name="a")
    with pytest.raises(errors.TableError, match=r"did you mean 'lac_promoter_sortseq\.csv\.gz'"):
        connectors.ingest("table", ["package:lac_promoter.csv.gz"], {}, name="a")
    with pytest.raises(errors.TableError, match="no source is given"):
        connectors.ingest("table", [], {}, name="a")


def test_a_ragged_row_far_down_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "a,1\n" * 3000 + "b,2,3\n")
    for columns in ({"x": "x"}, {"x": "x", "y": "y"}):
        with pytest.raises(errors.TableError, match="a row has 3 cells, the first 2, row 3001"):
            connectors.ingest("table", [tmp_path / "a.csv"], {"categories": columns}, name="a")


def test_labels_for_some_sources_only(tmp_path):
    for name in ("a.fa", "b.fa"):
        (tmp_path / name).write_text(">a\nACGT\n")
    with pytest.raises(errors.FastaError, match="some sources have a label"):
        connectors.ingest("fasta", [f"x={tmp_path / 'a.fa'}", tmp_path / "b.fa"], {}, name="a")
