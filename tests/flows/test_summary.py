"""What ``infosedd ingest`` says of a corpus."""

import json

import numpy as np
import pytest

import connectors
from flows.show import corpus_as_json, show_corpus
from flows.summary import block_summaries, n_repeated, row_facts

FASTA = """>a promoter
ACGTAC
>b promoter
ACGT
>b other
ACGT
>c other
ACNT
"""


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "a.fa").write_text(FASTA)
    options = {"lengths": "pad", "label_pattern": " (.*)"}
    return connectors.ingest("fasta", [tmp_path / "a.fa"], options, name="few")


def test_rows_duplicates_and_ids(corpus) -> None:
    assert row_facts(corpus) == [
        "rows read: 4, left out 1, in the corpus 3",
        "duplicates: 0 rows (0.0%) equal an earlier one in every block",
        "ids: 1 repeat an earlier one",
    ]
    assert n_repeated(corpus.take(np.array([0, 1, 1, 0]))) == 2


def test_lengths_and_composition(corpus) -> None:
    sequence, label = block_summaries(corpus)
    assert (sequence.length, sequence.lengths) == (6, "4 to 6, median 4")
    shares = dict(sequence.composition)
    assert shares["A"] == pytest.approx(4 / 18)
    assert shares["_"] == pytest.approx(4 / 18)
    assert sum(shares.values()) == pytest.approx(1)
    assert label.lengths == "1"
    assert label.commonest(1) == (("promoter", pytest.approx(2 / 3)),)


def test_groups_and_splits_are_counted(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("x,g,set\na,1,train\nb,1,test\na,2,test\n")
    options = {"categories": {"x": "x"}, "groups": "g", "split": "set"}
    table = connectors.ingest("table", [tmp_path / "a.csv"], options, name="t")
    assert row_facts(table)[1:] == [
        "duplicates: 1 rows (33.3%) equal an earlier one in every block",
        "groups: 2, split and counted together",
        "split: training 1, test 2",
    ]


def test_both_forms_tell_the_same(corpus, capsys) -> None:
    show_corpus(corpus)
    shown = capsys.readouterr().out
    for words in ("dropped: 1 for an N", "rows read: 4", "4 to 6, median 4", "A 22.2%"):
        assert words in shown
    told = json.loads(corpus_as_json(corpus))
    assert told["dropped"] == {"an N": 1}
    assert told["n_repeated_rows"] == 0
    assert told["blocks"][0]["composition"]["A"] == pytest.approx(4 / 18)
