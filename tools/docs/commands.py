"""The page of commands: the help, the arguments and the options of each, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from happycity_entry.cli import app as happycity_app
from happycity_tournament.cli.app import app as tournament_app
from tools.docs.contract import table

Command = TyperCommand | TyperGroup

INTRODUCTION = """# Commands

This page is made from the commands: it has what `--help` prints after each of them.

| exit status | meaning |
|---|---|
| 0 | success |
| 1 | a check, a comparison or a health query found a difference or a fault |
| 2 | bad input, or something that the command needs is missing: one line says what to do |
| 3 | `tournament sprt` played its maximum of blocks without a decision |
| 130 | stopped by Ctrl-C or a signal before the work was done |

Give a token in the environment rather than as an option: other users of the machine can read options. With
TLS, `HAPPYCITY_CA` names a file of the certificates to trust, and `HAPPYCITY_CERT` and `HAPPYCITY_KEY` the
command's own certificate.

A command that takes a tournament takes the latest run by default, which is the newest folder under `runs/`.
Name another one by its folder, or by its id with `--server` or `--store`."""


def commands_page() -> str:
    """Return the page, as Markdown."""
    return "\n\n".join([INTRODUCTION, *_sections()]) + "\n"


def all_commands() -> Iterator[tuple[str, Command]]:
    """Yield every command by its name, groups too."""
    for name, command in _commands_below("happycity", typer.main.get_command(happycity_app)):
        if not name.startswith("happycity tournament"):  # a program of its own
            yield name, command
    yield from _commands_below("tournament", typer.main.get_command(tournament_app))


def _commands_below(name: str, command: object) -> Iterator[tuple[str, Command]]:
    assert isinstance(command, Command)
    yield name, command
    if isinstance(command, TyperGroup):
        context = typer.Context(command)
        for below in command.list_commands(context):
            yield from _commands_below(f"{name} {below}", command.get_command(context, below))


def options(command: Command) -> dict[str, TyperOption]:
    """Return the options of a command by their first names, without --help."""
    found = {one.opts[0]: one for one in command.params if isinstance(one, TyperOption)}
    found.pop("--help", None)
    return found


def _sections() -> Iterator[str]:
    """Yield the paragraphs of all commands: a section for each program, in it one for each command."""
    for name, command in all_commands():
        yield f"{'##' if ' ' not in name else '###'} `{name}`"
        yield from (" ".join(part.split()) for part in str(command.help).split("\n\n"))
        arguments = [one for one in command.params if isinstance(one, TyperArgument)]
        if arguments:
            yield table(("argument", "default", "meaning"), map(_argument, arguments))
        if own := options(command):
            yield table(("option", "default", "meaning"), map(_option, own.values()))


def _argument(argument: TyperArgument) -> tuple[str, str, str]:
    meaning, stated = _stated(argument.help)
    shown = argument.metavar or str(argument.name).upper()
    return f"`{shown}`", stated or ("required" if argument.required else "none"), meaning


def _option(option: TyperOption) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    meaning, stated = _stated(option.help)
    choices = ", ".join(f"`{getattr(one, 'value', one)}`" for one in option.type_descriptor.choices or ())
    return names, _default(option, stated), f"{meaning} One of {choices}." if choices else meaning


def _stated(text: Any) -> tuple[str, str]:
    """Divide the help of a parameter into its meaning and the default that it states."""
    meaning, _, default = str(text or "").rstrip("]").partition("  [default: ")
    return meaning, default


def _default(option: TyperOption, stated: str) -> str:
    if option.required:
        return "required"
    if stated or isinstance(option.show_default, str):
        text = stated or str(option.show_default)
    elif option.is_flag:
        text = "on" if option.default else "off"
    else:
        value = getattr(option.default, "value", option.default)
        text = "none" if value is None or value == "" else f"`{value}`"
    return f"`{option.envvar}`, else {text}" if option.envvar else text
