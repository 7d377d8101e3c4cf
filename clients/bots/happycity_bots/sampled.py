"""What bots try out in sampled worlds.

The native engine plays where it is installed, else the rules in Python, with the same results.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from happycity import Game, Move, Outcome, View
from happycity.compiled import native
from happycity.wire.messages import view_message
from happycity_client import Decision
from happycity_evaluation.features import position_rows
from happycity_evaluation.quick import fast_builders, play_out, quick_move

if TYPE_CHECKING:
    from happycity_engine import Position, Worlds
else:
    Worlds = native("Worlds")

Playout = Callable[[Move], float]
"""Plays a move out in one world, and returns `happycity_evaluation.quick.success` of its seat."""
NextTurn = Callable[[Move], Outcome | list[list[float]]]
"""Plays a move in one world, then all seats on by the quick policy up to the next turn of its seat.

It returns the raw rows of all seats there (`happycity_evaluation.features.position_rows`), or the outcome.
"""


def plan(decision: Decision) -> tuple[list[float], float] | None:
    """Return the planner's worth of each move and the points that it expects; None without the engine."""
    if Worlds is None:
        return None
    values, points = decision.position(seed=0).plan()
    # A newer server may offer moves that this package doesn't know.
    return (values, points) if len(values) == len(decision.moves) else None


def playouts(view: View, rng: random.Random) -> Iterator[Playout]:
    """Yield playouts in one sampled world after the other, without an end."""
    if Worlds is not None:
        worlds = _native_worlds(view)
        while True:
            yield partial(_native_playout, worlds.sample_as_python(rng), worlds.fast)
    fast = fast_builders(view)
    for world in Game.worlds(view, rng):
        yield partial(_playout, world, fast)


def next_turns(view: View, rng: random.Random) -> Iterator[NextTurn]:
    """Yield what plays up to the next turn, in one sampled world after the other, without an end."""
    if Worlds is not None:
        worlds = _native_worlds(view)
        while True:
            yield partial(_native_next_turn, worlds.sample_as_python(rng))
    for world in Game.worlds(view, rng):
        yield partial(_next_turn, world)


def _native_worlds(view: View) -> Worlds:
    return Worlds(view_message(view).SerializeToString())


def _native_playout(world: Position, fast: int, move: Move) -> float:
    success: float = world.playout(move.index, fast=fast)  # Any, where the engine's stub isn't installed
    return success


def _playout(world: Game, fast: tuple[bool, ...], move: Move) -> float:
    return play_out(world.copy(), move, fast)


def _native_next_turn(world: Position, move: Move) -> Outcome | list[list[float]]:
    position = world.next_turn(move.index)
    outcome = position.outcome
    return position.features() if outcome is None else Outcome(*outcome)


def _next_turn(world: Game, move: Move) -> Outcome | list[list[float]]:
    seat, played, game = world.seat, world.round, world.copy()
    game.apply(move)
    while game.outcome is None and (game.seat != seat or game.round == played):
        game.apply(quick_move(game))
    return position_rows(game.view()) if game.outcome is None else game.outcome
