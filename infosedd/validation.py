"""What pydantic found wrong with options, as one line that names the option, its place and the near names."""

from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from infosedd.blocks import near_names
from infosedd.errors import InputError

MOST_SHOWN = 80
"""Characters that are shown of what an option was given."""


def explained(
    failure: ValidationError, model: type[BaseModel], place: str, error: type[InputError] = InputError
) -> InputError:
    """The first thing wrong with the options of ``model`` at ``place``, as an ``error`` that says what is known."""
    found = failure.errors(include_url=False)
    first = _first(found)
    path = _path(first)
    name, where = ".".join(map(str, path)), f"in {place}"
    if first["type"] == "extra_forbidden":
        section = f" in {'.'.join(map(str, path[:-1]))!r}" if path[:-1] else ""
        known = fields_at(model, path[:-1])
        remedy = near_names(str(path[-1]), known) if known else "leave it out"
        return error(f"there is no option {path[-1]!r}{section}", where=where, remedy=remedy)
    if first["type"] == "missing":
        return error(f"the option {name!r} is required", where=where, remedy=f"give {name!r} a value")
    prefix = f"option {name!r}: " if name else ""
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        inner = f"{cause.where}, {where}" if cause.where else where
        return error(prefix + cause.what, where=inner, remedy=cause.remedy)
    ways = [_message(e) for e in found if len(e["loc"]) == len(first["loc"]) and _path(e) == path]
    return error(prefix + " or ".join(ways), where=where, remedy=f"it was given as {_cut(repr(first['input']))}")


def fields_at(model: type[BaseModel], path: Sequence[int | str]) -> list[str]:
    """Names of the options of the model that ``path`` leads to; empty where it leads to none."""
    models = [model]
    for part in path:
        field = models[0].model_fields.get(str(part)) if models else None
        if field is not None:
            models = models_in(field.annotation)
            continue
        # a place in a list, a name in a table, or which of several kinds of model is meant
        models = [m for m in models if _kind(m) == part] or models
    return list(models[0].model_fields) if models else []


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models inside an annotation such as ``dict[str, Model] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in models_in(part)]


def _kind(model: type[BaseModel]) -> Any:
    """What tells it from other models of a union; none where nothing does."""
    field = model.model_fields.get("kind")
    return field.default if field is not None else None


def _first(found: list[ErrorDetails]) -> ErrorDetails:
    """An option that is not known; else, of the ways in which the first option failed, the one that came furthest."""
    unknown = next((entry for entry in found if entry["type"] == "extra_forbidden"), None)
    here = [entry for entry in found if entry["loc"][:1] == found[0]["loc"][:1]]
    return unknown or max(here, key=lambda entry: len(entry["loc"]))


def _path(entry: ErrorDetails) -> list[int | str]:
    """Where the option is, without what pydantic calls the branches of a union."""
    return [part for part in entry["loc"] if not _is_branch(part)]


def _is_branch(part: int | str) -> bool:
    names = ("[key]", "int", "str", "float", "bool")
    return isinstance(part, str) and (part in names or "[" in part or part.startswith("function-"))


def _message(entry: ErrorDetails) -> str:
    message = entry["msg"].removeprefix("Value error, ")
    return f"{message[:1].lower()}{message[1:]}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."
