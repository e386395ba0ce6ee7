"""Texts: files and folders cut into windows, or JSONL with a text in one or several fields.

A file is a document, cut into windows of ``length`` tokens; LABEL=PATH gives each file's windows a
label. A line of JSONL is a row: ``fields`` names the blocks, such as a document and its summary.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from connectors.encoding import Letters
from connectors.errors import TextError
from connectors.fasta_windows import windows
from connectors.frame_options import FrameOptions
from connectors.frames import columns_needed, corpus_of_frame
from connectors.info import ConnectorInfo
from connectors.options import Policy, parse_options
from connectors.sources import Source, joint_sha256, joint_uri, resolve, split_label
from connectors.table_files import needed, scanned
from connectors.table_options import TableOptions
from connectors.tokens import (
    PAD,
    UNKNOWN,
    TokenizerOptions,
    extended,
    prepared,
    token_counts,
    tokenizer_for,
    vocabulary_for,
)
from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus, Provenance

_FEW_DOCUMENTS = 20
_STRETCH = 20


class TextOptions(TokenizerOptions):
    """Options of the text connector."""

    format: Literal["auto", "text", "jsonl"] = Field("auto", description="plain text, or JSONL (with `fields`)")
    encoding: str = Field("utf-8", description="text: how characters are written as bytes")
    pattern: str = Field("*.txt", description="folders: which files in them, and in the folders in them")
    block: str = Field("text", description="text: name of the block")
    length: int = Field(128, ge=1, le=5000, description="tokens in a block")
    stride: int | None = Field(
        None, ge=1, description="text: tokens from one window to the next; by default no overlap"
    )
    tail: Literal["drop", "pad"] = Field("drop", description="text: what is left at a document's end: drop | pad")
    group_windows: int | None = Field(
        None,
        ge=1,
        description="text: neighbouring windows that are split and counted together; by default those of a document, "
        "or 20 where there are fewer than 20 documents",
    )
    label_block: str = Field("label", description="text: name of the block of labels, where sources are LABEL=PATH")
    unknown: Policy = Field("keep", description="tokens outside the vocabulary: keep (as <unk>) | hide | drop | error")
    fields: dict[str, str] = Field(
        default_factory=dict, description="jsonl: block -> field of text; longer ones are cropped, shorter padded"
    )
    lengths: dict[str, int] = Field(default_factory=dict, description="jsonl: block -> tokens, where not `length`")
    categories: dict[str, str] = Field(
        default_factory=dict, description="jsonl: block -> field whose whole value is one token"
    )
    groups: str | None = Field(None, description="jsonl: field of groups that are split and counted together")
    ids: str | None = Field(None, description="jsonl: field of sequence ids")

    @model_validator(mode="after")
    def _lengths_have_blocks(self) -> "TextOptions":
        for block in self.lengths:
            if block not in self.fields:
                raise ValueError(f"`lengths` names {block!r}, which `fields` does not")
        return self


def read(sources: Sequence[str], options: Mapping[str, object], name: str) -> Corpus:
    """Read texts as windows of tokens, or as rows of JSONL."""
    asked = parse_options(TextOptions, options, TextError, "text")
    files = resolve([text for source in sources for text in _files_of(source, asked.pattern)], TextError)
    kinds = {_format(source, asked) for source in files}
    if len(kinds) > 1:
        raise TextError("some sources are text and some JSONL", remedy="ingest them one after the other")
    if kinds == {"jsonl"}:
        return _rows_of_jsonl(files, asked, name)
    if asked.fields:
        raise files[0].fail(
            "`fields` is for JSONL, and this is plain text", remedy="leave it out, or give format = jsonl"
        )
    return _windows_of_files(files, asked, name)


def _files_of(source: str, pattern: str) -> Iterator[str]:
    """The source itself, or every matching file of a folder, in order of their names."""
    label, text = split_label(source)
    folder = Path(text).expanduser()
    if not folder.is_dir():
        yield source
        return
    found = sorted(path for path in folder.rglob(pattern) if path.is_file())
    if not found:
        raise TextError(f"no file in the folder matches {pattern!r}", where=text, remedy="give another `pattern`")
    yield from (f"{label}={path}" if label else str(path) for path in found)


def _format(source: Source, asked: TextOptions) -> str:
    if asked.format != "auto":
        return asked.format
    return "jsonl" if source.suffix in (".jsonl", ".ndjson") else "text"


# Documents cut into windows.


def _windows_of_files(files: Sequence[Source], asked: TextOptions, name: str) -> Corpus:
    tokenizer = tokenizer_for(asked)
    documents = [tokenizer.split(_document(source, asked)).flat for source in files]
    symbols, table = vocabulary_for(tokenizer, asked, token_counts(documents))
    step = asked.stride or asked.length
    pieces, document_of, number_of, uncovered, dropped = [], [], [], 0, {}
    for number, flat in enumerate(documents):
        rows, left = _cut(table[flat], asked.length, step, asked.tail == "pad")
        if not len(rows):
            dropped["a document shorter than a window"] = dropped.get("a document shorter than a window", 0) + 1
        uncovered += left
        pieces.append(rows)
        document_of.append(np.full(len(rows), number))
        number_of.append(np.arange(len(rows)))
    grid, document, window = np.concatenate(pieces), np.concatenate(document_of), np.concatenate(number_of)
    n_read = len(grid) + sum(dropped.values())
    notes = [f"{uncovered} tokens at the ends of documents are in no window"] if uncovered else []
    keep, hidden = _apply_unknown(grid, asked, files[0], notes)
    if not keep.all():
        dropped["a token outside the vocabulary"] = int((~keep).sum())
    if not keep.any():
        raise files[0].fail(
            "every window was dropped",
            remedy="dropped " + ", ".join(f"{count} for {reason}" for reason, count in dropped.items()),
        )
    grid, document, window = grid[keep], document[keep], window[keep]
    vocabulary = extended(symbols, asked.unknown == "keep" and bool((grid == -1).any()), bool((grid == _PAD).any()))
    blocks, tokens = [Block(asked.block, vocabulary, asked.length)], {asked.block: _coded(grid, vocabulary, asked)}
    if files[0].label:
        labels = tuple(sorted({source.label for source in files}))
        code_of_file = np.array([labels.index(source.label) for source in files])
        blocks.append(Block(asked.label_block, Vocabulary(labels), 1))
        tokens[asked.label_block] = code_of_file[document][:, None]
    return Corpus(
        name=name,
        blocks=tuple(blocks),
        tokens=tokens,
        groups=_groups(document, window, len(files), asked, notes),
        sequence_ids=pa.array([f"{files[d].path.name}:{w * step}" for d, w in zip(document, window, strict=True)]),
        provenance=Provenance(
            connector="text",
            source_uri=joint_uri(files),
            source_sha256=joint_sha256(files),
            options=asked.model_dump(exclude_defaults=True),
            n_read=n_read,
            dropped=dropped,
            hidden=hidden,
            notes=tuple(notes),
        ),
    )


_PAD = -2


def _document(source: Source, asked: TextOptions) -> pa.Array:
    with source.open() as file:
        raw = file.read()
    if b"\0" in raw[:8192] and not asked.encoding.lower().startswith("utf-16"):
        raise source.fail("this is a binary file, not text", remedy="give text, or its `encoding`")
    try:
        text = raw.decode("utf-8-sig" if asked.encoding.lower() == "utf-8" else asked.encoding)
    except UnicodeDecodeError as cause:
        line = raw.count(b"\n", 0, cause.start) + 1
        raise source.fail(
            f"byte 0x{raw[cause.start]:02x} is not {asked.encoding}", where=f"line {line}", remedy="give its `encoding`"
        ) from cause
    except LookupError as cause:
        raise TextError(f"there is no encoding {asked.encoding!r}", remedy="utf-8, latin-1, utf-16 ...") from cause
    return prepared([text.replace("\r\n", "\n").replace("\r", "\n")], asked)


def _cut(codes: np.ndarray, length: int, step: int, pad: bool) -> tuple[np.ndarray, int]:
    """(windows, length) of one document, and how many tokens are in none."""
    if pad and len(codes):
        n_windows = 1 if len(codes) <= length else -(-(len(codes) - length) // step) + 1
        codes = np.concatenate([codes, np.full((n_windows - 1) * step + length - len(codes), _PAD)])
    if len(codes) < length:
        return np.empty((0, length), np.int64), len(codes)
    parts = list(windows(Letters(codes, np.array([len(codes)])), np.array([True]), length, step))
    rows = np.concatenate([part.letters.flat.reshape(-1, length) for part in parts])
    return rows, sum(part.uncovered for part in parts)


def _apply_unknown(
    grid: np.ndarray, asked: TextOptions, source: Source, notes: list[str]
) -> tuple[np.ndarray, dict[str, int]]:
    """Which windows stay, and the tokens hidden, under the policy for tokens outside the vocabulary."""
    unknown = grid == -1
    keep = np.ones(len(grid), bool)
    if not unknown.any():
        return keep, {}
    if asked.unknown == "error":
        row, position = (int(i) for i in np.argwhere(unknown)[0])
        raise source.fail(
            "a token is not in the vocabulary",
            where=f"window {row + 1}, token {position + 1}",
            remedy="give a larger vocabulary or alphabet, or unknown = keep, hide or drop",
        )
    if asked.unknown == "drop":
        return ~np.asarray(unknown.any(axis=1)), {}
    if asked.unknown == "hide":
        return keep, {"a token outside the vocabulary": int(unknown.sum())}
    notes.append(f"{int(unknown.sum())} tokens are outside the vocabulary and read {UNKNOWN}")
    return keep, {}


def _coded(grid: np.ndarray, vocabulary: Vocabulary, asked: TextOptions) -> np.ndarray:
    of_unknown = vocabulary.code_of.get(UNKNOWN, vocabulary.mask_id) if asked.unknown == "keep" else vocabulary.mask_id
    codes = np.where(grid == -1, of_unknown, grid)
    return np.where(grid == _PAD, vocabulary.code_of.get(PAD, vocabulary.mask_id), codes)


def _groups(
    document: np.ndarray, window: np.ndarray, n_documents: int, asked: TextOptions, notes: list[str]
) -> np.ndarray:
    stretch = asked.group_windows or (_STRETCH if n_documents < _FEW_DOCUMENTS else None)
    if stretch is None:
        return document
    notes.append(f"{stretch} neighbouring windows make a group")
    pairs = np.stack([document, window // stretch], axis=1)
    return np.unique(pairs, axis=0, return_inverse=True)[1].ravel()


# Rows of JSONL.


def _rows_of_jsonl(files: Sequence[Source], asked: TextOptions, name: str) -> Corpus:
    if not asked.fields:
        raise files[0].fail("JSONL needs `fields`", remedy="give fields = {block = field, ...}")
    if len(files) > 1:
        raise TextError("one JSONL file at a time", where=files[1].uri, remedy="join them, or ingest each")
    tokenizer = {key: getattr(asked, key) for key in TokenizerOptions.model_fields if key in asked.model_fields_set}
    texts = {
        block: {
            "column": field, "lengths": "fit", "length": asked.lengths.get(block, asked.length),
            "unknown": asked.unknown, **tokenizer,
        }
        for block, field in asked.fields.items()
    }  # fmt: skip
    frame_options = parse_options(
        FrameOptions,
        {"texts": texts, "categories": asked.categories, "groups": asked.groups, "ids": asked.ids},
        TextError,
        "text",
    )
    with scanned(files[0], TableOptions.model_validate({"format": "jsonl"})) as lines:
        frame = needed(lines, columns_needed(frame_options), files[0])
    provenance = Provenance(
        connector="text",
        source_uri=joint_uri(files),
        source_sha256=joint_sha256(files),
        options=asked.model_dump(exclude_defaults=True),
    )
    return corpus_of_frame(frame, frame_options, files[0], provenance, name)


INFO = ConnectorInfo(
    name="text",
    summary="texts as characters, bytes, words or a tokenizer's tokens: files, folders, or pairs in JSONL",
    formats=("text files and folders", "JSONL", "each also .gz .bgz .xz .bz2 .zst"),
    options_model=TextOptions,
    read=read,
)
