"""Decisions decoded only as far as a bot looks.

The wire format of a nested message and of bytes is the same. So the contract's messages are read here as
others, in which most nested messages stay bytes. Moves, events and seats recur: they are looked up by those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from happycity.rules.cards import Card
from happycity.rules.deals import Config
from happycity.rules.moves import Move
from happycity.rules.views import Event, View
from happycity.v1 import game_pb2, play_service_pb2
from happycity.wire import messages

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_PACKAGE = "happycity.shallow"
_REMEMBERED = 3_000
"""Entries of each table: with 512 games at once, three times as many are hardly more often found again."""


class ShallowView(Protocol):
    """A `View` with seats, stacks, decks and configuration as bytes."""

    round: int
    seat: int
    phase: int
    seats: Sequence[bytes]
    centre: Sequence[int]
    specials: Sequence[int]
    dwellings: Sequence[bytes]
    decks: Sequence[bytes]
    config: bytes


class ShallowDecision(Protocol):
    """A `Decision` with all nested messages but the view as bytes."""

    match_id: int
    decision_id: int
    view: ShallowView
    moves: Sequence[bytes]
    events: Sequence[bytes]
    clock: bytes

    def SerializeToString(self) -> bytes:  # noqa: N802 - protobuf's name
        """Return the bytes of the decision, which are also those of the contract's message."""


class ShallowResponse(Protocol):
    """A `PlayResponse` with shallow decisions."""

    welcome: play_service_pb2.Welcome
    games_started: Sequence[play_service_pb2.GameStarted]
    decisions: Sequence[ShallowDecision]
    games_over: Sequence[play_service_pb2.GameOver]
    notices: Sequence[play_service_pb2.Notice]
    ping: play_service_pb2.Ping

    def HasField(self, field: str) -> bool:  # noqa: N802 - protobuf's name
        """Return whether a single message, such as `ping`, is there."""


def _shallow_classes() -> Mapping[str, Any]:
    """Make the classes, by name, from the descriptors of the contract's."""
    contract = play_service_pb2.DESCRIPTOR
    file = descriptor_pb2.FileDescriptorProto(
        name="happycity/shallow.proto", package=_PACKAGE, syntax="proto3"
    )
    file.dependency.extend([contract.name, *[imported.name for imported in contract.dependencies]])
    nested = {"PlayResponse": {"decisions": "Decision"}, "Decision": {"view": "View"}, "View": {}}
    kept = {"PlayResponse"}  # its other messages are few
    for original in (play_service_pb2.PlayResponse, play_service_pb2.Decision, game_pb2.View):
        shallow = file.message_type.add()
        original.DESCRIPTOR.CopyToProto(shallow)
        for field in shallow.field:
            if field.name in nested[shallow.name]:
                field.type_name = f".{_PACKAGE}.{nested[shallow.name][field.name]}"
            elif field.type == field.TYPE_MESSAGE and shallow.name not in kept:
                field.type = field.TYPE_BYTES
                field.ClearField("type_name")
                if field.label != field.LABEL_REPEATED:  # an empty message is not an absent one
                    field.proto3_optional, field.oneof_index = True, len(shallow.oneof_decl)
                    shallow.oneof_decl.add(name=f"_{field.name}")
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in nested
    }


_CLASSES = _shallow_classes()
read_response: Callable[[bytes], ShallowResponse] = _CLASSES["PlayResponse"].FromString
"""Reads a `PlayResponse`; raises protobuf's DecodeError."""


def shallow_decision(message: play_service_pb2.Decision) -> ShallowDecision:
    """Return a decision in the shallow form."""
    decision: ShallowDecision = _CLASSES["Decision"].FromString(message.SerializeToString())
    return decision


def deep_decision(shallow: ShallowDecision) -> play_service_pb2.Decision:
    """Return the contract's message of a decision."""
    return play_service_pb2.Decision.FromString(shallow.SerializeToString())


class _Known(dict[_Key, _Value]):
    """What encoded parts mean. Each is read once, and all are forgotten when there are too many.

    It is quicker than `lru_cache`, which moves each entry that it finds.
    """

    def __init__(self, read: Callable[[_Key], _Value]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, encoded: _Key) -> _Value:
        value = self._read(encoded)
        if len(self) >= _REMEMBERED:
            self.clear()
        self[encoded] = value
        return value


def _read_move(encoded: bytes) -> Move | None:
    try:
        return messages.move_of(game_pb2.Move.FromString(encoded))
    except LookupError:
        return None


known_move: Callable[[bytes], Move | None] = _Known(_read_move).__getitem__
"""Reads a move; returns None if only a newer server knows it."""


def _read_event(encoded: bytes) -> Event | None:
    try:
        return messages.event_of(game_pb2.Event.FromString(encoded))
    except LookupError:
        return None


known_event: Callable[[bytes], Event | None] = _Known(_read_event).__getitem__
"""Reads an event; returns None if only a newer server knows it."""


def coins_of(encoded: bytes) -> int:
    """Read by how much a move changes the coins."""
    return game_pb2.Move.FromString(encoded).coins


def clock_of(shallow: ShallowDecision) -> play_service_pb2.Clock:
    """Read the clock of a decision."""
    return play_service_pb2.Clock.FromString(shallow.clock)


def shallow_view_of(view: ShallowView) -> View:
    """Read a view; see `view_of` for the errors."""
    # Slices are lists. To iterate over a repeated field itself is slower, and ends with an error inside.
    coins, incomes, cities, uses = _known_seats(tuple(view.seats[:]))
    decks, discards = _known_decks(tuple(view.decks[:]))
    return View(
        config=_known_config(view.config),
        round=view.round,
        seat=view.seat,
        phase=messages.PHASES[view.phase],
        coins=coins,
        incomes=incomes,
        cities=cities,
        centre=messages.cards_of(view.centre),
        specials=messages.cards_of(view.specials),
        dwellings=_known_dwellings(tuple(view.dwellings[:])),
        decks=decks,
        discards=discards,
        uses=uses,
    )


def _seat(encoded: bytes) -> tuple[int, int, tuple[Card, ...], int]:
    seat = game_pb2.SeatState.FromString(encoded)
    return seat.coins, seat.income, messages.cards_of(seat.city), seat.uses_left


def _seats(
    encoded: tuple[bytes, ...],
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[Card, ...], ...], tuple[int, ...]]:
    """Read what the seats own, by field: the same in all decisions of a turn until something is bought."""
    seats = list(map(_known_seat, encoded))
    coins, incomes, cities, uses = zip(*seats, strict=True) if seats else ((), (), (), ())
    return coins, incomes, cities, uses


def _decks(encoded: tuple[bytes, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    decks = list(map(game_pb2.DeckState.FromString, encoded))
    return tuple([deck.left for deck in decks]), tuple([deck.discarded for deck in decks])


def _dwellings(encoded: tuple[bytes, ...]) -> tuple[int, ...]:
    return messages.dwellings_of(list(map(game_pb2.DwellingStack.FromString, encoded)))


def _config(encoded: bytes) -> Config:
    return messages.config_of(game_pb2.GameConfig.FromString(encoded))


_known_seat = _Known(_seat).__getitem__
_known_seats = _Known(_seats).__getitem__
_known_decks = _Known(_decks).__getitem__
_known_dwellings = _Known(_dwellings).__getitem__
_known_config = _Known(_config).__getitem__
