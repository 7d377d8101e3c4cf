"""Policies that play a game to its end, by name, for the playouts of a search and of the forward model."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from happycity import Game, Move, Outcome
from happycity.records.random_games import random_move
from happycity_evaluation.quick import quick_move

PlayoutPolicy = Callable[[Game, random.Random], Move]
"""Chooses one of a game's legal moves, of which there are two or more, by nothing that a view would hide."""

POLICIES: Mapping[str, PlayoutPolicy] = {"quick": lambda game, rng: quick_move(game), "random": random_move}


def play_to_end(game: Game, policy: PlayoutPolicy, rng: random.Random) -> Outcome:
    """Play `game` to its end, all seats by `policy`, and return the outcome."""
    apply = game.apply
    while game.outcome is None:
        apply(policy(game, rng))
    return game.outcome
