"""Known motifs: found where the rows have them, on either strand, and refused in one line where they can't be."""

from pathlib import Path

import numpy as np
import pytest

from connectors.motifs import read_motifs
from flows.motifs import MOTIFS_LIMIT, check_motifs, find_motifs, motifs_of, searched_block
from flows.steps import check
from flows.study import Motifs, Study, load_study, with_motifs
from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus
from infosedd.errors import InputError

JASPAR = """>MA1 box
A  [ 0 20  0 20 20 20 ]
C  [ 0  0  0  0  0  0 ]
G  [ 0  0  0  0  0  0 ]
T  [20  0 20  0  0  0 ]
>MA2 tail
A  [ 0  0  0  0  0 ]
C  [20 20  0  0 20 ]
G  [ 0  0 20  0  0 ]
T  [ 0  0  0 20  0 ]
>MA3 nowhere
A  [20  0  0 20  0  0 20 ]
C  [ 0 20  0  0  0 20  0 ]
G  [ 0  0 20  0 20  0  0 ]
T  [ 0  0  0  0  0  0  0 ]
"""
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def planted(letters: str = "ACGT", length: int = 40) -> Corpus:
    """Rows of `yes` have TATAAA at 12 in three of four, and the reverse complement of CCGTC at 30 in all."""
    rng = np.random.default_rng(0)
    rows = np.array(list("ACGT"))[rng.integers(0, 4, (400, length))]
    labels = np.arange(400) % 2
    rows[(labels == 1) & (rng.random(400) < 0.75), 12:18] = list("TATAAA")
    rows[labels == 1, 30:35] = list("CCGTC".translate(COMPLEMENT)[::-1])
    codes = np.searchsorted(list("ACGT"), rows)
    blocks = Block("sequence", Vocabulary(tuple(letters)), length), Block("label", Vocabulary(("no", "yes")), 1)
    return Corpus("planted", blocks, {"sequence": codes, "label": labels[:, None]})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "known.jaspar").write_text(JASPAR)
    return tmp_path / "known.jaspar"


@pytest.mark.parametrize("letters", ["ACGT", "ACGU", "acgt"])
def test_motifs_are_placed_where_most_rows_of_the_fitting_label_have_them(file: Path, letters: str) -> None:
    corpus, options = planted(letters), Motifs(path=str(file))
    block, label = corpus.blocks
    box, tail, nowhere = find_motifs(motifs_of(options), options, corpus, block, label)
    assert (box.start, box.stop, box.strand, box.label) == (12, 18, "+", "label = yes")
    assert (tail.start, tail.stop, tail.strand, tail.label) == (30, 35, "-", "label = yes")
    assert box.n_rows == 200 and 120 <= box.n_there <= box.n_matched <= 200
    assert box.is_placed and tail.is_placed and not nowhere.is_placed
    assert box.by_chance == pytest.approx(box.n_matched / 70)


def test_the_search_agrees_with_the_best_match_of_each_row(file: Path) -> None:
    corpus = planted()
    letters = np.array(list("ACGT"))[corpus.tokens["sequence"][:50]]
    for motif in read_motifs(file):
        forward, backward = motif.scores(corpus.tokens["sequence"][:50])
        for row, text in enumerate(letters):
            place = motif.best_match("".join(text))
            scores = forward[row] if place.strand == "+" else backward[row]
            assert scores.max() == pytest.approx(place.nats)
            assert scores[place.start] == pytest.approx(place.nats)


def test_one_label_can_be_named_and_a_threshold_set(file: Path) -> None:
    corpus = planted()
    block, label = corpus.blocks
    options = Motifs(path=str(file), rows="no", threshold=1.0)
    box = find_motifs(motifs_of(options), options, corpus, block, label)[0]
    assert box.label == "label = no" and not box.is_placed
    assert box.n_matched < 30


def test_hidden_letters_add_nothing_and_longer_motifs_are_left_out(file: Path) -> None:
    corpus, options = planted(), Motifs(path=str(file))
    hidden = corpus.tokens["sequence"].copy()
    hidden[:, 13] = corpus.block("sequence").vocabulary.mask_id
    with_holes = Corpus("holes", corpus.blocks, {**corpus.tokens, "sequence": hidden})
    box = find_motifs(motifs_of(options), options, with_holes, *with_holes.blocks)[0]
    assert box.start == 12
    short = Corpus("short", (Block("sequence", Vocabulary(tuple("ACGT")), 5),), {"sequence": hidden[:, :5] % 4})
    found = find_motifs(motifs_of(options), options, short, short.blocks[0], None)
    assert [motif.name for motif in found] == ["tail"]


def test_a_study_names_its_motifs_relative_to_itself(file: Path) -> None:
    text = 'name = "mine"\n[motifs]\npath = "known.jaspar"\n[[measures]]\nx = "sequence"\ny = "label"\n'
    (file.parent / "mine.toml").write_text(text)
    study = load_study(file.parent / "mine.toml")
    assert study.motifs is not None and study.motifs.path == str(file)
    check(study, planted())
    moved = with_motifs(load_study("promoters"), str(file))
    assert moved.motifs is not None and moved.motifs.path == str(file)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path": "missing.jaspar"}, "no such file"),
        ({"rows": "yess"}, "no label is called 'yess'"),
        ({"block": "sequenc"}, "sequenc"),
    ],
)
def test_what_does_not_fit_is_refused_before_training(file: Path, options: dict, words: str) -> None:
    study = Study(name="mine", measures=[{"x": "sequence", "y": "label"}], motifs={"path": str(file), **options})
    with pytest.raises(InputError, match=words):
        check(study, planted())


def test_words_and_too_many_motifs_are_refused(tmp_path: Path, file: Path) -> None:
    words = Corpus("words", (Block("text", Vocabulary(("a", "bee")), 4),), {"text": np.zeros((60, 4), int)})
    with pytest.raises(InputError, match="no block holds the letters"):
        check_motifs(Motifs(path=str(file)), words)
    assert searched_block(Motifs(path=str(file)), planted()).name == "sequence"
    many = tmp_path / "many.jaspar"
    many.write_text(JASPAR * (MOTIFS_LIMIT // 3 + 1))
    with pytest.raises(InputError, match="more than the 200"):
        motifs_of(Motifs(path=str(many)))
