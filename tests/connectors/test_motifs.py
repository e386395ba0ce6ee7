"""Motifs: sites as a corpus, matrices as annotations, and what is wrong with either."""

from math import log

import numpy as np
import pytest

import connectors
from connectors.errors import MotifsError
from connectors.motifs import read_motifs

from .refusal import assert_refused

SITES = ">MA1 X 1\nggACGTtt\n>MA1 X 2\naACGAc\n>MA1 X 3\nACCTggg\n"
JASPAR = """>MA0004.1 Arnt
A  [ 4 19  0  0  0  0 ]
C  [16  0 20  0  0  0 ]
G  [ 0  1  0 20  0 20 ]
T  [ 0  0  0  0 20  0 ]
"""
MEME = """MEME version 4

ALPHABET= ACGT

strands: + -

Background letter frequencies
A 0.3 C 0.2 G 0.2 T 0.3

MOTIF KRP
letter-probability matrix: alength= 4 w= 3 nsites= 10 E= 4.1e-009
 0.0 0.2 0.0 0.8
 0.0 0.1 0.6 0.3
 0.0 0.1 0.0 0.9

MOTIF TWO
letter-probability matrix: alength= 4 w= 1 nsites= 4 E= 1
 1.0 0.0 0.0 0.0

"""
TRANSFAC = """VV  EXAMPLE
XX
//
ID  first
P0      A      C      G      T
01      1      2      2      0      S
02      2      1      2      0      R
XX
//
"""


@pytest.fixture
def path(tmp_path):
    def write(text, name):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_sites_without_flanks(path):
    corpus = connectors.ingest(None, [path(SITES, "x.sites")], name="x")
    assert corpus.blocks[0].name == "site"
    assert ["".join("ACGT"[code] for code in row) for row in corpus.tokens["site"]] == ["ACGT", "ACGA", "ACCT"]
    assert corpus.sequence_ids is not None
    assert corpus.sequence_ids.to_pylist() == ["x:1", "x:2", "x:3"]
    assert corpus.provenance.notes[0] == "read with the motifs connector: the file holds motifs (sites)"


def test_labelled_files_make_a_block_of_motifs(path):
    other = path(">a\nttACTA\n>b\nACAA\n", "y.sites")
    corpus = connectors.ingest("motifs", [f"one={path(SITES, 'x.sites')}", f"two={other}"], name="both")
    assert corpus.block("motif").vocabulary.symbols == ("one", "two")
    assert corpus.tokens["motif"][:, 0].tolist() == [0, 0, 0, 1, 1]


def test_matrices_are_no_corpus_and_say_what_reads_them(path):
    for text, name in ((JASPAR, "a.jaspar"), (MEME, "a.meme"), (TRANSFAC, "a.dat"), ("1 2\n3 4\n5 6\n7 8\n", "a.pfm")):
        with pytest.raises(MotifsError, match=r"holds no sites to make a corpus of.*read_motifs"):
            connectors.ingest(None, [path(text, name)], name="a")


def test_jaspar_matrix(path):
    (motif,) = read_motifs(path(JASPAR, "a.txt"))
    assert (motif.name, motif.matrix_id, motif.consensus, len(motif)) == ("Arnt", "MA0004.1", "CACGTG", 6)
    assert motif.counts.shape == (6, 4)
    assert motif.counts[0].tolist() == [4, 16, 0, 0]
    assert not motif.counts.flags.writeable


def test_meme_transfac_and_plain_matrices(path):
    first, second = read_motifs(path(MEME, "a.meme"))
    assert (first.name, first.consensus, second.name, second.consensus) == ("KRP", "TGT", "TWO", "A")
    assert first.counts[1].tolist() == pytest.approx([0, 1, 6, 3])
    (motif,) = read_motifs(path(TRANSFAC, "a.dat"))
    assert (motif.name, motif.counts.tolist()) == ("first", [[1, 2, 2, 0], [2, 1, 2, 0]])
    (plain,) = read_motifs(path("1 2\r\n3 4\r\n5 6\r\n7 8\r\n\r\n", "b.pfm"))
    assert (plain.name, plain.counts.tolist()) == ("b", [[1, 3, 5, 7], [2, 4, 6, 8]])


def test_sites_are_counted_as_a_matrix(path):
    (motif,) = read_motifs(path(SITES, "x.sites"))
    assert motif.sites == ("ACGT", "ACGA", "ACCT")
    assert motif.counts[2].tolist() == [0, 1, 2, 0]


def test_the_best_match_of_a_motif(path):
    (motif,) = read_motifs(path(JASPAR.replace("[ 4 19", "[ 0 19").replace("[16  0", "[20  0"), "a.txt"))
    place = motif.best_match("TTTCACGTGTTT")
    assert (place.name, place.start, place.stop, place.strand) == ("Arnt", 3, 9, "+")
    full, most = log(4 * 20.5 / 22), log(4 * 19.5 / 22)
    assert place.nats == pytest.approx(5 * full + most)
    one_way = read_motifs(path("9 0 0\n0 9 0\n0 0 9\n0 0 0\n", "c.pfm"))[0]
    assert one_way.consensus == "ACG"
    backward, forward = one_way.best_match("TTTTCGTTTT"), one_way.best_match("NNNNACGNNN")
    assert (backward.start, backward.strand) == (4, "-")
    assert (forward.start, forward.strand) == (4, "+")
    with pytest.raises(MotifsError, match="shorter than the motif's 3"):
        one_way.best_match("AC")


def test_a_profile_shades_the_place_of_a_motif(path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from infosedd.plotting.profile import plot_sites

    (motif,) = read_motifs(path(JASPAR, "a.txt"))
    figure, ax = pyplot.subplots()
    ax.set_xlim(0, 12)
    plot_sites(ax, [motif.best_match("TTTCACGTGTTT")])
    assert [text.get_text() for text in ax.texts] == ["Arnt"]
    assert ax.patches[0].get_extents().transformed(ax.transData.inverted()).x0 == pytest.approx(2.5)
    pyplot.close(figure)


@pytest.mark.parametrize(
    ("text", "name", "options", "says"),
    [
        (">a\nacgt\n", "a.sites", {}, ["no positions"]),
        (">a\nACGT\n>b\nACG\n", "a.sites", {}, ["can't be read as sites", "same length"]),
        ("nothing of the kind\n", "a.sites", {}, ["this is none of JASPAR"]),
        (">a\nACGT\n", "a.sites", {"frmat": "sites"}, ["did you mean 'format'"]),
        (">a\nACQT\n", "a.sites", {}, []),
    ],
)
def test_bad_sites(path, text, name, options, says):
    assert_refused(MotifsError, says, lambda: connectors.ingest("motifs", [path(text, name)], options, name="a"))


@pytest.mark.parametrize(
    ("text", "name", "kind", "says"),
    [
        ("1 2\n3 4\n", "a.pfm", "auto", ["can't be read as pfm"]),
        ("a b\n1 2\n1 2\n1 2\n", "a.pfm", "pfm", ["can't be read as pfm"]),
        ("1 2\n1 2\n1 2\n1\n", "a.pfm", "auto", ["can't be read as pfm (data has inconsistent lengths)"]),
        ("1 0\n1 0\n1 0\n1 0\n", "a.pfm", "auto", ["position 2 has counts that are negative or all 0"]),
        ("1 -2\n1 2\n1 2\n1 2\n", "a.pfm", "auto", ["position 2 has counts that are negative"]),
        (MEME[: MEME.index(" 0.0 0.1 0.0")], "a.meme", "auto", ["2 positions of the 3 that it states"]),
        ("MEME version 4\nMOTIF x\n", "a.meme", "auto", ["can't be read as meme"]),
        (MEME[: MEME.index("MOTIF KRP")], "a.meme", "auto", []),
        (MEME.replace("w= 3", "w= 2"), "a.meme", "auto", ["3 positions of the 2 that it states", "motif 1"]),
        (MEME.replace("w= 1", "w= 4"), "a.meme", "auto", ["1 positions of the 4 that it states", "motif 2"]),
        (MEME + "MOTIF THREE\n", "a.meme", "auto", ["can't be read as meme"]),
        (MEME.replace("MOTIF TWO\n", ""), "a.meme", "auto", ["names 1 motifs, has 2 matrices"]),
        (MEME + MEME[MEME.index("letter-prob") :].replace("w= 1", "w= 5"), "a.meme", "auto", ["of the 5 that it"]),
        ("P0 A C G T\n01 1 2 x 0\n//\n", "a.dat", "transfac", []),
        (JASPAR.replace("19", "x"), "a.txt", "jaspar", ["can't be read as jaspar"]),
    ],
)
def test_bad_matrices(path, text, name, kind, says):
    assert_refused(MotifsError, says, lambda: read_motifs(path(text, name), kind))


def test_a_binary_file(tmp_path):
    (tmp_path / "a.pfm").write_bytes(bytes(range(64)))
    with pytest.raises(MotifsError, match="this is a binary file"):
        read_motifs(tmp_path / "a.pfm")


def test_the_sites_and_matrices_at_hand(data_folder):
    corpus = connectors.ingest(None, [data_folder / "edge" / "Arnt.sites"], name="arnt")
    assert (corpus.n, corpus.blocks[0].length) == (20, 6)
    (matrix,) = read_motifs(data_folder / "edge" / "REB1.pfm")
    assert (matrix.name, matrix.consensus) == ("REB1", "GTTACCCGG")
    assert np.allclose(matrix.counts.sum(axis=1), 100)
