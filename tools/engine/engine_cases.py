"""Write what the native engine does at decisions of games, for the tests of other languages' bindings.

    python -m tools engine-cases > clients/conformance/engine.jsonl
    python -m tools engine-cases --games 100 --decisions 20

The games are those of engine-equality. Each line is a position, drawn from the decisions of a game, or such a
position with open draws after some moves; what is refused there is null. A test of each binding reads the
file, or the one that the environment names in HAPPYCITY_ENGINE_CASES.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from happycity import Game, Move
from happycity.records.replay import config_of, positions_of
from happycity.wire.messages import view_message
from tools.benchmarks.harness import parser
from tools.engine import load_engine
from tools.engine.engine_equality import traced_record

GAMES, DECISIONS = 32, 1
"""Games of the committed file, and decisions of each, besides the last position; two games of each kind."""
FAST, SEED = 5, 7
"""The seats that always buy, as bits, and the seed of random playouts and sampled worlds."""


def cases(engine: ModuleType, games: int, decisions: int) -> Iterator[dict[str, Any]]:
    """Yield what the engine does at some decisions of each game, and at its end."""
    for number in range(games):
        record = traced_record(number)
        rng = random.Random(f"happycity engine cases {number}")
        chosen = {*rng.choices(range(len(record["moves"])), k=decisions), len(record["moves"])}
        position = engine.Position.deal(config_of(record), seed=record["deal"]["seed"])
        for at, game in enumerate(positions_of(record)):
            if at in chosen:
                yield case(position) | view_case(engine, game)
                yield case(_after_open_draw(position, rng)) | view_case(engine, None)
            if at < len(record["moves"]):
                position.apply(Move.parse(record["moves"][at]["move"]).index)


def _after_open_draw(position: Any, rng: random.Random) -> Any:
    opened = position.opened()
    while opened.outcome is None and not opened.awaited:
        opened.apply(rng.choice(opened.legal_moves))
    return opened


def case(position: Any) -> dict[str, Any]:
    """Return what the engine does at a position."""
    moves, awaited = position.legal_moves, position.awaited
    first, following = (moves or [0])[0], position.copy()
    try:
        following.reveal(awaited[0]) if awaited else following.apply(first)
    except ValueError:
        following = None
    return {
        "position": bytes(position).hex(),
        "legal_moves": moves,
        "outcome": position.outcome,
        "score": position.score(),
        "quick_move": position.quick_move(fast=FAST),
        "playouts": _unless_refused(lambda: [position.playout(move, fast=FAST) for move in moves]),
        "random_playout": _unless_refused(lambda: position.random_playout(seed=SEED)),
        "next_turn": _unless_refused(lambda: bytes(position.next_turn(first)).hex()),
        "awaited": awaited,
        "opened": bytes(position.opened()).hex(),
        "next": following and bytes(following).hex(),
    }


def view_case(engine: ModuleType, game: Game | None) -> dict[str, Any]:
    """Return the worlds that the engine samples of a view, with known discard piles too; null of no view."""
    if game is None or game.outcome is not None:
        return dict.fromkeys(("view", "discarded", "fast", "sample", "sample_known"))
    view = view_message(game.view()).SerializeToString()
    discarded = [card.number for card in game.discarded]
    unknown, known = engine.Worlds(view), engine.Worlds(view, bytes(discarded))
    return {
        "view": view.hex(),
        "discarded": discarded,
        "fast": unknown.fast,
        "sample": bytes(unknown.sample(seed=SEED)).hex(),
        "sample_known": bytes(known.sample(seed=SEED)).hex(),
    }


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
