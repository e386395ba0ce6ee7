"""Builds the page of a run and writes it with its figures and their data."""

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.report import facts
from flows.report.context import Context, open_corpora
from flows.report.motifs import with_motifs
from flows.report.pictures import pictures
from flows.report.render import Picture, Rendered, render
from flows.report.rows import Quantity, Query, corpora_query, models_query, read_run, run_query
from flows.report.tables import Table, tables
from flows.report.words import Headline, headline
from infosedd.errors import InputError, SurroundingsError
from infosedd.plotting.palette import COLOURS

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from flows.study import Motifs, Study

SECTIONS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("curves", "Over the grid", ("curves",), ("curve",)),
    ("where", "Where the information is", ("profile", "logo"), ("motifs", "windows")),
    ("positions", "Which positions differ", ("positions",), ("positions", "symbols")),
    ("amount", "How much, and how sure", ("estimators", "quantities"), ("estimates",)),
    ("which", "Which positions, which sequences", ("pairs", "sequences"), ("sequences",)),
    ("data", "The data", ("draws", "composition", "lengths"), ()),
)
"""Anchor, heading, and the first words of the slugs of the pictures and tables that belong there."""


@dataclass(frozen=True)
class Figure:
    """A picture with its drawings and the names of its files."""

    picture: Picture
    drawn: Rendered
    files: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Section:
    anchor: str
    title: str
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]


def write_report(home: Path, run_id: str, *, study: "Study | None" = None, motifs: "Motifs | None" = None) -> Path:
    """Write ``home/reports/<study>/<run_id>/index.html`` with figures and CSV files; returns the page's path.

    ``study`` adds its title, description, known sites and motifs; ``motifs`` are taken instead of the study's.
    An unknown run, or a file of ``motifs`` that can't be read, is an InputError.
    """
    home = Path(home)
    context = read_context(home, run_id, study, motifs)
    folder = home / "reports" / _folder_name(context.rows.run["study"]) / _folder_name(run_id)
    figures = [_figure(picture) for picture in pictures(context)]
    page = _template().render(page_parts(context, figures))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for figure in figures:
            _write_figure(folder, figure)
        return _replace(folder / "index.html", page.encode())
    except OSError as error:
        raise SurroundingsError(
            f"could not write the report: {error.strerror}", where=str(folder), remedy="free space or check rights"
        ) from error


def read_context(home: Path, run_id: str, study: "Study | None", motifs: "Motifs | None" = None) -> Context:
    rows = read_run(home, run_id)
    corpora, missing = open_corpora(home, rows)
    context = Context(home, run_id, rows, corpora, study, missing)
    if motifs is not None:
        return with_motifs(context, motifs)
    if study is None or study.motifs is None:
        return context
    try:
        return with_motifs(context, study.motifs)
    except InputError as error:  # the file was there when the run began
        return replace(context, missing=(*missing, f"The known motifs are left out: {error}."))


def page_parts(context: Context, figures: Sequence[Figure]) -> dict[str, Any]:
    """Everything that the template shows."""
    shown = tables(context)
    study = context.study
    return {
        "title": (study.report.title or study.title if study else "") or str(context.rows.run["study"]),
        "study": context.rows.run["study"],
        "run": context.rows.run,
        "description": study.description.strip() if study else "",
        "citation": study.citation.strip() if study else "",
        "headline": _headline(context, context.main) if context.main else None,
        "sections": _sections(figures, shown),
        "checked": next((table for table in shown if table.slug == "checks"), None),
        "warnings": facts.warnings(context),
        "checks": facts.checks(context),
        "measures": facts.measures(context),
        "processes": facts.processes(context),
        "modes": {q.estimate.mode for q in context.rows.quantities},
        "fixed_split": facts.fixed_split(context),
        "provenance": facts.provenance(context),
        "queries": _queries(context, shown),
        "light": {role: light for role, (light, _) in COLOURS.items()},
        "dark": {role: dark for role, (_, dark) in COLOURS.items()},
    }


def _headline(context: Context, main: Quantity) -> Headline:
    names = {key: str(row["name"]) for key, row in context.rows.corpora.items()}
    return headline(
        main.estimate,
        context.corpora.get(main.corpus_id),
        corpus_name=names.get(main.corpus_id, "") if context.several_corpora else "",
        reference_name=names.get(main.reference_corpus_id, ""),
    )


def _sections(figures: Sequence[Figure], shown: Sequence[Table]) -> list[Section]:
    """The sections that have something to show."""
    found = []
    for anchor, title, of_pictures, of_tables in SECTIONS:
        mine = tuple(f for f in figures if f.picture.slug.split("-")[0] in of_pictures)
        listed = tuple(t for t in shown if t.slug.split("-")[0] in of_tables)
        if mine or listed:
            found.append(Section(anchor, title, mine, listed))
    return found


def _queries(context: Context, shown: Sequence[Table]) -> list[Query]:
    used = {table.query.slug: table.query for table in shown if table.query}
    rest = (corpora_query(context.run_id), models_query(context.run_id), run_query(context.run_id))
    return [*used.values(), *rest]


def _figure(picture: Picture) -> Figure:
    names = [("SVG", f"{picture.slug}.svg"), ("PNG", f"{picture.slug}.png")]
    several = len(picture.data) > 1
    names += [(f"{name}.csv" if several else "CSV", f"{name}.csv") for name in picture.data]
    return Figure(picture, render(picture), tuple(names))


def _write_figure(folder: Path, figure: Figure) -> None:
    slug = figure.picture.slug
    _replace(folder / f"{slug}.svg", figure.drawn.svg.encode())
    _replace(folder / f"{slug}.png", figure.drawn.png)
    for name, rows in figure.picture.data.items():
        _replace(folder / f"{name}.csv", rows.write_csv().encode())


def _replace(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all."""
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(partial, 0o644)
        os.replace(partial, path)
    except OSError:
        Path(partial).unlink(missing_ok=True)
        raise
    return path


def _folder_name(name: object) -> str:
    text = str(name)
    if not text or text.startswith(".") or any(c in text for c in "/\\\0"):
        raise InputError(f"{text!r} can't name a folder", remedy="use letters, digits, '-', '_' and '.'")
    return text


def _prose(text: str) -> "Markup":
    """A study's own words: blank lines part paragraphs, backticks mark code, all else shows as it is."""
    from markupsafe import Markup, escape

    paragraphs = [re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(part))) for part in re.split(r"\n\s*\n", text)]
    return Markup("\n".join(f"<p>{part}</p>" for part in paragraphs))


@cache
def _template() -> "Template":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["drawing"] = Markup  # our own SVG: every text in it was escaped when it was written
    environment.filters["prose"] = _prose
    return environment.get_template("page.html")
