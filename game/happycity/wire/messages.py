"""The engine's objects as messages of the contract, and back again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from happycity.errors import FieldError
from happycity.rules.cards import CARDS, DWELLINGS, Card, Mode
from happycity.rules.deals import EDITION, Config, Scoring
from happycity.rules.effects import effect_of
from happycity.rules.game import Game
from happycity.rules.moves import BOX, Move, MoveKind
from happycity.rules.views import Event, EventKind, Phase, View
from happycity.text.catalogue import catalogue_digest
from happycity.v1 import cards_pb2, catalogue_service_pb2, game_pb2, play_service_pb2
from happycity.wire.enums import enum_field
from happycity.wire.fields import to_message

PROTOCOL_VERSION: Final = 1
"""The version of the protocol that server and Python SDK speak; see `Hello.protocol_version`."""
_CARD_OR_NONE: Final[dict[int, Card | None]] = {0: None, **{card.number: card for card in CARDS}}
_CARD_OF: Final = {card.number: card for card in CARDS}.__getitem__
_STACKS: Final = [card.number for card in DWELLINGS]
PHASES: Final = {int(phase): phase for phase in Phase}
_EVENT_KINDS: Final = {int(kind): kind for kind in EventKind}
_COPIES: Final = {(m.kind.value, m.number): m for m in Move.all() if m.kind is MoveKind.COPY}
_MOVES: Final = {(m.kind.value, m.number): m for m in Move.all() if m.kind is not MoveKind.COPY}
"""All others, by kind and what they are about."""


def config_message(config: Config) -> game_pb2.GameConfig:
    """Write a configuration."""
    return to_message(game_pb2.GameConfig, config, "players", "mode", "scoring", edition=EDITION)


def config_of(message: game_pb2.GameConfig) -> Config:
    """Read a configuration.

    Raises:
        ConfigError: the mode, scoring or edition is unknown, or the table size is not the game's.
    """
    if message.HasField("edition") and message.edition != EDITION:
        raise FieldError("edition", f"{message.edition} of the rules is not played here; {EDITION} is")
    mode, scoring = enum_field(message, "mode", Mode), enum_field(message, "scoring", Scoring)
    return Config(players=message.players, mode=mode, scoring=scoring)


def move_message(move: Move, coins: int = 0) -> game_pb2.Move:
    """Write a move; `coins` is the `Game.coin_change` of it."""
    kind, number = move.kind, move.number
    message = game_pb2.Move(kind=kind.value, coins=coins)  # type: ignore[arg-type]  # the numbers are the wire's
    if kind is MoveKind.DRAW:
        message.deck = number
    elif kind is MoveKind.COPY:
        if number != BOX:
            message.seat = number
    elif move.card is not None:
        message.card = number  # type: ignore[assignment]  # likewise
    return message


def move_of(message: game_pb2.Move) -> Move:
    """Read a move.

    Raises:
        KeyError: its kind is unknown, or doesn't fit the card, deck or seat.
    """
    return _MOVES.get((message.kind, message.card or message.deck)) or _COPIES[_copied(message)]


def known_moves(message: play_service_pb2.Decision) -> tuple[Move | None, ...]:
    """Read the moves of a decision; None is one that only a newer server knows."""
    moves = message.moves[:]
    return tuple([_MOVES.get((m.kind, m.card or m.deck)) or _COPIES.get(_copied(m)) for m in moves])


def _copied(message: game_pb2.Move) -> tuple[int, int]:
    return message.kind, message.seat if message.HasField("seat") else BOX


def event_message(event: Event) -> game_pb2.Event:
    """Write an event."""
    return game_pb2.Event(
        kind=event.kind.value,  # type: ignore[arg-type]  # the engine's numbers are the wire's
        seat=event.seat,
        card=event.card.number if event.card else 0,  # type: ignore[arg-type]  # likewise
        deck=event.deck,
        coins=event.coins,
        round=event.round,
    )


def event_of(message: game_pb2.Event) -> Event:
    """Read an event.

    Raises:
        LookupError: its kind or card is unknown.
    """
    return Event(
        _EVENT_KINDS[message.kind],
        message.seat if message.HasField("seat") else None,
        _CARD_OR_NONE[message.card],
        message.deck,
        message.coins,
        message.round,
    )


def known_events(message: play_service_pb2.Decision) -> tuple[Event, ...]:
    """Read the events of a decision, without those that only a newer server knows."""
    known = [event for event in message.events if event.kind in _EVENT_KINDS and event.card in _CARD_OR_NONE]
    return tuple(map(event_of, known))


def seat_state_message(coins: int, income: int, city: Iterable[Card], uses: int) -> game_pb2.SeatState:
    """Write what one seat owns."""
    numbers: Any = [card.number for card in city]  # the engine's numbers are the wire's
    return game_pb2.SeatState(coins=coins, income=income, city=numbers, uses_left=uses)


def dwelling_messages(dwellings: Sequence[int]) -> list[game_pb2.DwellingStack]:
    """Write the stacks of dwellings by the cards left in each."""
    numbers: list[Any] = _STACKS  # the engine's numbers are the wire's
    return [
        game_pb2.DwellingStack(card=number, left=left)
        for number, left in zip(numbers, dwellings, strict=True)
    ]


def view_message(view: View) -> game_pb2.View:
    """Write a view."""
    return game_pb2.View(
        round=view.round,
        seat=view.seat,
        phase=view.phase.value,  # type: ignore[arg-type]  # the engine's numbers are the wire's
        seats=[
            seat_state_message(*state)
            for state in zip(view.coins, view.incomes, view.cities, view.uses, strict=True)
        ],
        centre=[card.number for card in view.centre],  # type: ignore[misc]  # likewise
        specials=[card.number for card in view.specials],  # type: ignore[misc]  # likewise
        dwellings=dwelling_messages(view.dwellings),
        decks=[
            game_pb2.DeckState(left=left, discarded=[card.number for card in discarded])  # type: ignore[misc]  # likewise
            for left, discarded in zip(view.decks, view.discards, strict=True)
        ],
        config=config_message(view.config),
    )


def view_of(message: game_pb2.View) -> View:
    """Read a view.

    Raises:
        ConfigError: its configuration is not that of this game.
        LookupError: it has a card or a phase that is unknown.
    """
    # Slices and one list of the seats: going through protobuf's containers item by item takes twice as long.
    # Without the names of the fields, as they cost a tenth of all.
    seats, decks = message.seats[:], message.decks[:]
    return View(
        known_config(message.config),
        message.round,
        message.seat,
        PHASES[message.phase],
        tuple([seat.coins for seat in seats]),
        tuple([seat.income for seat in seats]),
        tuple([cards_of(seat.city[:]) for seat in seats]),
        cards_of(message.centre[:]),
        cards_of(message.specials[:]),
        _dwellings_of(message.dwellings[:]),
        tuple([deck.left for deck in decks]),
        tuple([cards_of(deck.discarded[:]) for deck in decks]),
        tuple([seat.uses_left for seat in seats]),
    )


def cards_of(numbers: Sequence[int]) -> tuple[Card, ...]:
    """Read cards; an unknown one is a LookupError."""
    return tuple(map(_CARD_OF, numbers))


def _dwellings_of(stacks: Sequence[game_pb2.DwellingStack]) -> tuple[int, ...]:
    if [stack.card for stack in stacks] != _STACKS:
        raise LookupError("dwellings: there is one stack of each dwelling, in the order of the cards")
    return tuple([stack.left for stack in stacks])


def known_config(message: game_pb2.GameConfig) -> Config:
    """Read a configuration as `config_of` does, mostly from memory."""
    return _known_config(message.players, message.mode, message.scoring)


@lru_cache(maxsize=100)
def _known_config(
    players: int, mode: cards_pb2.Mode.ValueType, scoring: cards_pb2.Scoring.ValueType
) -> Config:
    return config_of(game_pb2.GameConfig(players=players, mode=mode, scoring=scoring))


def decision_message(
    game: Game,
    *,
    match_id: int,
    decision_id: int,
    events: Iterable[Event] = (),
    clock: play_service_pb2.Clock | None = None,
) -> play_service_pb2.Decision:
    """Write the decision that waits in `game`, with the events since the seat's last decision.

    `DecisionEncoder` is the fast way to the same message.
    """
    return play_service_pb2.Decision(
        match_id=match_id,
        decision_id=decision_id,
        view=view_message(game.view()),
        moves=[move_message(move, game.coin_change(move)) for move in game.legal_moves],
        events=map(event_message, events),
        clock=clock or play_service_pb2.Clock(),
    )


def card_info_message(card: Card) -> catalogue_service_pb2.CardInfo:
    """Write a card's row of the tables, and what it does."""
    return to_message(
        catalogue_service_pb2.CardInfo,
        card,
        *("id", "name", "kind", "cost", "income", "inhabitants", "hearts", "copies", "special_set"),
        card=card.number,
        deck=card.deck or None,
        colour=card.colour.value if card.colour else None,
        condition=[
            catalogue_service_pb2.ColourCount(colour=colour.value, count=count)  # type: ignore[arg-type]
            for colour, count in card.condition.items()
        ],
        effect=card.effect_text or None,
        uses=effect_of(card).uses or None,
    )


def catalogue_message() -> catalogue_service_pb2.Catalogue:
    """Write every card, in the order of the contract's enum."""
    return catalogue_service_pb2.Catalogue(cards=map(card_info_message, CARDS), digest=catalogue_digest())
