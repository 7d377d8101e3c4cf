"""Between the engine's objects and the contract's messages: the one module that knows both.

Reading and writing go through the generated classes, except for one hot path: a `Decision` is the message
that the server sends for every move of every game, and building it from nested messages costs several
times what the rules cost. `DecisionEncoder` joins it from cached wire fragments of the same messages
instead; tests hold it to be equal to the plain way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from google.protobuf.message import Message

from happycity.cards import CARDS, Card, CardKind, Mode
from happycity.deals import Config, Scoring
from happycity.errors import ConfigError
from happycity.game import Game, Outcome
from happycity.moves import (
    BUILD,
    COIN,
    COPY,
    COPY_BOX,
    DECLINE,
    DISCARD,
    DRAW,
    DWELL,
    KEEP,
    MARKET,
    TAKE,
    Move,
    MoveKind,
)
from happycity.records import ENDINGS
from happycity.v1 import cards_pb2, catalogue_service_pb2, game_pb2, play_service_pb2
from happycity.views import Event, EventKind, Phase, View

PROTOCOL_VERSION = 1

_MODES = {Mode.FAMILY: cards_pb2.MODE_FAMILY, Mode.EXPERT: cards_pb2.MODE_EXPERT}
_SCORINGS = {Scoring.PRODUCT: cards_pb2.SCORING_PRODUCT, Scoring.SUM: cards_pb2.SCORING_SUM}
_MODES_BACK = {value: key for key, value in _MODES.items()}
_SCORINGS_BACK = {value: key for key, value in _SCORINGS.items()}
_CARD: tuple[Card | None, ...] = (None, *CARDS)
_CARD_OF = {card.number: card for card in CARDS}.__getitem__
_PHASES = {int(phase): phase for phase in Phase}
_EVENT_KINDS = {int(kind): kind for kind in EventKind}
_ENDING_NUMBERS = {
    ending: game_pb2.Ending.Value("ENDING_" + ending.upper().replace(":", "_")) for ending in ENDINGS
}
_ENDINGS_BACK = {value: key for key, value in _ENDING_NUMBERS.items()}


# Small messages, both ways -----------------------------------------------------------------------------


def config_message(config: Config) -> game_pb2.GameConfig:
    """Write a configuration."""
    return game_pb2.GameConfig(
        players=config.players, mode=_MODES[config.mode], scoring=_SCORINGS[config.scoring]
    )


def config_of(message: game_pb2.GameConfig) -> Config:
    """Read a configuration.

    Raises:
        ConfigError: the mode or scoring is not given, or the table size is not the game's.
    """
    if message.mode not in _MODES_BACK:
        raise ConfigError(f"mode: {message.mode} is neither MODE_FAMILY nor MODE_EXPERT")
    if message.scoring not in _SCORINGS_BACK:
        raise ConfigError(f"scoring: {message.scoring} is neither SCORING_PRODUCT nor SCORING_SUM")
    return Config(
        players=message.players,
        mode=_MODES_BACK[message.mode],
        scoring=_SCORINGS_BACK[message.scoring],
    )


def move_message(move: Move, price: int = 0) -> game_pb2.Move:
    """Write a move; `price` is what the deciding seat would pay for it."""
    name, number = move.kind.name.lower(), move.number
    message = game_pb2.Move()
    part = getattr(message, name)
    part.SetInParent()
    if move.kind is MoveKind.DRAW:
        part.deck = number
    elif move is COPY_BOX:
        part.box = True
    elif move.kind is MoveKind.COPY:
        part.seat = number
    elif move.card is not None:
        part.card = number
    if price:
        part.price = price
    return message


def move_of(message: game_pb2.Move) -> Move:
    """Read a move.

    Raises:
        KeyError: it is of no known kind, or about a card that its kind doesn't fit.
    """
    kind = message.WhichOneof("kind")
    if kind is None:
        raise KeyError(kind)
    return _MOVE_READERS[kind](message)


_MARKET_BY_NUMBER = {move.number: move for move in MARKET.values()}
_MOVE_READERS: dict[str, Callable[[game_pb2.Move], Move]] = {
    "keep": lambda message: KEEP,
    "discard": lambda message: DISCARD[message.discard.card],
    "draw": lambda message: DRAW[message.draw.deck],
    "build": lambda message: BUILD[message.build.card],
    "dwell": lambda message: DWELL[message.dwell.card],
    "coin": lambda message: COIN,
    "take": lambda message: TAKE[message.take.card],
    "decline": lambda message: DECLINE,
    "market": lambda message: _MARKET_BY_NUMBER[message.market.card],
    "copy": lambda message: COPY_BOX if message.copy.box else COPY[message.copy.seat],
}


def event_message(event: Event) -> game_pb2.Event:
    """Write an event."""
    return game_pb2.Event(
        kind=event.kind.value,  # type: ignore[arg-type]  # the engine's numbers are the wire's
        seat=event.seat,
        card=event.card.number if event.card else 0,  # type: ignore[arg-type]  # likewise
        amount=event.amount,
    )


def event_of(message: game_pb2.Event) -> Event:
    """Read an event.

    Raises:
        KeyError: its kind is not known here.
    """
    return Event(_EVENT_KINDS[message.kind], message.seat, _CARD[message.card], message.amount)


def seat_state_message(coins: int, income: int, city: Iterable[Card]) -> game_pb2.SeatState:
    """Write what one seat owns."""
    numbers = [card.number for card in city]
    return game_pb2.SeatState(coins=coins, income=income, city=numbers)  # type: ignore[arg-type]


def view_message(view: View) -> game_pb2.View:
    """Write a view."""
    return game_pb2.View(
        round=view.round,
        seat=view.seat,
        phase=view.phase.value,  # type: ignore[arg-type]  # the engine's numbers are the wire's
        seats=[
            seat_state_message(coins, income, city)
            for coins, income, city in zip(view.coins, view.incomes, view.cities, strict=True)
        ],
        centre=[card.number for card in view.centre],  # type: ignore[misc]
        specials=[card.number for card in view.specials],  # type: ignore[misc]
        dwellings=view.dwellings,
        decks=view.decks,
        discards=view.discards,
        config=config_message(view.config),
    )


def view_of(message: game_pb2.View) -> View:
    """Read a view.

    Raises:
        ConfigError: its configuration makes no sense.
        KeyError: it has a card or a phase that isn't known here.
    """
    # Slices and one list of the seats: going through protobuf's containers item by item takes twice as long.
    seats = message.seats[:]
    config = message.config
    return View(
        config=_known_config(config.players, config.mode, config.scoring),
        round=message.round,
        seat=message.seat,
        phase=_PHASES[message.phase],
        coins=tuple([seat.coins for seat in seats]),
        incomes=tuple([seat.income for seat in seats]),
        cities=tuple([_cards(seat.city) for seat in seats]),
        centre=_cards(message.centre),
        specials=_cards(message.specials),
        dwellings=tuple(message.dwellings[:]),
        decks=tuple(message.decks[:]),
        discards=tuple(message.discards[:]),
    )


def _cards(numbers: Sequence[int]) -> tuple[Card, ...]:
    return tuple(map(_CARD_OF, numbers[:]))


@lru_cache(maxsize=100)
def _known_config(
    players: int, mode: cards_pb2.Mode.ValueType, scoring: cards_pb2.Scoring.ValueType
) -> Config:
    return config_of(game_pb2.GameConfig(players=players, mode=mode, scoring=scoring))


def outcome_message(outcome: Outcome) -> game_pb2.Outcome:
    """Write an outcome."""
    return game_pb2.Outcome(
        points=outcome.points,
        coins=outcome.coins,
        inhabitants=outcome.inhabitants,
        hearts=outcome.hearts,
        ranks=outcome.ranks,
    )


def outcome_of(message: game_pb2.Outcome) -> Outcome:
    """Read an outcome."""
    return Outcome(
        points=tuple(message.points),
        coins=tuple(message.coins),
        inhabitants=tuple(message.inhabitants),
        hearts=tuple(message.hearts),
        ranks=tuple(message.ranks),
    )


def result_message(outcome: Outcome, *, places: Sequence[int], endings: Sequence[str]) -> game_pb2.Result:
    """Write how a game ended in the arena; `endings` are those of `happycity.records.ENDINGS`."""
    return game_pb2.Result(
        outcome=outcome_message(outcome),
        places=places,
        endings=[_ENDING_NUMBERS[ending] for ending in endings],
    )


def endings_of(message: game_pb2.Result) -> tuple[str, ...]:
    """Read how each seat ended."""
    return tuple(_ENDINGS_BACK[number] for number in message.endings)


_CARD_KINDS = {kind: catalogue_service_pb2.CardKind.Value(f"CARD_KIND_{kind.name}") for kind in CardKind}


def card_info_message(card: Card) -> catalogue_service_pb2.CardInfo:
    """Write a card's row of the tables."""
    return catalogue_service_pb2.CardInfo(
        card=card.number,  # type: ignore[arg-type]  # the engine's numbers are the wire's
        id=card.id,
        name=card.name,
        kind=_CARD_KINDS[card.kind],
        deck=card.deck,
        colour=card.colour.value if card.colour else 0,  # type: ignore[arg-type]
        cost=card.cost,
        income=card.income,
        inhabitants=card.inhabitants,
        hearts=card.hearts,
        copies=card.copies,
        condition=[
            catalogue_service_pb2.ColourCount(colour=colour.value, count=count)  # type: ignore[arg-type]
            for colour, count in card.condition.items()
        ],
        special_set=_MODES[card.special_set] if card.special_set else cards_pb2.MODE_UNSPECIFIED,
    )


# The hot path ------------------------------------------------------------------------------------------


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


def _fragment(tag: bytes, message: Message) -> bytes:
    encoded = message.SerializeToString()
    return tag + varint(len(encoded)) + encoded


_MOVE_FRAGMENTS: dict[tuple[Move, int], bytes] = {}  # by move and price: a few hundred
_EVENT_FRAGMENTS: dict[Event, bytes] = {}  # by value: a few thousand


def _move_fragment(move: Move, price: int) -> bytes:
    fragment = _MOVE_FRAGMENTS.get((move, price))
    if fragment is None:
        fragment = _MOVE_FRAGMENTS[move, price] = _fragment(_MOVES, move_message(move, price))
    return fragment


@lru_cache(maxsize=10_000)
def _free_moves(moves: tuple[Move, ...]) -> bytes:
    """Encode moves that have no price: which deck, what to discard, which special."""
    return b"".join([_move_fragment(move, 0) for move in moves])


def _purchases(game: Game) -> bytes:
    """Encode what can be bought, with prices."""
    seat = game.seat
    return b"".join(
        [_move_fragment(move, game.price(seat, move.card) if move.card else 0) for move in game.legal_moves]
    )


def _event_fragment(event: Event) -> bytes:
    fragment = _EVENT_FRAGMENTS.get(event)
    if fragment is None:
        fragment = _EVENT_FRAGMENTS[event] = _fragment(_EVENTS, event_message(event))
    return fragment


class DecisionEncoder:
    """Encodes the decisions of one game, sharing what stays the same from one to the next.

    It also keeps for each seat what that seat has not been told yet.
    """

    def __init__(self, game_id: int, config: Config) -> None:
        seats = range(config.players)
        self._head = _GAME_ID + varint(game_id) + _DECISION_ID
        self._config = _fragment(_CONFIG, config_message(config))
        self._seats: list[bytes] = [b"" for _ in seats]
        self._states: list[tuple[int, int, tuple[Card, ...]] | None] = [None for _ in seats]
        self._joined_seats = b""
        self._seats_changed = True
        self._specials: tuple[Card, ...] = ()
        self._encoded_specials = b""
        self._untold = [bytearray() for _ in seats]

    def add_events(self, events: Iterable[Event]) -> None:
        """Note what happened; every seat is told with its next decision."""
        fragments = []
        for event in events:
            fragments.append(_EVENT_FRAGMENTS.get(event) or _event_fragment(event))
            if event.kind not in _SEATS_UNTOUCHED:
                self._seats_changed = True
        told = b"".join(fragments)
        for untold in self._untold:
            untold.extend(told)

    def decision(self, game: Game, *, decision_id: int, time_left_ms: int, last_think_us: int) -> bytes:
        """Encode the decision that waits in `game` as a fragment of a `PlayResponse`.

        Args:
            game: the game, at the decision, with all its events noted.
            decision_id: its number in this game.
            time_left_ms: milliseconds left to decide; 0 means no limit.
            last_think_us: microseconds that the seat's last decision took.
        """
        seat = game.seat
        view = self._view(game.view())
        clock = b"".join((_time_left(time_left_ms), varint(last_think_us)))
        untold = self._untold[seat]
        message = b"".join(
            (
                self._head,
                varint(decision_id),
                _DECISION_SEATS[seat],
                _SHORT[len(view)],
                view,
                _purchases(game) if game.phase is _BUY else _free_moves(game.legal_moves),
                untold,
                _CLOCK,
                _SHORT[len(clock)],
                clock,
            )
        )
        untold.clear()
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
        for seat, state in enumerate(zip(view.coins, view.incomes, view.cities, strict=True)):
            if state != self._states[seat]:
                self._states[seat] = state
                self._seats[seat] = _fragment(_SEATS, seat_state_message(*state))
        self._joined_seats = b"".join(self._seats)
        self._seats_changed = False


@lru_cache(maxsize=1000)
def _time_left(time_left_ms: int) -> bytes:
    return _TIME_LEFT + varint(time_left_ms) + _LAST_THINK


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
