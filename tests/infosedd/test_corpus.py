"""A corpus: content hash, storage by memory map, parts of it, and what it refuses."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import SPLITS, Corpus, Provenance, handed_over
from infosedd.errors import InputError, SurroundingsError

DNA = Vocabulary(tuple("ACGT"))
WIDE = Vocabulary(tuple(map(str, range(300))), pad="0")


def make(n: int = 20, **changes) -> Corpus:
    rng = np.random.default_rng(0)
    blocks = (Block("x", DNA, 6, lattice=(2, 3), periodic=True), Block("word", WIDE, 2))
    columns = {
        "name": "made",
        "blocks": blocks,
        "tokens": {"x": rng.integers(0, 5, (n, 6)), "word": rng.integers(0, 301, (n, 2))},
        "weights": np.arange(1, n + 1),
        "groups": np.arange(n) // 3,
        "splits": np.arange(n) % 3,
        "sequence_ids": pa.array([f"id{i}" for i in range(n)]),
        "provenance": Provenance("table", "file.csv", "ab" * 32, {"k": 1}, 25, {"short": 5}, {"N": 3}, ("a note",)),
    }
    return Corpus(**{**columns, **changes})


def test_types_are_the_smallest_that_hold_the_codes() -> None:
    corpus = make()
    assert corpus.tokens["x"].dtype == np.uint8
    assert corpus.tokens["word"].dtype == np.uint16
    assert corpus.n == 20
    assert corpus.n_draws == 210
    assert make(weight_kind="weight").n_draws == 20
    assert make(weights=None).n_draws == 20
    assert corpus.provenance.n_dropped == 5


def test_the_same_content_has_the_same_id_whatever_it_is_called() -> None:
    corpus = make()
    assert len(corpus.corpus_id) == 16
    assert make(name="other", provenance=Provenance()).corpus_id == corpus.corpus_id
    # the width of the integers that came in is not content
    tokens = {name: codes.astype(np.int64) for name, codes in corpus.tokens.items()}
    assert make(tokens=tokens).corpus_id == corpus.corpus_id


@pytest.mark.parametrize(
    "change",
    [
        {"weights": None},
        {"weights": np.ones(20)},
        {"weight_kind": "weight"},
        {"groups": None},
        {"groups": np.zeros(20)},
        {"splits": None},
        {"splits": np.zeros(20)},
        {"sequence_ids": None},
        {"sequence_ids": pa.array([f"other{i}" for i in range(20)])},
        {"blocks": (Block("x", DNA, 6), Block("word", WIDE, 2))},
        {"blocks": (Block("x", Vocabulary(tuple("ACGU")), 6, (2, 3), True), Block("word", WIDE, 2))},
    ],
    ids=lambda change: "+".join(change),
)
def test_any_change_of_content_changes_the_id(change: dict) -> None:
    assert make(**change).corpus_id != make().corpus_id


def test_one_changed_token_changes_the_id() -> None:
    corpus = make()
    codes = corpus.tokens["x"].copy()
    codes[-1, -1] = (codes[-1, -1] + 1) % 5
    assert make(tokens={**corpus.tokens, "x": codes}).corpus_id != corpus.corpus_id


def test_tokens_can_not_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        make().tokens["x"][0, 0] = 0


def test_the_arrays_that_came_in_stay_as_they_are_and_can_not_change_the_corpus() -> None:
    codes, rows = np.zeros((20, 6), np.uint8), np.zeros((40, 2), np.uint16)
    columns = {"weights": np.ones(20), "groups": np.arange(20), "splits": np.zeros(20, np.uint8)}
    corpus = make(tokens={"x": codes, "word": rows[:20]}, **columns)
    before = corpus.corpus_id
    codes[0, 0], rows[0, 0], columns["weights"][0], columns["groups"][0], columns["splits"][0] = 1, 1, 9, 9, 1
    again = replace(corpus, name="again")
    assert again.corpus_id == before
    assert corpus.weights[0] == 1 and corpus.tokens["word"][0, 0] == 0
    assert np.shares_memory(again.tokens["x"], corpus.tokens["x"])  # what can't change is not copied


def test_tokens_that_are_handed_over_are_not_copied() -> None:
    letters = np.zeros(120, np.uint8)
    corpus = make(tokens={"x": handed_over(letters.reshape(-1, 6)), "word": np.zeros((20, 2), np.uint16)})
    assert np.shares_memory(corpus.tokens["x"], letters)
    with pytest.raises(ValueError, match="read-only"):
        letters[0] = 1


def test_without_weights_their_kind_is_no_content() -> None:
    assert make(weights=None, weight_kind="weight").corpus_id == make(weights=None).corpus_id


def test_a_corpus_stored_with_a_kind_but_no_weights_still_opens(tmp_path: Path) -> None:
    path = make(weights=None).save(tmp_path)
    card = json.loads((path / "card.json").read_text())
    (path / "card.json").write_text(json.dumps({**card, "weight_kind": "weight"}))
    assert Corpus.load(path).corpus_id == path.name


def test_a_save_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("infosedd.corpus.os.rename", full)
    with pytest.raises(SurroundingsError, match="No space left"):
        make().save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_storage_brings_back_everything_by_memory_map(tmp_path: Path) -> None:
    corpus = make()
    path = corpus.save(tmp_path / "corpora")
    assert path.name == corpus.corpus_id
    again = Corpus.load(path)
    assert again.corpus_id == corpus.corpus_id
    assert again.blocks == corpus.blocks
    assert (again.name, again.provenance) == (corpus.name, corpus.provenance)
    for name, codes in corpus.tokens.items():
        assert np.array_equal(again.tokens[name], codes)
        assert not again.tokens[name].flags.owndata  # a view of the mapped file
    for column in ("weights", "groups", "splits"):
        assert np.array_equal(getattr(again, column), getattr(corpus, column))
    assert again.sequence_ids.to_pylist() == corpus.sequence_ids.to_pylist()


def test_storage_of_bare_tokens_and_a_second_save(tmp_path: Path) -> None:
    corpus = make(weights=None, groups=None, splits=None, sequence_ids=None)
    path = corpus.save(tmp_path)
    stamp = (path / "rows.arrow").stat().st_mtime_ns
    assert replace(corpus, name="again").save(tmp_path) == path
    assert (path / "rows.arrow").stat().st_mtime_ns == stamp
    again = Corpus.load(path)
    assert again.weights is again.groups is again.splits is again.sequence_ids is None
    assert [p.name for p in tmp_path.iterdir()] == [corpus.corpus_id]  # no partial folders


def test_what_can_not_be_loaded_or_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no corpus is stored"):
        Corpus.load(tmp_path / "nowhere")
    path = make().save(tmp_path)
    card = json.loads((path / "card.json").read_text())
    (path / "card.json").write_text(json.dumps({**card, "format_version": 99}))
    with pytest.raises(InputError, match="format 99"):
        Corpus.load(path)
    (path / "card.json").write_text("{")
    with pytest.raises(InputError, match="can't be read"):
        Corpus.load(path)
    (path / "card.json").write_text(json.dumps(card))
    (path / "rows.arrow").write_bytes((path / "rows.arrow").read_bytes()[:-40])
    with pytest.raises(InputError, match="can't be read"):
        Corpus.load(path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SurroundingsError, match="could not write"):
        make().save(tmp_path / "file" / "below")


def test_rows_by_index_mask_and_split() -> None:
    corpus = make()
    by_index = corpus.take(np.array([4, 1, 1]))
    assert by_index.sequence_ids.to_pylist() == ["id4", "id1", "id1"]
    assert by_index.weights.tolist() == [5, 2, 2]
    assert np.array_equal(by_index.tokens["x"], corpus.tokens["x"][[4, 1, 1]])
    by_mask = corpus.take(corpus.weights > 18)
    assert by_mask.sequence_ids.to_pylist() == ["id18", "id19"]
    parts = [corpus.rows_in(name) for name in SPLITS]
    assert sorted(np.concatenate(parts)) == list(range(20))
    assert parts[1].tolist() == [1, 4, 7, 10, 13, 16, 19]
    assert len(make(splits=None).rows_in("test")) == 0


def test_blocks_are_found_by_name() -> None:
    corpus = make()
    assert corpus.block("word").vocabulary.pad == "0"
    with pytest.raises(InputError, match="did you mean 'word'"):
        corpus.block("wrod")


def changed(block: str, codes: np.ndarray) -> dict:
    return {"tokens": {**make().tokens, block: codes}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"blocks": ()}, "at least one block"),
        ({"blocks": (Block("x", DNA, 6), Block("x", DNA, 6))}, "share a name"),
        ({"blocks": (Block("x", DNA, 6),)}, "don't match"),
        (changed("x", np.zeros((20, 5), int)), "tokens of shape"),
        (changed("x", np.zeros((19, 6), int)), "tokens of shape|rows"),
        (changed("x", np.zeros(20, int)), "tokens of shape"),
        (changed("x", np.full((20, 6), 5)), "outside its vocabulary of 4"),
        (changed("x", np.full((20, 6), -1)), "outside its vocabulary of 4"),
        (changed("x", np.full((20, 6), 0.5)), "type float64"),
        ({"weights": np.ones(3)}, "weights has 3 rows"),
        ({"groups": np.ones(3, int)}, "groups has 3 rows"),
        ({"splits": np.ones(3, int)}, "splits has 3 rows"),
        ({"splits": np.full(20, 3)}, "split code 3"),
        ({"sequence_ids": pa.array(["a"])}, "1 sequence ids"),
        ({"sequence_ids": pa.array(["a"] * 19 + [None])}, "missing, row 19"),
        ({"weights": np.full(20, 0.5)}, "count 0.5 is not a whole number"),
        ({"weights": np.full(20, -1.0)}, "count -1"),
        ({"weights": np.full(20, np.nan), "weight_kind": "weight"}, "weight nan"),
        ({"weights": np.full(20, np.inf), "weight_kind": "weight"}, "weight inf"),
        ({"weights": np.zeros(20)}, "add up to 0"),
    ],
)
def test_what_a_corpus_refuses(change: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make(**change)


def test_a_corpus_without_rows_is_refused() -> None:
    empty = {"x": np.zeros((0, 6), int), "word": np.zeros((0, 2), int)}
    bare = {"weights": None, "groups": None, "splits": None, "sequence_ids": None}
    with pytest.raises(InputError, match="at least one row"):
        make(tokens=empty, **bare)
