"""Write greedy.jsonl: decisions with the greedy bot's answers, for testing its ports to other languages.

Each line is a JSON object: `decision` is a `happycity.v1.Decision` in protobuf's JSON, `move` the position of
the move that greedy plays. Events and clock are left out, as greedy looks at neither. The decisions come from
games of greedy and random seats, at all table sizes and scorings in both modes.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from files import write_or_check
from google.protobuf.json_format import MessageToDict

from happycity import Config, Game, Mode, Move, Phase, Scoring
from happycity.records.random_games import random_move
from happycity.wire.messages import decision_message
from happycity_bots.greedy import GreedyBot
from happycity_client import Decision, GameStarted

FILE = Path(__file__).with_name("greedy.jsonl")
CONFIGS = [Config(players, mode, scoring) for mode in Mode for players in range(2, 6) for scoring in Scoring]
GAMES = 10
"""Games of each configuration to choose from."""
LINES = {Phase.DISCARD: 1, Phase.DRAW: 5, Phase.BUY: 24, Phase.SPECIAL: 8, Phase.MARKET: 6, Phase.SPHINX: 6}
"""Decisions of each configuration at most, by phase: most where greedy has to think."""


def lines_of(config: Config, seed: int) -> Iterator[tuple[Phase, str]]:
    """Play a game, and yield every decision of it: the phase, and the line for the file."""
    game = Game.deal(config, seed=seed)
    rng = random.Random(seed)
    greedy = [GreedyBot(_start(config, seat)) for seat in range(config.players)]
    for number in range(1, 10_000):
        if game.outcome is not None:
            return
        best = greedy[game.seat].choose(Decision.of(game))
        yield game.phase, _line(game, seed, number, best)
        greedily = (game.seat + seed) % 2 == 0
        game.apply(best if greedily else random_move(game, rng))


def _start(config: Config, seat: int) -> GameStarted:
    return GameStarted(match_id=0, config=config, seat=seat, bots=("",) * config.players, seed=0)


def _line(game: Game, match_id: int, number: int, best: Move) -> str:
    message = decision_message(game, match_id=match_id, decision_id=number)
    message.ClearField("clock")
    line = {"decision": MessageToDict(message), "move": game.legal_moves.index(best)}
    return json.dumps(line, separators=(",", ":"))


def chosen(config: Config) -> Iterator[str]:
    """Yield lines of games of one configuration, evenly spread over those games."""
    found: dict[Phase, list[str]] = defaultdict(list)
    for seed in range(1, GAMES + 1):
        for phase, line in lines_of(config, seed):
            found[phase].append(line)
    for phase in sorted(found):
        lines = found[phase]
        count = min(LINES[phase], len(lines))
        yield from (lines[index * len(lines) // count] for index in range(count))


if __name__ == "__main__":
    write_or_check({FILE: "".join(f"{line}\n" for config in CONFIGS for line in chosen(config))})
