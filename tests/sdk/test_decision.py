"""How a bot reads a decision, and what it may answer."""

import numpy as np
import pytest

from happycity import Config, Game, Move
from happycity.v1 import game_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import decision_message
from happycity_client import Decision, IllegalChoiceError, MoveKind


def test_a_local_decision_has_what_a_servers_has() -> None:
    game = Game.deal(Config(players=3), seed=4)
    while game.outcome is None:
        decision = Decision.of(game)
        assert (decision.round, decision.centre) == (game.round, game.view().centre)
        assert (decision.view, decision.events) == (game.view(), game.events)
        assert (decision.seat, decision.moves) == (game.seat, game.legal_moves)
        assert [*map(decision.coins, decision.moves)] == [*map(game.coin_change, game.legal_moves)]
        assert decision.time_left is None
        game.apply(decision.moves[-1])


def test_the_time_left_is_in_seconds() -> None:
    clock = play.Clock(time_left_us=1_500_000, round_trip_us=0)
    game = Game.deal(Config(), seed=1)
    decision = Decision(decision_message(game, match_id=5, decision_id=3, clock=clock))
    assert (decision.match_id, decision.decision_id) == (5, 3)
    assert (decision.time_left, decision.message.clock) == (1.5, clock)


def test_what_only_a_newer_server_knows_is_left_out() -> None:
    """Positions are those of the message, and a position among the known moves is translated."""
    game = Game.deal(Config(), seed=1)
    message = decision_message(game, match_id=1, decision_id=1, events=game.events)
    message.moves[1].kind = game_pb2.MoveKind.ValueType(99)
    message.events[0].kind = game_pb2.EventKind.ValueType(99)
    decision = Decision(message)
    assert decision.moves == (game.legal_moves[0], *game.legal_moves[2:])
    assert decision.events == tuple(game.events[1:])
    assert [decision.position_of(choice) for choice in (game.legal_moves[2], 1)] == [2, 2]


@pytest.mark.parametrize("choice", [1, np.int64(1), "move"], ids=repr)
def test_a_move_or_its_position_is_a_choice(choice: object) -> None:
    decision = Decision.of(Game.deal(Config(), seed=1))
    assert decision.position_of(decision.moves[1] if choice == "move" else choice) == 1


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        (None, "choose returned None: is a return missing?"),
        (Move.parse("copy box"), "the bot chose copy box, which is not legal"),
        (99, "the bot chose 99, which is not legal"),
        (True, "the bot chose True"),
        (MoveKind.KEEP, "the bot chose 1"),
    ],
    ids=repr,
)
def test_any_other_choice_is_refused(choice: object, text: str) -> None:
    decision = Decision.of(Game.deal(Config(), seed=1))
    with pytest.raises(IllegalChoiceError, match=text):
        decision.position_of(choice)


def test_notes_are_gathered() -> None:
    """A later number replaces an earlier one of its name; half a character can't be sent."""
    decision = Decision.of(Game.deal(Config(), seed=1))
    decision.note(depth=1, value=0.5)
    decision.note(depth=2, **{"\ud800": 3})
    assert decision.notes == {"depth": 2.0, "value": 0.5, "?": 3.0}
