"""A drawn figure as files, and as SVG that a page can hold: its own ids, and colours by name."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import polars as pl

from infosedd.plotting.axes import RC, label
from infosedd.plotting.palette import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE, NARROW = 690.0, 300.0
"""Widths in points of the drawing for a desk and for a phone."""

MARGIN = 10.0
"""Points of paper around a figure that is a file of its own."""

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_BY_HEX = {light: f"var(--{role})" for role, (light, _) in COLOURS.items()}
_COLOUR_ATTRIBUTES = ("style", "fill", "stroke", "stop-color")


@dataclass(frozen=True)
class Picture:
    """A figure of the page: how to draw it at a width, its words, and its data.

    ``alt`` says what a reader who cannot see it needs. ``tips`` maps the gid of a drawn shape to the
    text shown over it. ``data`` maps the name of a CSV file to its rows.
    """

    slug: str
    title: str
    alt: str
    caption: tuple[str, ...]
    draw: Callable[[float], "Figure"]
    data: Mapping[str, pl.DataFrame]
    tips: Mapping[str, str] = field(default_factory=dict)
    only_width: float | None = None
    """Width in points of a small figure that is drawn once, for desk and phone."""


@dataclass(frozen=True)
class Rendered:
    """The same figure as inline SVG for both widths (``narrow`` is empty if one is enough), and as files to keep."""

    wide: str
    narrow: str
    svg: str
    png: bytes


def render(picture: Picture) -> Rendered:
    """Draw a picture at both widths; PNG and the SVG file are the wide one on light paper."""
    with _house_settings():
        figure = picture.draw(picture.only_width or WIDE)
        drawn, png = _svg_of(figure), BytesIO()
        figure.savefig(png, format="png", dpi=160, facecolor=COLOURS["paper"][0], bbox_inches=_with_margin(figure))
        small = "" if picture.only_width else _svg_of(picture.draw(NARROW))
    return Rendered(
        wide=inline_svg(drawn, f"{picture.slug}-wide", picture.alt, picture.tips),
        narrow=small and inline_svg(small, f"{picture.slug}-narrow", picture.alt, picture.tips),
        svg=file_svg(drawn, picture.title, picture.alt, picture.tips),
        png=png.getvalue(),
    )


def inline_svg(text: str, prefix: str, alt: str, tips: Mapping[str, str]) -> str:
    """SVG as part of a page: no size of its own, ids that no other figure has, colours from the page's style."""
    root = _parsed(text)
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    root.set("role", "img")
    root.set("aria-label", label(alt, 1000))
    _add_tips(root, tips)
    for element in root.iter():
        for name, value in list(element.attrib.items()):
            element.set(name, _prefixed(name, value, prefix))
            if name in _COLOUR_ATTRIBUTES:
                element.set(name, _themed(element.get(name, "")))
    return _written(root)


def file_svg(text: str, title: str, alt: str, tips: Mapping[str, str]) -> str:
    """SVG as a file: a title, a description, and light paper behind it, so that it looks right anywhere."""
    root = _parsed(text)
    _add_tips(root, tips)
    width, height = (float(number) for number in root.get("viewBox", "").split()[2:])
    box = {"x": -MARGIN, "y": -MARGIN, "width": width + 2 * MARGIN, "height": height + 2 * MARGIN}
    root.set("viewBox", " ".join(f"{value:g}" for value in box.values()))
    for side in ("width", "height"):
        root.set(side, f"{box[side]:g}pt")
    shape = {name: f"{value:g}" for name, value in box.items()}
    paper = ElementTree.Element(f"{{{_SVG}}}rect", {**shape, "fill": COLOURS["paper"][0]})
    root.insert(0, paper)
    for name, words in (("desc", alt), ("title", title)):
        element = ElementTree.Element(f"{{{_SVG}}}{name}")
        element.text = label(words, 1000)
        root.insert(0, element)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + _written(root)


def _with_margin(figure: "Figure"):
    from matplotlib.transforms import Bbox

    width, height = figure.get_size_inches()
    return Bbox([[-MARGIN / 72, -MARGIN / 72], [width + MARGIN / 72, height + MARGIN / 72]])


def _svg_of(figure: "Figure") -> str:
    drawn = StringIO()
    figure.savefig(drawn, format="svg", facecolor="none", metadata={"Date": None, "Creator": None})
    return drawn.getvalue()


def _parsed(text: str) -> ElementTree.Element:
    """Our own drawing as a tree, without the metadata; the root keeps only its viewBox and size."""
    root = ElementTree.fromstring(text)
    for element in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(element)
    return root


def _written(root: ElementTree.Element) -> str:
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    return ElementTree.tostring(root, encoding="unicode")


def _add_tips(root: ElementTree.Element, tips: Mapping[str, str]) -> None:
    for element in root.iter():
        words = tips.get(element.get("id", ""))
        if words is None:
            continue
        title = ElementTree.Element(f"{{{_SVG}}}title")
        title.text = label(words, 200)
        element.insert(0, title)
        for shape in element.findall(f"{{{_SVG}}}path"):
            shape.set("style", "fill: none; stroke: none; pointer-events: all")


def _prefixed(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return f"{prefix}-{value}"
    if name in ("href", f"{{{_XLINK}}}href") and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    return re.sub(r"url\(#", f"url(#{prefix}-", value)


def _themed(style: str) -> str:
    return re.sub(r"#[0-9a-f]{6}\b", lambda match: _BY_HEX.get(match[0], match[0]), style)


@contextmanager
def _house_settings() -> Iterator[None]:
    """Our own matplotlib settings; a symbol that the PNG's font lacks is no news to the reader."""
    import matplotlib

    with matplotlib.rc_context(RC), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield
