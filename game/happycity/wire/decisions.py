"""The hot path: a decision is sent for every move of every game.

Building one from nested messages costs several times what the rules cost. `DecisionEncoder` joins it from
cached wire fragments of the same messages instead; tests hold the result to be equal to the plain way.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from google.protobuf.message import Message

from happycity.cards import Card
from happycity.deals import Config
from happycity.game import Game
from happycity.moves import Move
from happycity.v1 import game_pb2, play_service_pb2
from happycity.views import Event, EventKind, Phase, View
from happycity.wire.messages import config_message, event_message, move_message, seat_state_message


def varint(number: int) -> bytes:
    """Encode a number of at least 0 as protobuf does: seven bits a byte, the lowest first."""
    if number < len(_SHORT):
        return _SHORT[number]
    if number < 1 << 21:
        return bytes((number & 127 | 128, number >> 7 & 127 | 128, number >> 14))
    return bytes((number & 127 | 128,)) + varint(number >> 7)


_SHORT = (
    *(bytes((number,)) for number in range(1 << 7)),
    *(bytes((number & 127 | 128, number >> 7)) for number in range(1 << 7, 1 << 14)),
)
"""The numbers of one and two bytes, which are nearly all."""


def _tag(message: type[Message], field: str, *, varint_coded: bool = False) -> bytes:
    """Return the key that stands before a field's value on the wire."""
    number = message.DESCRIPTOR.fields_by_name[field].number
    return varint(number << 3 | (0 if varint_coded else 2))


_RESPONSE_TAGS = {
    field.name: _tag(play_service_pb2.PlayResponse, field.name)
    for field in play_service_pb2.PlayResponse.DESCRIPTOR.fields
}


def response_part(field: str, message: bytes) -> bytes:
    """Return the fragment that adds an encoded message to a repeated field of a `PlayResponse`."""
    return b"".join((_RESPONSE_TAGS[field], varint(len(message)), message))


_GAME_ID = _tag(play_service_pb2.Decision, "game_id", varint_coded=True)
_DECISION_ID = _tag(play_service_pb2.Decision, "decision_id", varint_coded=True)
_DECISION_SEAT = _tag(play_service_pb2.Decision, "seat", varint_coded=True)
_VIEW = _tag(play_service_pb2.Decision, "view")
_MOVES = _tag(play_service_pb2.Decision, "moves")
_EVENTS = _tag(play_service_pb2.Decision, "events")
_CLOCK = _tag(play_service_pb2.Decision, "clock")
_TIME_LEFT = _tag(play_service_pb2.Clock, "time_left_ms", varint_coded=True)
_BANK_LEFT = _tag(play_service_pb2.Clock, "bank_left_ms", varint_coded=True)
_ROUND_TRIP = _tag(play_service_pb2.Clock, "round_trip_us", varint_coded=True)
_LAST_THINK = _tag(play_service_pb2.Clock, "last_think_us", varint_coded=True)
_ROUND = _tag(game_pb2.View, "round", varint_coded=True)[0]
_SEAT = _tag(game_pb2.View, "seat", varint_coded=True)[0]
_PHASE = _tag(game_pb2.View, "phase", varint_coded=True)[0]
_SEATS = _tag(game_pb2.View, "seats")
_CENTRE = _tag(game_pb2.View, "centre")[0]
_SPECIALS = _tag(game_pb2.View, "specials")[0]
_DWELLINGS = _tag(game_pb2.View, "dwellings")[0]
_DECKS = _tag(game_pb2.View, "decks")[0]
_DISCARDS = _tag(game_pb2.View, "discards")[0]
_CONFIG = _tag(game_pb2.View, "config")
_CITY = _tag(game_pb2.SeatState, "city")[0]


def _fragment(tag: bytes, message: Message) -> bytes:
    encoded = message.SerializeToString()
    return tag + varint(len(encoded)) + encoded


_MOVE_FRAGMENTS: dict[tuple[Move, int], bytes] = {}  # by move and its coins: a few hundred
_EVENT_FRAGMENTS: dict[Event, bytes] = {}  # by value: a few thousand


def _move_fragment(move: Move, coins: int) -> bytes:
    fragment = _MOVE_FRAGMENTS.get((move, coins))
    if fragment is None:
        fragment = _MOVE_FRAGMENTS[move, coins] = _fragment(_MOVES, move_message(move, coins))
    return fragment


@lru_cache(maxsize=10_000)
def _free_moves(moves: tuple[Move, ...]) -> bytes:
    """Encode moves that cost nothing: which deck, what to discard, which special."""
    return b"".join([_move_fragment(move, 0) for move in moves])


def _purchases(game: Game) -> bytes:
    """Encode what can be bought, with prices, after what is gained by buying nothing."""
    seat, (nothing, *purchases) = game.seat, game.legal_moves
    price = game.price
    return b"".join(
        [
            _move_fragment(nothing, game.coins_for_nothing(seat)),
            *[_move_fragment(move, price(seat, move.card)) for move in purchases if move.card],
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
            bytes((_CITY, len(numbers), *numbers)),  # numbers of cards are below 128
        )
    )


def _event_fragment(event: Event) -> bytes:
    fragment = _EVENT_FRAGMENTS.get(event)
    if fragment is None:
        fragment = _EVENT_FRAGMENTS[event] = _fragment(_EVENTS, event_message(event))
    return fragment


class DecisionEncoder:
    """Encodes the decisions of one game, sharing what stays the same from one to the next.

    It also keeps what happened, and how much of that each seat's bot knows. Only an answer proves that a bot
    was told something: what was sent before a connection broke may have to be sent again.
    """

    def __init__(self, game_id: int, config: Config) -> None:
        seats = range(config.players)
        self._head = _GAME_ID + varint(game_id) + _DECISION_ID
        self._config = _fragment(_CONFIG, config_message(config))
        self._seats: list[bytes] = [b"" for _ in seats]
        self._states: list[tuple[int, int, tuple[Card, ...], int] | None] = [None for _ in seats]
        self._joined_seats = b""
        self._seats_changed = True
        self._specials: tuple[Card, ...] = ()
        self._encoded_specials = b""
        self._log: list[bytes] = []  # the game's events, encoded, move by move
        self._answered = [0 for _ in seats]  # how much of it each bot has answered to
        self._told = [0 for _ in seats]  # how much of it each bot was told over this connection

    def add_events(self, events: Iterable[Event]) -> None:
        """Note what happened; every seat is told with its next decision."""
        fragments = []
        for event in events:
            fragments.append(_EVENT_FRAGMENTS.get(event) or _event_fragment(event))
            if event.kind not in _SEATS_UNTOUCHED:
                self._seats_changed = True
        self._log.append(b"".join(fragments))

    def settled(self, seat: int, *, answered: bool) -> None:
        """Note that the seat's open decision is past, by an answer of its bot or without one."""
        self._told[seat] = len(self._log)
        if answered:
            self._answered[seat] = len(self._log)

    def tell_again(self, seat: int) -> None:
        """Let the seat's next decision tell all that no answer has confirmed."""
        self._told[seat] = self._answered[seat]

    def tell_all(self, seat: int) -> None:
        """Let the seat's next decision tell all that has happened in the game."""
        self._told[seat] = self._answered[seat] = 0

    def decision(
        self,
        game: Game,
        *,
        decision_id: int,
        time_left_ms: int,
        last_think_us: int,
        bank_left_ms: int = 0,
        round_trip_us: int = 0,
    ) -> bytes:
        """Encode the decision that waits in `game` as a fragment of a `PlayResponse`.

        Encoding it again gives the same decision, until it is noted as `settled`.

        Args:
            game: the game, at the decision, with all its events noted.
            decision_id: its number in this game.
            time_left_ms: milliseconds left to decide; 0 means no limit.
            last_think_us: microseconds that the seat's last decision took.
            bank_left_ms: milliseconds left in the seat's bank; 0 without a bank.
            round_trip_us: microseconds of the bot's last round trip; 0 if none was measured.
        """
        seat = game.seat
        view = self._view(game.view())
        clock = _limits(time_left_ms, bank_left_ms, round_trip_us) + varint(last_think_us)
        message = b"".join(
            (
                self._head,
                varint(decision_id),
                _DECISION_SEATS[seat],
                _SHORT[len(view)],
                view,
                _purchases(game) if game.phase is _BUY else _free_moves(game.legal_moves),
                *self._log[self._told[seat] :],
                _CLOCK,
                _SHORT[len(clock)],
                clock,
            )
        )
        return b"".join((_DECISIONS, varint(len(message)), message))

    def _view(self, view: View) -> bytes:
        if self._seats_changed:
            self._encode_seats(view)
        if view.specials is not self._specials:
            self._specials = view.specials
            numbers = [card.number for card in view.specials]
            self._encoded_specials = bytes((_SPECIALS, len(numbers), *numbers))
        centre = [card.number for card in view.centre]
        return b"".join(
            (
                bytes(
                    (_ROUND, view.round, _SEAT, view.seat, _PHASE, view.phase, _CENTRE, len(centre), *centre)
                ),
                self._joined_seats,
                self._encoded_specials,
                # Counts of cards are below 128: a packed field is its tag, length and values.
                bytes((_DWELLINGS, 3, *view.dwellings, _DECKS, 3, *view.decks, _DISCARDS, 3, *view.discards)),
                self._config,
            )
        )

    def _encode_seats(self, view: View) -> None:
        """Encode the seats that are not as they were."""
        for seat, state in enumerate(zip(view.coins, view.incomes, view.cities, view.uses, strict=True)):
            if state != self._states[seat]:
                self._states[seat] = state
                self._seats[seat] = _seat_fragment(*state)
        self._joined_seats = b"".join(self._seats)
        self._seats_changed = False


@lru_cache(maxsize=1000)
def _limits(time_left_ms: int, bank_left_ms: int, round_trip_us: int) -> bytes:
    """Encode a clock up to the value of its last field, how long the seat thought last."""
    bank = _BANK_LEFT + varint(bank_left_ms) if bank_left_ms else b""
    round_trip = _ROUND_TRIP + varint(round_trip_us) if round_trip_us else b""
    return b"".join((_TIME_LEFT, varint(time_left_ms), bank, round_trip, _LAST_THINK))


_BUY = Phase.BUY
_DECISION_SEATS = tuple(_DECISION_SEAT + varint(seat) + _VIEW for seat in range(5))
_DECISIONS = _RESPONSE_TAGS["decisions"]
_SEATS_UNTOUCHED = frozenset(
    (
        EventKind.ROUND,
        EventKind.KEEP,
        EventKind.DISCARD,
        EventKind.RESHUFFLE,
        EventKind.DRAW,
        EventKind.DECLINE,
    )
)
"""Events after which every seat owns what it owned before."""
