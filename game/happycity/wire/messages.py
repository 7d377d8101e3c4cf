"""The engine's objects as messages of the contract, and back again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from happycity.cards import CARDS, Card, CardKind, Mode
from happycity.deals import Config, Scoring
from happycity.effects import effect_of
from happycity.errors import ConfigError
from happycity.game import Game
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
from happycity.scoring import Outcome
from happycity.v1 import cards_pb2, catalogue_service_pb2, game_pb2
from happycity.views import Event, EventKind, Phase, View

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


def coins_moved(game: Game, seat: int, move: Move) -> int:
    """Return what `seat` would pay for a purchase now, or gain by buying nothing; else 0."""
    if move is COIN:
        return game.coins_for_nothing(seat)
    if move.kind in _PURCHASES and move.card is not None:
        return game.price(seat, move.card)
    return 0


_PURCHASES = (MoveKind.BUILD, MoveKind.DWELL)


def move_message(move: Move, coins: int = 0) -> game_pb2.Move:
    """Write a move; `coins` are those of `coins_moved`."""
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
    if coins and move is COIN:
        part.amount = coins
    elif coins:
        part.price = coins
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


def seat_state_message(coins: int, income: int, city: Iterable[Card], uses: int) -> game_pb2.SeatState:
    """Write what one seat owns."""
    numbers: Any = [card.number for card in city]  # the engine's numbers are the wire's
    return game_pb2.SeatState(coins=coins, income=income, city=numbers, uses_left=uses)


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
        uses=tuple([seat.uses_left for seat in seats]),
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
    """Write a card's row of the tables, and what it does."""
    effect = effect_of(card)
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
        effect=effect.text,
        uses=effect.uses,
    )
