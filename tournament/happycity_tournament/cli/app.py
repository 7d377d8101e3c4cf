"""The command `tournament`, whose commands are modules that are imported when they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from happycity.runtime.commands import Commands, run_cli


class _Entry(NamedTuple):
    module: str
    function: str
    summary: str


COMMANDS = {
    "run": _Entry("run", "run", "Play a tournament and print its standings."),
    "sprt": _Entry("sprt", "sprt", "Test whether one bot is stronger than another."),
    "resume": _Entry("resume", "resume", "Continue a tournament that was stopped or interrupted."),
    "list": _Entry("manage", "list_tournaments", "List the runs, or the tournaments of a store or server."),
    "show": _Entry("manage", "show_tournament", "Show a tournament with its ratings."),
    "stop": _Entry("manage", "stop", "Stop a tournament."),
    "disqualify": _Entry("manage", "disqualify", "Take a bot out of a tournament."),
    "delete": _Entry("manage", "delete", "Delete a tournament with all its games."),
    "games": _Entry("games", "games", "List games, with the ids by which other commands find them."),
    "rate": _Entry("rate", "rate", "Rate bots by all their games."),
    "compare": _Entry("compare", "compare", "Say what a change of a bot gained."),
    "export": _Entry("export", "export", "Write games as a table or as records."),
    "report": _Entry("report", "report", "Write a report as one HTML file."),
}
"""The commands with what the list of commands says of each: the first sentence of its own help."""


class _Commands(Mapping[str, TyperCommand]):
    """The commands by name; each is imported when it is looked up."""

    def __getitem__(self, name: str) -> TyperCommand:
        entry = COMMANDS[name]
        module = import_module(f"happycity_tournament.cli.{entry.module}")
        one = Commands("")
        one.command(name)(getattr(module, entry.function))
        command = typer.main.get_command(one)
        assert isinstance(command, TyperCommand)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Group(TyperGroup):
    """The group of these commands, whose help imports none of them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()  # type: ignore[assignment]  # nothing is added to them

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


app = Commands(
    "Tournaments between bots, with Elo ratings. Commands take the latest run unless an address names "
    "another tournament: runs/FOLDER, games.sqlite#3, grpc://HOST:PORT#3.",
    group=_Group,
    is_program=True,
)


def main() -> None:
    """Run the command `tournament`."""
    run_cli(app)
