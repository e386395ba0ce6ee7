"""A study: what to read, how to model it, and what to ask; one TOML file, one pydantic model.

    name = "mine"
    [source]
    connector = "table"
    path = "mine.csv"
    options = { categories = { x = "genotype", y = "colour" } }
    [[measures]]
    measure = "mutual_information"
    x = "x"
    y = "y"

Relative paths in a study count from the study's folder. A study may be JSON too: the home keeps the
study of each run so.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from infosedd.blocks import near_names
from infosedd.errors import InputError
from infosedd.validation import explained

MeasureName = Literal[
    "mutual_information",
    "conditional_mutual_information",
    "entropy",
    "total_correlation",
    "dual_total_correlation",
    "o_information",
    "kl_divergence",
    "jensen_shannon_divergence",
]
DIVERGENCES = ("kl_divergence", "jensen_shannon_divergence")
"""Measures of two corpora, which a study with a [compare] section can ask for."""
NEEDS_Y = ("mutual_information", "conditional_mutual_information")
_ENDINGS = re.compile(
    r"(?:\.(?:csv|tsv|tab|txt|text|md|jsonl?|ndjson|parquet|pq|arrow|feather|ipc"
    r"|fa|fasta|fna|faa|ffn|frn|fas|mfa|afa|fq|fastq|gbk?|genbank|bed|narrowpeak|broadpeak|gff3?|gtf"
    r"|vcf|sites|pfm|jaspar|meme|transfac|gz|bgz|xz|bz2|zst))+$",
    re.IGNORECASE,
)
_LARGEST_STUDY = 1 << 20
"""Bytes; a longer JSON file is data."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def _listed(value: object) -> object:
    """One path, a list of paths or a table of labels, as a list of ``path`` or ``label=path``."""
    if isinstance(value, str | Path):
        return [str(value)]
    if isinstance(value, Mapping):
        return [f"{label}={path}" for label, path in value.items()]
    return value


class Part(BaseModel):
    """Base of every part of a study: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(Part):
    """Where the data comes from."""

    connector: str | None = Field(default=None, description="One of `infosedd connectors`; default: told from the file")
    path: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        default=(), description="A file, several files, or a table of label = file; package:FILE ships with infosedd"
    )
    name: str | None = Field(default=None, description="What the corpus is called; default: the study's name")
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the connector")


class MeasureSpec(Part):
    """One question: a measure of the blocks x, y given z, whole or in sliding windows of x."""

    measure: MeasureName = "mutual_information"
    x: str = Field(
        description="A block expression: name, name[i] or name[i:j], joined by +; of a divergence empty is all blocks"
    )
    y: str = Field(default="", description="The other block of a mutual information")
    z: str = Field(default="", description="The block that is known (conditioned on)")
    mode: Literal["whole", "keep", "remove"] = Field(
        default="whole", description="whole, or windows of x: keep (each window alone) or remove (all but the window)"
    )
    window: int = Field(default=6, ge=1, description="Width of the windows, in positions")
    step: int = Field(default=1, ge=1, description="Distance between window starts")

    @model_validator(mode="after")
    def _consistent(self) -> "MeasureSpec":
        if self.measure in DIVERGENCES:
            return self._consistent_divergence()
        if not self.x.strip():
            raise InputError(f"{self.measure} needs a block x")
        if self.measure in NEEDS_Y and not self.y:
            raise InputError(f"{self.measure} needs a block y")
        if self.measure not in NEEDS_Y and self.y:
            raise InputError(f"{self.measure} takes no block y", remedy="join blocks in x with '+'")
        if self.measure == "conditional_mutual_information" and not self.z:
            raise InputError(f"{self.measure} needs a block z")
        if self.mode != "whole" and self.measure not in NEEDS_Y:
            raise InputError(f"windows ({self.mode}) are for mutual_information")
        return self

    def _consistent_divergence(self) -> "MeasureSpec":
        if self.z or (self.y and self.measure == "kl_divergence"):
            raise InputError(f"{self.measure} takes no other block than x", remedy="leave y and z out")
        if self.measure == "kl_divergence" and self.mode != "whole":
            raise InputError(
                f"windows ({self.mode}) are not for kl_divergence", remedy="ask for them of jensen_shannon_divergence"
            )
        return self

    @property
    def label(self) -> str:
        """How a table names it: ``I(x; y | z)`` and its like."""
        given = f" | {self.z}" if self.z else ""
        inside = f"{self.x}; {self.y}{given}" if self.y else f"{self.x}{given}"
        return f"{SYMBOLS[self.measure]}({inside})"


SYMBOLS = {
    "mutual_information": "I",
    "conditional_mutual_information": "I",
    "entropy": "H",
    "total_correlation": "TC",
    "dual_total_correlation": "DTC",
    "o_information": "Omega",
    "kl_divergence": "KL",
    "jensen_shannon_divergence": "JS",
}


class Site(Part):
    """A known site that the report marks: 0-based, half open."""

    name: str
    block: str
    start: int = Field(ge=0)
    stop: int = Field(ge=1)
    sequence: str = ""


class Motifs(Part):
    """A file of known motifs that the report places where they lie in most rows."""

    path: str = Field(description="JASPAR, MEME (its minimal form), TRANSFAC or a plain matrix; relative to the study")
    format: Literal["auto", "sites", "pfm", "jaspar", "meme", "transfac"] = Field(
        default="auto", description="How the file is written; auto tells by content"
    )
    block: str = Field(default="", description="The block to search; default: the one whose profile is shown")
    rows: str = Field(default="", description="Search only rows with this label; default: the label that fits best")
    threshold: float = Field(
        default=0.8, ge=0, le=1, description="A match scores at least this part of the way from worst to best"
    )


class Compare(Part):
    """Two parts of the data, told apart by a block of one token, that divergences compare."""

    block: str = Field(default="label", description="The block that says which corpus a row is of")
    p: str = Field(default="", description="Its symbol for the one corpus; default: the first")
    q: str = Field(default="", description="Its symbol for the other corpus; default: the second")


class Mark(Part):
    """A value of the grid's option that the report marks."""

    name: str
    at: float


class ReportOptions(Part):
    """How the report shows the study."""

    title: str = ""
    block: str = Field(
        default="", description="The block whose positions the profile shows; default: the first one asked for"
    )
    positions_offset: int = Field(default=0, description="What position 0 is called in pictures")
    per_position: bool = Field(default=False, description="Show what belongs to all of x as so much a position")
    marks: tuple[Mark, ...] = Field(default=(), description="Values of the grid's option that the report marks")


class Study(Part):
    """Everything that a result depends on, and the texts that explain it."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="Key of the results in the warehouse")
    title: str = ""
    description: str = ""
    citation: str = ""
    source: Source = Field(default=Source(), description="Where the data comes from")
    grid: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = Field(
        default_factory=dict, description="Option of the connector -> values: the study runs on a corpus for each"
    )
    compare: Compare | None = Field(default=None, description="The two parts of the data that divergences compare")
    model: dict[str, Any] = Field(default_factory=dict, description="Configuration of the score model")
    measures: tuple[MeasureSpec, ...] = Field(min_length=1, description="What is asked")
    sites: tuple[Site, ...] = Field(default=(), description="Known sites that the report marks")
    motifs: Motifs | None = Field(default=None, description="Known motifs that the report places over the profile")
    report: ReportOptions = ReportOptions()
    seed: int = Field(default=0, ge=0, description="Seed of training and of every random draw")
    warm_start: bool = Field(
        default=False,
        description="Start training from the nearest model of the home that has not seen the rows to be judged on",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_name_or_path(cls, value: object) -> object:
        """A flow's parameter may be the name of a study that ships, or the path of one."""
        return _raw_study(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _starts_cold_where_it_compares(self) -> "Study":
        if self.warm_start and self.compare is not None:
            raise InputError(
                "a study that compares two corpora can't be warm-started: a model of the one would have seen the other",
                remedy="leave warm_start out",
            )
        return self

    @model_validator(mode="after")
    def _compares_what_it_asks(self) -> "Study":
        asked = [spec for spec in self.measures if spec.measure in DIVERGENCES]
        if asked and self.compare is None:
            raise InputError(
                f"{asked[0].measure} compares two corpora",
                remedy="say which in a [compare] section; see studies/compare.toml",
            )
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """What a form offers: the options one by one, or the name or path of a study."""
        options = handler.resolve_ref_schema(handler(schema))
        named = {"type": "string", "title": "Name or path", "description": "A study that ships, or a file"}
        return {"title": "Study", "anyOf": [options, named]}

    @property
    def corpus_name(self) -> str:
        return self.source.name or self.name


def shipped_folder() -> Path:
    """The folder of the studies that ship: inside an installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    return package / "studies" if (package / "studies").is_dir() else package.parent / "studies"


def shipped_studies() -> dict[str, Path]:
    """Name -> file of the studies that ship."""
    return {path.stem: path for path in sorted(shipped_folder().glob("*.toml"))}


def load_study(name_or_path: str | Path, overrides: Sequence[str] = (), **replaced: object) -> Study:
    """Read a study by name or path, apply ``key=value`` overrides, and validate it.

    ``replaced`` are whole options such as ``seed``; None leaves the file's own.
    """
    raw = _raw_study(str(name_or_path))
    raw.update({key: value for key, value in replaced.items() if value is not None})
    return build_study(raw, overrides, str(name_or_path))


def build_study(raw: dict[str, Any], overrides: Sequence[str], where: str) -> Study:
    """Validate a study given as nested tables, with overrides applied."""
    from flows.overrides import apply_overrides

    apply_overrides(raw, overrides, Study)
    if overrides:
        _resolve_paths(raw, Path(), missing=False)
    try:
        return Study.model_validate(raw)
    except ValidationError as failure:
        raise explained(failure, Study, f"study {where}") from None


def kept_study(path: Path) -> Study:
    """The study of a run, as the home keeps it; its paths stay as they are."""
    return build_study(_read(path), (), str(path))


def find_study(name_or_path: str) -> Path:
    """The file of a study that ships, or the path of the user's own."""
    shipped = shipped_studies()
    if name_or_path in shipped:
        return shipped[name_or_path]
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path
    if path.is_dir():
        raise InputError("a study is a file, not a folder", where=str(path), remedy="name a .toml file")
    if path.suffix == ".toml" or path.parent != Path("."):
        raise InputError("there is no such study file", where=str(path), remedy="check the path")
    raise InputError(
        f"there is no study {name_or_path!r}",
        where="among the studies that ship or as a file",
        remedy=near_names(name_or_path, list(shipped)),
    )


def with_source(study: Study, sources: Sequence[str]) -> Study:
    """The study on other data: its connector and options stay, the corpus is called after the files."""
    paths = tuple(_absolute(text, Path()) for text in sources)
    source = study.source.model_copy(update={"path": paths, "name": name_of(sources)})
    return study.model_copy(update={"source": source})


def with_motifs(study: Study, path: str) -> Study:
    """The study with another file of motifs; how they are searched stays."""
    found = study.motifs or Motifs(path=path)
    return study.model_copy(update={"motifs": found.model_copy(update={"path": _absolute(path, Path())})})


def name_of(sources: Sequence[str]) -> str:
    """What a corpus of these files is called: their names without folders and the endings of data files."""
    return "+".join(_ENDINGS.sub("", Path(_split_label(text)[1]).name) or "source" for text in sources)


def is_data_file(text: str) -> bool:
    """Is this the path of a file that is no study, or LABEL=PATH of one?"""
    if text in shipped_studies():
        return False
    path = Path(_split_label(text)[1]).expanduser()
    return path.suffix != ".toml" and path.is_file() and not _holds_study(path)


def study_of_data(paths: Sequence[str], question: MeasureSpec, overrides: Sequence[str], seed: int | None) -> Study:
    """A study that asks one question of one or several data files."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", name_of(paths)).lstrip("-._") or "data"
    data = [_absolute(path, Path()) for path in paths]
    raw = {"name": name, "source": {"path": data}, "measures": [question.model_dump()]}
    return build_study(raw if seed is None else raw | {"seed": seed}, overrides, name)


def question_of(options: Mapping[str, object]) -> MeasureSpec:
    """One question from plain values; what is wrong with it is an InputError."""
    try:
        return MeasureSpec.model_validate(options)
    except ValidationError as failure:
        raise explained(failure, MeasureSpec, "the question") from None


def _raw_study(name_or_path: str) -> dict[str, Any]:
    path = find_study(name_or_path)
    raw = _read(path)
    _resolve_paths(raw, path.parent, missing=True)
    return raw


def _holds_study(path: Path) -> bool:
    """Is this JSON file a study, as the home keeps them, and no data?"""
    if path.suffix != ".json" or path.stat().st_size > _LARGEST_STUDY:
        return False
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        return False
    return isinstance(held, dict) and {"name", "measures"} <= held.keys()


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        raw = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"the study is not valid JSON: {error}", where=str(path), remedy="correct the file") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the study is not valid TOML: {error}", where=str(path), remedy="correct the file") from error
    except UnicodeDecodeError as error:
        raise InputError("the study is not UTF-8 text", where=str(path), remedy="save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"can't read the study ({error.strerror})", where=str(path), remedy="check rights") from error
    if not isinstance(raw, dict):
        raise InputError("the study is not a JSON object", where=str(path), remedy='write {"name": ..., ...}')
    return raw


def _resolve_paths(raw: dict[str, Any], folder: Path, *, missing: bool) -> None:
    """Make paths absolute: in a study file they count from its folder, wherever the command runs."""
    source = raw.get("source")
    paths = _listed(source.get("path")) if isinstance(source, dict) else None
    if isinstance(source, dict) and isinstance(paths, list) and all(isinstance(path, str) for path in paths):
        from connectors.sources import names_data_set

        of_hub = source.get("connector") == "hub"
        named = [of_hub and names_data_set(path) for path in paths]
        source["path"] = [
            _absolute(path, folder, missing=missing and not name) for path, name in zip(paths, named, strict=True)
        ]
    motifs = raw.get("motifs")
    if isinstance(motifs, dict) and isinstance(motifs.get("path"), str):
        motifs["path"] = _absolute(motifs["path"], folder, missing=missing)


def _absolute(text: str, folder: Path, *, missing: bool = False) -> str:
    """A path that counts from ``folder``, made absolute where it is there; ``missing`` ones too if asked."""
    if text.startswith("package:") or _URL.match(text):
        return text
    label, path = _split_label(text, folder)
    candidate = folder / Path(path).expanduser()
    if path.startswith("package:") or _URL.match(path) or not (missing or candidate.exists()):
        return text
    return f"{label}={candidate.absolute()}" if label else str(candidate.absolute())


def _split_label(text: str, folder: Path = Path()) -> tuple[str, str]:
    from connectors.sources import split_label

    return split_label(text, folder)
