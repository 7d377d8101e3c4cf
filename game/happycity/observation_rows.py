"""Rows of observations, as bytes of 32-bit floats, joined from fragments that stay the same for a while.

`happycity.selfplay` says what the numbers mean. It needs numpy; this module, which is compiled, does without.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Final

from happycity.rules.cards import BUILDINGS, CARDS, SPECIALS, Card, Colour, Mode
from happycity.rules.deals import CITY_SIZE, LAST_ROUND, Config, Scoring
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.views import Phase, View

COINS: Final = 20
INCOMES: Final = 10
SYMBOLS: Final = 10
MOST_IN_DECK: Final = 28
"""What such numbers are divided by, so that most are at most 1."""
_BUILDINGS: Final = len(BUILDINGS)
_CARDS: Final = len(CARDS)
_FIRST_SPECIAL: Final = SPECIALS[0].number
_SPECIALS: Final = len(SPECIALS)
_COLOURS: Final = len(Colour)
_PHASES: Final = len(Phase)
_EXPERT: Final = Mode.EXPERT
_SUM: Final = Scoring.SUM


def _fragment(numbers: list[float]) -> bytes:
    return array("f", numbers).tobytes()


# Fragments by what they encode, as `happycity.wire.decisions` has them.
_HEADS: Final[dict[int, bytes]] = {}
"""Phase, kind of game, round, observer and turn, of which there are some thousands; packed."""
_CENTRES: Final[dict[int, bytes]] = {}
"""The buildings of the centre, of which there are some thousands of sets; their numbers packed."""
_PURSES: Final[dict[int, bytes]] = {}
"""Coins, income and uses; packed. There may be any number."""
_MAX_PURSES: Final = 10_000
_DWELLINGS_LEFT: Final = tuple(_fragment([left / 4]) for left in range(5))
_CARDS_LEFT: Final = tuple(_fragment([left / MOST_IN_DECK]) for left in range(MOST_IN_DECK + 1))
_SUMS: Final = (
    (0,) * (3 + _COLOURS),  # no card has the number 0
    *((card.inhabitants, card.hearts, *(int(card.colour is each) for each in Colour), 1) for card in CARDS),
)
"""What each card adds to the sums of its city, by its number: inhabitants, hearts, colours and size."""
_CITY: Final = 3 + _COLOURS
"""Where the cards of a city begin, after the sums."""

ACTION_NUMBERS: Final = {move: number for number, move in enumerate(Move.all())}
"""The number of each move: its position among all."""
_ACTION_COUNT: Final = len(ACTION_NUMBERS)


def _zeros(size: int) -> array[float]:
    return array("f", bytes(4 * size))


def _add_copies(row: array[float], numbers: Iterable[int]) -> None:
    """Count buildings; of each there are two."""
    for number in numbers:
        row[number - 1] += 0.5


def _copies(numbers: Iterable[int]) -> bytes:
    row = _zeros(_BUILDINGS)
    _add_copies(row, numbers)
    return row.tobytes()


def _centre(numbers: list[int]) -> bytes:
    key = 0
    for number in numbers:
        key = key << 7 | number
    fragment = _CENTRES.get(key)
    if fragment is None:
        fragment = _CENTRES[key] = _copies(numbers)
    return fragment


def _specials(cards: tuple[Card, ...]) -> bytes:
    ones = [0.0] * _SPECIALS
    for card in cards:
        ones[card.number - _FIRST_SPECIAL] = 1.0
    return _fragment(ones)


def _purse(coins: int, income: int, uses: int) -> bytes:
    """Encode what a seat has besides its city."""
    key = ((coins << 32) + income) << 8 | uses  # a sum, as an income may be negative
    purse = _PURSES.get(key)
    if purse is None:
        if len(_PURSES) >= _MAX_PURSES:
            _PURSES.clear()
        purse = _PURSES[key] = _fragment([coins / COINS, income / INCOMES, uses / 2])
    return purse


class _City:
    """The sums of a city, its cards and their positions."""

    def __init__(self) -> None:
        self.cards: tuple[Card, ...] = ()
        self.row = _zeros(_CITY + 2 * _CARDS)
        self._sums = [0] * _CITY

    def add(self, cards: tuple[Card, ...]) -> None:
        """Add the last of `cards`; the others are there."""
        self.cards = cards
        number = cards[-1].number
        row, sums = self.row, self._sums
        for place, more in enumerate(_SUMS[number]):
            if more:
                sums[place] += more
                row[place] = sums[place] / CITY_SIZE  # which is `SYMBOLS` too
        row[_CITY + number - 1] = 1.0
        row[_CITY + _CARDS + number - 1] = len(cards) / CITY_SIZE


def _city(known: _City, cards: tuple[Card, ...]) -> _City:
    """Return a city, which mostly is what is known or that with another card."""
    if cards is known.cards:
        return known
    if len(cards) == len(known.cards) + 1 and cards[:-1] == known.cards:
        known.add(cards)
        return known
    city = _City()
    for size in range(1, len(cards) + 1):
        city.add(cards[:size])
    city.cards = cards
    return city


class RowEncoder:
    """Encodes the positions of one game, or of many, sharing what stays the same from one to the next."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._players = config.players
        self._expert, self._sum = config.mode is _EXPERT, config.scoring is _SUM
        self._kind = config.players << 2 | (2 if self._expert else 0) | (1 if self._sum else 0)
        # What was encoded last. Cities and specials are other tuples after a change.
        self._cities = [_City() for _ in range(config.players)]
        self._specials_seen: tuple[Card, ...] | None = None
        self._specials = b""
        self._game: Game | None = None
        self._discards = (0, 0, 0)
        self._rebuilt = 0
        self._discarded = _zeros(_BUILDINGS)

    def __reduce__(self) -> tuple[object, tuple[Config]]:
        # A copy or pickle encodes the same, from nothing.
        return (RowEncoder, (self._config,))

    def row_of_view(self, view: View, discarded: Sequence[Card], observer: int) -> bytes:
        """Return what a view and the face-up discards show, as a seat sees it."""
        parts: list[bytes | array[float]] = []
        self._add(
            parts,
            observer,
            view.round,
            view.seat,
            view.phase,
            list(view.coins),
            view.incomes,
            view.uses,
            list(view.cities),
            [card.number for card in view.centre],
            view.specials,
            list(view.dwellings),
            view.decks,
            view.discards,
            _copies([card.number for card in discarded]),
        )
        return b"".join(parts)

    def add_next(self, parts: list[bytes | array[float]], game: Game) -> None:
        """Add the position of an ordinary game as its seat to decide sees it, without making a view.

        The parts change with the next position: join them before.
        """
        cities = game.cities
        discards, rebuilt = game.discard_sizes, len(game.reshuffles)
        # A pile only grows, until it is rebuilt into a deck.
        if game is not self._game or rebuilt != self._rebuilt:
            self._game, self._discards, self._rebuilt = game, (0, 0, 0), rebuilt
            self._discarded = _zeros(_BUILDINGS)
        if discards != self._discards:
            for pile, known in zip(game.discard_piles, self._discards, strict=True):
                _add_copies(self._discarded, pile[known:])
            self._discards = discards
        self._add(
            parts,
            game.seat,
            game.round,
            game.seat,
            game.phase,
            cities.coins,
            cities.incomes(),
            cities.uses,
            cities.cards,
            game.centre,
            game.specials,
            game.dwellings,
            game.deck_sizes,
            discards,
            self._discarded,
        )

    def _add(  # noqa: PLR0917 - positions and keywords are the same to mypyc
        self,
        parts: list[bytes | array[float]],
        observer: int,
        number: int,
        seat: int,
        phase: Phase,
        coins: list[int],
        incomes: tuple[int, ...],
        uses: tuple[int, ...],
        cities: list[tuple[Card, ...]],
        centre: list[int],
        specials: tuple[Card, ...],
        dwellings: list[int],
        decks: tuple[int, ...],
        discards: tuple[int, ...],
        discarded: bytes | array[float],
    ) -> None:
        if specials is not self._specials_seen:
            self._specials_seen, self._specials = specials, _specials(specials)
        parts.append(self._head(observer, number, seat, phase))
        parts.append(_centre(centre))
        parts.append(self._specials)
        for left in dwellings:
            parts.append(_DWELLINGS_LEFT[left])  # noqa: PERF401 - a list less
        for left in decks:
            parts.append(_CARDS_LEFT[left])  # noqa: PERF401
        for left in discards:
            parts.append(_CARDS_LEFT[left])  # noqa: PERF401
        players = self._players
        for turn in range(observer, observer + players):
            whose = turn if turn < players else turn - players
            cards = cities[whose]
            city = self._cities[whose]
            if cards is not city.cards:
                city = self._cities[whose] = _city(city, cards)
            parts.append(_purse(coins[whose], incomes[whose], uses[whose]))
            parts.append(city.row)
        parts.append(discarded)

    def _head(self, observer: int, number: int, seat: int, phase: Phase) -> bytes:
        """Encode phase, kind of game, round, observer and turn."""
        players = self._players
        key = (((number << 3 | observer) << 3 | seat) << 3 | phase) << 5 | self._kind
        head = _HEADS.get(key)
        if head is None:
            phases, seats, turns = [0.0] * _PHASES, [0.0] * players, [0.0] * players
            phases[phase - 1] = seats[observer] = turns[(seat - observer) % players] = 1.0
            kind = [float(self._expert), float(self._sum), number / LAST_ROUND]
            head = _HEADS[key] = _fragment([*phases, *kind, *seats, *turns])
        return head


def next_rows(encoders: list[RowEncoder], games: list[Game]) -> bytes:
    """Return a row of each game, each by the encoder that has encoded the game from its first decision."""
    parts: list[bytes | array[float]] = []
    for row, encoder in enumerate(encoders):
        encoder.add_next(parts, games[row])
    return b"".join(parts)


def play_moves(games: list[Game], moves: list[Move]) -> list[int]:
    """Play a move in each game; return the rows of those that ended.

    Raises:
        IllegalMoveError: a move is not legal; games before it have been played on.
    """
    ended = []
    for row, move in enumerate(moves):
        game = games[row]
        game.apply(move)
        if game.outcome is not None:
            ended.append(row)
    return ended


def masks_of(options: Sequence[Sequence[Move]]) -> bytearray:
    """Return masks one after the other, a byte for each action: 1 if the row has its move, or else 0."""
    masks = bytearray(_ACTION_COUNT * len(options))
    start = 0
    for moves in options:
        for move in moves:
            masks[start + ACTION_NUMBERS[move]] = 1
        start += _ACTION_COUNT
    return masks
