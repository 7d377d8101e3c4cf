"""Settings of a command: one pydantic model, from which its flags, its file, its help and its errors come.

A key is an attribute of the model, or its alias: a TOML file has the key itself, the flag is the key with
dashes. The docstring below an attribute is its help. Flags win over the environment, which wins over the
file, which wins over the defaults.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from happycity.errors import HappyCityError, suggestion

_Command = TypeVar("_Command", bound=Callable[..., None])
_Settings = TypeVar("_Settings", bound="Settings")
_UNION_TYPES = (Union, types.UnionType)
_SHOWN_CHARACTERS = 40


class SettingsError(HappyCityError):
    """Settings are wrong; one line for each problem."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class Settings(BaseModel):
    """The base class of all settings."""

    group: ClassVar[str] = ""
    """The heading above the flags of this very class in the help; "" leaves them among the other options."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,  # a command has many models, and uses one
    )


def setting(
    default: Any,
    *,
    absent: str = "",
    env: str | None = None,
    example: object = None,
    secret: bool = False,
    alias: str | None = None,
) -> Any:
    """Describe a setting further than its type and docstring do.

    Args:
        default: its value where nobody gives one; `...` for a required one.
        absent: in words, what holds if the default is None or depends on others.
        env: environment variable that the flag may come from too.
        example: a value for an example file, where the default can't be written down.
        secret: whether its value is never shown.
        alias: the key, where the attribute can't have its name.
    """
    extra = {"absent": absent, "env": env, "example": example, "secret": secret}
    return Field(default, alias=alias, json_schema_extra=extra)  # type: ignore[arg-type]  # any JSON


def fields_of(model: type[Settings]) -> dict[str, FieldInfo]:
    """Return the settings by key, those of the class itself before those of its bases."""
    classes = (kind for kind in model.__mro__ if issubclass(kind, Settings))
    names = dict.fromkeys(
        name for kind in classes for name in kind.__annotations__ if name in model.model_fields
    )
    return {model.model_fields[name].alias or name: model.model_fields[name] for name in names}


def texts_of(model: type[Settings]) -> dict[str, str]:
    """Return what the docstrings below the attributes say, by key.

    pydantic could read them whenever a model is made, which is a tenth of a command's start.
    """
    kinds = [kind for kind in reversed(model.__mro__) if issubclass(kind, Settings)]
    texts = {name: text for kind in kinds for name, text in _docstrings(kind)}
    return {field.alias or name: texts.get(name, "") for name, field in model.model_fields.items()}


def _docstrings(kind: type[Settings]) -> Iterator[tuple[str, str]]:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    for attribute, below in pairwise(definition.body):
        match attribute, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())


def group_of(model: type[Settings], key: str) -> str:
    """Return the group of the class that is the first to have a setting, from the base class on."""
    name = next(name for name, field in model.model_fields.items() if key in (name, field.alias))
    owners = [kind for kind in model.__mro__ if issubclass(kind, Settings) and name in kind.__annotations__]
    return str(owners[-1].__dict__.get("group", ""))


def detail(field: FieldInfo, name: str) -> Any:
    """Return what `setting` was given as `name`."""
    extra = field.json_schema_extra
    return extra.get(name) if isinstance(extra, dict) else None


def flags_of(model: type[Settings], *, without: Iterable[str] = ()) -> Callable[[_Command], _Command]:
    """Give a command that takes `**flags` an option for each setting of a model; None: not given."""
    keys = {key: field for key, field in fields_of(model).items() if key not in without}

    def decorate(command: _Command) -> _Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        flags = [_parameter(key, field, group_of(model, key)) for key, field in keys.items()]
        # The signature is what typer reads, with names and types; the annotations would win over it.
        command.__signature__ = signature.replace(parameters=[*own, *flags])  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in (*own, *flags)}
        command.flag_texts = partial(_flag_texts, model)  # type: ignore[attr-defined]  # for `GroupedCommand`
        return command

    return decorate


def flag_values(flags: Mapping[str, object]) -> dict[str, object]:
    """Return the flags that were given, by key."""
    return {name.removeprefix(_PARAMETER): value for name, value in flags.items() if value is not None}


_PARAMETER = "setting_"  # so that no key can be a name that typer or Python has taken


def _parameter(key: str, field: FieldInfo, group: str) -> inspect.Parameter:
    import typer  # noqa: PLC0415 - a server that gets its settings from the environment has no flags

    flag = key.replace("_", "-")
    option = typer.Option(
        f"--{flag}/--no-{flag}" if field.default is True else f"--{flag}",
        envvar=detail(field, "env"),
        rich_help_panel=group or None,
    )
    return inspect.Parameter(
        f"{_PARAMETER}{key}",
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[_plain(field.annotation) | None, option],
    )


def _flag_texts(model: type[Settings]) -> dict[str, str]:
    """Return the help of each flag by the name of its parameter; typer's own default would be the flag's."""
    texts, defaults = texts_of(model), {key: _shown_default(field) for key, field in fields_of(model).items()}
    return {
        f"{_PARAMETER}{key}": f"{text}  [default: {defaults[key]}]" if defaults[key] else text
        for key, text in texts.items()
    }


def _shown_default(field: FieldInfo) -> str:
    """Return the default as it is typed, "" without one."""
    default = field.default
    if detail(field, "absent"):
        return str(detail(field, "absent"))
    if field.is_required() or isinstance(default, bool) or default in (None, ()):
        return ""
    if isinstance(default, Enum):
        return str(default.value)
    return f"{default:g}" if isinstance(default, float) else str(default)


def _plain(annotation: Any) -> Any:
    """Return the type that a flag of a setting has: without constraints, None and lists."""
    if get_origin(annotation) in _UNION_TYPES:
        return next(_plain(one) for one in get_args(annotation) if one is not types.NoneType)
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    return str if get_origin(annotation) is tuple else annotation


def load(
    model: type[_Settings],
    flags: Mapping[str, object],
    *,
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    prefix: str = "",
) -> _Settings:
    """Make settings of flags, environment, a TOML file and defaults; the former win.

    Args:
        model: the settings.
        flags: those that were given, by key.
        file: the TOML file.
        environ: the environment, of which the variables that begin with `prefix` are settings.
        prefix: such as "HAPPYCITY_SERVE_".

    Raises:
        SettingsError: an unknown key, or a wrong value.
    """
    in_file = _read_toml(file) if file is not None else {}
    variables = {
        name.removeprefix(prefix).lower(): name
        for name, value in (environ or {}).items()
        if name.startswith(prefix) and value
    }
    places = {key: f"{file}: {key}" for key in in_file}
    places |= variables
    places |= {key: f"--{key.replace('_', '-')}" for key in flags}
    in_environment = {key: (environ or {})[name] for key, name in variables.items()}
    try:
        return model.model_validate({**in_file, **in_environment, **flags})
    except ValidationError as error:
        raise SettingsError(_problem(model, each, places, prefix) for each in error.errors()) from None


def _read_toml(path: Path) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - seldom needed

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError([f"{path} can't be read: {error.strerror}"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError([f"{path} is not TOML: {error}"]) from None


def _problem(model: type[Settings], error: Any, places: Mapping[str, str], prefix: str) -> str:
    """Describe in one line where something is wrong, what it is, and what would be right."""
    location = [part for part in error["loc"] if isinstance(part, str | int)]
    if not location:
        return str(error["ctx"]["error"])
    key = str(location[0])
    inner = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in location[1:])
    place = places.get(key, f"--{key.replace('_', '-')}") + inner
    fields = fields_of(model)
    if error["type"] == "extra_forbidden":
        known = list(fields) if len(location) == 1 else _inner_keys(fields[key])
        name = str(location[-1])
        if place.startswith(prefix) and prefix:
            known, name = [f"{prefix}{each.upper()}" for each in known], place
        return f"{place}: there is no such key; {suggestion(name, known)}"
    return f"{place}: {value_problem(error, secret=bool(detail(fields[key], 'secret')))}"


_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "string": "a text",
    "path": "a path",
    "list": "a list",
    "tuple": "a list",
    "dict": "a table",
    "model": "a table",
}
"""Kinds of values in words, by what the types of pydantic's errors begin with."""
_BOUNDS = {
    "greater_than": ("gt", "must be above"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than": ("lt", "must be below"),
    "less_than_equal": ("le", "must be at most"),
}


def value_problem(error: Any, *, choices: Iterable[str] = (), secret: bool = False) -> str:
    """Describe an error of pydantic as a clause, without words of its own.

    Args:
        error: one of `ValidationError.errors()`.
        choices: what the value may be, unless the error knows it.
        secret: whether the value must not be shown.
    """
    kind, context = str(error["type"]), error.get("ctx", {})
    shown = "it" if secret else _shown(error["input"])
    known = list(choices) or _choices(kind, context)
    if known:
        return f"there is no {shown}; {suggestion(str(error['input']), known)}"
    if kind == "missing":
        return "it is missing"
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_too_short":
        return "it is empty"
    if kind in _BOUNDS:
        bound, text = _BOUNDS[kind]
        return f"{shown} {text} {context[bound]:g}"
    expected = _KINDS.get(kind.partition("_")[0])
    return f"{shown} is not {expected}" if expected else str(error["msg"])


def _choices(kind: str, context: Mapping[str, Any]) -> list[str]:
    """Return what an error says a value may be; it has a text such as "'a', 'b' or 'c'"."""
    return (
        re.findall(r"'([^']*)'", str(context.get("expected", "")))
        if kind in ("enum", "literal_error")
        else []
    )


def _inner_keys(field: FieldInfo) -> list[str]:
    """Return the keys of the tables in a list of tables."""
    annotation = field.annotation
    while not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        annotation = next(one for one in get_args(annotation) if one is not types.NoneType)
    return list(annotation.model_fields)


def _shown(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else repr(getattr(value, "value", value))
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."
