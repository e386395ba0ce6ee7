"""The table connector: blocks, counts, splits, policies, formats."""

import gzip
import hashlib
import lzma

import numpy as np
import polars as pl
import pytest

import connectors
from connectors.errors import TableError

LAC = "package:lac_promoter_sortseq.csv.gz"
LAC_OPTIONS = {
    "sequences": {"promoter": {"column": "x", "alphabet": "ACGT"}},
    "counts": {"block": "bin", "columns": [f"ct_{number}" for number in range(10)]},
    "split": {"column": "set"},
}


def ingest(path, **options):
    return connectors.ingest("table", [path], options, name="test")


def written(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def lac():
    return connectors.ingest("table", [LAC], LAC_OPTIONS, name="lac-promoter")


def test_lac_promoter_shape(lac):
    assert [(block.name, block.length) for block in lac.blocks] == [("promoter", 75), ("bin", 1)]
    assert lac.block("promoter").vocabulary.symbols == ("A", "C", "G", "T")
    assert lac.n_draws == 51_853
    assert lac.provenance.n_read == 50_518
    assert lac.provenance.n_dropped == 0
    assert len(np.unique(lac.groups)) == 50_518
    assert [len(lac.rows_in(split)) for split in ("training", "validation", "test")] == [31_324, 10_315, 10_214]


def test_lac_promoter_rows_are_the_non_zero_counts(lac):
    first = lac.block("promoter").vocabulary.decode(lac.tokens["promoter"][:1])[0]
    assert first == "AAAAAAAGTGAGTTAGCCAACTAATTAGGCACCGTACGCTTTATAGTTTTTGCTTCCGGCTCGTATGTTGTGTGG"
    assert lac.tokens["bin"][:2, 0].tolist() == [1, 8]
    assert (lac.weights >= 1).all()


def test_lac_promoter_provenance_and_repeat(lac):
    again = connectors.ingest("table", [LAC], LAC_OPTIONS, name="other name")
    assert again.corpus_id == lac.corpus_id
    assert lac.provenance.source_uri == LAC
    assert lac.provenance.source_sha256 == again.provenance.source_sha256
    assert lac.provenance.options["split"] == {"column": "set"}


def test_sha256_is_of_the_bytes_on_disk(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\na,1\nb,2\n"))
    corpus = ingest(path, categories={"x": "x"})
    assert corpus.provenance.source_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_symbols_are_sorted_numbers_by_size(tmp_path):
    corpus = ingest(written(tmp_path, "x,y\nb,10\na,9\nc,100\n"), categories={"x": "x", "y": "y"})
    assert corpus.block("x").vocabulary.symbols == ("a", "b", "c")
    assert corpus.block("y").vocabulary.symbols == ("9", "10", "100")
    assert corpus.tokens["y"][:, 0].tolist() == [1, 0, 2]


def test_leading_zeros_stay_texts(tmp_path):
    corpus = ingest(written(tmp_path, "x\n01\n1\n2\n"), categories={"x": "x"})
    assert corpus.block("x").vocabulary.symbols == ("01", "1", "2")


def test_given_symbols_fix_the_code_order(tmp_path):
    options = {"categories": {"x": {"columns": ["x"], "symbols": ["low", "high", "unused"]}}}
    corpus = ingest(written(tmp_path, "x\nhigh\nlow\n"), **options)
    assert corpus.tokens["x"][:, 0].tolist() == [1, 0]
    assert corpus.block("x").vocabulary.size == 3


def test_several_columns_as_one_block(tmp_path):
    corpus = ingest(written(tmp_path, "a,b,c\nx,y,1\ny,y,2\n"), categories={"ab": ["a", "b"], "c": "c"})
    assert corpus.block("ab").length == 2
    assert corpus.tokens["ab"].tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("policy", "rows", "size", "codes"),
    [("drop", 2, 2, [0, 1]), ("keep", 3, 3, [0, 2, 1]), ("hide", 3, 2, [0, 2, 1])],
)
def test_missing_policies(tmp_path, policy, rows, size, codes):
    path = written(tmp_path, "x,y\na,1\n,2\nb,3\n")
    corpus = ingest(path, categories={"x": {"columns": ["x"], "missing": policy}})
    assert corpus.n == rows
    assert corpus.block("x").vocabulary.size == size
    assert corpus.tokens["x"][:, 0].tolist() == codes
    assert corpus.provenance.n_dropped == (policy == "drop")
    assert sum(corpus.provenance.hidden.values()) == (policy == "hide")


@pytest.mark.parametrize(("policy", "size", "codes"), [("keep", 3, [0, 2, 1]), ("hide", 2, [0, 2, 1])])
def test_unknown_values(tmp_path, policy, size, codes):
    block = {"columns": ["x"], "symbols": ["a", "b"], "unknown": policy}
    corpus = ingest(written(tmp_path, "x\na\nz\nb\n"), categories={"x": block})
    assert corpus.block("x").vocabulary.size == size
    assert corpus.tokens["x"][:, 0].tolist() == codes


def test_hidden_tokens_of_dropped_rows_do_not_count(tmp_path):
    path = written(tmp_path, "s,x\nANNT,a\nACNT,\nACGT,b\n")
    corpus = ingest(path, sequences={"s": {"column": "s", "unknown": "hide"}}, categories={"x": "x"})
    assert corpus.n == 2
    assert corpus.provenance.hidden == {"a letter outside the alphabet in s": 2}


def test_unknown_kept_beside_a_hidden_cell(tmp_path):
    block = {"columns": ["x", "y"], "symbols": ["a"], "unknown": "keep", "missing": "hide"}
    corpus = ingest(written(tmp_path, "x,y\na,z\n,a\n"), categories={"x": block})
    assert corpus.block("x").vocabulary.symbols == ("a", "z")
    assert corpus.tokens["x"].tolist() == [[0, 1], [2, 0]]


@pytest.mark.parametrize(("policy", "symbols"), [("keep", "ACGTNX"), ("hide", "ACGT")])
def test_unknown_letters(tmp_path, policy, symbols):
    path = written(tmp_path, "s\nACGT\nANXT\nacgt\n")
    corpus = ingest(path, sequences={"s": {"column": "s", "unknown": policy}})
    vocabulary = corpus.block("s").vocabulary
    assert "".join(vocabulary.symbols) == symbols
    expected = [0, 4, 5, 3] if policy == "keep" else [0, 4, 4, 3]
    assert corpus.tokens["s"].tolist() == [[0, 1, 2, 3], expected, [0, 1, 2, 3]]


def test_length_policies(tmp_path):
    path = written(tmp_path, "s\nACGT\nAC\nACG\n")
    crop = ingest(path, sequences={"s": {"column": "s", "lengths": "crop"}})
    assert crop.tokens["s"].tolist() == [[0, 1]] * 3
    pad = ingest(path, sequences={"s": {"column": "s", "lengths": "pad"}})
    assert pad.block("s").vocabulary.pad == "-"
    assert pad.tokens["s"].tolist() == [[0, 1, 2, 3], [0, 1, 4, 4], [0, 1, 2, 4]]
    drop = ingest(path, sequences={"s": {"column": "s", "lengths": "drop", "length": 3}})
    assert drop.provenance.dropped == {"a length other than 3 in s": 2}


def test_alphabets_beyond_ascii(tmp_path):
    corpus = ingest(written(tmp_path, "s\nαβγ\nγβδ\n"), sequences={"s": {"column": "s", "alphabet": "auto"}})
    assert corpus.block("s").vocabulary.symbols == ("Α", "Β", "Γ", "Δ")
    kept = ingest(tmp_path / "a.csv", sequences={"s": {"column": "s", "alphabet": "αβγδ"}})
    assert kept.tokens["s"].tolist() == [[0, 1, 2], [2, 1, 3]]


def test_bins_are_quantiles_and_the_edges_are_kept(tmp_path):
    values = np.random.default_rng(0).normal(size=1000)
    path = written(tmp_path, "x\n" + "\n".join(f"{value:.9f}" for value in values) + "\n")
    corpus = ingest(path, bins={"x": {"columns": ["x"], "bins": 4}})
    assert np.bincount(corpus.tokens["x"][:, 0]).tolist() == pytest.approx([250] * 4, abs=2)
    assert corpus.provenance.notes[0].startswith("x is binned at -0.")
    fixed = ingest(path, bins={"x": {"columns": ["x"], "edges": [0.0]}})
    assert fixed.tokens["x"][:, 0].tolist() == (values >= 0).astype(int).tolist()


def test_long_counts_weights_groups_and_ids(tmp_path):
    path = written(tmp_path, "x,c,w,g,i\na,3,0.5,u,r1\nb,0,1,u,r2\na,2,1.5,v,r3\n")
    counted = ingest(path, categories={"x": "x"}, counts="c", groups="g", ids="i")
    assert counted.n == 2
    assert counted.n_draws == 5
    assert counted.provenance.dropped == {"a count of 0": 1}
    assert counted.groups.tolist() == [0, 1]
    assert counted.sequence_ids.to_pylist() == ["r1", "r3"]
    weighted = ingest(path, categories={"x": "x"}, weights="w")
    assert weighted.weight_kind == "weight"
    assert weighted.weights.tolist() == [0.5, 1.0, 1.5]


def test_split_values_can_be_named(tmp_path):
    path = written(tmp_path, "x,s\na,fit\nb,stop\nc,final\n")
    values = {"fit": "training", "stop": "validation", "final": "test"}
    corpus = ingest(path, categories={"x": "x"}, split={"column": "s", "values": values})
    assert corpus.splits.tolist() == [0, 1, 2]


def test_labels_from_several_files(tmp_path):
    one, two = written(tmp_path, "x\na\nb\n", "one.csv"), written(tmp_path, "x\nb\n", "two.csv")
    corpus = connectors.ingest("table", [f"z={one}", f"y={two}"], {"categories": {"x": "x"}}, name="test")
    assert corpus.block("label").vocabulary.symbols == ("y", "z")
    assert corpus.tokens["label"][:, 0].tolist() == [1, 1, 0]
    assert corpus.tokens["x"][:, 0].tolist() == [0, 1, 1]


def test_formats_agree(tmp_path):
    frame = pl.DataFrame({"x": ["a", "b", "a", None], "n": [1, 2, 2, 1]})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_csv(tmp_path / "a.tsv", separator="\t")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")
    frame.write_ndjson(tmp_path / "a.jsonl")
    (tmp_path / "b.csv.xz").write_bytes(lzma.compress((tmp_path / "a.csv").read_bytes()))
    options = {"categories": {"x": "x", "n": "n"}}
    names = ("a.csv", "a.tsv", "a.parquet", "a.arrow", "a.jsonl", "b.csv.xz")
    corpora = [connectors.ingest("table", [tmp_path / name], options, name="t") for name in names]
    assert len({corpus.corpus_id for corpus in corpora}) == 1
    assert corpora[0].n == 3


def test_zstandard(tmp_path):
    import pyarrow as pa

    with pa.output_stream(str(tmp_path / "a.csv.zst"), compression="zstd") as file:
        file.write(b"x\na\nb\n")
    assert ingest(tmp_path / "a.csv.zst", categories={"x": "x"}).n == 2


def test_without_header(tmp_path):
    path = written(tmp_path, "a,1\nb,2\n")
    corpus = ingest(path, header=False, categories={"x": "column_1"}, ids="column_2")
    assert corpus.n == 2
    assert corpus.sequence_ids.to_pylist() == ["1", "2"]


def test_blocks_are_told_by_content(tmp_path):
    rows = [f"id{n},{'ACGT'[n % 4] * 6},{'ab'[n % 2]},{n * 0.37:.3f},{'train' if n % 3 else 'test'}" for n in range(60)]
    path = written(tmp_path, "name,seq,kind,value,set\n" + "\n".join(rows) + "\n")
    corpus = ingest(path)
    assert {block.name: block.length for block in corpus.blocks} == {"seq": 6, "kind": 1, "value": 1}
    assert corpus.block("value").vocabulary.size == 8
    assert corpus.splits is not None
    assert corpus.sequence_ids[0].as_py() == "id0"
    assert any("kind was taken as a category with 2 values" in note for note in corpus.provenance.notes)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["WILD", "LATE", "FAST"] * 40, "category"),  # amino acids all, and labels
        (["GATA", "TATA"] * 40, "dna"),
        (["MKTAYIAKQRQISFVKSHFSRQLEERLG", "MKTAYIAKQRQISFVKSHFSRQLEERLA"] * 40, "protein"),  # too long for labels
        ([f"{a}{b}{c}{d}" for a in "ACGT" for b in "ACGT" for c in "ACGT" for d in "ACGT"] * 20, "dna"),  # too many
        (["WILD", "LATE", "FAST"], "protein"),  # none comes again
    ],
)
def test_labels_of_one_length_are_no_sequences(tmp_path, values, kind):
    path = written(tmp_path, "\n".join(["x,y", *(f"{value},{i % 2}" for i, value in enumerate(values))]))
    corpus = connectors.ingest("table", [path], name="test")
    note = next(note for note in corpus.provenance.notes if note.startswith("column x"))
    if kind == "category":
        assert corpus.block("x").length == 1 and set(corpus.block("x").vocabulary.symbols) == set(values)
        assert note.startswith(
            f"column x was taken as a category with {len(set(values))} values, though they look like"
        )
        assert "name it in `sequences`" in note
    else:
        assert corpus.block("x").length == len(values[0]) and note == f"column x was taken as {kind} letters"


def test_hundred_thousand_categories(tmp_path):
    rng = np.random.default_rng(1)
    values = rng.permutation(np.repeat(np.arange(100_000), 2))
    path = written(tmp_path, "x,y\n" + "\n".join(f"k{value},{value % 3}" for value in values) + "\n")
    corpus = ingest(path, categories={"x": "x", "y": "y"})
    assert corpus.block("x").vocabulary.size == 100_000
    names = np.array(corpus.block("x").vocabulary.symbols)[corpus.tokens["x"][:100, 0]]
    assert names.tolist() == [f"k{value}" for value in values[:100]]


def test_texts_share_a_vocabulary(tmp_path):
    path = written(tmp_path, "d,s\nthe cat sat,a cat\nthe dog,dog\n")
    text = {"tokenizer": "word", "lengths": "fit", "length": 3}
    corpus = ingest(path, texts={"doc": {"column": "d", **text}, "sum": {"column": "s", **text}})
    doc, summary = corpus.block("doc").vocabulary, corpus.block("sum").vocabulary
    assert doc.symbols == summary.symbols == ("a", "cat", "dog", "sat", "the", "<pad>")
    assert corpus.tokens["sum"].tolist() == [[0, 1, 5], [2, 5, 5]]


def test_mutual_information_of_two_columns_agrees_with_scikit_learn(tmp_path):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(2)
    x = rng.integers(5, size=2000)
    y = np.where(rng.random(2000) < 0.7, x, rng.integers(5, size=2000))
    path = written(tmp_path, "x,y\n" + "\n".join(f"v{a},w{b}" for a, b in zip(x, y, strict=True)) + "\n")
    corpus = ingest(path, categories={"x": "x", "y": "y"})
    codes = corpus.tokens["x"][:, 0], corpus.tokens["y"][:, 0]
    assert metrics.mutual_info_score(*codes) == pytest.approx(metrics.mutual_info_score(x, y), abs=1e-12)


def test_near_column_is_named(tmp_path):
    with pytest.raises(TableError, match="did you mean 'promoter'"):
        ingest(written(tmp_path, "promoter,y\na,1\n"), categories={"x": "promotor"})
