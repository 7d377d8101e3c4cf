"""Rows of observations, as bytes of 32-bit floats, of which only what a move has changed is written.

`happycity_envs.selfplay` says what the numbers mean. It needs numpy; this module, which is compiled, does
without.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from struct import Struct
from typing import Final

from happycity.rules.cards import BUILDINGS, CARDS, DWELLINGS, SPECIALS, Card, Colour, Mode
from happycity.rules.deals import CITY_SIZE, DECKS, LAST_ROUND, Config, Scoring
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.scoring import score
from happycity.rules.views import EventKind, Phase

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


def _fragment(numbers: Sequence[float]) -> bytearray:
    # Of a bytearray, as a slice of another one takes it without a copy in between.
    return bytearray(array("f", numbers).tobytes())


_FLOAT: Final = 4  # bytes
# What writes some floats into a buffer, from a byte on.
_write_one: Final = Struct("f").pack_into
_write_three: Final = Struct("3f").pack_into
_write_sizes: Final = Struct(f"{2 * len(DECKS)}f").pack_into
_write_dwellings: Final = Struct(f"{len(DWELLINGS)}f").pack_into
_write_sums: Final = Struct(f"{3 + _COLOURS}f").pack_into
# Fragments by what they encode, as `happycity.wire.decisions` has them.
_HEADS: Final[dict[int, bytearray]] = {}
"""Phase, kind of game, round, observer and turn, of which there are some thousands; packed."""
_CENTRES: Final[dict[tuple[int, ...], bytearray]] = {}
"""The buildings of the centre, by their numbers, of which there are some thousands of sets."""
_SUMS: Final = (
    (0,) * (3 + _COLOURS),  # no card has the number 0
    *((card.inhabitants, card.hearts, *(int(card.colour is each) for each in Colour), 1) for card in CARDS),
)
"""What each card adds to the sums of its city, by its number: inhabitants, hearts, colours and size."""

# Places in bytes: of the dwellings and piles after the specials; of sums and cards in what a seat has.
_DWELLINGS: Final = _FLOAT * (_BUILDINGS + _SPECIALS)
_SIZES: Final = _DWELLINGS + _FLOAT * len(DWELLINGS)
_SEATS: Final = _SIZES + _FLOAT * 2 * len(DECKS)
_CITY: Final = _FLOAT * 3
_CARD: Final = _CITY + _FLOAT * (3 + _COLOURS)
_POSITION: Final = _CARD + _FLOAT * _CARDS
_SEAT: Final = _POSITION + _FLOAT * _CARDS
_NO_CITY: Final = bytearray(_SEAT - _CITY)

_ACTIONS: Final = tuple(Move.all())
_ACTION_COUNT: Final = len(_ACTIONS)
_NO_ACTIONS: Final = bytearray(_ACTION_COUNT)


# Parts of a row, as bits; what is before them is written always.
_CENTRE: Final = 1
_SPECIALS_LEFT: Final = 2
_DWELLINGS_LEFT: Final = 4
_DECKS: Final = 8
_PILES: Final = 16
_PURSES: Final = 32
_CITIES: Final = 64
_ALL: Final = 127
_CHANGED_BY_EVENT: Final = {
    EventKind.KEEP: 0,
    EventKind.DISCARD: _CENTRE | _DECKS | _PILES,
    EventKind.DRAW: _CENTRE | _DECKS,
    EventKind.BUILD: _CENTRE | _PURSES | _CITIES,
    EventKind.DWELL: _DWELLINGS_LEFT | _PURSES | _CITIES,
    EventKind.COIN: _PURSES,
    EventKind.TAKE: _SPECIALS_LEFT | _PURSES | _CITIES,
    EventKind.DECLINE: 0,
    EventKind.MARKET: _PURSES | _CITIES,
    EventKind.COPY: _PURSES,
    EventKind.ROUND_STARTED: _PURSES,
    EventKind.INCOME_PAID: _PURSES,
    EventKind.DECK_REBUILT: _DECKS | _PILES,
    EventKind.EFFECT_PAID: _PURSES,
    EventKind.CARD_LOST: _DECKS | _PILES | _PURSES | _CITIES,
}
_CHANGED_BY: Final = (0, *[_CHANGED_BY_EVENT[kind] for kind in EventKind])
"""The parts that an event changes, by its kind."""


def _row_size(players: int) -> int:
    """Return how many bytes a row has for a number of players."""
    return _FLOAT * (_PHASES + 3 + 2 * players + _BUILDINGS) + _SEATS + players * _SEAT


def _copies(numbers: Sequence[int]) -> bytearray:
    """Count buildings; of each there are two."""
    row = [0.0] * _BUILDINGS
    for number in numbers:
        row[number - 1] += 0.5
    return _fragment(row)


def _specials(cards: tuple[Card, ...]) -> bytearray:
    ones = [0.0] * _SPECIALS
    for card in cards:
        ones[card.number - _FIRST_SPECIAL] = 1.0
    return _fragment(ones)


def _centre(numbers: list[int]) -> bytearray:
    key = tuple(numbers)
    fragment = _CENTRES.get(key)
    if fragment is None:
        fragment = _CENTRES[key] = _copies(numbers)
    return fragment


class RowWriter:
    """Keeps a row of a buffer up to date: it shows the positions of one kind of game, one at a time.

    Nothing else may write into the row.
    """

    def __init__(self, config: Config, rows: bytearray, start: int) -> None:
        """Take the buffer, and at which byte the row starts, which is all 0."""
        players = config.players
        self._rows = rows
        self._players = players
        self._expert, self._sum = config.mode is _EXPERT, config.scoring is _SUM
        self._kind = players << 2 | (2 if self._expert else 0) | (1 if self._sum else 0)
        self._start = start
        self._table = start + _FLOAT * (_PHASES + 3 + 2 * players)
        self._seats = self._table + _SEATS
        self._discarded = self._seats + _SEAT * players
        # What was written last, as far as it is compared. A city is another tuple after a change.
        self._observer = 0
        self._coins: list[int] = []
        self._incomes: tuple[int, ...] = ()
        self._uses: tuple[int, ...] = ()
        self._cities: list[tuple[Card, ...]] = [()] * players
        self._sums = [[0] * (3 + _COLOURS) for _ in range(players)]
        self._piles: list[list[int]] = [[], [], []]

    def write(self, game: Game, observer: int, changed: int = _ALL) -> None:
        """Write the position of a game as a seat sees it.

        `changed` are the parts (see `_CHANGED_BY`) in which it is not the position that was written last.
        """
        rows, table, cities = self._rows, self._table, game.cities
        if observer != self._observer:
            self._rotate(observer)
        self._write_head(game)
        if changed & _CENTRE:
            self._put(table, _centre(game.centre))
        if changed & _SPECIALS_LEFT:
            self._put(table + _FLOAT * _BUILDINGS, _specials(game.specials))
        if changed & _DWELLINGS_LEFT:
            _write_dwellings(rows, table + _DWELLINGS, *[left / 4 for left in game.dwellings])
        if changed & _DECKS:
            sizes = [size / MOST_IN_DECK for size in (*game.deck_sizes, *game.discard_sizes)]
            _write_sizes(rows, table + _SIZES, *sizes)
        if changed & _PILES:
            self._write_piles(game.discard_piles)
        if changed & _PURSES:
            self._write_purses(cities.coins, cities.incomes(), cities.uses)
        if changed & _CITIES:
            for whose, cards in enumerate(cities.cards):
                if cards is not self._cities[whose]:
                    self._write_city(whose, cards)

    def _put(self, place: int, fragment: bytearray) -> None:
        self._rows[place : place + len(fragment)] = fragment

    def _write_head(self, game: Game) -> None:
        """Write phase, kind of game, round, observer and turn."""
        players, observer, seat, phase, number = (
            self._players,
            self._observer,
            game.seat,
            game.phase,
            game.round,
        )
        key = (((number << 3 | observer) << 3 | seat) << 4 | phase) << 5 | self._kind
        head = _HEADS.get(key)
        if head is None:
            phases, seats, turns = [0.0] * _PHASES, [0.0] * players, [0.0] * players
            phases[phase - 1] = seats[observer] = turns[(seat - observer) % players] = 1.0
            kind = [float(self._expert), float(self._sum), number / LAST_ROUND]
            head = _HEADS[key] = _fragment([*phases, *kind, *seats, *turns])
        self._put(self._start, head)

    def _write_piles(self, piles: list[list[int]]) -> None:
        """Write what is in the discard piles: mostly a card more."""
        for which, pile in enumerate(piles):
            known = self._piles[which]
            if pile == known:
                continue
            if len(pile) == len(known) + 1 and pile[:-1] == known:
                number = pile[-1]
                known.append(number)
                _write_one(self._rows, self._discarded + _FLOAT * (number - 1), pile.count(number) / 2)
            else:
                self._piles = [pile[:] for pile in piles]
                self._put(self._discarded, _copies([number for pile in piles for number in pile]))
                return

    def _rotate(self, observer: int) -> None:
        """Move what the seats have, so that the observer's comes first."""
        first, players = self._seats, self._players
        middle = first + _SEAT * ((observer - self._observer) % players)
        end = first + _SEAT * players
        rows = self._rows
        rows[first:end] = rows[middle:end] + rows[first:middle]
        self._observer = observer

    def _place(self, whose: int) -> int:
        """Return where a seat's numbers are now."""
        turn = whose - self._observer
        return self._seats + _SEAT * (turn if turn >= 0 else turn + self._players)

    def _write_purses(self, coins: list[int], incomes: tuple[int, ...], uses: tuple[int, ...]) -> None:
        for whose, own in enumerate(coins):
            if (
                not self._coins
                or own != self._coins[whose]
                or incomes[whose] != self._incomes[whose]
                or uses[whose] != self._uses[whose]
            ):
                purse = own / COINS, incomes[whose] / INCOMES, uses[whose] / 2
                _write_three(self._rows, self._place(whose), *purse)
        self._coins, self._incomes, self._uses = coins[:], incomes, uses

    def _write_city(self, whose: int, cards: tuple[Card, ...]) -> None:
        """Write a city, which is mostly what is known and another card."""
        rows, place = self._rows, self._place(whose)
        known = self._cities[whose]
        self._cities[whose] = cards
        begun = len(known)
        if cards[:begun] != known:
            begun = 0
            self._sums[whose] = [0] * (3 + _COLOURS)
            self._put(place + _CITY, _NO_CITY)
        sums = self._sums[whose]
        for position in range(begun, len(cards)):
            number = cards[position].number
            for which, more in enumerate(_SUMS[number]):
                if more:
                    sums[which] += more
            _write_one(rows, place + _CARD + _FLOAT * (number - 1), 1.0)
            _write_one(rows, place + _POSITION + _FLOAT * (number - 1), (position + 1) / CITY_SIZE)
        # Inhabitants and hearts are divided by `SYMBOLS`, which is the same.
        _write_sums(rows, place + _CITY, *[some / CITY_SIZE for some in sums])


class Rows:
    """Games in step with their rows, legal actions and seats: `happycity_engine.Games` in Python."""

    def __init__(self, config: Config, observations: bytearray, masks: bytearray, seats: bytearray) -> None:
        """Take buffers that are all 0: 32-bit floats, a byte for each action, and a byte for each game."""
        self._config = config
        self._observations = observations
        self._masks = masks
        self._seats = seats
        self._size = len(observations) // len(seats)
        self._writers = [RowWriter(config, observations, self._size * row) for row in range(len(seats))]
        self._games: list[Game] = []
        self._played: list[bytearray] = []

    def deal(self, row: int, seed: int) -> None:
        """Start a game in a row; rows are begun in their order."""
        self._games[row : row + 1] = [Game.deal(self._config, seed=seed)]
        self._played[row : row + 1] = [bytearray()]
        self._write(row, self._games[row], _ALL)

    def _write(self, row: int, game: Game, changed: int) -> None:
        """Write the position of a game into a row, as far as it has `changed` since the last one."""
        seat = game.seat
        self._writers[row].write(game, seat, changed)
        self._seats[row] = seat
        start = _ACTION_COUNT * row
        self._masks[start : start + _ACTION_COUNT] = _NO_ACTIONS
        write_mask(game.legal_moves, self._masks, start)

    def play(self, actions: list[int], rows: list[int]) -> list[int]:
        """Play an action in the game of each row; return the rows of games that ended, which aren't written.

        Raises:
            IllegalMoveError: an action is not legal; games before it have been played on.
        """
        ended = []
        for which, row in enumerate(rows):
            game, action = self._games[row], actions[which]
            game.apply(_ACTIONS[action])
            self._played[row].append(action)
            if game.outcome is None:
                changed = 0
                for event in game.events:
                    changed |= _CHANGED_BY[event[0]]  # its kind: a place costs less than a name
                self._write(row, game, changed)
            else:
                ended.append(row)
        return ended

    def actions(self, row: int) -> bytes:
        """Return what was played in the game of a row, a byte each."""
        return bytes(self._played[row])

    def position(self, row: int) -> RowPosition:
        """Return the game of a row."""
        return RowPosition(self._games[row])


class RowPosition:
    """What self-play asks of a game besides its row: a part of `happycity_engine.Position`."""

    def __init__(self, game: Game) -> None:
        self._game = game

    def score(self) -> tuple[tuple[int, ...], ...]:
        """Return the outcome if the game ended now: points, coins, inhabitants, hearts and ranks."""
        ending = score(self._game.cities)
        return ending.points, ending.coins, ending.inhabitants, ending.hearts, ending.ranks

    def observation(self, seat: int) -> bytes:
        """Return the row of the position as a seat sees it."""
        row = bytearray(_row_size(self._game.config.players))
        RowWriter(self._game.config, row, 0).write(self._game, seat)
        return bytes(row)


def write_mask(moves: tuple[Move, ...], masks: bytearray, start: int) -> None:
    """Set the bytes of the actions of `moves` to 1, in a mask that begins at `start`."""
    for move in moves:
        masks[start + move.index] = 1
