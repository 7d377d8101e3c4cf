"""Print the tables of docs/bots.md: costs and strengths of the reference bots."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from happycity import Config, Mode
from happycity.compiled import is_compiled
from happycity_bots import BOTS, CarelessBot, PlannerBot
from happycity_bots.champion import ChampionBot
from happycity_bots.halving import TrialBudget
from tools.training.games import BotFactory
from tools.training.matches import MatchComparison, compare

MISTAKES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.1)
"""Shares of random decisions: steps from random to planner."""
CONTENDERS: dict[str, BotFactory] = {
    **BOTS,
    **{f"careless --mistakes {share}": partial(CarelessBot, mistakes=share) for share in MISTAKES},
    "champion-without-trials": partial(ChampionBot, budget=TrialBudget()),
}
SEED = 6 * 10**9
"""The first deal; those that weights were trained on or chosen by would flatter the champion."""
HEAD = """\
| bot | seats | family: Elo | ms a decision | expert: Elo | ms a decision |
|---|---|---|---|---|---|
"""


def row(name: str, players: int, *, deals: int) -> str:
    """Return a bot's row of the table: its lead over the planner, and the CPU time of its decisions."""
    results = [
        compare(CONTENDERS[name], PlannerBot, Config(players=players, mode=mode), deals=deals, seed=SEED)
        for mode in (Mode.FAMILY, Mode.EXPERT)
    ]
    return f"| `{name}` | {players} | {' | '.join(map(_cells, results))} |\n"


def _cells(result: MatchComparison) -> str:
    return f"{result.lead} | {result.seconds[0] * 1e3:.2f}"


def main() -> None:
    """Print the table, each row as soon as it is known."""
    parser = argparse.ArgumentParser(
        description="Print a Markdown table of the bots: Elo over the planner and cost. Stop with Ctrl-C.",
    )
    parser.add_argument(
        "--bots",
        nargs="+",
        choices=CONTENDERS,
        default=list(CONTENDERS),
        metavar="BOT",
        help="all by default",
    )
    parser.add_argument(
        "--seats",
        nargs="+",
        type=int,
        choices=range(2, 6),
        default=[4],
        metavar="N",
        help="4 by default",
    )
    parser.add_argument("--deals", type=int, default=100, help="each is played twice, with seats exchanged")
    options = parser.parse_args()
    if options.deals < 2:
        parser.error(f"--deals {options.deals}: an interval takes 2 or more")
    if not is_compiled():
        sys.stderr.write(
            "pure Python: with --compiled before the program's name, bots cost several times less\n"
        )
    sys.stdout.write(HEAD)
    try:
        for name in options.bots:
            for players in options.seats:
                sys.stdout.write(row(name, players, deals=options.deals))
                sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("stopped; the rows above are whole\n")
