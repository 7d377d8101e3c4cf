"""What all command lines share: common options, the layout of help, and how a command ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from happycity.errors import HappyCityError, ReplayError, near_name, suggestion
from happycity.runtime.event_loop import open_standard_streams
from happycity.runtime.program import collect_garbage_rarely, read_variables_from_files

# Where and as whom a bot plays. The environment has the rest: HAPPYCITY_CA, HAPPYCITY_CERT and HAPPYCITY_KEY
# for servers with TLS.
Name = Annotated[str | None, typer.Option(help="Name of the bot.", envvar="HAPPYCITY_NAME")]
Server = Annotated[
    str | None,
    typer.Option(
        help="Address of the server: host:port, or grpcs://host:port for TLS.", envvar="HAPPYCITY_SERVER"
    ),
]
Token = Annotated[str | None, typer.Option(help="Token for the server.", envvar="HAPPYCITY_TOKEN")]


class GroupedCommand(TyperCommand):
    """A command whose help lists the options by their groups, those without one under "Options"."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options, group by group in the order of their first options, others last."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                is_argument = parameter.param_type_name == "argument"
                group = (
                    "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or "Options"
                )
                groups.setdefault(group, []).append(record)
        groups["Options"] = groups.pop("Options", [])  # what every command has comes last
        for group, records in groups.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)


def run_cli(cli: typer.Typer) -> NoReturn:
    """Run a command line and exit: bad input costs one line and status 2, never a traceback.

    A record that the rules contradict exits with status 1, like a failed comparison.
    """
    open_standard_streams()
    collect_garbage_rarely()
    try:
        read_variables_from_files(os.environ)
        status = cli(standalone_mode=False)
    except ReplayError as error:
        _fail(str(error), status=1)
    except (HappyCityError, OSError) as error:
        _fail(str(error), status=2)
    except typer.TyperException as error:  # of the options and arguments
        text = _usage_problem(error)
        if "\n" not in text:
            _fail(text, status=2)
        typer.echo(text, err=True)  # the help, as a command is missing
        sys.exit(2)
    sys.exit(status or 0)


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
            from happycity.runtime.settings import value_problem  # noqa: PLC0415 - it brings pydantic with it

            return f"{place}: {value_problem(cause.errors()[0], choices=choices)}"
    if "\n" in text:
        return text
    return f"{text[:1].lower()}{text[1:]}".replace(". Did you mean", "; did you mean").rstrip(".")


def _fail(text: str, *, status: int) -> NoReturn:
    # One line in any case: some system errors carry newlines.
    typer.echo("error: " + " ".join(text.split()), err=True)
    sys.exit(status)


@contextmanager
def until_output_closes() -> Iterator[None]:
    """End the command with status 141 when the reader of its output has had enough, as `head` has."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Typer would make this status 1, which means a difference.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None
