"""Writes the tables of options in commands.md, from the commands themselves.

    python docs/make_commands.py            # rewrite the tables
    python docs/make_commands.py --check    # fail if they are not current

The text around the tables is written by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from happycity.cli import COMMANDS
from happycity.cli import app as happycity_app
from happycity.runtime.commands import GroupedCommand
from happycity_server.config import ServerSettings
from happycity_tournament.cli.app import app as tournament_app

Command = TyperCommand | TyperGroup

PAGE = Path(__file__).with_name("commands.md")
SERVER = {f"--{key.replace('_', '-')}" for key in ServerSettings.model_fields}
HEAD = "| option | default | meaning |\n|---|---|---|\n"


def all_commands() -> Iterator[tuple[str, Command]]:
    """Yield every command by its name, groups too."""
    happycity = typer.main.get_command(happycity_app)
    assert isinstance(happycity, TyperGroup)
    for entry in entry_points(group=COMMANDS):
        command = entry.load()
        if not isinstance(command, typer.Typer):
            one = typer.Typer(add_completion=False)
            one.command(entry.name, cls=GroupedCommand)(command)
            command = one
        happycity.add_command(typer.main.get_command(command), entry.name)
    yield from _commands_below("happycity", happycity)
    yield from _commands_below("tournament", typer.main.get_command(tournament_app))


def _commands_below(name: str, command: object) -> Iterator[tuple[str, Command]]:
    assert isinstance(command, Command)
    yield name, command
    if isinstance(command, TyperGroup):
        for below, inner in command.commands.items():
            yield from _commands_below(f"{name} {below}", inner)


def options(command: Command) -> dict[str, TyperOption]:
    """Return the options of a command by their first names, without --help."""
    found = {one.opts[0]: one for one in command.params if isinstance(one, TyperOption)}
    found.pop("--help", None)
    return found


def table(command: Command) -> str:
    """Return the table of a command's options; the settings of a server are one row."""
    own, rest = options(command), ""
    if own.keys() >= SERVER:
        own = {name: option for name, option in own.items() if name not in SERVER}
        rest = "| all settings | | as flags, such as `--listen`: see [Settings](operations.md#settings) |\n"
    return HEAD + "".join(map(_row, own.values())) + rest if own or rest else ""


def _row(option: TyperOption) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    meaning, _, stated = str(option.help).rstrip("]").partition("  [default: ")
    choices = ", ".join(f"`{getattr(one, 'value', one)}`" for one in option.type_descriptor.choices or ())
    if choices:
        meaning += f" One of {choices}."
    return f"| {names} | {_default(option, stated)} | {meaning} |\n"


def _default(option: TyperOption, stated: str) -> str:
    if option.required:
        return "required"
    if stated or isinstance(option.show_default, str):
        text = stated or str(option.show_default)
    elif option.is_flag:
        text = "on" if option.default else "off"
    else:
        text = f"`{getattr(option.default, 'value', option.default)}`" if option.default else "none"
    return f"`{option.envvar}`, else {text}" if option.envvar else text


def page() -> str:
    """Return the page with current tables."""
    tables = {f"`{name}`": table(command) for name, command in all_commands()}

    def current(match: re.Match[str]) -> str:
        return match["before"] + tables[match["heading"]]

    return re.sub(
        r"(?P<before>^## (?P<heading>[^\n]+)\n(?:(?!## |\| option )[^\n]*\n)*)"
        r"\| option [^\n]*\n(?:\|[^\n]*\n)+",
        current,
        PAGE.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )


if __name__ == "__main__":
    text = page()
    if "--check" in sys.argv[1:]:
        sys.exit(
            0
            if text == PAGE.read_text(encoding="utf-8")
            else f"{PAGE.name} is not current: run {sys.argv[0]}"
        )
    PAGE.write_text(text, encoding="utf-8")
