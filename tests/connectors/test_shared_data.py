"""Every file of the development data ingests with the right summary, or is refused as it should be.

The folder is named by INFOSEDD_TEST_DATA; without it these tests are skipped.
"""

import numpy as np
import pytest

import connectors
from connectors.errors import ConnectorError

# file, options, rows, length of the first block, dropped, hidden
READ = [
    ("edge/aster.pro", {}, 1, 107, {}, {}),
    ("edge/crp_sites.fa", {}, 358, 26, {}, {}),
    ("edge/example_dos.fastq", {}, 3, 25, {}, {}),
    ("edge/dups.fasta", {"lengths": "drop"}, 4, 5, {"a length other than 5": 1}, {}),
    ("edge/sequence.fa", {"n": "hide", "lengths": "pad"}, 6, 490, {}, {"an N": 139}),
    ("edge/sequence.fa", {}, 1, 490, {"an N": 5}, {}),
    ("edge/blat_dna_softmasked.fa.gz", {"window": 50, "soft_mask": "hide"}, 164, 50, {}, {"a lower-case letter": 5183}),
    ("edge/lambda_virus.fa.gz", {"window": 100}, 485, 100, {}, {}),
    ("edge/lupine.nu", {"n": "keep"}, 1, 655, {}, {}),
    ("edge/Arnt.sites", {}, 20, 6, {}, {}),
    ("edge/rna.fa", {"lengths": "crop", "length": 160}, 4, 160, {}, {}),
    ("promoters/arabidopsis_tata.fa", {}, 1497, 251, {}, {}),
    ("promoters/arabidopsis_non_prom.fa.gz", {}, 2879, 251, {}, {}),
    ("promoters/arabidopsis_non_prom_big.fa.gz", {}, 11457, 251, {"an N": 2}, {}),
    ("promoters/ecoli_prom.fa", {"label_pattern": "__(forward|reverse)__"}, 839, 81, {}, {}),
    ("promoters/ecoli_non_prom.fa", {}, 3000, 81, {}, {}),
    (
        "promoters/uci_promoters.data",
        {"header": False, "sequences": {"s": {"column": "column_3"}}, "categories": {"label": "column_1"}},
        106,
        57,
        {},
        {},
    ),
    ("summeval_1600.jsonl.gz", {}, 1600, 1, {}, {}),
    ("lac_promoter_sortseq.csv.gz", {}, 50_518, 75, {}, {}),
    ("text/tinyshakespeare.txt.gz", {}, 8714, 128, {}, {}),
    ("text", {"length": 64}, 907, 64, {}, {}),
]
REFUSED = [
    ("edge/REB1.pfm", {}, "holds no sites to make a corpus of"),
    ("edge/dups.fasta", {}, "sequences have unequal lengths"),
    ("edge/rna.fa", {}, "sequences have unequal lengths"),
    ("edge/lambda_virus.fa.gz", {}, "longer than the 5,000 that a block may have"),
    ("edge/lupine.nu", {}, "every sequence was dropped"),
    ("edge/blat_dna_softmasked.fa.gz", {}, "sequences have unequal lengths"),
]


@pytest.mark.parametrize(("file", "options", "rows", "length", "dropped", "hidden"), READ)
def test_reads(data_folder, file, options, rows, length, dropped, hidden):
    corpus = connectors.ingest(None, [data_folder / file], options, name="data")
    assert corpus.n == rows
    assert corpus.blocks[0].length == length
    assert dict(corpus.provenance.dropped) == dropped
    assert dict(corpus.provenance.hidden) == hidden
    assert corpus.provenance.n_read == rows + corpus.provenance.n_dropped


@pytest.mark.parametrize(("file", "options", "says"), REFUSED)
def test_refuses(data_folder, file, options, says):
    with pytest.raises(ConnectorError, match=says):
        connectors.ingest(None, [data_folder / file], options, name="data")


def test_every_file_is_covered(data_folder):
    named = {data_folder / file for file, *_ in [*READ, *REFUSED]}
    files = {path for path in data_folder.rglob("*") if path.is_file() and path.name != "README.md"}
    assert {path for path in files if path not in named and path.parent not in named} == set()


def test_arabidopsis_task(data_folder):
    folder = data_folder / "promoters"
    sources = [f"promoter={folder / 'arabidopsis_tata.fa'}", f"other={folder / 'arabidopsis_non_prom_big.fa.gz'}"]
    corpus = connectors.ingest("fasta", sources, {"balance": True, "seed": 42}, name="arabidopsis")
    label = corpus.tokens["label"][:, 0]
    assert np.bincount(label).tolist() == [1497, 1497]
    clean = connectors.ingest("fasta", [sources[1].partition("=")[2]], {}, name="other")
    chosen = np.sort(np.random.default_rng(42).choice(clean.n, 1497, replace=False))
    assert (corpus.tokens["sequence"][label == 0] == clean.tokens["sequence"][chosen]).all()
    assert "7 sequences repeat an earlier one" in clean.provenance.notes
    letters = corpus.tokens["sequence"][label == 1]
    assert np.isin(letters[:, 199], [1, 3]).mean() == pytest.approx(0.93, abs=0.02)


def test_document_summary_pairs(data_folder):
    options = {
        "fields": {"document": "text", "summary": "decoded"},
        "tokenizer": "word",
        "groups": "doc_id",
        "length": 64,
    }
    corpus = connectors.ingest("text", [data_folder / "summeval_1600.jsonl.gz"], options, name="summeval")
    assert corpus.n == 1600
    assert len(np.unique(corpus.groups)) == 100
    assert corpus.block("document").vocabulary.symbols == corpus.block("summary").vocabulary.symbols
