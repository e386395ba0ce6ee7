"""Whatever the bytes, a connector gives a corpus or its one-line error, never another exception."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import connectors
from infosedd.errors import InputError

_PIECES = [
    b">", b"a b", b"ACGT", b"acgn", b"\n", b"\r\n", b"\r", b"@", b"+", b"IIII", b",", b"\t", b'"', b"x,y\n", b"\0",
    b"\xff", b"\xef\xbb\xbf", b"{", b'{"x": 1}\n', b"LOCUS ", b"//", b"1", b"-2", b"0.5", b"NaN", b"", b" ", b"#", b";",
    b"*-.", b"chr1\t0\t4", b"chr1\t2\t9\tx\t0\t-\n", b"chr1\tx\tgene\t1\t4\t.\t+\t.\tID=a\n", b"MEME version 4\n",
    b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\n", b"A [ 1 2 ]\n", b"3 4\n",
    b"1\t1\t.\tA\tG\t.\t.\t.\tGT\t0/1\n", b"1\t2\t.\tA\tG\t.\t.\t.\tGT:DP\t.|1:3\n", b"P0 A C G T\n", b"01 1 2 3 4\n",
]  # fmt: skip
files = st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(_PIECES), max_size=40).map(b"".join))
table_options = st.sampled_from(
    [
        {},
        {"header": False},
        {"categories": {"x": "x"}},
        {"sequences": {"s": {"column": "x", "unknown": "hide", "lengths": "pad"}}},
        {"categories": {"y": "y"}, "counts": "x"},
        {"bins": {"x": "x"}},
        {"texts": {"x": "x"}},
    ]
)
fasta_options = st.sampled_from(
    [
        {},
        {"format": "fasta", "other": "drop"},
        {"format": "fastq"},
        {"format": "genbank"},
        {"format": "plain", "lengths": "pad", "other": "hide"},
        {"lengths": "crop", "n": "hide", "soft_mask": "keep", "other": "hide"},
        {"window": 2, "window_step": 1, "other": "drop", "reverse_complement": "add", "alphabet": "dna"},
        {"kmer": 2, "lengths": "pad", "other": "keep", "gap": "keep"},
    ]
)
text_options = st.sampled_from(
    [
        {"length": 3},
        {"length": 4, "tail": "pad", "tokenizer": "word"},
        {"length": 2, "tokenizer": "byte"},
        {"encoding": "latin-1"},
    ]
)
region_options = st.sampled_from(
    [
        {},
        {"format": "bed", "off_end": "hide", "missing_sequence": "drop"},
        {"format": "gff", "upstream": 2, "downstream": 1, "off_end": "pad"},
        {"anchor": "center", "upstream": 1, "downstream": 1, "off_end": "drop", "label_from": "name"},
    ]
)
motif_options = st.sampled_from([{}, {"format": "sites", "other": "drop"}, {"format": "meme"}, {"format": "transfac"}])
variant_options = st.sampled_from(
    [
        {},
        {"tokens": "haplotype", "unphased": "hide", "filter": "all"},
        {"tokens": "phased", "unphased": "drop", "missing": "keep", "blocks": "site"},
    ]
)
cases = st.one_of(
    st.tuples(st.just("regions"), region_options),
    st.tuples(st.just("motifs"), motif_options),
    st.tuples(st.just("variants"), variant_options),
    st.tuples(st.just("table"), table_options),
    st.tuples(st.just("fasta"), fasta_options),
    st.tuples(st.just("text"), text_options),
    st.tuples(st.none(), st.just({})),
)


def _check(tmp_path_factory, content, case, suffix):
    connector, options = case
    path = tmp_path_factory.mktemp("fuzz") / f"a{suffix}"
    path.write_bytes(content)
    sources = [path]
    if connector == "regions":
        sources.append(path.with_name("genome.fa"))
        sources[1].write_text(">chr1\nACGTACGTNN\n")
    try:
        corpus = connectors.ingest(connector, sources, options, name="fuzz")
    except InputError as error:
        assert "\n" not in str(error)
        return
    assert corpus.n >= 1
    assert corpus.provenance.n_read >= 1
    for block in corpus.blocks:
        assert corpus.tokens[block.name].max() <= block.vocabulary.size


_SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=150, derandomize=True, **_SETTINGS)
@given(content=files, case=cases, suffix=st.sampled_from(["", ".csv", ".fa", ".txt", ".jsonl", ".parquet"]))
def test_any_bytes(tmp_path_factory, content, case, suffix):
    _check(tmp_path_factory, content, case, suffix)


@pytest.mark.slow
@settings(max_examples=4000, **_SETTINGS)
@given(content=files, case=cases, suffix=st.sampled_from(["", ".csv", ".fa", ".txt", ".jsonl", ".parquet"]))
def test_any_bytes_for_long(tmp_path_factory, content, case, suffix):
    _check(tmp_path_factory, content, case, suffix)
