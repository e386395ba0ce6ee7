"""The text connector: tokenizers, windows, folders, JSONL pairs."""

import json

import pytest

import connectors
from connectors.errors import TextError
from infosedd.errors import SurroundingsError


def ingest(*sources, **options):
    return connectors.ingest("text", list(sources), options, name="test")


def written(tmp_path, text, name="a.txt"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_characters_in_windows(tmp_path):
    corpus = ingest(written(tmp_path, "abcabcabca"), length=4, stride=3)
    block = corpus.block("text")
    assert block.vocabulary.symbols == ("a", "b", "c")
    assert block.vocabulary.decode(corpus.tokens["text"]) == ["abca", "abca", "abca"]
    assert corpus.sequence_ids.to_pylist() == ["a.txt:0", "a.txt:3", "a.txt:6"]


def test_tail_is_counted_or_padded(tmp_path):
    path = written(tmp_path, "abcdefghij")
    dropped = ingest(path, length=4)
    assert dropped.n == 2
    assert "2 tokens at the ends of documents are in no window" in dropped.provenance.notes
    padded = ingest(path, length=4, tail="pad")
    vocabulary = padded.block("text").vocabulary
    assert vocabulary.pad == "<pad>"
    assert vocabulary.decode(padded.tokens["text"][-1:])[0] == "ij<pad><pad>"


def test_unicode_forms_case_and_line_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("e\u0301\r\nÉ\r\n".encode())
    corpus = ingest(path, length=2, lowercase=True)
    assert corpus.block("text").vocabulary.symbols == ("\n", "é")
    assert corpus.tokens["text"].tolist() == [[1, 0], [1, 0]]


def test_bytes(tmp_path):
    corpus = ingest(written(tmp_path, "aé"), tokenizer="byte", length=3)
    assert corpus.block("text").vocabulary.size == 256
    assert corpus.tokens["text"].tolist() == [[97, 0xC3, 0xA9]]


def test_words_with_a_cut_of_the_vocabulary(tmp_path):
    path = written(tmp_path, "the cat, the dog, the end. cat")
    corpus = ingest(path, tokenizer="word", length=10, vocabulary_size=3)
    vocabulary = corpus.block("text").vocabulary
    assert vocabulary.symbols == (",", "cat", "the", "<unk>")
    assert [vocabulary.symbols[code] for code in corpus.tokens["text"][0]] == [
        "the", "cat", ",", "the", "<unk>", ",", "the", "<unk>", "<unk>", "cat",
    ]  # fmt: skip
    hidden = ingest(path, tokenizer="word", length=10, vocabulary_size=3, unknown="hide")
    assert hidden.provenance.hidden == {"a token outside the vocabulary": 3}


def test_folder_with_labels(tmp_path):
    for language, text in (("english", "the thing"), ("german", "das Ding!")):
        (tmp_path / language).mkdir()
        for number in range(2):
            written(tmp_path / language, text * 5, f"{number}.txt")
    sources = [f"{name}={tmp_path / name}" for name in ("german", "english")]
    corpus = ingest(*sources, length=9)
    assert corpus.n == 20
    assert corpus.block("label").vocabulary.symbols == ("english", "german")
    assert corpus.tokens["label"][:, 0].tolist() == [1] * 10 + [0] * 10
    assert len(set(corpus.groups.tolist())) == 4


def test_stretches_of_one_document_are_groups(tmp_path):
    corpus = ingest(written(tmp_path, "ab" * 500), length=10)
    assert corpus.n == 100
    assert len(set(corpus.groups.tolist())) == 5
    assert len(set(ingest(tmp_path / "a.txt", length=10, group_windows=50).groups.tolist())) == 2


def test_pairs_from_jsonl(tmp_path):
    rows = [
        {"text": "one two three four five", "summary": "one five", "system": "A", "id": 7},
        {"text": "six seven", "summary": "six", "system": "B", "id": 8},
        {"text": "", "summary": "x", "system": "B", "id": 9},
    ]
    path = written(tmp_path, "\n".join(map(json.dumps, rows)) + "\n", "a.jsonl")
    corpus = ingest(
        path,
        tokenizer="word",
        fields={"document": "text", "summary": "summary"},
        lengths={"document": 4},
        length=2,
        categories={"system": "system"},
        groups="system",
        ids="id",
    )
    assert {block.name: block.length for block in corpus.blocks} == {"system": 1, "document": 4, "summary": 2}
    vocabulary = corpus.block("document").vocabulary
    assert vocabulary.decode(corpus.tokens["document"]) == ["onetwothreefour", "sixseven<pad><pad>"]
    assert corpus.provenance.dropped == {"an empty text in text": 1}
    assert "1 texts of text were cropped to 4 tokens" in corpus.provenance.notes
    assert corpus.sequence_ids.to_pylist() == ["7", "8"]


def test_hugging_face_tokenizer_from_a_folder(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "[UNK]": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    path = written(tmp_path, "a b c a", "t.txt")
    corpus = ingest(path, tokenizer="huggingface", tokenizer_path=str(tmp_path), length=4)
    assert corpus.block("text").vocabulary.symbols == ("a", "b", "[UNK]")
    assert corpus.tokens["text"].tolist() == [[0, 1, 2, 0]]
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(TextError, match="can't read the tokenizer"):
        ingest(path, tokenizer="huggingface", tokenizer_path=str(tmp_path), length=4)


def test_hugging_face_tokenizer_that_is_not_there(tmp_path):
    path = written(tmp_path, "a b")
    with pytest.raises(TextError, match="needs `tokenizer_path`"):
        ingest(path, tokenizer="huggingface")
    with pytest.raises((TextError, SurroundingsError), match=r"no tokenizer\.json|not installed"):
        ingest(path, tokenizer="huggingface", tokenizer_path=str(tmp_path))


def test_text_and_jsonl_do_not_mix(tmp_path):
    with pytest.raises(TextError, match="some sources are text and some JSONL"):
        ingest(written(tmp_path, "abc"), written(tmp_path, "{}\n", "a.jsonl"))
    with pytest.raises(TextError, match="`fields` is for JSONL"):
        ingest(tmp_path / "a.txt", fields={"x": "y"})
