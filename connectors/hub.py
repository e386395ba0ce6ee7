"""Data sets of the Hugging Face hub, or saved on disk, through the ``datasets`` library.

The source is the name of a data set or the folder of one (from ``save_to_disk``, or with data files).
Columns become blocks as in a table; splits of the data set become the corpus's.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import polars as pl
from pydantic import Field

from connectors.errors import HubError
from connectors.frame_options import FrameOptions
from connectors.frames import SPLIT_NAMES, columns_needed, corpus_of_frame
from connectors.hub_presets import PRESETS
from connectors.info import ConnectorInfo
from connectors.network import require_network
from connectors.options import parse_options
from connectors.sources import Source, names_data_set
from infosedd.blocks import near_names
from infosedd.corpus import SPLITS, Corpus, Provenance

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict


class HubOptions(FrameOptions):
    """Options of the hub connector; the blocks are named as in the table connector."""

    preset: Literal["none", *PRESETS] = Field(  # type: ignore[valid-type]
        "none", description="blocks of a known data set; the source may then be left out"
    )
    config: str | None = Field(None, description="configuration of the data set")
    revision: str | None = Field(
        None, description="commit or tag of the data set; give one to be able to repeat the run"
    )
    splits: list[str] | None = Field(
        None,
        min_length=1,
        description="splits to read; by default all, as training, validation and test where so named",
    )
    explode: list[str] = Field(
        default_factory=list, description="columns of lists (of equal length in a row) that become one row an element"
    )


def read(sources: Sequence[str], options: Mapping[str, object], name: str) -> Corpus:
    """Read one data set as a corpus."""
    asked, wanted = _with_preset(sources, options)
    source = Source(wanted, Path(wanted).expanduser(), "", HubError)
    parts = _load(source, asked)
    frame, split_of_row, names = _frame(parts, asked, source)
    splits, notes = _splits(split_of_row, names)
    if asked.split is not None:
        splits = None
    provenance = Provenance(
        connector="hub",
        source_uri=wanted,
        source_sha256=_fingerprint(frame),
        options=asked.model_dump(exclude_defaults=True),
        notes=tuple(notes),
    )
    return corpus_of_frame(frame, asked, source, provenance, name, splits=splits)


def _with_preset(sources: Sequence[str], options: Mapping[str, object]) -> tuple[HubOptions, str]:
    asked = parse_options(HubOptions, options, HubError, "hub")
    if len(sources) > 1:
        raise HubError("one data set at a time", where=sources[1], remedy="ingest each by itself")
    if asked.preset != "none":
        preset = PRESETS[asked.preset]
        merged = {**preset.options, **asked.model_dump(exclude_unset=True)}
        asked = parse_options(HubOptions, merged, HubError, "hub")
        return asked, sources[0] if sources else preset.data_set
    if not sources:
        raise HubError("no data set is given", remedy="name one, such as mteb/summeval, or give `preset`")
    if not (asked.sequences or asked.categories or asked.bins or asked.texts):
        raise HubError(
            "no block is given", where=sources[0], remedy="map columns with sequences, categories, bins or texts"
        )
    return asked, sources[0]


def _load(source: Source, asked: HubOptions) -> "DatasetDict | Dataset":
    local = source.path.exists()
    if not local and not names_data_set(source.uri):
        raise HubError(
            "there is no such folder", where=source.uri, remedy="check the path, or give the name of a data set"
        )
    if source.path.is_file():
        raise source.fail("this is a file, not a data set", remedy="use the table, fasta or text connector")
    if not local:
        require_network(HubError, source.uri)
    with _datasets_errors(source):
        import datasets

        datasets.disable_progress_bars()
        if local and _saved_to_disk(source.path):
            return datasets.load_from_disk(str(source.path))
        found = datasets.load_dataset(str(source.path) if local else source.uri, asked.config, revision=asked.revision)
        return cast("DatasetDict", found)


def _saved_to_disk(folder: Path) -> bool:
    return any((folder / file).exists() for file in ("dataset_info.json", "state.json", "dataset_dict.json"))


@contextmanager
def _datasets_errors(source: Source) -> Iterator[None]:
    """Turn what ``datasets`` raises, which has no common base, into this connector's one-line error."""
    try:
        yield
    except HubError:
        raise
    except Exception as cause:
        lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
        reason = lines[0][:200] if lines else type(cause).__name__
        raise source.fail(f"can't load the data set ({reason})", remedy="check its name, config and files") from cause


def _frame(parts: Any, asked: HubOptions, source: Source) -> tuple[pl.DataFrame, np.ndarray, list[str]]:
    """The needed columns of all splits, one under the other, the split of each row, and the splits' names."""
    by_name: dict[str, Any] = dict(parts) if isinstance(parts, dict) else {str(parts.split or "all"): parts}
    names = asked.splits or list(by_name)
    for split in names:
        if split not in by_name:
            raise source.fail(f"there is no split {split!r}", remedy=near_names(split, list(by_name)))
    needed = list(dict.fromkeys([*columns_needed(asked), *asked.explode]))
    frames = []
    for split in names:
        part = by_name[split]
        for column in needed:
            if column not in part.column_names:
                raise source.fail(f"there is no column {column!r}", remedy=near_names(column, part.column_names))
        frames.append(_named_classes(part, needed))
    lengths = [frame.height for frame in frames]
    whole = pl.concat(frames, how="vertical_relaxed")
    split_of_row = np.repeat(np.arange(len(names)), lengths)
    if asked.explode:
        whole, split_of_row = _exploded(whole, split_of_row, asked.explode, source)
    if not whole.height:
        raise source.fail("the data set has no rows", remedy="choose other splits")
    return whole, split_of_row, names


def _named_classes(part: Any, columns: Sequence[str]) -> pl.DataFrame:
    """Columns of a split; class labels read as their names."""
    frame = cast(pl.DataFrame, pl.from_arrow(part.with_format("arrow").select_columns(list(columns))[:]))
    for column in columns:
        names = getattr(part.features[column], "names", None)
        if names:
            codes = dict(enumerate(names))
            frame = frame.with_columns(pl.col(column).replace_strict(codes, default=None, return_dtype=pl.String))
    return frame


def _exploded(
    frame: pl.DataFrame, split_of_row: np.ndarray, columns: Sequence[str], source: Source
) -> tuple[pl.DataFrame, np.ndarray]:
    for column in columns:
        if not frame[column].dtype.is_nested():
            raise source.fail(f"column {column!r} holds no lists", remedy="leave it out of `explode`")
    try:
        frame = frame.with_columns(pl.Series("__split", split_of_row)).explode(columns)
    except pl.exceptions.PolarsError as cause:
        raise source.fail(
            f"the lists of {', '.join(columns)} differ in length within a row", remedy="explode fewer columns"
        ) from cause
    return frame.drop("__split"), frame["__split"].to_numpy()


def _splits(split_of_row: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray | None, list[str]]:
    """Split codes where the names say them and there is more than one, with a note on what was done."""
    meanings = [SPLIT_NAMES.get(name.lower()) for name in names]
    if len(names) < 2 or None in meanings:
        return None, [f"splits {', '.join(names)} were read together"] if len(names) > 1 else []
    codes = np.array([SPLITS.index(meaning) for meaning in meanings if meaning])
    return codes[split_of_row], []


def _fingerprint(frame: pl.DataFrame) -> str:
    """sha256 of the columns that were read, in Arrow's stream format without compression."""
    import hashlib
    import io

    buffer = io.BytesIO()
    frame.write_ipc_stream(buffer, compression="uncompressed")
    return hashlib.sha256(buffer.getbuffer()).hexdigest()


INFO = ConnectorInfo(
    name="hub",
    summary="a data set of the Hugging Face hub or a local folder; presets: " + ", ".join(PRESETS),
    formats=("names of data sets", "folders of data sets (save_to_disk, or data files)"),
    options_model=HubOptions,
    read=read,
    needs_source=False,
)
