"""What pydantic found wrong, as one line that names the option, its place and the near names."""

from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from infosedd.blocks import near_names
from infosedd.errors import InputError


def explained(failure: ValidationError, model: type[BaseModel], where: str) -> InputError:
    """The first error of ``failure`` as an InputError; an unknown key says which are known."""
    first = failure.errors(include_url=False)[0]
    path = [part for part in first["loc"] if not _is_branch(part)]
    name = ".".join(map(str, path))
    place = f"in {where}"
    if first["type"] == "extra_forbidden":
        known = fields_at(model, path[:-1])
        section = f" in {'.'.join(map(str, path[:-1]))!r}" if path[:-1] else ""
        remedy = near_names(str(path[-1]), known)
        return InputError(f"there is no option {path[-1]!r}{section}", where=place, remedy=remedy)
    if first["type"] == "missing":
        return InputError(f"the option {name!r} is required", where=place, remedy=f"give {name!r} a value")
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        inner = f"{cause.where}, {place}" if cause.where else place
        return InputError(f"option {name!r}: {cause.what}" if name else cause.what, where=inner, remedy=cause.remedy)
    message = first["msg"].removeprefix("Value error, ")
    message = f"{message[:1].lower()}{message[1:]}"
    given = "" if isinstance(first["input"], dict | list) else f"it was given as {first['input']!r}"
    return InputError(f"option {name!r}: {message}" if name else message, where=place, remedy=given)


def fields_at(model: type[BaseModel], path: list[Any]) -> list[str]:
    """Names of the options of the model that ``path`` leads to; empty where it leads to none."""
    current: type[BaseModel] | None = model
    for part in path:
        if isinstance(part, int):
            continue
        field = current.model_fields.get(str(part)) if current is not None else None
        current = _model_in(field.annotation) if field is not None else None
    return list(current.model_fields) if current is not None else []


def _is_branch(part: int | str) -> bool:
    """Names that pydantic adds for the branches of a union, which are not the user's."""
    names = ("[key]", "int", "str", "float")
    return isinstance(part, str) and (part in names or part.startswith(("function-", "literal[")))


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The first model inside an annotation such as ``tuple[Model, ...] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)
