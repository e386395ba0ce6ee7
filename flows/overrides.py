"""``--set key=value``: dotted paths into a study, values as TOML or plain text."""

import tomllib
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from infosedd.blocks import near_names
from infosedd.errors import InputError
from infosedd.validation import fields_at


def apply_overrides(raw: dict[str, Any], overrides: Sequence[str], model: type[BaseModel]) -> None:
    """Set each ``a.b.0.c=value`` inside ``raw``; pydantic checks names and types afterwards."""
    known = fields_at(model, [])
    for text in overrides:
        path, value = _split(text)
        if path[0] not in known:
            raise InputError(f"there is no option {path[0]!r}", where="in --set", remedy=near_names(path[0], known))
        _set(raw, path, value)


def nested_options(overrides: Sequence[str]) -> dict[str, Any]:
    """The nested tables that ``a.b=value`` texts spell out."""
    options: dict[str, Any] = {}
    for text in overrides:
        path, value = _split(text)
        _set(options, path, value)
    return options


def toml_value(text: str) -> Any:
    """``3``, ``0.5``, ``true``, ``[1, 2]``, ``{a = 1}`` and ``"quoted"`` by TOML's rules, all else as text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _split(text: str) -> tuple[list[str], Any]:
    key, equals, value = text.partition("=")
    path = [part.strip() for part in key.split(".")]
    if not equals or not all(path):
        raise InputError(f"can't read {text!r}", where="in --set", remedy="write --set key=value, as in --set seed=1")
    return path, toml_value(value.strip())


def _set(raw: dict[str, Any], path: list[str], value: Any) -> None:
    place: Any = raw
    for depth, part in enumerate(path[:-1]):
        place = _step(place, part, ".".join(path[: depth + 1]))
    last = path[-1]
    if isinstance(place, list):
        place[_index(place, last, ".".join(path))] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise InputError(f"{'.'.join(path[:-1])!r} holds no options", where="in --set", remedy="shorten the path")


def _step(place: Any, part: str, name: str) -> Any:
    if isinstance(place, list):
        return place[_index(place, part, name)]
    if isinstance(place, dict):
        return place.setdefault(part, {})
    raise InputError(f"{name!r} leads nowhere", where="in --set", remedy="shorten the path")


def _index(place: list[Any], part: str, name: str) -> int:
    if not part.isdigit() or int(part) >= len(place):
        raise InputError(
            f"there is no entry {part!r}",
            where=f"in --set {name}",
            remedy=f"there are {len(place)}, numbered from 0" if place else "there are none",
        )
    return int(part)
