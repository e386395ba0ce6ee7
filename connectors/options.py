"""Options of a connector: a frozen pydantic model, and one-line errors that name the near options."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticUndefined

from connectors.errors import ConnectorError
from infosedd.validation import explained, models_in

Policy = Literal["drop", "keep", "hide", "error"]
"""What to do with what is not known: drop the sequence, keep it as a symbol, hide the token, or stop."""


class Options(BaseModel):
    """Base of every connector's options: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


OptionsT = TypeVar("OptionsT", bound=Options)


@dataclass(frozen=True)
class OptionInfo:
    """One option as the command line lists it; nested options have dotted names."""

    name: str
    kind: str
    default: str
    description: str


def parse_options(
    model: type[OptionsT], options: "Mapping[str, object] | OptionsT", error: type[ConnectorError], connector: str
) -> OptionsT:
    """Validate ``options``; the first thing that is wrong becomes an ``error`` that says what is known."""
    if isinstance(options, model):
        return options
    try:
        return model.model_validate(dict(options))
    except ValidationError as failure:
        raise explained(failure, model, f"the options of the {connector} connector", error) from None


def describe_options(model: type[BaseModel], prefix: str = "") -> Iterator[OptionInfo]:
    """Every option of a model, nested ones after their parent."""
    for name, field in model.model_fields.items():
        default = "required" if field.default is PydanticUndefined else _shown(field.default)
        if field.default_factory is not None:
            default = "none"
        kind = _kind(field.annotation)
        yield OptionInfo(prefix + name, kind, default, field.description or "")
        for nested in models_in(field.annotation)[:1]:
            inner = f"{prefix}{name}.<name>." if _is_mapping(field.annotation) else f"{prefix}{name}."
            yield from describe_options(nested, inner)


def _is_mapping(annotation: Any) -> bool:
    return get_origin(annotation) is dict or any(_is_mapping(part) for part in get_args(annotation))


def _kind(annotation: Any) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(parts[0])
    if origin is Literal:
        return " | ".join(map(str, parts))
    if origin in (Union, UnionType):
        return " | ".join(_kind(part) for part in parts if part is not type(None))
    if origin in (dict, Mapping):
        return f"table of {_kind(parts[1])}"
    if origin in (list, tuple):
        return f"list of {_kind(parts[0])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    return {str: "text", int: "whole number", float: "number", bool: "true | false"}.get(annotation, str(annotation))


def _shown(value: object) -> str:
    text = "none" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
