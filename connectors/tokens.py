"""Tokenizers: characters, bytes, words with a cut of the vocabulary, and Hugging Face's."""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
from pydantic import Field, field_validator, model_validator

from connectors.encoding import Letters, letters_of
from connectors.errors import TextError
from connectors.network import require_network
from connectors.options import Options
from infosedd.blocks import Vocabulary
from infosedd.errors import SurroundingsError

UNKNOWN = "<unk>"
PAD = "<pad>"
_MAX_WORDS = 10_000


class TokenizerOptions(Options):
    """How texts are cut into tokens."""

    tokenizer: Literal["char", "byte", "word", "huggingface"] = Field(
        "char", description="what a token is: a character, a byte of UTF-8, a word, or as a Hugging Face tokenizer says"
    )
    tokenizer_path: str | None = Field(
        None, description="huggingface: folder or tokenizer.json, else the name of a model on the hub"
    )
    lowercase: bool = Field(False, description="read upper case as lower case")
    unicode: Literal["NFC", "NFKC", "none"] = Field("NFC", description="Unicode form that texts are brought to first")
    alphabet: str | None = Field(None, min_length=1, description="char: the characters in code order, no others")
    vocabulary_size: int | None = Field(
        None, ge=1, description="char, word: only the commonest tokens; by default all characters, 10,000 words"
    )
    word_pattern: str = Field(r"\w+|[^\w\s]", description="word: regular expression of a word")

    @field_validator("word_pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as cause:
            raise ValueError(f"this is no regular expression ({cause})") from cause
        return pattern

    @model_validator(mode="after")
    def _reads_what_is_given(self) -> "TokenizerOptions":
        readers = {
            "tokenizer_path": ("huggingface",),
            "alphabet": ("char",),
            "vocabulary_size": ("char", "word"),
            "word_pattern": ("word",),
        }
        for name, kinds in readers.items():
            if name in self.model_fields_set and getattr(self, name) is not None and self.tokenizer not in kinds:
                raise ValueError(f"`{name}` is read by tokenizer = {' or '.join(kinds)} only")
        if self.tokenizer == "huggingface" and self.tokenizer_path is None:
            raise ValueError("tokenizer = huggingface needs `tokenizer_path`")
        return self

    @property
    def tokenizer_key(self) -> tuple[object, ...]:
        """Blocks with equal keys share one vocabulary."""
        return tuple(getattr(self, name) for name in TokenizerOptions.model_fields)


class Tokenizer(Protocol):
    """Cuts texts into ids of its own; ``symbol`` names an id, ``fixed`` are the ids that are always there."""

    fixed: tuple[int, ...]

    def split(self, texts: pa.Array) -> Letters: ...

    def symbol(self, token: int) -> str: ...


class Characters:
    """Ids are code points."""

    def __init__(self, alphabet: str | None) -> None:
        self.fixed = tuple(dict.fromkeys(map(ord, alphabet or "")))

    def split(self, texts: pa.Array) -> Letters:
        return letters_of(texts)

    def symbol(self, token: int) -> str:
        return chr(token)


class Bytes:
    """Ids are bytes of UTF-8."""

    fixed = tuple(range(256))

    def split(self, texts: pa.Array) -> Letters:
        encoded = [text.encode() for text in texts.to_pylist()]
        return Letters(np.frombuffer(b"".join(encoded), np.uint8), np.array([len(text) for text in encoded], np.int64))

    def symbol(self, token: int) -> str:
        return chr(token) if 33 <= token < 127 else f"<{token:02x}>"


class Words:
    """Ids are words in order of first sight."""

    fixed: tuple[int, ...] = ()

    def __init__(self, pattern: str) -> None:
        self._find = re.compile(pattern)
        self._ids: dict[str, int] = {}
        self._words: list[str] = []

    def split(self, texts: pa.Array) -> Letters:
        split = [[match.group(0) for match in self._find.finditer(text)] for text in texts.to_pylist()]
        flat = np.fromiter((self._id(word) for words in split for word in words), np.int64)
        return Letters(flat, np.array([len(words) for words in split], np.int64))

    def symbol(self, token: int) -> str:
        return self._words[token]

    def _id(self, word: str) -> int:
        known = self._ids.get(word)
        if known is None:
            known = self._ids[word] = len(self._words)
            self._words.append(word)
        return known


class HuggingFace:
    """Ids of a fast tokenizer, read from a folder, a tokenizer.json, or the hub."""

    def __init__(self, path: str) -> None:
        self._tokenizer = _fast_tokenizer(path)
        self.fixed = tuple(range(self._tokenizer.get_vocab_size(with_added_tokens=True)))

    def split(self, texts: pa.Array) -> Letters:
        encoded = [e.ids for e in self._tokenizer.encode_batch(texts.to_pylist(), add_special_tokens=False)]
        lengths = np.array([len(ids) for ids in encoded], np.int64)
        return Letters(np.fromiter((token for ids in encoded for token in ids), np.int64), lengths)

    def symbol(self, token: int) -> str:
        return self._tokenizer.id_to_token(token) or f"<unused {token}>"


def tokenizer_for(options: TokenizerOptions) -> Tokenizer:
    """The tokenizer that the options name."""
    if options.tokenizer == "char":
        return Characters(options.alphabet)
    if options.tokenizer == "byte":
        return Bytes()
    if options.tokenizer == "word":
        return Words(options.word_pattern)
    return HuggingFace(options.tokenizer_path or "")


def prepared(texts: Iterable[str], options: TokenizerOptions) -> pa.Array:
    """Texts in their Unicode form and case."""
    form = options.unicode
    result = texts if form == "none" else (unicodedata.normalize(form, text) for text in texts)
    return pa.array((text.lower() for text in result) if options.lowercase else result, pa.large_string())


def vocabulary_for(
    tokenizer: Tokenizer, options: TokenizerOptions, counts: dict[int, int]
) -> tuple[list[str], np.ndarray]:
    """Symbols in code order, and a table from the tokenizer's ids to codes (-1 for ids without a code)."""
    if tokenizer.fixed:
        ids = list(tokenizer.fixed)
    else:
        limit = options.vocabulary_size or (_MAX_WORDS if options.tokenizer == "word" else len(counts))
        commonest = sorted(counts, key=lambda token: (-counts[token], tokenizer.symbol(token)))[:limit]
        ids = sorted(commonest, key=tokenizer.symbol)
    table = np.full(max([*ids, *counts], default=0) + 1, -1, np.int64)
    table[ids] = np.arange(len(ids))
    return [tokenizer.symbol(token) for token in ids], table


def token_counts(flats: Iterable[np.ndarray]) -> dict[int, int]:
    """How often each id occurs in some arrays."""
    counts: dict[int, int] = {}
    for flat in flats:
        for token, count in zip(*(part.tolist() for part in np.unique(flat, return_counts=True)), strict=True):
            counts[token] = counts.get(token, 0) + count
    return counts


def extended(symbols: list[str], unknown: bool, pad: bool) -> Vocabulary:
    """A vocabulary with the symbols for unknown tokens and padding after the others, where they are met."""
    extra = [symbol for symbol, wanted in ((UNKNOWN, unknown), (PAD, pad)) if wanted and symbol not in symbols]
    return Vocabulary((*symbols, *extra), PAD if pad else None)


def _fast_tokenizer(path: str):
    try:
        from tokenizers import Tokenizer as FastTokenizer  # pyright: ignore[reportMissingImports]
    except ImportError as cause:
        raise SurroundingsError(
            "Hugging Face tokenizers are not installed", where="option 'tokenizer'", remedy="pip install tokenizers"
        ) from cause
    local = Path(path).expanduser()
    file = local / "tokenizer.json" if local.is_dir() else local
    if file.is_file():
        try:
            return FastTokenizer.from_file(str(file))
        except Exception as cause:  # the library raises bare Exception on a bad file
            raise TextError(f"can't read the tokenizer ({cause})", where=str(file), remedy="check the file") from cause
    if local.exists() or "/" in path.strip("/").partition("/")[2] or path.startswith((".", "/", "~")):
        raise TextError(
            "there is no tokenizer.json", where=path, remedy="give the folder that a tokenizer was saved to"
        )
    require_network(TextError, path)
    try:
        return FastTokenizer.from_pretrained(path)
    except Exception as cause:  # likewise
        raise TextError(f"the hub gives no tokenizer ({cause})", where=path, remedy="check the name") from cause
