"""What all command lines share: common options, the layout of help, and how a command ends."""

from __future__ import annotations

import ast
import errno
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, NoReturn, TextIO, TypeVar, get_args

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from happycity.compiled import is_compiled
from happycity.errors import ConfigError, FieldError, HappyCityError, ReplayError, near_name, suggestion
from happycity_entry import allow_cleaning_up
from happycity_runtime.environment import read_settings_file, read_variables_from_files
from happycity_runtime.files import STANDARD_OUTPUT
from happycity_runtime.program import collect_garbage_rarely, open_standard_streams

# Where and as whom a bot plays. The environment has the rest: HAPPYCITY_CA, HAPPYCITY_CERT and HAPPYCITY_KEY
# for servers with TLS.
Name = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the bot.", envvar="HAPPYCITY_NAME")]
SERVER_HELP = "Address of the server: grpc://HOST:PORT, or grpcs://HOST:PORT for TLS."
Server = Annotated[str | None, typer.Option(metavar="ADDRESS", help=SERVER_HELP, envvar="HAPPYCITY_SERVER")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Token = Annotated[str | None, typer.Option(help="Token for the server.", envvar="HAPPYCITY_TOKEN")]


_Function = TypeVar("_Function", bound=Callable[..., Any])
_METAVARS: dict[object, str] = {int: "N", float: "N", str: "TEXT", Path: "FILE"}
"""What stands for a value in the help, by its type."""
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)

_DAYS = {"d": 1.0, "h": 1 / 24, "m": 1 / 1440}

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The disk is full, or this user's share of it."""


def is_quiet() -> bool:
    """Return whether the command that runs was given --quiet."""
    return _quiet.get()


def _be_quiet(wanted: bool) -> None:  # noqa: FBT001 - typer calls it
    _quiet.set(wanted)


def _every_command(
    *,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", expose_value=False, callback=_be_quiet, help="Print results and errors only."
        ),
    ] = False,
) -> None: ...


def remark(text: str) -> None:
    """Print a line that is neither a result nor an error to the standard error; nothing with --quiet."""
    if not is_quiet():
        typer.echo(text, err=True)


class GroupedCommand(TyperCommand):
    """A command whose help lists the options by their groups, those without one under "Options".

    Each has the option --quiet.
    """

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.help = self.help or "python -OO removes what is said here; -O doesn't."
        for parameter in self.params:
            if parameter.metavar is None and isinstance(parameter, TyperOption):
                annotation = parameter.type_descriptor.annotation
                parameter.metavar = _METAVARS.get(next(iter(get_args(annotation)), annotation))
        one = typer.Typer(add_completion=False)
        one.command()(_every_command)
        self.params += typer.main.get_command(one).params

    def invoke(self, ctx: Any) -> Any:
        """Run the command, all of whose imports are done."""
        allow_cleaning_up()
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options, group by group in the order of their first options, others last."""
        records = []
        for one in self.get_params(ctx):
            name, text = one.get_help_record(ctx) or ("", "")
            if isinstance(one, TyperArgument):
                records.append(("Arguments", (one.metavar or name, text)))
            elif name:
                records.append((getattr(one, "rich_help_panel", None) or "Options", (name, text)))
        # Arguments come first, and what every command has last.
        records.sort(key=lambda pair: {"Arguments": 0, "Options": 2}.get(pair[0], 1))
        for heading in dict.fromkeys(heading for heading, _ in records):
            with formatter.section(heading):
                formatter.write_dl([record for group, record in records if group == heading])


class Commands(typer.Typer):
    """Commands below a common name, with the help of `GroupedCommand`; `text` describes them all.

    Those of a program have its version and shell completion too.
    """

    def __init__(self, text: str, *, group: type[TyperGroup] = TyperGroup, is_program: bool = False) -> None:
        super().__init__(
            cls=group,
            add_completion=is_program,
            no_args_is_help=True,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
            help=text,
        )
        if is_program:
            self.callback()(_root)

    def command(
        self, name: str | None = None, *, cls: Any = GroupedCommand, **attributes: Any
    ) -> Callable[[_Function], _Function]:
        """Add a command, as typer's own decorator does."""
        return super().command(name, cls=cls, **attributes)


class LazyGroup(TyperGroup):
    """A group of commands, each of which is imported when it is called, and none for the list of them."""

    entries: ClassVar[Mapping[str, Mapping[str, str]]]
    """By heading and name: `MODULE:NAME` of a function, or of a `typer.Typer` with commands of its own."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._targets = {name: target for below in self.entries.values() for name, target in below.items()}
        self.commands = dict.fromkeys(self._targets)  # type: ignore[assignment]  # `get_command` makes them

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command; return None if no command has this name."""
        module, _, name = self._targets.get(cmd_name, "").partition(":")
        if not module:
            return None
        command = getattr(import_module(module), name)
        if isinstance(command, typer.Typer):
            return typer.main.get_group(command)
        one = Commands("")
        one.command(cmd_name)(command)
        return typer.main.get_command(one)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        for heading, below in self.entries.items():
            with formatter.section(heading):
                formatter.write_dl([(name, command_summary(target)) for name, target in below.items()])


def command_summary(target: str) -> str:
    """Return the first sentence of the help of `MODULE:NAME`, which is the first text in its definition."""
    module, _, name = target.partition(":")
    loader: Any = getattr(find_spec(module), "loader", None)
    for node in ast.parse(loader.get_source(module)).body:
        match node:
            case ast.FunctionDef(own, _, body) if own == name:
                found = body[0]
            case ast.Assign([ast.Name(own)]) if own == name:
                found = node
            case _:
                continue
        texts = (each.value for each in ast.walk(found) if isinstance(each, ast.Constant))
        return re.split(r"(?<=[.])\s", str(next(texts)), maxsplit=1)[0]
    raise LookupError(target)


def run_cli(cli: typer.Typer) -> NoReturn:
    """Run a command line and exit: bad input costs one line and status 2, never a traceback.

    A record that the rules contradict exits with status 1, like a failed comparison.
    """
    open_standard_streams()
    collect_garbage_rarely()
    try:
        read_variables_from_files(os.environ)
        read_settings_file(os.environ)
        status = cli(standalone_mode=False)
    except ReplayError as error:
        _fail(str(error), status=1)
    except OSError as error:
        _fail(os_problem(error), status=2)
    except HappyCityError as error:
        _fail(*getattr(error, "problems", (str(error),)), status=2)
    except typer.TyperException as error:  # of the options and arguments
        text = _usage_problem(error)
        if "\n" not in text:
            _fail(text, status=2)
        typer.echo(text, err=True)  # the help, as a command is missing
        sys.exit(2)
    sys.exit(status or 0)


def os_problem(error: Exception, place: Path | None = None) -> str:
    """Return in one line what is wrong and where; of the system's errors, those of writing name no file."""
    if not isinstance(error, OSError):
        return str(error)
    named = place if error.filename is None else error.filename
    where = f"{named}: " if named is not None else ""
    advice = "; free some disk space" if error.errno in NO_ROOM else ""
    return f"{where}{error.strerror or error}{advice}"


def _usage_problem(error: typer.TyperException) -> str:
    """Describe an error in the options and arguments of a command, in the style of all other errors."""
    text, context = error.format_message(), getattr(error, "ctx", None)
    parameter: Any = getattr(error, "param", None)
    if hasattr(error, "possibilities") and context is not None:
        name, command = str(getattr(error, "option_name", "")), context.command
        known = [option for each in command.params for option in each.opts if option.startswith("--")]
        near = near_name(name, known)
        hint = f"did you mean {near}?" if near else f"{context.command_path} --help shows all"
        return f"there is no option {name}; {hint}"
    if parameter is not None:
        is_option = parameter.param_type_name == "option"
        place = max(parameter.opts, key=len) if is_option else parameter.metavar or parameter.name.upper()
        choices = [str(getattr(each, "value", each)) for each in parameter.type_descriptor.choices or ()]
        if text.startswith("Missing"):
            return f"{place}: it is missing" + (f"; {suggestion('', choices)}" if choices else "")
        cause: Any = error.__cause__
        if hasattr(cause, "errors"):
            from happycity_runtime.settings import value_problem  # noqa: PLC0415 - it brings pydantic with it

            return f"{place}: {value_problem(cause.errors()[0], choices=choices)}"
    if "\n" in text:
        return text
    if text.startswith("Got unexpected extra argument"):
        extra = text.partition(" (")[2].removesuffix(")")
        advice = "name the file by --config" if ".toml" in extra else "a value with spaces needs quotes"
        return f"{extra}: no argument is expected here; {advice}"
    return f"{text[:1].lower()}{text[1:]}".replace(". Did you mean", "; did you mean").rstrip(".")


def _fail(*texts: str, status: int) -> NoReturn:
    for text in texts:  # in one line in any case: some system errors carry newlines
        typer.echo("error: " + " ".join(text.split()), err=True)
    sys.exit(status)


@contextmanager
def until_output_closes() -> Iterator[TextIO]:
    """Yield the standard output; end with status 141 when its reader has had enough, as `head` has."""
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        # Typer would make this status 1, which means a difference.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - these take long to import

        from happycity.rules.deals import DEALING, EDITION  # noqa: PLC0415

        code = "compiled" if is_compiled() else "pure Python"
        typer.echo(f"{version('happycity')} ({code}; rules {EDITION}, deals {DEALING})")
        raise typer.Exit


def _root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None: ...


def check_output(flag: str, path: Path | None) -> None:
    """Refuse a file that can't be written, before anything is played or read; None is no file, - no path."""
    if path is None or path == STANDARD_OUTPUT:
        return
    is_new = not path.exists()
    if not (is_new or path.is_file() or path.is_dir()):
        return  # opening a device or a pipe may block, or have effects
    try:
        path.open("a").close()
    except OSError as error:
        raise FieldError(flag, f"{path} can't be written: {error.strerror}") from None
    if is_new:
        path.unlink()


def write_example(file: Path, text: str) -> None:
    """Write a file that doesn't exist yet; ConfigError if it does."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise ConfigError(f"{file} is there already; remove it, or name another file") from None


def duration(text: str) -> timedelta:
    """Read the value of --expires; ConfigError if it is not a time."""
    match = re.fullmatch(r"(\d{1,5})([dhm])", text)
    if match is None or not int(match[1]):
        raise ConfigError(f"--expires: {text!r} is not a time such as 30d, 12h or 90m")
    return timedelta(days=int(match[1]) * _DAYS[match[2]])


def validity(expires: datetime | None, now: datetime) -> str:
    """Return in words until when something is valid."""
    if expires is None:
        return "for ever"
    when = expires.strftime("%Y-%m-%d %H:%M UTC")
    return f"until {when}" if now < expires else f"expired {when}"
