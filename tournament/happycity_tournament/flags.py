"""Flags of a command made of the model of its settings, so that neither can know what the other doesn't."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from happycity_tournament.plan_file import PlaySettings, details, fields_of

_Command = TypeVar("_Command", bound=Callable[..., None])
_SHOWN_AS_THEY_ARE = (int, float, str, bool, Path)
_UNION_TYPES = (Union, types.UnionType)


def flags_of(model: type[PlaySettings]) -> Callable[[_Command], _Command]:
    """Give a command, which takes `**flags`, an option for each setting of a model; None was not given."""

    def decorate(command: _Command) -> _Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        flags = [_parameter(key, field) for key, field in fields_of(model).items()]
        # The signature is what typer reads, with names and types; the annotations would win over it.
        command.__signature__ = signature.replace(parameters=[*own, *flags])  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in (*own, *flags)}
        return command

    return decorate


def given(flags: Mapping[str, object]) -> dict[str, object]:
    """Return the flags that were given, by their keys."""
    return {name.removesuffix("_file"): value for name, value in flags.items() if value is not None}


def _parameter(key: str, field: FieldInfo) -> inspect.Parameter:
    told, kind = details(field), _plain(field.annotation)
    option = typer.Option(
        f"--{key.replace('_', '-')}",
        help=str(field.description),
        envvar=told["env"],
        show_default=_default(field),
    )
    return inspect.Parameter(
        f"{key}_file" if key == "json" else key,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def _default(field: FieldInfo) -> str | bool:
    """Return what the help shows as the default."""
    told, default = details(field), field.default
    if told["absent"]:
        return str(told["absent"])
    if field.is_required() or isinstance(default, bool):
        return False
    return (
        str(default.value)
        if isinstance(default, Enum)
        else f"{default:g}"
        if isinstance(default, float)
        else str(default)
    )


def _plain(annotation: Any) -> Any:
    """Return the type that a flag of a setting has: without constraints, None and lists."""
    if get_origin(annotation) in _UNION_TYPES:
        return next(_plain(one) for one in get_args(annotation) if one is not types.NoneType)
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    return str if get_origin(annotation) is tuple else annotation
