"""Decisions on the wire: the fast way writes what the plain way does, and coins are those of the rules."""

import random
from collections.abc import Sequence

import pytest
from google.protobuf.internal import encoder as protobuf_encoder
from hypothesis import given, settings
from hypothesis import strategies as st

from happycity import Config, Event, EventKind, Game, Mode, MoveKind, Phase, Scoring
from happycity.v1 import game_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.wire.decisions import DecisionEncoder, response_part
from happycity.wire.decisions import _varint as varint
from happycity.wire.messages import decision_message, move_of

CONFIGS = st.builds(
    Config, players=st.integers(2, 5), mode=st.sampled_from(Mode), scoring=st.sampled_from(Scoring)
)
CLOCK_FIELDS = ("time_left_us", "bank_left_us", "last_think_us", "round_trip_us")
CLOCKS = st.fixed_dictionaries({field: st.none() | st.integers(0, 2**50) for field in CLOCK_FIELDS})
Times = dict[str, int | None]


def plain(
    game: Game, *, match_id: int, decision_id: int, events: Sequence[Event], times: Times
) -> play.PlayResponse:
    """Build a response from the generated classes, as anybody would."""
    clock = play.Clock(**times)
    decision = decision_message(game, match_id=match_id, decision_id=decision_id, events=events, clock=clock)
    return play.PlayResponse(decisions=[decision])


@pytest.mark.level(1)
@given(config=CONFIGS, seed=st.integers(0, 2**64 - 1), times=CLOCKS, match_id=st.integers(1, 2**63 - 1))
@settings(max_examples=40)
def test_encoded_decisions_equal_plain_messages(
    config: Config, seed: int, times: Times, match_id: int
) -> None:
    """Every decision of a game, joined from fragments, is the message that the generated classes build.

    A seat gets all events since its last decision, in order.
    """
    rng = random.Random(seed)
    game = Game.deal(config, seed=seed)
    encoder = DecisionEncoder(match_id, config)
    fragments: list[list[bytes]] = [[] for _ in range(config.players)]
    events: list[list[Event]] = [[] for _ in range(config.players)]
    decision_id = 0
    while game.legal_moves:
        decision_id += 1
        part = encoder.events(game.events)
        for seat in range(config.players):
            fragments[seat].append(part)
            events[seat].extend(game.events)
        seat = game.seat
        actual = encoder.decision(game, decision_id=decision_id, events=fragments[seat], **times)
        expected = plain(game, match_id=match_id, decision_id=decision_id, events=events[seat], times=times)
        assert play.PlayResponse.FromString(actual) == expected
        again = encoder.decision(game, decision_id=decision_id, events=fragments[seat], **times)
        assert again == actual
        fragments[seat], events[seat] = [], []
        game.apply(rng.choice(game.legal_moves))


def test_parts_add_up_to_a_response() -> None:
    game = Game.deal(Config(), seed=1)
    encoder = DecisionEncoder(7, game.config)
    over = play.GameOver(match_id=9)
    parts = [
        encoder.decision(game, decision_id=1, events=[]),
        response_part("games_over", over),
        response_part("ping", play.Ping(nonce=2**64 - 1)),
        encoder.decision(game, decision_id=2, events=[]),
    ]
    response = play.PlayResponse.FromString(b"".join(parts))
    assert [decision.decision_id for decision in response.decisions] == [1, 2]
    assert list(response.games_over) == [over]
    assert response.ping.nonce == 2**64 - 1


def test_numbers_are_encoded_as_protobuf_does() -> None:
    # Each additional bit is encoded as protobuf encodes it.
    for bits in range(65):
        for number in {max(0, 2**bits - 1), min(2**bits, 2**64 - 1)}:
            expected = protobuf_encoder._VarintBytes(number)  # type: ignore[attr-defined]  # the reference
            assert varint(number) == expected

    # A negative time or number is a fault of ours, never another number on the wire.
    with pytest.raises(AssertionError):
        varint(-1)


def test_a_negative_income_changes_no_coins() -> None:
    game = Game.deal(Config(players=3), seed=1)
    for coins, income in ((5, -3), (9, -3), (5, -1), (4, 65533)):
        game.cities.coins[0], game.cities.printed_incomes[0] = coins, income
        part = DecisionEncoder(1, game.config).decision(game, decision_id=1, events=[])
        (decision,) = play.PlayResponse.FromString(part).decisions
        assert decision == decision_message(game, match_id=1, decision_id=1)
        assert (decision.view.seats[0].coins, decision.view.seats[0].income) == (coins, income)


@pytest.mark.level(1)
@given(config=CONFIGS, seed=st.integers(0, 10**9))
@settings(max_examples=30)
def test_coins_are_what_the_move_does(config: Config, seed: int) -> None:
    rng = random.Random(seed)
    game = Game.deal(config, seed=seed)
    while game.legal_moves:
        seat, before = game.seat, game.view().coins
        move = rng.choice(game.legal_moves)
        promised = game.coin_change(move)
        sent = {move_of(one): one.coins for one in decision_message(game, match_id=1, decision_id=1).moves}
        assert sent[move] == promised
        game.apply(move)
        if move.kind in (MoveKind.BUILD, MoveKind.DWELL, MoveKind.COIN):
            assert game.events[0][:2] == (EventKind[move.kind.name], seat)
            assert game.events[0].coins == promised
        else:
            assert promised == 0
        gained = sum(event.coins for event in game.events if event.seat == seat)
        assert game.view().coins[seat] == before[seat] + gained


def test_moves_and_events_share_their_names_and_numbers() -> None:
    moves = {kind.name: kind.value for kind in MoveKind}
    events = {kind.name: kind.value for kind in EventKind}
    assert list(moves.values()) == list(range(1, 11))
    assert list(events.values()) == list(range(1, 16))
    assert {name: events[name] for name in moves} == moves
    assert without_prefix(game_pb2.MoveKind.items(), "MOVE_KIND_") == moves
    assert without_prefix(game_pb2.EventKind.items(), "EVENT_KIND_") == events
    assert without_prefix(game_pb2.Phase.items(), "PHASE_") == {phase.name: phase.value for phase in Phase}


def without_prefix(items: Sequence[tuple[str, int]], prefix: str) -> dict[str, int]:
    """Return the names of an enum's values without their prefix, but for the unspecified one."""
    return {name.removeprefix(prefix): number for name, number in items if number}
