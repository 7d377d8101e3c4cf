"""The commands `tournament` and `happycity benchmark`; what is below them is imported when it is called."""

from __future__ import annotations

import os
import sys
from typing import Any, ClassVar

from happycity_runtime.commands import Commands, LazyCommand, LazyGroup, run_cli

COMMANDS = {
    "run": LazyCommand("happycity_tournament.cli.run:run", "Play a tournament and print its standings."),
    "sprt": LazyCommand(
        "happycity_tournament.cli.run:sprt", "Test whether one bot is stronger than another."
    ),
    "resume": LazyCommand(
        "happycity_tournament.cli.run:resume", "Continue a tournament that was stopped or interrupted."
    ),
    "list": LazyCommand(
        "happycity_tournament.cli.manage:list_tournaments",
        "List the runs, or the tournaments of a store or server.",
    ),
    "show": LazyCommand(
        "happycity_tournament.cli.manage:show_tournament", "Show a tournament with its ratings."
    ),
    "stop": LazyCommand("happycity_tournament.cli.manage:stop", "Stop a tournament."),
    "disqualify": LazyCommand(
        "happycity_tournament.cli.manage:disqualify", "Take a bot out of a tournament."
    ),
    "delete": LazyCommand(
        "happycity_tournament.cli.manage:delete", "Delete a tournament with all its games."
    ),
    "games": LazyCommand(
        "happycity_tournament.cli.list_games:games",
        "List games with the ids by which other commands find them.",
    ),
    "rate": LazyCommand("happycity_tournament.cli.rate:rate", "Rate bots by all their games."),
    "compare": LazyCommand("happycity_tournament.cli.compare:compare", "Say what a change of a bot gained."),
    "export": LazyCommand(
        "happycity_tournament.cli.write_files:export", "Write games as a table or as records."
    ),
    "report": LazyCommand("happycity_tournament.cli.write_files:report", "Write a report as one HTML file."),
    "commit": LazyCommand(
        "happycity_tournament.cli.prove:commit", "Print the hash of a file's seed and salt."
    ),
    "publish": LazyCommand(
        "happycity_tournament.cli.prove:publish",
        "Write a finished tournament so that anybody can recompute it.",
    ),
    "verify": LazyCommand(
        "happycity_tournament.cli.prove:verify",
        "Recompute a published tournament, and say what in it is not true.",
    ),
}
"""The commands with what the list of commands says of each: the first sentence of its own help."""


class _TournamentCommands(LazyGroup):
    entries: ClassVar = {"Commands": COMMANDS}


app = Commands(
    "Tournaments between bots, with Elo ratings. Commands take the latest run unless an address names "
    "another tournament: runs/FOLDER, games.sqlite#3, grpc://HOST:PORT#3.",
    group=_TournamentCommands,
    is_program=True,
)


class _BenchmarkCommands(LazyGroup):
    entries: ClassVar = {
        "Commands": {
            "run": LazyCommand(
                "happycity_tournament.cli.benchmark:run",
                "Measure a bot by a protocol; `run` may be left out.",
            ),
            "verify": LazyCommand(
                "happycity_tournament.cli.benchmark:verify",
                "Recompute a result, and say what in it is not true.",
            ),
        }
    }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Take the name of a protocol for an argument of `run`."""
        return super().resolve_command(ctx, ["run", *args] if args[0].startswith("HappyCity") else args)


benchmark = Commands("Measure a bot by a named protocol that never changes.", group=_BenchmarkCommands)
benchmark.callback()(lambda: None)  # what makes it a group for those who look at it alone


def main() -> None:
    """Run the command `tournament`."""
    # The matrices of ratings are small: threads wait for each other, which doubles the CPU time. Commands
    # that start bots leave the threads of bots alone.
    if sys.argv[1:2] not in (["run"], ["sprt"], ["resume"]):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    run_cli(app)
