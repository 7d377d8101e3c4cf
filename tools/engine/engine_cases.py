"""Write what the native engine does at decisions of games, for the tests of other languages' bindings.

    python -m tools engine-cases > clients/conformance/engine.jsonl
    python -m tools engine-cases --games 100 --decisions 20

The games are those of engine-equality. Each line is a position, drawn from the decisions of a game, or such a
position with open draws after some moves. Positions are in base64, seeds of 64 bits are strings, rows are
points, coins, inhabitants, hearts and ranks, each by seat, and what is refused is null.

- `position` comes from Python's rules. In a line with `moves`, it is what they lead to from the deal of
  `deal_seed` for the players, expert (0 or 1) and sum (0 or 1) in `deal`.
- `seed` and `fast` are arguments of what follows. `next` is the position after its first legal move, or after
  the first card that it awaits.
- A line with a `view` has a world of it, with the same cards in the discard piles.

The tests of all SDKs, of the bridge and of the crate read the file, or the one that the environment names in
HAPPYCITY_ENGINE_CASES.
"""

from __future__ import annotations

import json
import random
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from happycity import Game, Mode, Move, Scoring
from happycity.records.record import Json
from happycity.records.replay import config_of
from happycity.wire.messages import view_message
from tools.benchmarks.harness import parser
from tools.engine import load_engine
from tools.engine.engine_equality import decisions_of, traced_record

GAMES, DECISIONS = 32, 1
"""Games of the committed file, and decisions of each, besides the last position; two games of each kind."""
FAST = 5
"""The seats that always buy, as bits."""


def cases(engine: ModuleType, games: int, decisions: int) -> Iterator[dict[str, Any]]:
    """Yield what the engine does at some decisions of each game, and at its end."""
    for number in range(games):
        record = traced_record(number)
        rng = random.Random(f"happycity engine cases {number}")
        chosen = {*rng.choices(range(len(record["moves"])), k=decisions), len(record["moves"])}
        moves = [Move.parse(each["move"]).index for each in record["moves"]]
        for at, (game, content) in enumerate(decisions_of(record)):
            if at in chosen:
                position, seed = engine.Position.from_bytes(content), rng.getrandbits(64)
                yield case(position, seed) | view_case(engine, game, seed) | deal_case(record, moves[:at])
                opened = _after_open_draw(position, rng)
                yield case(opened, seed) | view_case(engine, None, seed) | deal_case(None, [])


def _after_open_draw(position: Any, rng: random.Random) -> Any:
    opened = position.opened()
    while opened.outcome is None and not opened.awaited:
        opened.apply(rng.choice(opened.legal_moves))
    return opened


def case(position: Any, seed: int) -> dict[str, Any]:
    """Return what the engine does at a position."""
    moves, awaited = position.legal_moves, position.awaited
    first, following = (moves or [0])[0], position.copy()
    try:
        following.reveal(awaited[0]) if awaited else following.apply(first)
    except ValueError:
        following = None
    return {
        "position": _base64(position),
        "seed": str(seed),
        "fast": FAST,
        "legal_moves": moves,
        "outcome": position.outcome,
        "score": position.score(),
        "quick_move": position.quick_move(fast=FAST),
        "playouts": _unless_refused(lambda: [position.playout(move, fast=FAST) for move in moves]),
        "random_playout": _unless_refused(lambda: position.random_playout(seed=seed)),
        "next_turn": _unless_refused(lambda: _base64(position.next_turn(first))),
        "awaited": awaited,
        "opened": _base64(position.opened()),
        "next": following and _base64(following),
    }


def view_case(engine: ModuleType, game: Game | None, seed: int) -> dict[str, Any]:
    """Return the world that the engine samples of a view; null of no view."""
    if game is None or game.outcome is not None:
        return dict.fromkeys(("view", "fast_builders", "sample"))
    view = view_message(game.view()).SerializeToString()
    worlds = engine.Worlds(view)
    return {"view": _base64(view), "fast_builders": worlds.fast, "sample": _base64(worlds.sample(seed=seed))}


def deal_case(record: Json | None, moves: list[int]) -> dict[str, Any]:
    """Return how a recorded game came to its position; null of none."""
    if record is None:
        return dict.fromkeys(("deal", "deal_seed", "moves"))
    config = config_of(record)
    return {
        "deal": [config.players, int(config.mode is Mode.EXPERT), int(config.scoring is Scoring.SUM)],
        "deal_seed": str(record["deal"]["seed"]),
        "moves": moves,
    }


def _base64(content: Any) -> str:
    return b64encode(bytes(content)).decode()


def _unless_refused(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ValueError:
        return None


def lines(games: int = GAMES, decisions: int = DECISIONS) -> Iterator[str]:
    """Yield a line of JSON for each case."""
    return (f"{json.dumps(each)}\n" for each in cases(load_engine(), games, decisions))


def main() -> None:
    """Print the cases."""
    options = parser(__doc__)
    options.add_argument("--games", type=int, default=GAMES)
    options.add_argument("--decisions", type=int, default=DECISIONS, help="of each game")
    arguments = options.parse_args()
    sys.stdout.writelines(lines(arguments.games, arguments.decisions))


if __name__ == "__main__":
    main()
