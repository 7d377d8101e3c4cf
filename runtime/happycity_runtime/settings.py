"""Settings of a command: one pydantic model, from which its flags, its file, its help and its errors come.

A key is an attribute of the model: a TOML file has the key itself, the flag is the key with
dashes. The docstring below an attribute is its help. Flags win over the environment, which wins over the
file, which wins over the defaults.
"""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from happycity.errors import HappyCityError, suggestion
from happycity_runtime.files import read_text

_Command = TypeVar("_Command", bound=Callable[..., None])
_Settings = TypeVar("_Settings", bound="CommandSettings")
_UNION_TYPES = (Union, types.UnionType)
_SHOWN_CHARACTERS = 40


class SettingsError(HappyCityError):
    """Settings are wrong; one line for each problem."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class CommandSettings(BaseModel):
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
    metavar: str | None = None,
    example: object = None,
    secret: bool = False,
) -> Any:
    """Describe a setting further than its type and docstring do.

    Args:
        default: its value if none is given; `...` for a required one.
        absent: in words, what holds if the default is None or depends on others.
        env: environment variable that the flag may come from too.
        metavar: what stands for the value in the help, if not N, TEXT or FILE by its type.
        example: a value for an example file, where the default can't be written down.
        secret: whether its value is never shown.
    """
    extra = {"absent": absent, "env": env, "metavar": metavar, "example": example, "secret": secret}
    return Field(default, json_schema_extra=extra)  # type: ignore[arg-type]  # any JSON


def detail(field: FieldInfo, name: str) -> Any:
    """Return what `setting` was given as `name`."""
    extra = field.json_schema_extra
    return extra.get(name) if isinstance(extra, dict) else None


def description(model: type[CommandSettings], key: str) -> str:
    """Return the docstring below a setting, in one line: its help."""
    texts = (_docstrings(inspect.getfile(kind)).get((kind.__qualname__, key)) for kind in model.__mro__[:-1])
    return " ".join(next(filter(None, texts), "").split())


@cache
def _docstrings(file: str) -> Mapping[tuple[str, str], str]:
    """Return the docstrings below the attributes of all classes of a file, by class and attribute.

    Only a command line and an example need them: to read them takes longer than to make all models.
    """
    found = {}
    for kind in ast.parse(read_text(Path(file))).body:
        for above, below in pairwise(getattr(kind, "body", ())):
            match above, below:
                case ast.AnnAssign(target=ast.Name(key)), ast.Expr(value=ast.Constant(str(text))):
                    found[getattr(kind, "name", ""), key] = text
    return found


def flags_of(model: type[CommandSettings], *, without: Iterable[str] = ()) -> Callable[[_Command], _Command]:
    """Give a command that takes `**flags` an option for each setting of a model; None: not given."""
    groups: dict[str, str] = {}
    for kind in reversed(model.__mro__):  # the first class that has a setting decides on its group
        for name in inspect.get_annotations(kind):
            groups.setdefault(name, vars(kind).get("group", ""))
    flags = [
        _option(name, field, groups[name], description(model, name))
        for name, field in model.model_fields.items()
        if name not in without
    ]

    def decorate(command: _Command) -> _Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        # The signature is what typer reads, with names and types; the annotations would win over it.
        command.__signature__ = signature.replace(parameters=[*own, *flags])  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in (*own, *flags)}
        return command

    return decorate


def _option(key: str, field: FieldInfo, group: str, text: str) -> inspect.Parameter:
    import typer  # noqa: PLC0415 - a server that gets its settings from the environment has no flags

    flag, default = key.replace("_", "-"), _shown_default(field)
    option = typer.Option(
        f"--{flag}/--no-{flag}" if field.default is True else f"--{flag}",
        help=f"{text}  [default: {default}]" if default else text,
        envvar=detail(field, "env"),
        metavar=detail(field, "metavar"),
        rich_help_panel=group or None,
    )
    return inspect.Parameter(
        key,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[_plain(field.annotation) | None, option],
    )


def _shown_default(field: FieldInfo) -> str:
    """Return the default as it is typed, "" without one; typer's own would be the flag's, which is None."""
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

    Flags are by key; None is one that wasn't given. Variables of `environ` are settings that begin with
    `prefix`, such as HAPPYCITY_SERVE_. SettingsError if a key is unknown, or a value wrong.
    """
    in_file = read_toml(file) if file is not None else {}
    given = {key: value for key, value in flags.items() if value is not None}
    variables = {
        name.removeprefix(prefix).lower(): (name, value)
        for name, value in (environ or {}).items()
        if name.startswith(prefix) and value
    }
    place_of = setting_place(flags, file=file, variables={key: name for key, (name, _) in variables.items()})
    values = {**in_file, **{key: value for key, (_, value) in variables.items()}, **given}
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise SettingsError(_problem(model, each, place_of, prefix) for each in error.errors()) from None


def setting_place(
    flags: Mapping[str, object], *, file: Path | None = None, variables: Mapping[str, str] | None = None
) -> Callable[[str], str]:
    """Return what names the place where a setting was given, or where it can be: flag, variable or file.

    `variables` are those of the environment that were given, by key. What is given nowhere is missing in the
    file, if there is one.
    """

    def place(key: str) -> str:
        if flags.get(key) is not None:
            return f"--{key.replace('_', '-')}"
        if variables and key in variables:
            return variables[key]
        return f"--{key.replace('_', '-')}" if file is None else f"{file}: {key}"

    return place


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; SettingsError if it can't be read, or is not TOML."""
    try:
        return tomllib.loads(read_text(path))
    except OSError as error:
        raise SettingsError([f"{path} can't be read: {error.strerror}"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError([f"{path} is not TOML: {error}"]) from None


def _problem(model: type[CommandSettings], error: Any, place_of: Callable[[str], str], prefix: str) -> str:
    """Describe in one line where something is wrong, what it is, and what would be right."""
    location = [part for part in error["loc"] if isinstance(part, str | int)]
    if not location:
        return _said_of_places(str(error["ctx"]["error"]), fields=model.model_fields, place_of=place_of)
    key, fields = str(location[0]), model.model_fields
    inner = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in location[1:])
    place = place_of(key) + inner
    if error["type"] == "extra_forbidden":
        known, name = list(fields if len(location) == 1 else _inner_keys(fields[key])), str(location[-1])
        if prefix and place.startswith(prefix):
            known, name = [f"{prefix}{each.upper()}" for each in known], place
        return f"{place}: there is no such key; {suggestion(name, known)}"
    return f"{place}: {value_problem(error, secret=bool(detail(fields[key], 'secret')))}"


def _said_of_places(text: str, *, fields: Collection[str], place_of: Callable[[str], str]) -> str:
    """Let a text about several settings name each where it was given: "--listen: ..." by its flag."""
    names = {f"--{key.replace('_', '-')}": place_of(key) for key in fields}

    def named(match: re.Match[str]) -> str:
        place = names.get(match[0], match[0])
        return place if match.start() == 0 else place.rpartition(": ")[2]  # the file once

    key, colon, rest = text.partition(":")
    if colon and key in fields:  # one that has no flag
        place = key if place_of(key).startswith("--") else place_of(key)
        return f"{place}:{_said_of_places(rest, fields=fields, place_of=place_of)}"
    return re.sub(r"--[a-z0-9-]*[a-z0-9]", named, text)


def _inner_keys(field: FieldInfo) -> Iterable[str]:
    """Return the keys of the tables in a list of tables."""
    annotation = field.annotation
    while not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        annotation = next(one for one in get_args(annotation) if one is not types.NoneType)
    return annotation.model_fields


def value_problem(error: Any, *, choices: Iterable[str] = (), secret: bool = False) -> str:
    """Describe an error, one of `ValidationError.errors()`, as a clause.

    `choices` are what the value may be, unless the error knows it; a `secret` value is not shown.
    """
    kind, context = str(error["type"]), error.get("ctx", {})
    known = list(choices)
    if kind in ("enum", "literal_error"):  # the error has a text such as "'a', 'b' or 'c'"
        known = re.findall(r"'([^']*)'", str(context["expected"]))
    shown = "it" if secret else _shown(error["input"])
    if known:
        return f"there is no {shown}; {suggestion(str(error['input']), known)}"
    if kind == "missing":
        return "it is missing"
    if kind == "value_error":
        return str(context["error"])
    # Such as "Input should be a valid integer, unable to parse string as an integer".
    expected = re.split(r",| or instance| for <", error["msg"])[0].partition(" should ")[2]
    return f"{shown} must {expected}" if expected else str(error["msg"])


def _shown(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else repr(getattr(value, "value", value))
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."
