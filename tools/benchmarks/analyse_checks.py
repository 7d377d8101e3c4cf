"""Measure how often `analyse` blames bots for nothing, and how often it finds a planted weakness.

A bot plays with seven others, three of them at each table, and the network judges its decisions as
`happycity analyse` does. A run is some of these games. "Blamed" is the share of runs in which the first line
names a phase, round or opponent as worse than the others; "found" is the share that names the planted one.
Under each row is what all games together name.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from happycity import Config, Deal, Game, Mode, Move, Phase
from happycity.records.record import Recorder, dumps
from happycity_bots import GreedyBot, PlannerBot, RandomBot
from happycity_bots.champion import ChampionBot
from happycity_bots.halving import TrialBudget
from happycity_client import Decision
from happycity_terminal.weaknesses import Excess, SeatDecisions, Weaknesses, weaknesses_of
from tools.benchmarks.harness import parser
from tools.training.games import BotFactory, chosen, seated

BOT = "bot"
OTHERS: dict[str, BotFactory] = {
    "greedy": GreedyBot,
    "planner": PlannerBot,
    "random": RandomBot,
    "greedy2": GreedyBot,
    "planner2": PlannerBot,
    "network": partial(ChampionBot, budget=TrialBudget()),
    "network2": partial(ChampionBot, budget=TrialBudget()),
}
SEATS = 4


class Planted(NamedTuple):
    """A bot, and the decisions in which it moves at random."""

    name: str
    bot: BotFactory
    is_weak: Callable[[Decision, Sequence[str]], bool]
    """Whether it moves at random in a decision, with these opponents."""
    finds: Callable[[Excess], bool]
    """Whether a finding is the planted one."""


def _buys(decision: Decision, after: int) -> bool:
    return decision.view.phase is Phase.BUY and decision.view.round >= after


NETWORK = partial(ChampionBot, budget=TrialBudget())
PLANTED = (
    Planted("planner", PlannerBot, lambda *_: False, lambda _: False),
    Planted("champion without trials", NETWORK, lambda *_: False, lambda _: False),
    Planted(
        "planner, buys at random from round 8 on",
        PlannerBot,
        lambda decision, _: _buys(decision, 8),
        lambda excess: excess.kind == "round" and int(excess.cell) >= 8,
    ),
    Planted(
        "planner, buys at random with greedy at the table",
        PlannerBot,
        lambda decision, others: _buys(decision, 0) and "greedy" in others,
        lambda excess: (excess.kind, excess.cell) == ("opponent", "greedy"),
    ),
    Planted(
        "planner, discards at random",
        PlannerBot,
        lambda decision, _: decision.view.phase is Phase.DISCARD,
        lambda excess: (excess.kind, excess.cell) == ("phase", "discard"),
    ),
)


def recorded_game(planted: Planted, seed: int) -> tuple[int, Sequence[str], str]:
    """Play a game of a bot with three others; return its id, the bots by seat, and its record."""
    rng = random.Random(f"analyse {seed}")
    names = rng.sample([*OTHERS], SEATS - 1)
    names.insert(rng.randrange(SEATS), BOT)
    deal = Deal.shuffle(Config(players=SEATS, mode=Mode.FAMILY), seed=seed)
    bots = [
        seated(OTHERS.get(name, planted.bot), deal.config, seat, seed=seed) for seat, name in enumerate(names)
    ]
    game, recorder = Game(deal), Recorder(deal)
    while game.outcome is None:
        weak = names[game.seat] == BOT and planted.is_weak(Decision.of(game, game.events), names)
        move: Move = rng.choice(game.legal_moves) if weak else chosen(bots[game.seat], game)
        recorder.add(game, move)
        game.apply(move)
    return seed, names, dumps(recorder.record(game))


def judged(planted: Planted, *, games: int, seed: int) -> Iterator[SeatDecisions]:
    """Yield the decisions of a bot in some games."""
    played = (recorded_game(planted, seed + number) for number in range(games))
    for seats in weaknesses_of(played, BOT, playouts=0):
        yield from seats


def main() -> None:
    """Print a row for each bot."""
    options = parser(__doc__)
    options.add_argument("--games", type=int, default=300, help="games of each bot that are judged")
    options.add_argument("--length", type=int, default=100, help="games of a run that is drawn from them")
    options.add_argument("--runs", type=int, default=100)
    options.add_argument("--seed", type=int, default=8 * 10**9, help="the seed of the first deal")
    asked = options.parse_args()
    print(f"{asked.runs} runs of {asked.length} games, drawn from {asked.games}")
    print("| bot | blamed | found | names something else too |\n|---|---:|---:|---:|")
    for planted in PLANTED:
        seats, rng = list(judged(planted, games=asked.games, seed=asked.seed)), random.Random(1)
        runs = [Weaknesses.of(rng.sample(seats, asked.length)).excesses for _ in range(asked.runs)]
        found = sum(any(map(planted.finds, excesses)) for excesses in runs)
        other = sum(not all(map(planted.finds, excesses)) for excesses in runs)
        blamed = sum(map(bool, runs))
        shares = " | ".join(f"{count / asked.runs:.0%}" for count in (blamed, found, other))
        print(f"| {planted.name} | {shares} |")
        for excess in Weaknesses.of(seats).excesses:
            print("   ", excess, flush=True)
