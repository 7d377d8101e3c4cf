"""Write positions.jsonl: what the native engine makes of views, for testing the SDKs' bindings of it.

Each line is a JSON object. Bytes are in base64, seeds are strings as they have 64 bits, moves and cards are
numbers. Rows are points, coins, inhabitants, hearts and ranks, each by seat.

- `view`, a `happycity.v1.View`, with `seed` gives `position`; `fast` are its rivals that always buy.
- of `position`: `legal_moves`, `playouts` of all of them and `fast_playouts` with `fast`, `quick_move`,
  `score`, `random_playout` by `seed`, and `opened`.
- `next` is `position` after its last legal move, `next_turn` before the seat's next turn after that move.
- `awaiting`: an open position that awaits one of the cards `awaited`; `revealed` is it with the last of them.
- `end`: the position after `random_moves`; `outcome` are its rows.
- `deal`: players, expert and sum (0 or 1); with `seed` it gives `dealt`.

It takes the native engine (`make engine`).
"""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from files import write_or_check

from happycity import Config, Game, Mode, Phase, Scoring
from happycity.records.random_games import random_move
from happycity.wire.messages import decision_message
from happycity_engine import Position, Worlds

FILE = Path(__file__).with_name("positions.jsonl")
CONFIGS = [Config(players, mode, scoring) for mode in Mode for players in range(2, 6) for scoring in Scoring]


GAMES = 10
"""Games of each configuration to choose from."""
PHASES = 2
"""Steps of the turn of which each configuration has a line; another configuration has others."""


def views(config: Config) -> dict[Phase, list[bytes]]:
    """Play games at random; return the views at their decisions by phase."""
    found: dict[Phase, list[bytes]] = defaultdict(list)
    for seed in range(GAMES):
        game = Game.deal(config, seed=seed)
        rng = random.Random(seed)
        while game.outcome is None:
            message = decision_message(game, match_id=0, decision_id=0)
            found[game.phase].append(message.view.SerializeToString(deterministic=True))
            game.apply(random_move(game, rng))
    return found


def lines(config: Config, number: int) -> Iterator[str]:
    """Yield the lines of a configuration, from the middle of its games."""
    found = views(config)
    phases = sorted(found)
    for place in range(PHASES):
        of_phase = found[phases[(number + place * len(phases) // PHASES) % len(phases)]]
        seed = 2**64 - 1 - number if place else number
        yield json.dumps(line(config, of_phase[len(of_phase) // 2], seed), separators=(",", ":"))


def line(config: Config, view: bytes, seed: int) -> dict[str, Any]:
    """Return what the engine makes of a view."""
    worlds = Worlds(view)
    position = worlds.sample(seed=seed)
    moves = position.legal_moves
    after = position.copy()
    after.apply(moves[-1])
    dealt = Position.deal(config, seed=seed)
    awaiting = to_draw(position, dealt)
    awaited = awaiting.awaited
    revealed = awaiting.copy()
    revealed.reveal(awaited[-1])
    end, random_moves = to_end(position, random.Random(seed))
    return {
        "view": text(view),
        "seed": str(seed),
        "position": text(position),
        "fast": worlds.fast,
        "legal_moves": moves,
        "playouts": [position.playout(move) for move in moves],
        "fast_playouts": [position.playout(move, fast=worlds.fast) for move in moves],
        "quick_move": position.quick_move(),
        "score": position.score(),
        "random_playout": position.random_playout(seed=seed),
        "opened": text(position.opened()),
        "next": text(after),
        "next_turn": text(position.next_turn(moves[-1])),
        "awaiting": text(awaiting),
        "awaited": awaited,
        "revealed": text(revealed),
        "random_moves": random_moves,
        "end": text(end),
        "outcome": end.outcome,
        "deal": [config.players, int(config.mode is Mode.EXPERT), int(config.scoring is Scoring.SUM)],
        "dealt": text(dealt),
    }


def to_draw(position: Position, otherwise: Position) -> Position:
    """Return the open position of the first draw by quick moves from here, or else from `otherwise`."""
    game = position.opened()
    while not game.awaited:
        move = game.quick_move()
        if move is None:
            return to_draw(otherwise, otherwise)
        game.apply(move)
    return game


def to_end(position: Position, rng: random.Random) -> tuple[Position, list[int]]:
    """Return the end of a game at random from here, and the moves up to it."""
    game, moves = position.copy(), []
    while legal := game.legal_moves:
        moves.append(rng.choice(legal))
        game.apply(moves[-1])
    return game, moves


def text(content: Position | bytes) -> str:
    """Return bytes in base64."""
    return b64encode(bytes(content)).decode()


if __name__ == "__main__":
    every = (each for number, config in enumerate(CONFIGS) for each in lines(config, number))
    write_or_check({FILE: "".join(f"{each}\n" for each in every)})
