"""Rows of observations, as bytes of 32-bit floats, and games in step that write them.

`happycity_envs.selfplay` says what the numbers mean. It needs numpy; this module, which is compiled, does
without.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from random import Random
from struct import Struct
from typing import Final

from happycity.rules.cards import BUILDINGS, CARDS, SPECIALS, Card, Colour, Mode
from happycity.rules.deals import CITY_SIZE, LAST_ROUND, Config, Scoring
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.scoring import score
from happycity.rules.views import Phase

COINS: Final = 20
INCOMES: Final = 10
SYMBOLS: Final = 10
MOST_IN_DECK: Final = 28
"""What such numbers are divided by, so that most are at most 1."""
_BUILDINGS: Final = len(BUILDINGS)
_CARDS: Final = len(CARDS)
_FIRST_SPECIAL: Final = SPECIALS[0].number
_SPECIALS: Final = len(SPECIALS)
_COLOURS: Final = tuple(Colour)
_PHASES: Final = len(Phase)
_EXPERT: Final = Mode.EXPERT
_SUM: Final = Scoring.SUM
_pack_purse: Final = Struct("3f").pack

_ACTIONS: Final = tuple(Move.all())
_ACTION_COUNT: Final = len(_ACTIONS)
_NO_ACTIONS: Final = bytearray(_ACTION_COUNT)


def row_of(game: Game, observer: int) -> bytes:
    """Return the row of a position as a seat sees it."""
    config, cities = game.config, game.cities
    players, incomes = config.players, cities.incomes()
    kind = players, config.mode is _EXPERT, config.scoring is _SUM
    parts = [
        _head(kind, game.phase, game.round, observer, game.seat),
        _copies(tuple(game.centre)),
        _specials(game.specials),
        _piles(tuple(game.dwellings), game.deck_sizes, game.discard_sizes),
    ]
    for turn in range(players):
        seat = (observer + turn) % players
        parts.append(_pack_purse(cities.coins[seat] / COINS, incomes[seat] / INCOMES, cities.uses[seat] / 2))
        parts.append(_city(cities.cards[seat]))
    first, second, third = game.discard_piles
    parts.append(_copies((*first, *second, *third)))
    return b"".join(parts)


# Most parts of a row are those of the position before, so the latest ones are remembered.


def _packed(numbers: Sequence[float]) -> bytes:
    return array("f", numbers).tobytes()


@lru_cache(4096)
def _head(kind: tuple[int, bool, bool], phase: Phase, number: int, observer: int, seat: int) -> bytes:
    """Return phase, kind of game, round, observer and turn."""
    players, expert, by_sum = kind
    phases, seats, turns = [0.0] * _PHASES, [0.0] * players, [0.0] * players
    phases[phase - 1] = seats[observer] = turns[(seat - observer) % players] = 1.0
    return _packed([*phases, float(expert), float(by_sum), number / LAST_ROUND, *seats, *turns])


@lru_cache(4096)
def _copies(numbers: tuple[int, ...]) -> bytes:
    """Count buildings; of each there are two."""
    row = [0.0] * _BUILDINGS
    for number in numbers:
        row[number - 1] += 0.5
    return _packed(row)


@lru_cache(4096)
def _specials(cards: tuple[Card, ...]) -> bytes:
    row = [0.0] * _SPECIALS
    for card in cards:
        row[card.number - _FIRST_SPECIAL] = 1.0
    return _packed(row)


@lru_cache(4096)
def _piles(dwellings: tuple[int, ...], decks: tuple[int, ...], discards: tuple[int, ...]) -> bytes:
    sizes = [size / MOST_IN_DECK for size in (*decks, *discards)]
    return _packed([*[left / 4 for left in dwellings], *sizes])


@lru_cache(4096)
def _city(cards: tuple[Card, ...]) -> bytes:
    """Return the sums of a city, its cards, and their positions."""
    owned, positions = [0.0] * _CARDS, [0.0] * _CARDS
    for position, card in enumerate(cards, start=1):
        owned[card.number - 1] = 1.0
        positions[card.number - 1] = position / CITY_SIZE
    colours = [card.colour for card in cards]
    sums = [
        sum([card.inhabitants for card in cards]) / SYMBOLS,
        sum([card.hearts for card in cards]) / SYMBOLS,
        *[colours.count(colour) / CITY_SIZE for colour in _COLOURS],
        len(cards) / CITY_SIZE,
    ]
    return _packed([*sums, *owned, *positions])


class Rows:
    """Games in step with their rows, legal actions and seats: `happycity_engine.Games` in Python."""

    def __init__(self, config: Config, observations: bytearray, masks: bytearray, seats: bytearray) -> None:
        """Take buffers that are all 0: 32-bit floats, a byte for each action, and a byte for each game."""
        self._config = config
        self._observations = observations
        self._masks = masks
        self._seats = seats
        self._size = len(observations) // len(seats)
        self._games: list[Game] = []
        self._played: list[bytearray] = []
        self._random: list[Random] = []

    def deal(self, row: int, seed: int) -> None:
        """Start a game in a row; rows are begun in their order."""
        self._games[row : row + 1] = [Game.deal(self._config, seed=seed)]
        self._played[row : row + 1] = [bytearray()]
        self._random[row : row + 1] = [Random(seed)]
        self._write(row)

    def _write(self, row: int) -> None:
        """Write the position of a game, what is legal there, and whose turn it is."""
        game = self._games[row]
        seat = game.seat
        self._observations[self._size * row : self._size * (row + 1)] = row_of(game, seat)
        self._seats[row] = seat
        start = _ACTION_COUNT * row
        self._masks[start : start + _ACTION_COUNT] = _NO_ACTIONS
        write_mask(game.legal_moves, self._masks, start)

    def play(self, actions: list[int], rows: list[int]) -> list[int]:
        """Play an action in the game of each row; return the rows of games that ended, which aren't written.

        Raises:
            ValueError: an action is not legal; nothing was played.
        """
        for action, row in zip(actions, rows, strict=True):
            if not 0 <= action < _ACTION_COUNT or not self._masks[_ACTION_COUNT * row + action]:
                raise ValueError("a move is not legal")
        for action, row in zip(actions, rows, strict=True):
            self._apply(row, _ACTIONS[action])
        return self._written(rows)

    def play_randomly(self, rows: list[int], seats: list[int]) -> list[int]:
        """Let seats play at random in the game of each row, as long as one of them is to decide.

        Bit n of `seats` is set for such a seat n of the row's game. Return the rows of games that ended; they
        aren't written.
        """
        for row, mask in zip(rows, seats, strict=True):
            game, random = self._games[row], self._random[row]
            while game.outcome is None and mask >> game.seat & 1:
                self._apply(row, game.legal_moves[int(random.random() * len(game.legal_moves))])
        return self._written(rows)

    def _apply(self, row: int, move: Move) -> None:
        self._games[row].apply(move)
        self._played[row].append(move.index)

    def _written(self, rows: list[int]) -> list[int]:
        """Write the rows of games that go on, and return the others."""
        ended = []
        for row in rows:
            if self._games[row].outcome is None:
                self._write(row)
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
        return row_of(self._game, seat)


def write_mask(moves: Sequence[Move], masks: bytearray, start: int) -> None:
    """Set the bytes of the actions of `moves` to 1, in a mask that begins at `start`."""
    for move in moves:
        masks[start + move.index] = 1
