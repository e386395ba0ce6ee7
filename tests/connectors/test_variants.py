"""Variants: genotypes, phases, haplotypes, missing calls, blocks, labels, and bad VCF."""

import gzip

import numpy as np
import pytest

import connectors
from connectors.errors import VariantsError
from connectors.variants import read_sites

from .refusal import assert_refused

HEADER = "##fileformat=VCFv4.2\n##contig=<ID=1>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT"
SITES = [
    "1\t100\trs1\tA\tG\t.\tPASS\t.\tGT:DP\t0/0:3\t0/1:4\t1|0:5",
    "1\t200\t.\tC\tT,G\t.\t.\t.\tGT\t1/2\t0/0\t2|2",
    "1\t300\trs3\tG\tA\t.\tq10\t.\tGT\t0/0\t0/0\t0|1",
    "X\t50\trs4\tT\tC\t.\tPASS\t.\tDP:GT\t3:0|0\t4:1\t5:.|1",
]


def vcf(*sites, samples=("a", "b", "c")):
    return "\n".join(["\t".join([HEADER, *samples]), *(sites or SITES), ""])


@pytest.fixture
def ingest(tmp_path):
    def run(text=None, options=None, *, panel=None):
        (tmp_path / "a.vcf").write_text(vcf() if text is None else text)
        sources = [tmp_path / "a.vcf"]
        if panel is not None:
            (tmp_path / "samples.tsv").write_text(panel)
            sources.append(tmp_path / "samples.tsv")
        return connectors.ingest("variants", sources, options or {}, name="variants")

    return run


def tokens(corpus, block):
    symbols = np.array([*corpus.block(block).vocabulary.symbols, "?"])
    return symbols[corpus.tokens[block]].tolist()


def test_a_block_a_chromosome_of_unphased_genotypes(ingest):
    corpus = ingest()
    assert [block.name for block in corpus.blocks] == ["chr1", "X"]
    assert tokens(corpus, "chr1") == [["0/0", "1/2"], ["0/1", "0/0"], ["0/1", "2/2"]]
    assert tokens(corpus, "X") == [["0/0"], ["1"], ["?"]]
    assert corpus.provenance.hidden == {"a missing genotype": 1}
    assert corpus.sequence_ids.to_pylist() == ["a", "b", "c"]
    assert corpus.provenance.notes == (
        "1 sites are left out: each did not pass its filters",
        "chr1 has 2 sites, 1:100 A>G rs1 to 1:200 C>T,G",
        "X has 1 sites, X:50 T>C rs4",
    )


def test_a_block_a_site_and_named_regions(ingest, tmp_path):
    assert [b.name for b in ingest(None, {"blocks": "site"}).blocks] == ["chr1_100", "chr1_200", "X_50"]
    regions = {"left": "1:1-150", "right": "1:151-1,000"}
    corpus = ingest(None, {"regions": regions, "filter": "all"})
    assert [(b.name, b.length) for b in corpus.blocks] == [("left", 1), ("right", 2)]
    assert "1 sites are left out: each is in no region" in corpus.provenance.notes
    sites = read_sites([tmp_path / "a.vcf"], {"regions": regions})
    assert {block: [site.position for site in found] for block, found in sites.items()} == {
        "left": [100],
        "right": [200],
    }


def test_phased_genotypes_keep_their_order(ingest):
    text = vcf("1\t1\t.\tA\tG\t.\t.\t.\tGT\t0|1\t1|0\t1/1")
    assert tokens(ingest(text, {"tokens": "phased"}), "chr1") == [["0|1"], ["1|0"], ["1|1"]]


def test_haplotypes_are_rows_and_samples_their_groups(ingest):
    text = vcf("X\t1\t.\tA\tG\t.\t.\t.\tGT\t0|1\t1\t1/1", "X\t2\t.\tA\tG,T\t.\t.\t.\tGT\t2|0\t0\t.|1")
    corpus = ingest(text, {"tokens": "haplotype"})
    assert tokens(corpus, "X") == [["0", "2"], ["1", "0"], ["1", "0"], ["1", "?"], ["1", "1"]]
    assert corpus.sequence_ids.to_pylist() == ["a_1", "a_2", "b_1", "c_1", "c_2"]
    assert corpus.groups.tolist() == [0, 0, 1, 2, 2]
    assert corpus.provenance.n_read == 5


@pytest.mark.parametrize(
    ("policy", "n", "symbols", "dropped", "hidden"),
    [
        ("hide", 3, ("0/0", "0/1"), {}, {"a missing genotype": 2}),
        ("keep", 3, ("0/0", "0/1", "."), {}, {}),
        ("drop", 1, ("0/0", "0/1"), {"a missing genotype": 2}, {}),
    ],
)
def test_missing_genotypes(ingest, policy, n, symbols, dropped, hidden):
    text = vcf("1\t1\t.\tA\tG\t.\t.\t.\tGT\t./.\t0/1\t0/0", "1\t2\t.\tA\tG\t.\t.\t.\tGT\t0/0\t0/.\t0/1")
    corpus = ingest(text, {"missing": policy})
    assert corpus.n == n
    assert corpus.block("chr1").vocabulary.symbols == symbols
    assert dict(corpus.provenance.dropped) == dropped
    assert dict(corpus.provenance.hidden) == hidden


def test_unphased_calls_where_the_phase_is_asked_for(ingest):
    text = vcf("1\t1\t.\tA\tG\t.\t.\t.\tGT\t0/1\t0|1\t1/1", "1\t2\t.\tA\tG\t.\t.\t.\tGT\t0|1\t0|1\t1/1")
    with pytest.raises(VariantsError, match=r"there is an unphased genotype, line 4 \(1:1 A>G\), sample 'a'"):
        ingest(text, {"tokens": "haplotype"})
    hidden = ingest(text, {"tokens": "haplotype", "unphased": "hide"})
    assert tokens(hidden, "chr1")[:2] == [["?", "0"], ["?", "1"]]
    assert hidden.provenance.hidden == {"an unphased genotype": 2}
    assert ingest(text, {"tokens": "phased", "unphased": "drop"}).n == 2


def test_constant_sites_may_be_left_out(ingest):
    text = vcf("1\t1\t.\tA\tG\t.\t.\t.\tGT\t0/0\t0/0\t./.", "1\t2\t.\tA\tG\t.\t.\t.\tGT\t0/0\t0/1\t0/0")
    corpus = ingest(text, {"constant": "drop"})
    assert corpus.block("chr1").length == 1
    assert "1 sites are left out: each is the same in all samples" in corpus.provenance.notes


PANEL = "sample\tpop\tsex\nc\tEUR\tf\na\tAFR\tm\nb\tEUR\t\n"


def test_a_table_of_samples_gives_labels(ingest):
    corpus = ingest(panel=PANEL, options={"labels": ["pop"]})
    assert tokens(corpus, "pop") == [["AFR"], ["EUR"], ["EUR"]]
    every = ingest(panel=PANEL)
    assert every.n == 2
    assert every.provenance.dropped == {"no sex": 1}
    short = PANEL.replace("c\tEUR\tf\n", "")
    assert ingest(panel=short, options={"labels": ["pop"], "unlabelled": "drop"}).provenance.dropped == {
        "a sample that the table lacks": 1
    }


def test_several_files_and_the_guess(tmp_path):
    (tmp_path / "1.vcf.gz").write_bytes(gzip.compress(vcf(*SITES[:2]).encode()))
    (tmp_path / "2.vcf").write_text(vcf(*SITES[3:]))
    corpus = connectors.ingest(None, [tmp_path / "1.vcf.gz", tmp_path / "2.vcf"], name="two")
    assert [(b.name, b.length) for b in corpus.blocks] == [("chr1", 2), ("X", 1)]
    assert corpus.provenance.notes[0] == "read with the variants connector: the file is VCF"
    (tmp_path / "2.vcf").write_text(vcf(*SITES[3:], samples=("a", "b", "d")))
    with pytest.raises(VariantsError, match="the files have different samples"):
        connectors.ingest(None, [tmp_path / "1.vcf.gz", tmp_path / "2.vcf"], name="two")


SITE = "1\t1\t.\tA\tG\t.\t.\t.\tGT\t0/0\t0/1\t0/0"


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("not a vcf\n", {}, ["this is no VCF file", "line 1"]),
        ("##fileformat=VCFv4.2\n", {}, ["there is no line #CHROM"]),
        ("##fileformat=VCFv4.2\n" + SITE + "\n", {}, ["there is no line #CHROM before the sites", "line 2"]),
        (HEADER.removesuffix("\tFORMAT") + "\n", {}, ["no samples", "line 3"]),
        (vcf(samples=("a", "b", "a")), {}, ["two samples are called 'a'"]),
        (HEADER + "\ta\n", {}, ["the file has no sites"]),
        (vcf(SITE + "\t0/0"), {}, ["a site has 13 columns, the header 12", "line 4"]),
        (vcf(SITE.replace("\t", " ")), {}, ["a site has 1 columns"]),
        (vcf(SITE.replace("1\t1\t", "1\tx\t")), {}, ["'x' is no position", "line 4"]),
        (vcf(SITE.replace("GT", "DP")), {}, ["a site has no genotypes (GT)", "line 4"]),
        (vcf(SITE.replace("0/1", "0/2")), {}, ["allele 2 is not among the 2 of the site", "line 4, sample 'b'"]),
        (vcf(SITE.replace("0/1", "0-1")), {}, ["'0-1' is no genotype", "line 4, sample 'b'"]),
        (vcf(SITE.replace("0/1", "0/1/1")), {}, ["'0/1/1' has 3 alleles"]),
        (vcf(SITE.replace("0/1", "./.")), {"missing": "error"}, ["there is a missing genotype", "sample 'b'"]),
        (vcf(SITE.replace("0", ".").replace("/1", "/.")), {}, ["block 'chr1' has no genotype that is known"]),
        (vcf(SITE.replace("0/1", "0/0")), {"constant": "drop"}, ["every site was left out", "1 as each is the same"]),
        (vcf(SITE), {"regions": {"r": "chr1"}}, ["no site lies in region 'r' (chr1)"]),
        (vcf(SITE), {"regions": {"r": "1:5"}}, ["is no region", "chr1:1000-2000"]),
        (vcf(SITE), {"regions": {"1r": "1"}}, ["is no name for a block"]),
        (vcf(SITE, SITE), {"max_length": 1}, ["more sites than the 1 that a block may have", "line 5"]),
        (vcf(SITE), {"token": "phased"}, ["did you mean 'tokens'"]),
    ],
)
def test_bad_vcf(ingest, text, options, says):
    assert_refused(VariantsError, says, lambda: ingest(text, options))


@pytest.mark.parametrize(
    ("panel", "options", "says"),
    [
        ("sample\tpop\na\tx\n", {}, ["the table lacks sample 'b'", "unlabelled = drop"]),
        (PANEL, {"labels": ["popu"]}, ["there is no column 'popu'", "did you mean 'pop'"]),
        (PANEL, {"sample_column": "id"}, ["there is no column 'id'"]),
        (PANEL.replace("pop", "X"), {"labels": ["X"]}, ["two blocks are called 'X'"]),
        ("sample\tpop\na\t\nb\t\nc\t\n", {}, ["column 'pop' has no values"]),
    ],
)
def test_bad_tables_of_samples(ingest, panel, options, says):
    assert_refused(VariantsError, says, lambda: ingest(panel=panel, options=options))


def test_bcf_and_no_vcf_at_all(tmp_path):
    (tmp_path / "a.bcf").write_bytes(gzip.compress(b"BCF\2\2" + bytes(50)))
    with pytest.raises(VariantsError, match="this is BCF"):
        connectors.ingest("variants", [tmp_path / "a.bcf"], name="a")
    (tmp_path / "a.tsv").write_text("sample\tpop\na\tx\n")
    with pytest.raises(VariantsError, match="no VCF file is given"):
        connectors.ingest("variants", [tmp_path / "a.tsv"], name="a")
