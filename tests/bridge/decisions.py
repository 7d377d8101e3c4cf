"""Decisions as the SDK hands them on, without a server."""

import random
from collections.abc import Iterator

from happycity import Config, Game
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import decision_message
from happycity_client import Decision


def decision_in(game: Game, *, match_id: int = 1, decision_id: int = 1) -> Decision:
    """Return the decision that waits in a game, as a server sends it."""
    clock = play.Clock(time_left_us=10_000_000, last_think_us=1234, bank_left_us=0)
    message = decision_message(
        game, match_id=match_id, decision_id=decision_id, events=game.events, clock=clock
    )
    return Decision(play.Decision.FromString(message.SerializeToString()))


def random_decisions(config: Config, seed: int) -> Iterator[Decision]:
    rng = random.Random(seed)
    game = Game.deal(config, seed=seed)
    number = 0
    while game.outcome is None:
        number += 1
        yield decision_in(game, match_id=2**62 + seed, decision_id=number)
        game.apply(rng.choice(game.legal_moves))
