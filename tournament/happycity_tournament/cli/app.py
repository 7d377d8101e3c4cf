"""The commands `tournament` and `happycity benchmark`; what is below them is imported when it is called."""

from __future__ import annotations

import os
import sys
from typing import Any, ClassVar

from happycity_runtime.commands import Commands, LazyGroup, run_cli

COMMANDS = {
    "run": "happycity_tournament.cli.run:run",
    "sprt": "happycity_tournament.cli.run:sprt",
    "resume": "happycity_tournament.cli.run:resume",
    "list": "happycity_tournament.cli.manage:list_tournaments",
    "show": "happycity_tournament.cli.manage:show_tournament",
    "stop": "happycity_tournament.cli.manage:stop",
    "disqualify": "happycity_tournament.cli.manage:disqualify",
    "delete": "happycity_tournament.cli.manage:delete",
    "games": "happycity_tournament.cli.list_games:games",
    "rate": "happycity_tournament.cli.rate:rate",
    "compare": "happycity_tournament.cli.compare:compare",
    "export": "happycity_tournament.cli.write_files:export",
    "report": "happycity_tournament.cli.write_files:report",
    "commit": "happycity_tournament.cli.prove:commit",
    "publish": "happycity_tournament.cli.prove:publish",
    "verify": "happycity_tournament.cli.prove:verify",
}


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
            "run": "happycity_tournament.cli.benchmark:run",
            "verify": "happycity_tournament.cli.benchmark:verify",
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
