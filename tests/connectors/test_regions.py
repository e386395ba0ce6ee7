"""Regions of a genome: BED and GFF, strands, ends, letters, labels and groups."""

import gzip

import numpy as np
import pytest

import connectors
from connectors.errors import RegionsError

from .refusal import assert_refused

CHR1 = "ACGTTGCAAGGCTTAACCGGATAT"
CHR2 = "TTTTNCCCCacgtGGGG"
GENOME = f">chr1 first\n{CHR1[:10]}\n{CHR1[10:]}\n>chr2\n{CHR2}\n"
_TURN = str.maketrans("ACGT", "TGCA")


@pytest.fixture
def ingest(tmp_path):
    """Write files of regions beside a genome, and read them."""
    (tmp_path / "genome.fa").write_text(GENOME)

    def run(text, options=None, name="a.bed", label=""):
        (tmp_path / name).write_text(text)
        return connectors.ingest(
            "regions", [f"{label}{tmp_path / name}", tmp_path / "genome.fa"], options or {}, name="regions"
        )

    return run


def letters(corpus, block="sequence"):
    symbols = np.array([*corpus.block(block).vocabulary.symbols, "?"])
    return ["".join(row) for row in symbols[corpus.tokens[block]]]


def turned(text):
    return text.translate(_TURN)[::-1]


def test_bed_of_three_to_six_columns_in_the_order_of_the_file(ingest):
    corpus = ingest("track name=x\n#note\nchr2\t5\t9\nchr1\t0\t4\tone\nchr1\t4\t8\ttwo\t0\t-\nchr1 8 12\n\n")
    assert letters(corpus) == ["CCCC", CHR1[:4], turned(CHR1[4:8]), CHR1[8:12]]
    assert corpus.sequence_ids.to_pylist() == ["chr2:5-9(.)", "one", "two", "chr1:8-12(.)"]
    assert corpus.groups is None
    assert "3 regions have no strand and are read as plus" in corpus.provenance.notes
    assert corpus.provenance.n_read == 4


def test_strands_may_be_ignored(ingest):
    assert letters(ingest("chr1\t4\t8\tx\t0\t-\n", {"strand": "ignore"})) == [CHR1[4:8]]


def test_windows_about_the_ends_of_bed(ingest):
    text = "chr1\t8\t13\tx\t0\t+\nchr1\t8\t13\ty\t0\t-\n"
    for anchor, plus, minus in (("start", 8, 12), ("end", 12, 8), ("center", 10, 10)):
        corpus = ingest(text, {"anchor": anchor, "upstream": 3, "downstream": 1})
        assert letters(corpus) == [CHR1[plus - 3 : plus + 2], turned(CHR1[minus - 1 : minus + 4])]
        assert corpus.tokens["sequence"].shape[1] == 5


GFF = """##gff-version 3
chr1\tx\tgene\t5\t20\t.\t+\t.\tID=gene:A;Name=a
chr1\tx\tmRNA\t5\t20\t.\t+\t.\tID=m
chr1\tx\tgene\t3\t16\t.\t-\t.\tName=b
##FASTA
>chr1
ACGT
"""


def test_start_sites_of_gff_and_gtf(ingest):
    options = {"upstream": 2, "downstream": 3}
    corpus = ingest(GFF, options, "a.gff3")
    assert letters(corpus) == [CHR1[2:8], turned(CHR1[12:18])]
    assert corpus.sequence_ids.to_pylist() == ["gene:A", "b"]
    gtf = 'chr1\tx\ttranscript\t5\t20\t.\t+\t.\tgene_id "g1"; transcript_id "t1";\n'
    corpus = ingest(gtf, {**options, "feature": "transcript"}, "a.gtf")
    assert letters(corpus) == [CHR1[2:8]]
    assert corpus.sequence_ids.to_pylist() == ["g1"]


def test_the_start_site_is_at_position_upstream(ingest):
    """A + gene that starts on the letter at 1-based position 5, a - gene that starts at 16."""
    corpus = ingest(GFF, {"upstream": 2, "downstream": 3}, "a.gff")
    first, second = letters(corpus)
    assert first[2] == CHR1[4]
    assert second[2] == turned(CHR1[15])


@pytest.mark.parametrize(
    ("policy", "rows", "dropped", "hidden"),
    [
        ("drop", ["ATAT"], {"a position past the end": 2}, {}),
        ("hide", ["??AC", "ATAT", "T???"], {}, {"a position past the end": 5}),
        ("pad", ["__AC", "ATAT", "T___"], {}, {}),
    ],
)
def test_positions_past_the_ends(ingest, policy, rows, dropped, hidden):
    text = "chr1\t0\t1\tx\t0\t+\nchr1\t21\t22\ty\t0\t-\nchr1\t25\t26\tz\t0\t+\n"
    options = {"anchor": "start", "upstream": 2, "downstream": 1, "off_end": policy}
    corpus = ingest(text, options)
    assert letters(corpus) == rows
    assert dict(corpus.provenance.dropped) == dropped
    assert dict(corpus.provenance.hidden) == hidden
    if policy == "pad":
        assert corpus.block("sequence").vocabulary.pad == "_"
        assert "5 positions past the end of a sequence are padded" in corpus.provenance.notes


def test_letter_policies_are_those_of_fasta(ingest):
    text = "chr2\t2\t6\nchr2\t9\t13\n"
    assert letters(ingest(text)) == ["ACGT"]
    assert ingest(text).provenance.dropped == {"an N": 1}
    kept = ingest(text, {"n": "hide", "soft_mask": "keep"})
    assert letters(kept) == ["TT?C", "acgt"]
    assert kept.provenance.hidden == {"an N": 1}


def test_labels_of_files_and_of_names(ingest, tmp_path):
    (tmp_path / "b.bed").write_text("chr1\t4\t8\n")
    (tmp_path / "a.bed").write_text("chr1\t0\t4\n")
    sources = [f"on={tmp_path / 'a.bed'}", f"off={tmp_path / 'b.bed'}", f"genome={tmp_path / 'genome.fa'}"]
    corpus = connectors.ingest("regions", sources, {}, name="two")
    assert letters(corpus) == [CHR1[:4], CHR1[4:8]]
    assert letters(corpus, "label") == ["on", "off"]
    named = ingest("chr1\t0\t4\tquiet\nchr1\t8\t12\tactive\n", {"label_from": "name"})
    assert named.block("label").vocabulary.symbols == ("active", "quiet")
    featured = ingest(
        GFF, {"label_from": "feature", "feature": ["gene", "mRNA"], "upstream": 1, "downstream": 1}, "a.gff"
    )
    assert featured.block("label").vocabulary.symbols == ("gene", "mRNA")


def test_regions_that_share_letters_are_groups(ingest):
    text = "chr1\t0\t4\nchr1\t8\t12\nchr1\t3\t7\nchr2\t0\t4\nchr1\t6\t10\nchr1\t12\t16\n"
    corpus = ingest(text)
    groups = corpus.groups.tolist()
    assert groups[0] == groups[1] == groups[2] == groups[4]
    assert len({groups[0], groups[3], groups[5]}) == 3
    assert "4 regions overlap another; those that share letters are groups" in corpus.provenance.notes
    assert len(set(ingest(text, {"groups": "chromosome"}).groups.tolist())) == 2
    assert ingest(text, {"groups": "none"}).groups is None


def test_lengths_and_kmers(ingest):
    text = "chr1\t0\t4\nchr1\t4\t10\n"
    with pytest.raises(RegionsError, match="unequal lengths"):
        ingest(text)
    assert letters(ingest(text, {"lengths": "crop"})) == [CHR1[:4], CHR1[4:8]]
    padded = ingest(text, {"lengths": "pad"})
    assert letters(padded) == [CHR1[:4] + "__", CHR1[4:10]]
    assert ingest(text, {"lengths": "crop", "kmer": 2}).block("sequence").length == 2


def test_a_compressed_genome_and_the_guess(tmp_path):
    (tmp_path / "a.bed").write_text("chr1\t0\t4\nchr1\t10\t14\n")
    (tmp_path / "g.fa.gz").write_bytes(gzip.compress(GENOME.encode()))
    corpus = connectors.ingest(None, [tmp_path / "a.bed", tmp_path / "g.fa.gz"], name="guessed")
    assert letters(corpus) == [CHR1[:4], CHR1[10:14]]
    assert corpus.provenance.notes[0] == "read with the regions connector: the lines are BED"
    assert corpus.provenance.source_uri.endswith("g.fa.gz")


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        (
            "chr1\t20\t28\n",
            {},
            ["past the end of 'chr1', which has 24 letters", "line 1, chr1:20-28", "off_end = drop"],
        ),
        ("chr1\t0\t4\tx\t0\t*\n", {}, ["'*' is no strand", "line 1", "write +, - or ."]),
        (
            "chr3\t0\t4\n",
            {},
            ["the genome has no sequence 'chr3'", "line 1", "did you mean", "missing_sequence = drop"],
        ),
        ("1\t0\t4\n", {}, ["the genome has no sequence '1'", "it calls it 'chr1'"]),
        ("chr1\t4\n", {"format": "bed"}, ["a region has 2 columns", "line 1"]),
        ("chr1\t0\t4\nchr1\tx\t8\n", {}, ["'x' is no position", "line 2"]),
        ("chr1\t0\t4\nchr1\t-3\t8\n", {}, ["'-3' is no position", "line 2"]),
        ("chr1\t8\t4\n", {}, ["a region goes from 8 to 4", "start is below stop"]),
        ("chr1\t4\t4\n", {}, ["a region goes from 4 to 4"]),
        ("#only\n", {}, ["the file has no regions"]),
        ("track x\n", {}, ["the file has no regions"]),
        ("chr1\t0\t4\n", {"strand": "require"}, ["a region has no strand", "line 1", "strand = use"]),
        ("chr1\t0\t4\n", {"label_from": "name"}, ["a region has no name", "line 1"]),
        ("chr1\t0\t4\n", {"label_from": "feature"}, ["there is no feature to take labels from"]),
        ("chr1\t0\t24\n", {"max_length": 10}, ["a region of 24 letters is longer than the 10", "take windows"]),
        ("chr1\t0\t4\n", {"alphabet": "protein"}, ["only DNA and RNA have strands"]),
        ("chr1\t0\t4\n", {"of_end": "drop"}, ["there is no option 'of_end'", "did you mean 'off_end'"]),
        ("chr2\t4\t5\n", {"n": "drop"}, ["every sequence was dropped", "1 for an N"]),
        ("chr2\t2\t6\n", {"n": "error"}, ["the letter 'N'", "record 1 (line 1, chr2:2-6), letter 3"]),
        ("chr1\t0\t4\n", {"balance": True}, ["there are no labels to balance"]),
        ("chr7\t0\t4\n", {"missing_sequence": "drop"}, ["no region lies on a sequence of the genome"]),
    ],
)
def test_bad_bed(ingest, text, options, says):
    assert_refused(RegionsError, says, lambda: ingest(text, options))


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        (GFF, {"feature": "genes"}, ["no line is of the feature 'genes'", "did you mean 'gene'"]),
        (GFF.replace("\t+\t.\tID=gene", "\tx\t.\tID=gene"), {}, ["'x' is no strand", "line 2"]),
        (GFF.replace("chr1\tx\tgene\t5", "chr1\tx\tgene\t0"), {}, ["starts at 0 where positions count from 1"]),
        (GFF.replace("\tgene\t5\t20", "\tgene\t20\t5"), {}, ["a region goes from 20 to 5", "whatever the strand"]),
        (GFF.replace("\tID=m", ""), {}, ["a line has 8 columns where GFF and GTF have 9", "line 3"]),
        (GFF, {}, ["past the end of 'chr1'"]),
        (GFF, {"label_from": "name"}, ["there is no name to take labels from"]),
    ],
)
def test_bad_gff(ingest, text, options, says):
    assert_refused(RegionsError, says, lambda: ingest(text, options, "a.gff3"))


def test_regions_and_genome_are_both_needed(tmp_path):
    (tmp_path / "a.bed").write_text("chr1\t0\t4\n")
    (tmp_path / "g.fa").write_text(GENOME)
    with pytest.raises(RegionsError, match=r"no genome is given.*genome=hg38"):
        connectors.ingest(None, [tmp_path / "a.bed"], name="a")
    (tmp_path / "b.txt").write_text("no regions at all\n")
    with pytest.raises(RegionsError, match="this is neither BED, GFF, GTF nor FASTA"):
        connectors.ingest("regions", [tmp_path / "b.txt", tmp_path / "g.fa"], name="a")
    with pytest.raises(RegionsError, match="no file of regions is given"):
        connectors.ingest("regions", [tmp_path / "g.fa"], name="a")
    (tmp_path / "g.fa").write_text(GENOME + GENOME)
    with pytest.raises(RegionsError, match="two sequences are called 'chr1'"):
        connectors.ingest("regions", [tmp_path / "a.bed", tmp_path / "g.fa"], name="a")
    (tmp_path / "a.bed").write_bytes(b"chr1\0\0")
    with pytest.raises(RegionsError, match="this is a binary file"):
        connectors.ingest("regions", [tmp_path / "a.bed", tmp_path / "g.fa"], name="a")
