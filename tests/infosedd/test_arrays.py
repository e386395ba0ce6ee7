"""Every kind of input that the Python functions take, as one corpus."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from infosedd.arrays import MISSING_SYMBOL, corpus_of, shared_vocabulary
from infosedd.blocks import Vocabulary
from infosedd.errors import InputError

LETTERS = ["ACG", "TTA", "GCA"]
CODES = [[0, 1, 2], [3, 3, 0], [2, 1, 0]]
LABELS = ["low", "high", "low"]


@pytest.mark.parametrize(
    "values",
    [
        LETTERS,
        tuple(LETTERS),
        np.array(LETTERS),
        np.array(LETTERS, dtype=object),
        np.array(LETTERS, dtype="S"),
        pd.Series(LETTERS),
        pd.Series(LETTERS, dtype="string"),
        pd.Series(LETTERS, dtype="category"),
        pl.Series(LETTERS),
        pl.Series(LETTERS, dtype=pl.Categorical),
        pa.array(LETTERS),
        pa.chunked_array([LETTERS[:1], LETTERS[1:]]),
        [list(row) for row in LETTERS],
        np.array([list(row) for row in LETTERS]),
        pl.Series([list(row) for row in LETTERS]),
        pd.DataFrame([list(row) for row in LETTERS]),
        pl.DataFrame([list(column) for column in zip(*LETTERS, strict=True)]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_letters(values) -> None:
    corpus = corpus_of({"x": values})
    assert corpus.block("x").vocabulary.symbols == ("A", "C", "G", "T")
    assert corpus.tokens["x"].tolist() == CODES


@pytest.mark.parametrize(
    "values",
    [
        [10, -9, 10],
        [True, False, True],
        np.array([10, -9, 10], dtype=np.int16),
        np.array([10.0, -9.0, 10.0]),
        np.array([[10], [-9], [10]]),
        [[10], [-9], [10]],
        torch.tensor([10, -9, 10]),
        torch.tensor([10.0, -9.0, 10.0], requires_grad=True),
        pd.Series([10, -9, 10]),
        pd.Series([10, -9, 10], dtype="Int64"),
        pl.Series([10, -9, 10]),
        pa.array([10, -9, 10]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_numbers_one_a_row(values) -> None:
    corpus = corpus_of({"x": values})
    assert corpus.block("x").length == 1
    assert corpus.tokens["x"][:, 0].tolist() == [1, 0, 1]
    assert corpus.block("x").vocabulary.symbols in (("-9", "10"), ("False", "True"))


def test_a_range_is_a_column() -> None:
    assert corpus_of({"x": range(3)}).tokens["x"].tolist() == [[0], [1], [2]]


def test_strings_of_several_lengths_are_whole_symbols() -> None:
    corpus = corpus_of({"y": LABELS})
    assert corpus.block("y").length == 1
    assert corpus.block("y").vocabulary.symbols == ("high", "low")


def test_strings_of_one_length_are_read_letter_by_letter_even_labels() -> None:
    corpus = corpus_of({"y": ["hi", "lo"]})
    assert corpus.block("y").length == 2


MISSING = [
    ["AC", None, "GT"],
    np.array(["AC", None, "GT"], dtype=object),
    pd.Series(["AC", None, "GT"]),
    pd.Series(["AC", None, "GT"], dtype="string"),
    pl.Series(["AC", None, "GT"]),
    pa.array(["AC", None, "GT"]),
    [["A", "C"], None, ["G", "T"]],
    [["A", "C"], [None, None], ["G", "T"]],
]


@pytest.mark.parametrize("values", MISSING, ids=lambda v: type(v).__name__)
def test_missing_strings_follow_the_policy(values) -> None:
    with pytest.raises(InputError, match=r"missing value, row 1, position 0; pass missing='hide'"):
        corpus_of({"x": values})
    hidden = corpus_of({"x": values}, missing="hide")
    assert hidden.tokens["x"].tolist() == [[0, 1], [4, 4], [2, 3]]
    assert hidden.block("x").vocabulary.size == 4
    symbol = corpus_of({"x": values}, missing="symbol")
    assert symbol.block("x").vocabulary.symbols == ("A", "C", "G", "T", MISSING_SYMBOL)
    assert symbol.tokens["x"].tolist() == [[0, 1], [4, 4], [2, 3]]


@pytest.mark.parametrize(
    "values",
    [
        [1, None, 2],
        [1.0, float("nan"), 2.0],
        np.array([1, np.nan, 2]),
        torch.tensor([1, float("nan"), 2]),
        pd.Series([1, None, 2]),
        pd.Series([1, None, 2], dtype="Int64"),
        pl.Series([1, None, 2]),
        pa.array([1, None, 2]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_missing_numbers_follow_the_policy(values) -> None:
    with pytest.raises(InputError, match="missing value, row 1"):
        corpus_of({"x": values})
    assert corpus_of({"x": values}, missing="hide").tokens["x"].tolist() == [[0], [2], [1]]
    assert corpus_of({"x": values}, missing="symbol").block("x").vocabulary.symbols == ("1", "2", MISSING_SYMBOL)


@pytest.mark.parametrize(
    ("columns", "more", "said"),
    [
        ({"x": [1, 2], "y": [1, 2, 3]}, {}, "numbers of rows differ: x has 2, y has 3"),
        ({"x": []}, {}, "x is empty"),
        ({"x": np.zeros((3, 0), int)}, {}, "x is empty"),
        ({"x": np.zeros((2, 2, 2), int)}, {}, "3 dimensions"),
        ({"x": np.array(3)}, {}, "0 dimensions"),
        ({"x": [[1, 2], [3]]}, {}, "rows of x have different lengths, from 1 to 2"),
        ({"x": [["A", "C"], "G"]}, {}, "different lengths"),
        ({"x": [0.5, 1.0]}, {}, "such as 0.5, which are not whole; bin continuous values"),
        ({"x": np.array([1.0, np.inf])}, {}, "such as inf"),
        ({"x": np.array([1.0, 1e300])}, {}, "such as 1e\\+300"),
        ({"x": np.array([1 + 2j])}, {}, "complex"),
        ({"x": np.array(["2020-01-01"], dtype="datetime64[D]")}, {}, "datetime64"),
        ({"x": 5}, {}, "can't read a int"),
        ({"x": "ACGT"}, {}, "can't read a str"),
        ({"x": (i for i in range(3))}, {}, "can't read a generator"),
        ({"x": {"a": 1}}, {}, "can't read a dict"),
        ({"x": [None, None]}, {"missing": "hide"}, "only missing values"),
        ({"x": [1, 2]}, {"missing": "drop"}, "missing is 'drop'; use one of error, hide, symbol"),
        ({"x": [1, 2]}, {"weights": [1, 2, 3]}, "weights has 3 rows"),
        ({"x": [1, 2]}, {"weights": ["a", "b"]}, "weights are not numbers"),
        ({"x": [1, 2]}, {"weights": [1, None]}, "weight nan"),
        ({"x": [1, 2]}, {"weights": [1, -1]}, "count -1"),
        ({"x": [1, 2]}, {"groups": [1, 2, 3]}, "groups has 3 rows"),
        ({"x": [1, 2]}, {"groups": [[1, 2], [3, 4]]}, "groups has the shape \\(2, 2\\)"),
        ({"x": [1, 2]}, {"groups": ["a", None]}, "groups has a missing value, row 1"),
    ],
)
def test_what_can_not_be_read(columns: dict, more: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        corpus_of(columns, **more)


def test_weights_are_counts_where_they_are_whole() -> None:
    counted = corpus_of({"x": [0, 1]}, weights=[3, 2])
    assert (counted.weight_kind, counted.n_draws) == ("count", 5)
    weighted = corpus_of({"x": [0, 1]}, weights=torch.tensor([0.5, 2.0]))
    assert (weighted.weight_kind, weighted.n_draws) == ("weight", 2)


@pytest.mark.parametrize("groups", [["g1", "g2", "g1"], [7, 8, 7], pl.Series(["AT1", "AT2", "AT1"]), [[1], [2], [1]]])
def test_groups_are_whole_values_not_letters(groups) -> None:
    codes = corpus_of({"x": [0, 1, 0]}, groups=groups).groups
    assert codes[0] == codes[2] != codes[1]


def test_a_second_corpus_with_the_vocabulary_of_the_first() -> None:
    given = {"x": Vocabulary(("T", "G", "C", "A"))}
    corpus = corpus_of({"x": ["AC", "GG"]}, vocabularies=given)
    assert corpus.block("x").vocabulary is given["x"]
    assert corpus.tokens["x"].tolist() == [[3, 2], [1, 1]]
    with pytest.raises(InputError, match="the symbol 'N', which the other corpus lacks"):
        corpus_of({"x": ["AN", "GG"]}, vocabularies=given)


def test_symbols_of_two_columns_together() -> None:
    assert shared_vocabulary({"p": ["AC", "CC"], "q": ["GT", "TT"]}).symbols == ("A", "C", "G", "T")
    assert shared_vocabulary({"p": [10, 9], "q": [-1]}).symbols == ("-1", "9", "10")
    with pytest.raises(InputError, match="q has a missing value"):
        shared_vocabulary({"p": ["A"], "q": [None, "B"]})
    assert shared_vocabulary({"p": ["A"], "q": [None, "B"]}, "symbol").symbols == (MISSING_SYMBOL, "A", "B")


def test_many_symbols_and_rows_in_order() -> None:
    values = np.random.default_rng(0).integers(0, 1000, (500, 3))
    corpus = corpus_of({"x": values})
    symbols = np.array(corpus.block("x").vocabulary.symbols).astype(int)
    assert np.array_equal(symbols[corpus.tokens["x"]], values)
    assert corpus.provenance.n_read == 500


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_numbers_at_the_ends_of_their_type(dtype: type) -> None:
    ends = np.iinfo(dtype)
    for values in ([ends.min, ends.max, ends.min], [ends.max, ends.max - 1, ends.max]):
        corpus = corpus_of({"x": np.array(values, dtype)})
        assert corpus.block("x").vocabulary.symbols == tuple(str(v) for v in sorted(set(values)))
        assert corpus.tokens["x"].ravel().tolist() == [int(v == max(values)) for v in values]


@pytest.mark.parametrize("n_symbols", [254, 255, 256, 257])
@pytest.mark.parametrize("missing", ["hide", "symbol"])
def test_as_many_symbols_as_a_byte_holds(n_symbols: int, missing: str) -> None:
    letters = [chr(0x3B1 + i) + "a" for i in range(n_symbols)] + [None]
    corpus = corpus_of({"x": letters, "y": [v and v[:1] for v in letters]}, missing=missing)
    for name in ("x", "y"):
        vocabulary = corpus.block(name).vocabulary
        assert corpus.tokens[name].dtype == vocabulary.dtype
        assert corpus.tokens[name][-1, 0] == vocabulary.size - (missing == "symbol")
        text = "".join(letters[-2][:1])
        assert vocabulary.symbols[corpus.tokens[name][-2, 0]] == text


def test_numbers_far_apart_and_many_tokens_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(-3, 9, (101, 7))
    symbols, codes = np.unique(rows, return_inverse=True)
    for piece in (5, 7, 20, 10**6):
        monkeypatch.setattr("infosedd.arrays.PIECE", piece)
        for scale in (1, 10**9):  # a table, and a sort
            corpus = corpus_of({"x": rows * scale})
            assert corpus.block("x").vocabulary.symbols == tuple(str(v * scale) for v in symbols.tolist())
            assert np.array_equal(corpus.tokens["x"], codes.reshape(rows.shape))


def test_letters_that_are_not_ascii_and_a_row_that_is_missing() -> None:
    corpus = corpus_of({"x": ["äb", None, "bé"]}, missing="hide")
    assert corpus.block("x").vocabulary.symbols == ("b", "ä", "é")
    assert corpus.tokens["x"].tolist() == [[1, 0], [3, 3], [0, 2]]


def test_one_sequence_of_another_length_does_not_turn_all_into_symbols() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(row) for row in rng.choice(list("ACGT"), (2000, 5))]
    words[3] = "ACGTAACGTA"
    with pytest.raises(
        InputError, match=r"x has 1,999 strings of 5 letters and 1 of other lengths.*string 3, 'ACGTAACGTA'"
    ):
        corpus_of({"x": words})
    answers = ["yes"] * 1990 + ["no"] * 10  # labels, although almost all are of one length
    assert corpus_of({"x": answers}).block("x").vocabulary.symbols == ("no", "yes")
    assert corpus_of({"x": [[word] for word in words]}).block("x").length == 1
