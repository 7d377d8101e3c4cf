"""What bots try out in sampled worlds.

The native engine plays where it is installed, else the rules in Python, with the same results.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from happycity import Game, Move, Outcome, View
from happycity.compiled import native, required
from happycity.wire.messages import view_message
from happycity_client import Decision
from happycity_evaluation.features import position_rows
from happycity_evaluation.quick import fast_builders, play_out, quick_move

if TYPE_CHECKING:
    from happycity_bots.halving import TrialBudget
    from happycity_engine import Champion, Position, Worlds
    from happycity_evaluation.network import Network
else:
    Worlds = native("Worlds")

Playout = Callable[[Move], float]
"""Plays a move out in one world, and returns `happycity_evaluation.quick.success` of its seat."""


def plan(
    decision: Decision, champion: Champion | None = None, *, ahead: bool = False
) -> tuple[list[float], float] | None:
    """Return the worth of each move and the points expected: in places by a champion, or else in points.

    With `ahead` a champion weighs draws as `happycity_bots.draws`. None without the engine.
    """
    if Worlds is None:
        return None
    position = decision.position(seed=0)
    values, points = position.plan() if champion is None else champion.plan(position, ahead=ahead)
    # A newer server may offer moves that this package doesn't know.
    return (values, points) if len(values) == len(decision.moves) else None


def playouts(view: View, rng: random.Random) -> Iterator[Playout]:
    """Yield playouts in one sampled world after the other, without an end."""
    if Worlds is not None:
        worlds = native_worlds(view)
        while True:
            yield partial(_native_playout, worlds.sample_as_python(rng), worlds.fast)
    fast = fast_builders(view)
    for world in Game.worlds(view, rng):
        yield partial(_playout, world, fast)


def native_champion(
    network: Network, budget: TrialBudget, *, near: float, most: int, confidence: float
) -> Champion | None:
    """Return what weighs and tries moves by a network; None without the engine."""
    if Worlds is None:
        return None
    trials, seconds = budget
    champion: Champion = required("Champion")(
        network.native, trials=trials, seconds=seconds, near=near, most=most, confidence=confidence
    )
    return champion


def native_worlds(view: View) -> Worlds:
    """Return what samples worlds in the native engine."""
    return Worlds(view_message(view).SerializeToString())


def _native_playout(world: Position, fast: int, move: Move) -> float:
    success: float = world.playout(move.index, fast=fast)  # Any, where the engine's stub isn't installed
    return success


def _playout(world: Game, fast: tuple[bool, ...], move: Move) -> float:
    return play_out(world.copy(), move, fast)


def next_turn(world: Game, move: Move) -> Outcome | list[list[float]]:
    """Play a move in a world, then all seats on by the quick policy up to the next turn of its seat.

    Return the raw rows of all seats there (`happycity_evaluation.features.position_rows`), or the outcome.
    """
    seat, played, game = world.seat, world.round, world.copy()
    game.apply(move)
    while game.outcome is None and (game.seat != seat or game.round == played):
        game.apply(quick_move(game))
    return position_rows(game.view()) if game.outcome is None else game.outcome
