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
from happycity.rules.deals import LAST_ROUND, Config
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
    if 0 <= number < _SHORT_BELOW:
        return _SHORT[number]
    assert number >= 0
    if number < 1 << 21:
        return bytes((number & 127 | 128, number >> 7 & 127 | 128, number >> 14))
    return bytes((number & 127 | 128,)) + _varint(number >> 7)


_SHORT_BELOW: Final = 1 << 14
_SHORT: Final = (
    *(bytes((number,)) for number in range(1 << 7)),
    *(bytes((number & 127 | 128, number >> 7)) for number in range(1 << 7, _SHORT_BELOW)),
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
    return _fragment(_RESPONSE_TAGS[field], message)


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
_SPECIALS: Final = _tag(_VIEW_FIELDS, "specials")
_DWELLINGS: Final = _tag(_VIEW_FIELDS, "dwellings")
_DECKS: Final = _tag(_VIEW_FIELDS, "decks")
_CONFIG: Final = _tag(_VIEW_FIELDS, "config")
_CITY: Final = _tag(game_pb2.SeatState, "city")
_LEFT: Final = _tag(game_pb2.DeckState, "left", varint_coded=True)
_DISCARDED: Final = _tag(game_pb2.DeckState, "discarded")


def _fragment(tag: bytes, message: Message) -> bytes:
    encoded = message.SerializeToString()
    return tag + _varint(len(encoded)) + encoded


# Fragments by what they encode. There are few of each; only of what holds or moves any number of coins there
# may be many. Events have a dictionary, which is quicker than `lru_cache` where no call is needed for it.
_FREE_MOVE: Final = {move: _fragment(_MOVES, move_message(move)) for move in Move.all()}
"""Moves that cost nothing: which deck, what to discard, which special."""
_TURNS: Final = {
    number << 8 | seat << 4 | phase: bytes((_ROUND, number, _SEAT, seat, _PHASE, phase, _CENTRE))
    for number in range(LAST_ROUND + 1)
    for seat in range(5)
    for phase in Phase
}
"""The start of a view: round << 8 | seat << 4 | phase."""
_TURN_BYTES: Final = 7
_EVENTS_SEEN: Final[dict[Event, tuple[bytes, int]]] = {}
"""Each with what it changes of the view, as bits."""
_MAX_SEEN: Final = 10_000


def _encoded_event(event: Event) -> tuple[bytes, int]:
    """Encode an event that isn't among those seen."""
    if len(_EVENTS_SEEN) >= _MAX_SEEN:
        _EVENTS_SEEN.clear()
    changes = _CHANGES.get(event.kind, _TABLE_CHANGED)
    encoded = _EVENTS_SEEN[event] = _fragment(_EVENTS, event_message(event)), changes
    return encoded


@lru_cache(maxsize=_MAX_SEEN)
def _free_moves(moves: tuple[Move, ...]) -> bytes:
    """Encode all moves of a decision, which cost nothing."""
    return b"".join([_FREE_MOVE[move] for move in moves])


@lru_cache(maxsize=_MAX_SEEN)
def _priced_move(move: Move, coins: int) -> bytes:
    return _fragment(_MOVES, move_message(move, coins))


def _purchases(game: Game) -> bytes:
    """Encode what can be bought, with prices, after what is gained by buying nothing."""
    moves, seat, cities = game.legal_moves, game.seat, game.cities
    prices = cities.prices[seat]
    purchases = [_priced_move(move, -prices[move.number]) for move in moves[1:]]
    return b"".join([_priced_move(moves[0], cities.coin_gain(seat)), *purchases])


@lru_cache(maxsize=_MAX_SEEN)
def _purse(coins: int, income: int, uses: int) -> bytes:
    """Encode all of a seat's state but its city."""
    return seat_state_message(coins, income, (), uses).SerializeToString()


def _numbers(cards: tuple[Card, ...]) -> bytes:
    return bytes([card.number for card in cards])


def _seat_fragment(purse: bytes, numbers: bytes) -> bytes:
    return b"".join(
        [
            _SEATS,
            _SHORT[len(purse) + 2 + len(numbers)],
            purse,
            _CITY,  # a packed field: tag, length and values
            _SHORT[len(numbers)],
            numbers,
        ]
    )


@lru_cache(maxsize=1000)
def _specials(left: tuple[Card, ...]) -> bytes:
    return _SPECIALS + _SHORT[len(left)] + _numbers(left)


@lru_cache(maxsize=1000)
def _dwellings(left: tuple[int, ...]) -> bytes:
    return b"".join([_fragment(_DWELLINGS, stack) for stack in dwelling_messages(left)])


def _decks(lefts: tuple[int, ...], piles: Sequence[list[int]]) -> bytes:
    """Encode how many cards each deck has, and the numbers of those in its discard pile.

    What is empty isn't written. A deck with its pile has fewer than 128 cards, so each length is one byte.
    """
    decks = b""
    for left, pile in zip(lefts, piles, strict=True):
        deck = b"%b%c" % (_LEFT, left) if left else b""
        if pile:
            deck = b"%b%b%c%b" % (deck, _DISCARDED, len(pile), bytes(pile))
        decks = b"%b%b%c%b" % (decks, _DECKS, len(deck), deck)
    return decks


class DecisionEncoder:
    """Encodes the decisions of one match, sharing what stays the same from one to the next."""

    def __init__(self, match_id: int, config: Config) -> None:
        seats = range(config.players)
        self._head = _MATCH_ID + _varint(match_id) + _DECISION_ID
        self._config = _fragment(_CONFIG, config_message(config))
        self._decks = b""  # and the configuration
        # What was encoded last. Cities are other tuples after a change.
        self._purses: list[bytes | None] = [None for _ in seats]
        self._cities: list[tuple[Card, ...]] = [() for _ in seats]
        self._numbers = [b"" for _ in seats]
        self._seats = [b"" for _ in seats]
        self._table = b""  # seats, specials and dwellings
        self._rest = b""  # all of a view after the centre
        self._changed = _TABLE_CHANGED | _DECKS_CHANGED

    def events(self, events: Iterable[Event]) -> bytes:
        """Encode what happened as a part of later decisions; every event of the match must pass here."""
        fragments = []
        for event in events:
            fragment, changes = _EVENTS_SEEN.get(event) or _encoded_event(event)
            fragments.append(fragment)
            self._changed |= changes
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
        if self._changed:
            self._encode_rest(game)
        rest, centre, phase = self._rest, bytes(game.centre), game.phase
        clock = _limits(time_left_us, bank_left_us, round_trip_us)
        if last_think_us is not None:
            clock += _LAST_THINK + _varint(last_think_us)
        parts = [
            self._head,
            _varint(decision_id),
            _VIEW,
            _SHORT[_TURN_BYTES + 1 + len(centre) + len(rest)],
            _TURNS[game.round << 8 | game.seat << 4 | phase],
            _SHORT[len(centre)],
            centre,
            rest,
            _purchases(game) if phase is _BUY else _free_moves(game.legal_moves),
            *events,
            _CLOCK,
            _SHORT[len(clock)],
            clock,
        ]
        message = b"".join(parts)
        return b"".join([_DECISIONS, _varint(len(message)), message])

    def _encode_rest(self, game: Game) -> None:
        """Encode what follows the centre in a view, as far as it is not as it was."""
        if self._changed & _TABLE_CHANGED:
            self._encode_table(game)
        if self._changed & _DECKS_CHANGED:
            self._decks = _decks(game.deck_sizes, game.discard_piles) + self._config
        self._rest = self._table + self._decks
        self._changed = 0

    def _encode_table(self, game: Game) -> None:
        """Encode seats, specials and dwellings, as far as they are not as they were."""
        cities = game.cities
        coins, cards, uses, incomes = cities.coins, cities.cards, cities.uses, cities.incomes()
        for seat in range(len(incomes)):
            purse, city = _purse(coins[seat], incomes[seat], uses[seat]), cards[seat]
            is_new = city is not self._cities[seat]
            if is_new:
                self._cities[seat] = city
                self._numbers[seat] = _numbers(city)
            if is_new or purse is not self._purses[seat]:
                self._purses[seat] = purse
                self._seats[seat] = _seat_fragment(purse, self._numbers[seat])
        self._table = b"".join([*self._seats, _specials(game.specials), _dwellings(tuple(game.dwellings))])


@lru_cache(maxsize=1000)
def _limits(time_left_us: int | None, bank_left_us: int | None, round_trip_us: int | None) -> bytes:
    """Encode a clock without the time that the seat thought last."""
    fields = ((_TIME_LEFT, time_left_us), (_BANK_LEFT, bank_left_us), (_ROUND_TRIP, round_trip_us))
    return b"".join([tag + _varint(number) for tag, number in fields if number is not None])


_BUY: Final = Phase.BUY
_DECISIONS: Final = _RESPONSE_TAGS["decisions"]
# What an event may have changed of a view besides turn and centre.
_TABLE_CHANGED: Final = 1  # seats, specials and dwellings
_DECKS_CHANGED: Final = 2
_CHANGES: Final = {
    EventKind.ROUND_STARTED: 0,
    EventKind.KEEP: 0,
    EventKind.DISCARD: _DECKS_CHANGED,
    EventKind.DECK_REBUILT: _DECKS_CHANGED,
    EventKind.DRAW: _DECKS_CHANGED,
    EventKind.DECLINE: 0,
    EventKind.CARD_LOST: _TABLE_CHANGED | _DECKS_CHANGED,
}
"""By its kind; all others change the table only."""
