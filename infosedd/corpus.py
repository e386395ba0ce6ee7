"""A corpus: immutable, content-addressed discrete data, one fixed-length column of tokens a block."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from infosedd.blocks import Block, Selection, near_names
from infosedd.errors import InputError, SurroundingsError

FORMAT_VERSION = 1
SPLITS = ("training", "validation", "test")


@dataclass(frozen=True)
class Provenance:
    """Where a corpus came from, and what was left out on the way."""

    connector: str = "memory"
    source_uri: str = ""
    source_sha256: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    n_read: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Reason -> number of sequences left out for it."""
    hidden: Mapping[str, int] = field(default_factory=dict)
    """Reason -> number of tokens that are hidden (unknown symbols under the policy ``hide``)."""
    notes: tuple[str, ...] = ()

    @property
    def n_dropped(self) -> int:
        return sum(self.dropped.values())


@dataclass(frozen=True, eq=False)
class Corpus:
    """n draws of a few blocks of tokens.

    ``tokens[name]`` is an (n, length) array of unsigned codes; the code ``vocabulary.size`` is a
    token that is not known (hidden). ``weights`` (n,) are counts (a row stands for that many
    draws) or importance weights; ``weight_kind`` is ``count`` where there are none. ``groups`` (n,)
    are codes of clusters that are split and counted together. ``splits`` (n,) are codes into
    ``SPLITS`` where the source fixes its own split. ``sequence_ids`` need not be unique: the row
    index is the key.
    """

    name: str
    blocks: tuple[Block, ...]
    tokens: Mapping[str, np.ndarray]
    weights: np.ndarray | None = None
    weight_kind: Literal["count", "weight"] = "count"
    groups: np.ndarray | None = None
    splits: np.ndarray | None = None
    sequence_ids: pa.StringArray | None = None
    provenance: Provenance = field(default_factory=Provenance)

    def __post_init__(self) -> None:
        _check_blocks(self.blocks, self.tokens)
        tokens = {b.name: _checked_tokens(b, self.tokens[b.name], self.n) for b in self.blocks}
        object.__setattr__(self, "tokens", tokens)
        for column in ("weights", "groups", "splits"):
            values = getattr(self, column)
            if values is None:
                continue
            if len(values) != self.n:
                raise InputError(f"{column} has {len(values)} rows, the blocks have {self.n}")
            object.__setattr__(self, column, _frozen(np.asarray(values), _COLUMN_TYPES[column]))
        if self.weights is None:  # nothing that could be of one kind or the other
            object.__setattr__(self, "weight_kind", "count")
        if self.splits is not None and self.splits.max(initial=0) >= len(SPLITS):
            row = int(np.argmax(self.splits))
            raise InputError(
                f"split code {self.splits[row]} has no meaning", where=f"row {row}", remedy="use 0, 1 or 2"
            )
        if self.sequence_ids is not None:
            _check_ids(self.sequence_ids, self.n)
        if self.weights is not None:
            _check_weights(self.weights, self.weight_kind)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.tokens[self.blocks[0].name])

    @property
    def n_draws(self) -> int:
        """Number of draws: the sum of the counts where rows are counted, else the number of rows."""
        if self.weights is None or self.weight_kind != "count":
            return self.n
        return int(self.weights.sum())

    @cached_property
    def corpus_id(self) -> str:
        """Hash of the content: blocks, tokens, weights, groups, splits and ids; not name or source."""
        digest = hashlib.sha256(json.dumps(self._header(), sort_keys=True).encode())
        for block in self.blocks:
            digest.update(np.ascontiguousarray(self.tokens[block.name]).data)
        for column in (self.weights, self.groups, self.splits):
            if column is not None:
                digest.update(column.data)
        if self.sequence_ids is not None:
            digest.update("\0".join(self.sequence_ids.to_pylist()).encode())
        return digest.hexdigest()[:16]

    def block(self, name: str) -> Block:
        for block in self.blocks:
            if block.name == name:
                return block
        raise InputError(
            f"no block is called {name!r}",
            where=f"in corpus {self.name!r}",
            remedy=near_names(name, [b.name for b in self.blocks]),
        )

    def select(self, expression: str | Selection) -> Selection:
        return Selection.parse(expression, self.blocks)

    def take(self, rows: np.ndarray) -> "Corpus":
        """The corpus of some rows, by index or boolean mask; name and provenance stay."""
        ids = self.sequence_ids
        picked = np.flatnonzero(rows) if rows.dtype == bool else rows
        return replace(
            self,
            tokens={name: codes[picked] for name, codes in self.tokens.items()},
            weights=None if self.weights is None else self.weights[picked],
            groups=None if self.groups is None else self.groups[picked],
            splits=None if self.splits is None else self.splits[picked],
            sequence_ids=None if ids is None else ids.take(pa.array(picked)),
        )

    def rows_in(self, split: str) -> np.ndarray:
        """Indices of the rows of one of ``SPLITS``; empty where the source fixes no split."""
        if self.splits is None:
            return np.empty(0, np.int64)
        return np.flatnonzero(self.splits == SPLITS.index(split))

    # Storage: one Arrow file, one fixed-size binary column a block, readable by memory map.

    def save(self, folder: Path | str) -> Path:
        """Write ``folder/<corpus_id>/`` whole or not at all; a corpus that is there already is kept."""
        target = Path(folder) / self.corpus_id
        if (target / "card.json").exists():
            return target
        partial = None
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            partial = Path(tempfile.mkdtemp(prefix=f".{self.corpus_id}-", dir=folder))
            table = self._to_arrow()
            with pa.OSFile(str(partial / "rows.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write(table)
            card = {**self._header(), "name": self.name, "provenance": asdict(self.provenance)}
            (partial / "card.json").write_text(json.dumps(card, indent=1))
            _rename_into_place(partial, target)
        except OSError as error:
            raise SurroundingsError(
                f"could not write the corpus: {error.strerror}", where=str(folder), remedy="free space or check rights"
            ) from error
        finally:
            if partial is not None and partial.exists():
                shutil.rmtree(partial, ignore_errors=True)
        return target

    @classmethod
    def load(cls, path: Path | str) -> "Corpus":
        """Open a saved corpus; its tokens are memory-mapped: read once to check the codes, never held in memory."""
        path = Path(path)
        try:
            card = json.loads((path / "card.json").read_text())
            batch = pa.ipc.open_file(pa.memory_map(str(path / "rows.arrow"))).get_batch(0)
        except FileNotFoundError as error:
            raise InputError("no corpus is stored", where=str(path), remedy="run `infosedd ingest` first") from error
        except (json.JSONDecodeError, pa.ArrowInvalid) as error:
            raise InputError(
                f"the stored corpus can't be read: {error}", where=str(path), remedy="delete it and ingest again"
            ) from error
        if card["format_version"] != FORMAT_VERSION:
            raise InputError(
                f"the corpus has format {card['format_version']}, this release reads {FORMAT_VERSION}",
                where=str(path),
                remedy="ingest the source again",
            )
        blocks = tuple(Block.from_dict(entry) for entry in card["blocks"])
        columns = {name: batch.column(name) for name in batch.schema.names}
        source = {**card["provenance"], "notes": tuple(card["provenance"]["notes"])}
        return cls(
            name=card["name"],
            blocks=blocks,
            tokens={b.name: _from_binary(columns[f"block.{b.name}"], b) for b in blocks},
            weights=columns["weight"].to_numpy() if "weight" in columns else None,
            weight_kind=card["weight_kind"],
            groups=columns["group"].to_numpy() if "group" in columns else None,
            splits=columns["split"].to_numpy() if "split" in columns else None,
            sequence_ids=columns.get("sequence_id"),
            provenance=Provenance(**source),
        )

    def _header(self) -> dict:
        present = [c for c in ("weights", "groups", "splits", "sequence_ids") if getattr(self, c) is not None]
        return {
            "format_version": FORMAT_VERSION,
            "n": self.n,
            "blocks": [block.to_dict() for block in self.blocks],
            "columns": present,
            "weight_kind": self.weight_kind,
        }

    def _to_arrow(self) -> pa.RecordBatch:
        arrays: dict[str, pa.Array] = {f"block.{b.name}": _to_binary(self.tokens[b.name]) for b in self.blocks}
        optional = {"weight": self.weights, "group": self.groups, "split": self.splits}
        arrays.update({name: pa.array(values) for name, values in optional.items() if values is not None})
        if self.sequence_ids is not None:
            arrays["sequence_id"] = self.sequence_ids
        return pa.RecordBatch.from_pydict(arrays)


_COLUMN_TYPES = {"weights": np.float64, "groups": np.int64, "splits": np.uint8}


def _check_blocks(blocks: Sequence[Block], tokens: Mapping[str, np.ndarray]) -> None:
    names = [block.name for block in blocks]
    if not names:
        raise InputError("a corpus needs at least one block")
    if len(set(names)) != len(names):
        raise InputError(f"two blocks share a name: {', '.join(names)}", remedy="give each block its own name")
    if set(names) != set(tokens):
        raise InputError(f"blocks {sorted(names)} and token arrays {sorted(tokens)} don't match")


def _check_ids(ids: pa.StringArray, n: int) -> None:
    if len(ids) != n:
        raise InputError(f"there are {len(ids)} sequence ids, the blocks have {n} rows")
    if ids.null_count:
        row = ids.is_null().index(True).as_py()
        raise InputError("a sequence id is missing", where=f"row {row}", remedy="name every sequence, or none")


def _checked_tokens(block: Block, codes: np.ndarray, n: int) -> np.ndarray:
    if codes.ndim != 2 or codes.shape != (n, block.length):
        raise InputError(
            f"block {block.name!r} has tokens of shape {codes.shape}",
            remedy=f"its rows and length ask for {(n, block.length)}",
        )
    if codes.dtype.kind not in "iub":
        raise InputError(f"block {block.name!r} has codes of type {codes.dtype}", remedy="give integers")
    if n == 0:
        raise InputError("a corpus needs at least one row", where=f"in block {block.name!r}")
    if codes.min() < 0 or codes.max() > block.vocabulary.size:
        row = int(np.flatnonzero(((codes < 0) | (codes > block.vocabulary.size)).any(1))[0])
        raise InputError(
            f"a code of block {block.name!r} is outside its vocabulary of {block.vocabulary.size} symbols",
            where=f"row {row}",
        )
    return _frozen(codes, block.vocabulary.dtype)


def _frozen(values: np.ndarray, dtype: np.dtype | type) -> np.ndarray:
    """The values as a read-only array of its own, or as they are where they are read-only to the root."""
    made = np.ascontiguousarray(values, dtype)
    root: object = made
    while isinstance(root, np.ndarray) and not root.flags.writeable:
        root = root.base
    if isinstance(root, np.ndarray) and np.may_share_memory(made, values):
        made = made.copy()
    elif made is values:
        made = made.view()
    made.flags.writeable = False
    return made


def handed_over(values: np.ndarray) -> np.ndarray:
    """The array, made read-only down to the one its memory belongs to: a corpus takes it without a copy."""
    root: object = values
    while isinstance(root, np.ndarray):
        root.flags.writeable = False
        root = root.base
    return values


def _check_weights(weights: np.ndarray, kind: str) -> None:
    wrong = ~np.isfinite(weights) | (weights < 0)
    if kind == "count":
        wrong |= weights != np.floor(weights)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{kind} {weights[row]:g} is not a {'whole number' if kind == 'count' else 'number'} of at least 0",
            where=f"row {row}",
        )
    if weights.sum() <= 0:
        raise InputError(f"the {kind}s add up to 0", remedy="at least one row must count")


def _to_binary(codes: np.ndarray) -> pa.Array:
    width = codes.shape[1] * codes.itemsize
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(codes), [None, pa.py_buffer(codes)])


def _from_binary(column: pa.Array, block: Block) -> np.ndarray:
    codes = np.frombuffer(column.buffers()[1], dtype=block.vocabulary.dtype)
    return codes[: len(column) * block.length].reshape(len(column), block.length)


def _rename_into_place(partial: Path, target: Path) -> None:
    """Move a finished folder to its name, unless another process was first with the same content."""
    try:
        os.rename(partial, target)
    except OSError:
        if not (target / "card.json").exists():
            raise
