"""The list of connectors, their options, and the guess from a path."""

import subprocess
import sys

import pytest

import connectors
from connectors import errors


def test_every_connector_is_listed():
    names = [info.name for info in connectors.connectors()]
    assert names == ["fasta", "table", "text", "hub", "regions", "motifs", "variants", "ising", "synthetic"]
    for info in connectors.connectors():
        assert info.summary
        assert info.formats


def test_every_option_is_described():
    for info in connectors.connectors():
        for option in info.options:
            assert option.description, f"{info.name}: {option.name}"
            assert option.kind
            assert "typing" not in option.kind, option


def test_each_connector_has_its_own_error():
    kinds = {errors.TableError, errors.FastaError, errors.IsingError, errors.SyntheticError, errors.TextError}
    kinds |= {errors.HubError, errors.RegionsError, errors.MotifsError, errors.VariantsError}
    assert len(kinds) == len(connectors.connectors())
    assert all(issubclass(kind, errors.ConnectorError) for kind in kinds)


@pytest.mark.parametrize(
    ("name", "content", "connector"),
    [
        ("a.fa", ">a\nACGT\n", "fasta"),
        ("odd.data", "# note\n>a\nACGT\n", "fasta"),
        ("a.fq", "@a\nACGT\n+\nIIII\n", "fasta"),
        ("a", "ACGT\nACGA\n", "fasta"),
        ("a.gb", "LOCUS       X 4 bp DNA\n", "fasta"),
        ("a.csv", "x,y\na,b\n", "table"),
        ("a.data", "x\ty\na\tb\n", "table"),
        ("a.csv", "x\na\n", "table"),
        ("a.bed", "chr1\t0\t4\n", "regions"),
        ("a.narrowPeak", "chr1\t0\t4\tx\t0\t.\t1\t1\t1\t2\n", "regions"),
        ("a", "##gff-version 3\nchr1\tx\tgene\t1\t4\t.\t+\t.\tID=a\n", "regions"),
        ("a.txt", "chr1\tx\tgene\t1\t4\t.\t+\t.\tgene_id a\n", "regions"),
        ("a.tsv", "one\t1\t2\ntwo\t1\t2\n", "table"),
        ("a.sites", ">a\nacACGTac\n", "motifs"),
        ("a.pfm", "1 2\n3 4\n5 6\n7 8\n", "motifs"),
        ("a.txt", ">MA1 x\nA [ 1 2 ]\nC [ 1 2 ]\nG [ 1 2 ]\nT [ 1 2 ]\n", "motifs"),
        ("a", "MEME version 4\n", "motifs"),
        ("a.dat", "ID x\nP0 A C G T\n01 1 0 0 0\n", "motifs"),
        ("a.txt", "##fileformat=VCFv4.2\n#CHROM\tPOS\n", "variants"),
        ("a.jsonl", '{"x": 1}\n', "table"),
        ("a", "It was the best of times, it was the worst of times.\nIt was the age of wisdom.\n", "text"),
    ],
)
def test_guess(tmp_path, name, content, connector):
    (tmp_path / name).write_text(content)
    found = connectors.guess(tmp_path / name)
    assert found.connector == connector
    assert found.reason
    assert connectors.guess(f"label={tmp_path / name}").connector == connector


def test_guess_of_folders_and_nonsense(tmp_path):
    with pytest.raises(errors.ConnectorError, match="can't tell what this folder holds"):
        connectors.guess(tmp_path)
    (tmp_path / "a.txt").write_text("words")
    assert connectors.guess(tmp_path).connector == "text"
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    with pytest.raises(errors.ConnectorError, match="can't tell what kind of file this is"):
        connectors.guess(tmp_path / "a.bin")


def test_a_guess_is_noted_and_overruled(tmp_path):
    path = tmp_path / "a.data"
    path.write_text("ACGT\nACGA\n")
    guessed = connectors.ingest(None, [path], name="a")
    assert guessed.provenance.notes[0].startswith("read with the fasta connector: every line is a sequence")
    named = connectors.ingest("table", [path], {"header": False}, name="a")
    assert named.provenance.connector == "table"


def test_label_only_where_no_file_has_the_whole_name(tmp_path):
    odd = tmp_path / "a=b.fa"
    odd.write_text(">a\nACGT\n")
    corpus = connectors.ingest("fasta", [odd], name="a")
    assert [block.name for block in corpus.blocks] == ["sequence"]


def _loaded(statement, modules):
    code = f"import sys; {statement}; print([name for name in {modules!r} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_listing_connectors_loads_no_heavy_library():
    heavy = ("torch", "datasets", "Bio", "prefect", "duckdb", "sklearn", "matplotlib")
    assert _loaded("import connectors; connectors.connectors()", heavy) == "[]"


def test_synthetic_loads_no_reader():
    assert _loaded("import connectors.synthetic", ("polars", "pyarrow.parquet", "scipy")) == "[]"


def test_options_may_name_a_block_like_a_class(tmp_path):
    (tmp_path / "a.csv").write_text("x\na\n")
    with pytest.raises(errors.TableError, match=r"no option 'mising' in 'categories\.Int'.*did you mean 'missing'"):
        connectors.ingest("table", [tmp_path / "a.csv"], {"categories": {"Int": {"mising": "drop"}}}, name="a")
