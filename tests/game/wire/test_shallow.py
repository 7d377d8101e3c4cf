"""Decisions that are decoded only as far as a bot looks."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.game.wire.test_decisions import CONFIGS

from happycity import Config, Game
from happycity.v1 import game_pb2, play_service_pb2
from happycity.wire.messages import decision_message, event_message
from happycity.wire.shallow import (
    clock_of,
    coins_of,
    deep_decision,
    known_event,
    known_move,
    read_response,
    shallow_decision,
    shallow_view_of,
)


@given(config=CONFIGS, seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_a_shallow_decision_is_read_as_the_generated_classes_read_it(config: Config, seed: int) -> None:
    """View, moves, coins, events and clock of every decision of a game are the engine's own."""
    rng = random.Random(seed)
    game = Game.deal(config, seed=seed)
    while game.legal_moves:
        clock = play_service_pb2.Clock(time_left_us=rng.randrange(10**7))
        message = decision_message(game, match_id=7, decision_id=3, events=game.events, clock=clock)
        shallow = shallow_decision(message)
        assert (shallow.match_id, shallow.decision_id) == (7, 3)
        assert shallow_view_of(shallow.view) == game.view()
        assert tuple(map(known_move, shallow.moves)) == game.legal_moves
        assert list(map(coins_of, shallow.moves)) == list(map(game.coin_change, game.legal_moves))
        assert tuple(map(known_event, shallow.events)) == game.events
        assert clock_of(shallow) == clock
        assert deep_decision(shallow) == message
        game.apply(rng.choice(game.legal_moves))


def test_a_response_keeps_its_other_messages() -> None:
    """Only the decisions of a response are shallow; the rest is the contract's."""
    response = play_service_pb2.PlayResponse(
        welcome=play_service_pb2.Welcome(server="a server"),
        games_started=[play_service_pb2.GameStarted(match_id=1, seat=2)],
        decisions=[decision_message(Game.deal(Config(players=3), seed=1), match_id=1, decision_id=1)],
        games_over=[play_service_pb2.GameOver(match_id=2)],
        notices=[play_service_pb2.Notice(text="a notice")],
        ping=play_service_pb2.Ping(nonce=5),
    )
    read = read_response(response.SerializeToString())
    assert (read.welcome, read.ping) == (response.welcome, response.ping)
    assert list(read.games_started) == list(response.games_started)
    assert list(read.games_over) == list(response.games_over)
    assert list(read.notices) == list(response.notices)
    assert list(map(deep_decision, read.decisions)) == list(response.decisions)


def test_what_only_a_newer_server_knows_is_none() -> None:
    """A move or event of an unknown kind is nothing that a bot of today can read."""
    assert known_move(game_pb2.Move(kind=99).SerializeToString()) is None  # type: ignore[arg-type]
    event = event_message(Game.deal(Config(players=3), seed=1).events[0])
    event.kind = 99  # type: ignore[assignment]
    assert known_event(event.SerializeToString()) is None


def test_fields_of_a_newer_server_stay_in_the_message() -> None:
    """What the SDK doesn't know is still in the message that a bot looks at."""
    message = decision_message(Game.deal(Config(players=3), seed=1), match_id=1, decision_id=1)
    newer = play_service_pb2.Decision.FromString(message.SerializeToString() + b"\xf8\x07\x2a")
    assert deep_decision(shallow_decision(newer)).SerializeToString() == newer.SerializeToString()


def test_a_view_with_an_unknown_phase_or_card_is_refused() -> None:
    """A view that this version doesn't understand is an error when a bot looks at it, not before."""
    message = decision_message(Game.deal(Config(players=3), seed=1), match_id=1, decision_id=1)
    message.view.phase = 99  # type: ignore[assignment]
    with pytest.raises(LookupError):
        shallow_view_of(shallow_decision(message).view)
    message.view.phase = game_pb2.PHASE_BUY
    message.view.seats[0].city.append(9999)  # type: ignore[arg-type]
    with pytest.raises(LookupError):
        shallow_view_of(shallow_decision(message).view)
