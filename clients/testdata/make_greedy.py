"""Write greedy.jsonl: decisions with the greedy bot's answers, for testing its ports to other languages.

Each line is a JSON object: `decision` is a `happycity.v1.Decision` in protobuf's JSON, `move` the position of
the move that greedy plays. Events and clock are left out, as greedy looks at neither. The decisions come from
games of greedy and random seats, at all table sizes and scorings, in all modes that this version plays.

With --check nothing is written: the exit status is 1 if the file is not what would be written.
"""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.json_format import MessageToDict

from happycity import Config, ConfigError, Game, Mode, Move, Phase, Scoring
from happycity.v1 import play_service_pb2 as play
from happycity.wire import DecisionEncoder
from happycity_bots.greedy import GreedyBot
from happycity_client import Decision, GameStart

FILE = Path(__file__).with_name("greedy.jsonl")
GAMES = 10
"""Games of each configuration to choose from."""
LINES = {Phase.DISCARD: 1, Phase.DRAW: 5, Phase.BUY: 24, Phase.SPECIAL: 8, Phase.MARKET: 6, Phase.SPHINX: 6}
"""Decisions of each configuration at most, by phase: most where greedy has to think."""


def configs() -> Iterator[Config]:
    """Yield all kinds of games that this version plays."""
    for mode in Mode:
        for players in range(2, 6):
            for scoring in Scoring:
                try:
                    config = Config(players=players, mode=mode, scoring=scoring)
                    Game.deal(config, seed=0)
                except ConfigError:
                    return
                yield config


def lines_of(config: Config, seed: int) -> Iterator[tuple[Phase, str]]:
    """Play a game, and yield every decision of it: the phase, and the line for the file."""
    game = Game.deal(config, seed=seed)
    rng = random.Random(seed)
    greedy = [GreedyBot(_start(config, seat)) for seat in range(config.players)]
    encoder = DecisionEncoder(seed, config)
    for number in range(1, 10_000):
        if game.outcome is not None:
            return
        encoder.add_events(game.events)
        best = greedy[game.seat].choose(Decision.of(game))
        yield game.phase, _line(encoder, game, number, best)
        greedily = (game.seat + seed) % 2 == 0
        game.apply(best if greedily else game.legal_moves[int(rng.random() * len(game.legal_moves))])


def _start(config: Config, seat: int) -> GameStart:
    return GameStart(game_id=0, config=config, seat=seat, bots=("",) * config.players, seed=0)


def _line(encoder: DecisionEncoder, game: Game, number: int, best: Move) -> str:
    part = encoder.decision(game, decision_id=number, time_left_ms=0, last_think_us=0)
    (message,) = play.PlayResponse.FromString(part).decisions
    message.ClearField("events")
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


def main(arguments: list[str]) -> int:
    """Write the file, or compare it."""
    text = "".join(f"{line}\n" for config in configs() for line in chosen(config))
    if arguments == ["--check"]:
        return 0 if FILE.read_text(encoding="utf-8") == text else 1
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
