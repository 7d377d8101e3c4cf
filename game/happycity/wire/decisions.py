"""The hot path: a decision is sent for every move of every game.

Building one from nested messages costs several times what the rules cost. `DecisionEncoder` joins it from
cached wire fragments of the same messages instead; tests hold the result to be equal to the plain way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from google.protobuf.message import Message

from happycity.rules.cards import CARDS, Card
from happycity.rules.deals import Config
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.views import Event, EventKind, Phase
from happycity.v1 import game_pb2, play_service_pb2
from happycity.wire.messages import (
    config_message,
    dwelling_messages,
    event_message,
    move_message,
    seat_state_message,
)

# Numbers of cards, and how many there are of any, fit into one byte of the wire format.
assert len(CARDS) < 128


def _varint(number: int) -> bytes:
    """Encode a number of at least 0 as protobuf does: seven bits a byte, the lowest first."""
    if 0 <= number < len(_SHORT):
        return _SHORT[number]
    assert number >= 0
    if number < 1 << 21:
        return bytes((number & 127 | 128, number >> 7 & 127 | 128, number >> 14))
    return bytes((number & 127 | 128,)) + _varint(number >> 7)


_SHORT: Final = (
    *(bytes((number,)) for number in range(1 << 7)),
    *(bytes((number & 127 | 128, number >> 7)) for number in range(1 << 7, 1 << 14)),
)
"""The numbers of one and two bytes, which are nearly all."""


def _tag(message: type[Message], field: str, *, varint_coded: bool = False) -> bytes:
    """Return the key that stands before a field's value on the wire."""
    number = message.DESCRIPTOR.fields_by_name[field].number
    return _varint(number << 3 | (0 if varint_coded else 2))


_RESPONSE_TAGS: Final = {
    field.name: _tag(play_service_pb2.PlayResponse, field.name)
    for field in play_service_pb2.PlayResponse.DESCRIPTOR.fields
}


def response_part(field: str, message: Message) -> bytes:
    """Return the fragment that adds a message to a field of a `PlayResponse`."""
    encoded = message.SerializeToString()
    return b"".join((_RESPONSE_TAGS[field], _varint(len(encoded)), encoded))


_DECISION: Final = play_service_pb2.Decision
_CLOCK_FIELDS: Final = play_service_pb2.Clock
_VIEW_FIELDS: Final = game_pb2.View
_MATCH_ID: Final = _tag(_DECISION, "match_id", varint_coded=True)
_DECISION_ID: Final = _tag(_DECISION, "decision_id", varint_coded=True)
_VIEW: Final = _tag(_DECISION, "view")
_MOVES: Final = _tag(_DECISION, "moves")
_EVENTS: Final = _tag(_DECISION, "events")
_CLOCK: Final = _tag(_DECISION, "clock")
_TIME_LEFT: Final = _tag(_CLOCK_FIELDS, "time_left_us", varint_coded=True)
_BANK_LEFT: Final = _tag(_CLOCK_FIELDS, "bank_left_us", varint_coded=True)
_ROUND_TRIP: Final = _tag(_CLOCK_FIELDS, "round_trip_us", varint_coded=True)
_LAST_THINK: Final = _tag(_CLOCK_FIELDS, "last_think_us", varint_coded=True)
_ROUND: Final = _tag(_VIEW_FIELDS, "round", varint_coded=True)[0]
_SEAT: Final = _tag(_VIEW_FIELDS, "seat", varint_coded=True)[0]
_PHASE: Final = _tag(_VIEW_FIELDS, "phase", varint_coded=True)[0]
_SEATS: Final = _tag(_VIEW_FIELDS, "seats")
_CENTRE: Final = _tag(_VIEW_FIELDS, "centre")[0]
_SPECIALS: Final = _tag(_VIEW_FIELDS, "specials")[0]
_DWELLINGS: Final = _tag(_VIEW_FIELDS, "dwellings")
_DECKS: Final = _tag(_VIEW_FIELDS, "decks")
_CONFIG: Final = _tag(_VIEW_FIELDS, "config")
_CITY: Final = _tag(game_pb2.SeatState, "city")[0]


def _fragment(tag: bytes, message: Message) -> bytes:
    encoded = message.SerializeToString()
    return tag + _varint(len(encoded)) + encoded


@lru_cache(maxsize=10_000)
def _move_fragment(move: Move, coins: int) -> bytes:
    return _fragment(_MOVES, move_message(move, coins))


@lru_cache(maxsize=10_000)
def _event_fragment(event: Event) -> bytes:
    return _fragment(_EVENTS, event_message(event))


@lru_cache(maxsize=10_000)
def _free_moves(moves: tuple[Move, ...]) -> bytes:
    """Encode moves that cost nothing: which deck, what to discard, which special."""
    return b"".join([_move_fragment(move, 0) for move in moves])


def _purchases(game: Game) -> bytes:
    """Encode what can be bought, with prices, after what is gained by buying nothing."""
    seat, (coin, *purchases) = game.seat, game.legal_moves
    prices = game.cities.prices[seat]
    return b"".join(
        [
            _move_fragment(coin, game.cities.coin_gain(seat)),
            *[_move_fragment(move, -prices[move.number]) for move in purchases],
        ]
    )


@lru_cache(maxsize=10_000)
def _purse(coins: int, income: int, uses: int) -> bytes:
    """Encode all of a seat's state but its city."""
    return seat_state_message(coins, income, (), uses).SerializeToString()


def _seat_fragment(coins: int, income: int, city: tuple[Card, ...], uses: int) -> bytes:
    purse, numbers = _purse(coins, income, uses), [card.number for card in city]
    return b"".join(
        (
            _SEATS,
            _SHORT[len(purse) + 2 + len(numbers)],
            purse,
            bytes((_CITY, len(numbers), *numbers)),  # a packed field: tag, length and values
        )
    )


@lru_cache(maxsize=1000)
def _dwellings(left: tuple[int, ...]) -> bytes:
    return b"".join([_fragment(_DWELLINGS, stack) for stack in dwelling_messages(left)])


@lru_cache(maxsize=2000)
def _deck(left: int, discarded: int) -> bytes:
    return _fragment(_DECKS, game_pb2.DeckState(left=left, discarded=discarded))


class DecisionEncoder:
    """Encodes the decisions of one match, sharing what stays the same from one to the next."""

    def __init__(self, match_id: int, config: Config) -> None:
        seats = range(config.players)
        self._head = _MATCH_ID + _varint(match_id) + _DECISION_ID
        self._config = _fragment(_CONFIG, config_message(config))
        self._seats: list[bytes] = [b"" for _ in seats]
        self._states: list[tuple[int, int, tuple[Card, ...], int] | None] = [None for _ in seats]
        self._joined_seats = b""
        self._seats_changed = True
        self._specials: tuple[Card, ...] = ()
        self._encoded_specials = b""

    def events(self, events: Iterable[Event]) -> bytes:
        """Encode what happened as a part of later decisions; every event of the match must pass here."""
        fragments = []
        for event in events:
            fragments.append(_event_fragment(event))
            if event.kind not in _SEATS_UNTOUCHED:
                self._seats_changed = True
        return b"".join(fragments)

    def decision(
        self,
        game: Game,
        *,
        decision_id: int,
        events: Sequence[bytes],
        time_left_us: int | None = None,
        bank_left_us: int | None = None,
        last_think_us: int | None = None,
        round_trip_us: int | None = None,
    ) -> bytes:
        """Encode the decision that waits in `game` as a fragment of a `PlayResponse`.

        All events of the game were encoded here; `events` are those since the seat's last decision. Times are
        microseconds, as in a `Clock`; None: no limit, no bank, no decision or round trip before.
        """
        if self._seats_changed:
            self._encode_seats(game)
        if game.specials is not self._specials:
            self._specials = game.specials
            numbers = [card.number for card in game.specials]
            self._encoded_specials = bytes((_SPECIALS, len(numbers), *numbers))
        centre, decks = game.centre, map(_deck, game.deck_sizes, game.discard_sizes)
        view = b"".join(
            (
                bytes(
                    (_ROUND, game.round, _SEAT, game.seat, _PHASE, game.phase, _CENTRE, len(centre), *centre)
                ),
                self._joined_seats,
                self._encoded_specials,
                _dwellings(tuple(game.dwellings)),
                *decks,
                self._config,
            )
        )
        clock = _limits(time_left_us, bank_left_us, round_trip_us)
        if last_think_us is not None:
            clock += _LAST_THINK + _varint(last_think_us)
        message = b"".join(
            (
                self._head,
                _varint(decision_id),
                _VIEW,
                _SHORT[len(view)],
                view,
                _purchases(game) if game.phase is _BUY else _free_moves(game.legal_moves),
                *events,
                _CLOCK,
                _SHORT[len(clock)],
                clock,
            )
        )
        return b"".join((_DECISIONS, _varint(len(message)), message))

    def _encode_seats(self, game: Game) -> None:
        """Encode the seats that are not as they were."""
        cities = game.cities
        states = zip(cities.coins, cities.incomes(), cities.cards, cities.uses, strict=True)
        for seat, state in enumerate(states):
            if state != self._states[seat]:
                self._states[seat] = state
                self._seats[seat] = _seat_fragment(*state)
        self._joined_seats = b"".join(self._seats)
        self._seats_changed = False


@lru_cache(maxsize=1000)
def _limits(time_left_us: int | None, bank_left_us: int | None, round_trip_us: int | None) -> bytes:
    """Encode a clock without the time that the seat thought last."""
    fields = ((_TIME_LEFT, time_left_us), (_BANK_LEFT, bank_left_us), (_ROUND_TRIP, round_trip_us))
    return b"".join([tag + _varint(number) for tag, number in fields if number is not None])


_BUY: Final = Phase.BUY
_DECISIONS: Final = _RESPONSE_TAGS["decisions"]
_SEATS_UNTOUCHED: Final = frozenset(
    (
        EventKind.ROUND_STARTED,
        EventKind.KEEP,
        EventKind.DISCARD,
        EventKind.DECK_REBUILT,
        EventKind.DRAW,
        EventKind.DECLINE,
    )
)
"""Events after which every seat owns what it owned before."""
