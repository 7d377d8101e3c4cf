"""The wire: what is written is read back, and the fast way writes what the plain way does."""

from __future__ import annotations

import random

import pytest
from google.protobuf.internal import encoder as protobuf_encoder
from hypothesis import given, settings
from hypothesis import strategies as st

from happycity import Config, ConfigError, Game, Mode, Move, Scoring
from happycity.records import ENDINGS
from happycity.v1 import cards_pb2, game_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.wire import (
    DecisionEncoder,
    coins_moved,
    config_message,
    config_of,
    endings_of,
    event_message,
    event_of,
    move_message,
    move_of,
    outcome_message,
    outcome_of,
    result_message,
    varint,
    view_message,
    view_of,
)

CONFIGS = st.builds(
    Config,
    players=st.integers(2, 5),
    mode=st.sampled_from(Mode),
    scoring=st.sampled_from(Scoring),
)


def plain_decision(
    game: Game, *, decision_id: int, events: list[game_pb2.Event], clock: play.Clock
) -> play.Decision:
    """Build a decision from the generated classes, as anybody would."""
    moves = [move_message(move, coins_moved(game, game.seat, move)) for move in game.legal_moves]
    return play.Decision(
        game_id=2**40 + 1,
        decision_id=decision_id,
        seat=game.seat,
        view=view_message(game.view()),
        moves=moves,
        events=events,
        clock=clock,
    )


def encoded(encoder: DecisionEncoder, game: Game, *, decision_id: int, clock: play.Clock) -> bytes:
    return encoder.decision(
        game,
        decision_id=decision_id,
        time_left_ms=clock.time_left_ms,
        last_think_us=clock.last_think_us,
        bank_left_ms=clock.bank_left_ms,
        round_trip_us=clock.round_trip_us,
    )


CLOCKS = st.builds(
    play.Clock,
    time_left_ms=st.just(10_000),
    last_think_us=st.integers(0, 2**40),
    bank_left_ms=st.integers(0, 2**32 - 1),
    round_trip_us=st.integers(0, 2**32 - 1),
)


@given(config=CONFIGS, seed=st.integers(0, 2**64 - 1), clock=CLOCKS)
@settings(max_examples=20, deadline=None)
def test_encoded_decisions_equal_plain_messages(config: Config, seed: int, clock: play.Clock) -> None:
    """Every decision of a game, joined from fragments, is the message that the generated classes build."""
    rng = random.Random(seed)
    game = Game.deal(config, seed=seed)
    encoder = DecisionEncoder(2**40 + 1, config)
    untold: list[list[game_pb2.Event]] = [[] for _ in range(config.players)]
    decision_id = 0
    while game.legal_moves:
        decision_id += 1
        encoder.add_events(game.events)
        for seat in untold:
            seat.extend(map(event_message, game.events))
        told, untold[game.seat] = untold[game.seat], []
        response = play.PlayResponse.FromString(encoded(encoder, game, decision_id=decision_id, clock=clock))
        plain = plain_decision(game, decision_id=decision_id, events=told, clock=clock)
        assert response == play.PlayResponse(decisions=[plain])
        encoder.settled(game.seat, answered=rng.random() < 0.5)
        game.apply(rng.choice(game.legal_moves))


@given(seed=st.integers(0, 10**6), lost=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_decisions_can_be_told_again(seed: int, lost: int) -> None:
    """After a loss a seat is told all that no answer has confirmed; encoding twice gives the same bytes."""
    rng, clock = random.Random(seed), play.Clock(time_left_ms=1)
    game = Game.deal(Config(players=2), seed=seed)
    encoder = DecisionEncoder(7, game.config)
    every: list[game_pb2.Event] = []
    told_before: list[int] = [0, 0]  # events that each seat's last answered decision ended with
    while game.legal_moves:
        every.extend(map(event_message, game.events))
        encoder.add_events(game.events)
        seat = game.seat
        first = encoded(encoder, game, decision_id=1, clock=clock)
        assert encoded(encoder, game, decision_id=1, clock=clock) == first
        encoder.tell_again(seat)
        again = play.PlayResponse.FromString(encoded(encoder, game, decision_id=1, clock=clock))
        assert list(again.decisions[0].events) == every[told_before[seat] :]
        answered = rng.randrange(lost) == 0
        encoder.settled(seat, answered=answered)
        if answered:
            told_before[seat] = len(every)
        game.apply(rng.choice(game.legal_moves))


def test_program_that_is_new_to_a_game_is_told_all_of_it() -> None:
    """The next decision tells every event so far, and the one after it goes on from there."""
    game = Game.deal(Config(players=2), seed=3)
    encoder = DecisionEncoder(7, game.config)
    events = list(game.events)
    encoder.add_events(events)
    for _ in range(20):
        encoder.settled(game.seat, answered=True)
        game.apply(game.neutral_move)
        events += game.events
        encoder.add_events(game.events)
    encoder.tell_all(game.seat)
    message = play.PlayResponse.FromString(
        encoded(encoder, game, decision_id=21, clock=play.Clock(time_left_ms=1))
    )
    assert list(message.decisions[0].events) == list(map(event_message, events))


@given(config=CONFIGS, seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_views_and_events_are_read_back(config: Config, seed: int) -> None:
    """A bot sees the engine's own view, events and outcome."""
    rng = random.Random(seed)
    game = Game.deal(config, seed=seed)
    while game.legal_moves:
        assert view_of(view_message(game.view())) == game.view()
        assert tuple(event_of(event_message(event)) for event in game.events) == game.events
        game.apply(rng.choice(game.legal_moves))
    assert game.outcome is not None
    assert outcome_of(outcome_message(game.outcome)) == game.outcome


def test_every_move_is_read_back() -> None:
    """All moves that the notation knows survive the wire, with or without a price."""
    for move in Move.all():
        assert move_of(move_message(move)) is move
    build = Move.parse("build museum")
    assert move_of(move_message(build, 4)) is build
    assert move_message(build, 4).build.price == 4
    assert move_message(Move.parse("coin"), 8).coin.amount == 8


def test_empty_move_is_an_error() -> None:
    """A move of no kind is refused, not guessed at."""
    with pytest.raises(KeyError):
        move_of(game_pb2.Move())


@pytest.mark.parametrize(
    "message",
    [
        game_pb2.GameConfig(),
        game_pb2.GameConfig(players=3, mode=cards_pb2.MODE_FAMILY),
        game_pb2.GameConfig(players=7, mode=cards_pb2.MODE_FAMILY, scoring=cards_pb2.SCORING_SUM),
    ],
)
def test_config_without_its_parts_is_an_error(message: game_pb2.GameConfig) -> None:
    """Nothing is assumed that was not said."""
    with pytest.raises(ConfigError):
        config_of(message)


def test_config_is_read_back() -> None:
    """All modes and scorings have their value on the wire."""
    for mode in Mode:
        for scoring in Scoring:
            config = Config(players=5, mode=mode, scoring=scoring)
            assert config_of(config_message(config)) == config


def test_every_ending_has_its_value() -> None:
    """The reasons of a record are those of the wire."""
    game = Game.deal(Config(players=2), seed=1)
    while game.legal_moves:
        game.apply(game.neutral_move)
    assert game.outcome is not None
    for ending in ENDINGS:
        message = result_message(game.outcome, places=(1, 2), endings=(ending, "finished"))
        assert endings_of(message) == (ending, "finished")
    assert len(ENDINGS) == len(game_pb2.Ending.keys()) - 1


@given(st.integers(0, 2**64 - 1) | st.integers(0, 2**15))
@settings(deadline=None)
def test_varints_are_protobufs(number: int) -> None:
    """The numbers are encoded as protobuf encodes them."""
    encoded = protobuf_encoder._VarintBytes(number)  # type: ignore[attr-defined]  # the reference, not public
    assert varint(number) == encoded
