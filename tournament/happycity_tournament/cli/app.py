"""The command `tournament`, whose commands are modules that are imported when they are called."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from happycity.runtime.commands import GroupedCommand, run_cli


class _Entry(NamedTuple):
    module: str
    function: str
    summary: str


COMMANDS = {
    "run": _Entry("run", "run", "Play a tournament and print its standings."),
    "sprt": _Entry("sprt_queue", "sprt", "Test whether one bot is stronger than another."),
    "resume": _Entry("resume", "resume", "Continue a tournament that was stopped or interrupted."),
    "list": _Entry("manage", "list_tournaments", "List the runs, or the tournaments of a store or server."),
    "show": _Entry("manage", "show_tournament", "Show a tournament with its ratings."),
    "stop": _Entry("manage", "stop", "Stop a tournament."),
    "disqualify": _Entry("manage", "disqualify", "Take a bot out of a tournament."),
    "delete": _Entry("manage", "delete", "Delete a tournament with all its games."),
    "games": _Entry("list_games", "games", "List games, with the ids by which other commands find them."),
    "rate": _Entry("rate", "rate", "Rate bots by all their games."),
    "compare": _Entry("compare", "compare", "Say what a change of a bot gained."),
    "export": _Entry("export_games", "export", "Write games as a table or as records."),
    "report": _Entry("write_report", "report", "Write a report as one HTML file."),
}
"""The commands with what the list of commands says of each: the first sentence of its own help."""


class _Commands(Mapping[str, TyperCommand]):
    """The commands by name; each is imported when it is looked up."""

    def __getitem__(self, name: str) -> TyperCommand:
        entry = COMMANDS[name]
        module = import_module(f"happycity_tournament.cli.{entry.module}")
        one = typer.Typer(add_completion=False, rich_markup_mode=None)
        one.command(name, cls=GroupedCommand)(getattr(module, entry.function))
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


app = typer.Typer(
    name="tournament",
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Tournaments between bots, with Elo ratings. Commands take the latest run unless an address names "
    "another tournament: runs/FOLDER, games.sqlite#3, grpc://HOST:PORT#3.",
)


@app.callback()
def _root() -> None:
    pass  # without it, typer makes no group of an app that has no commands of its own


def main() -> None:
    """Run the command `tournament`."""
    # The matrices of ratings are small: threads wait for each other, which doubles the CPU time. Commands
    # that start bots leave the threads of bots alone.
    if sys.argv[1:2] not in (["run"], ["sprt"], ["resume"]):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    run_cli(app)
