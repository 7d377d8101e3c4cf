"""Games for learners: positions as arrays, moves as numbers, and many games played in step.

It needs numpy (`pip install 'happycity[selfplay]'`), which the rest of `happycity` does without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from happycity.errors import ConfigError
from happycity.rules.cards import BUILDINGS, CARDS, DWELLINGS, SPECIALS, Colour, Mode
from happycity.rules.deals import CITY_SIZE, DECKS, LAST_ROUND, Config, Scoring
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.scoring import Outcome
from happycity.rules.views import Phase, View

OBSERVATION_LAYOUT: Final = 1
"""The version of the layout. It goes up whenever a number gets another meaning."""


@dataclass(frozen=True, slots=True)
class Plane:
    """Some numbers of an observation that belong together."""

    name: str
    size: int
    low: float
    high: float
    """No number is below `low` or above `high`."""
    meaning: str
    each_seat: bool = False
    """Whether there is one for each seat, the observer's first, then in order of turns."""


_COINS, _INCOMES, _SYMBOLS, _MOST_IN_DECK = 20, 10, 10, 28


def _planes(players: int) -> tuple[Plane, ...]:
    return (
        Plane("phase", len(Phase), 0, 1, "1 for the phase, in the order of `Phase`"),
        Plane("expert", 1, 0, 1, "1 in the expert game"),
        Plane("sum", 1, 0, 1, "1 in sum scoring"),
        Plane("round", 1, 0, 1, f"the round, divided by {LAST_ROUND}"),
        Plane("seat", players, 0, 1, "1 for the observer's seat"),
        Plane("turn", players, 0, 1, "1 for the seat to decide; the first is the observer"),
        Plane("centre", len(BUILDINGS), 0, 1, "copies of each building in the centre, divided by 2"),
        Plane("specials", len(SPECIALS), 0, 1, "1 for each special that can be taken"),
        Plane("dwellings", len(DWELLINGS), 0, 1, "cards left of each dwelling, divided by 4"),
        Plane("decks", len(DECKS), 0, 1, f"cards in each deck, divided by {_MOST_IN_DECK}"),
        Plane("discards", len(DECKS), 0, 1, f"cards in each discard pile, divided by {_MOST_IN_DECK}"),
        Plane("coins", 1, 0, 100, f"coins, divided by {_COINS}", each_seat=True),
        Plane("income", 1, -10, 20, f"income of a round, divided by {_INCOMES}", each_seat=True),
        Plane("uses", 1, 0, 1, "how often a limited special still applies, divided by 2", each_seat=True),
        Plane("inhabitants", 1, -10, 10, f"printed inhabitants, divided by {_SYMBOLS}", each_seat=True),
        Plane("hearts", 1, -10, 10, f"printed hearts, divided by {_SYMBOLS}", each_seat=True),
        Plane("colours", len(Colour), 0, 1, f"cards of each colour, divided by {CITY_SIZE}", each_seat=True),
        Plane("size", 1, 0, 1, f"cards in the city, divided by {CITY_SIZE}", each_seat=True),
        Plane("city", len(CARDS), 0, 1, "1 for each card in the city", each_seat=True),
        Plane(
            "positions",
            len(CARDS),
            0,
            1,
            f"position of each card in the city from 1, divided by {CITY_SIZE}; 0 without the card",
            each_seat=True,
        ),
    )


def _sums() -> NDArray[np.float32]:
    """Return what each card adds to the sums of its city: a row for each card."""
    rows = [
        [card.inhabitants, card.hearts, *(card.colour is colour for colour in Colour), 1] for card in CARDS
    ]
    return np.array(rows, dtype=np.float32)


# Whole numbers, so that a sum is the same in any order.
_SUMS: Final = _sums()
_SCALES: Final = np.array([_SYMBOLS, _SYMBOLS, *([CITY_SIZE] * len(Colour)), CITY_SIZE], dtype=np.float32)
_FIRST_SPECIAL: Final = SPECIALS[0].number
_POSITIONS: Final = np.arange(1, CITY_SIZE + 1, dtype=np.float32) / CITY_SIZE


class Observations:
    """Writes positions of one kind of game into arrays.

    A row has the planes of the table one after the other; those of a seat follow all others, one seat after
    the other, the observer's first. Only the number of players decides how long a row is.
    """

    def __init__(self, players: int) -> None:
        self.players = players
        self.planes = _planes(players)
        """What a row holds, in this order; planes of each seat are listed once."""
        self.table_size = sum(plane.size for plane in self.planes if not plane.each_seat)
        """Numbers that don't belong to a seat: the first of a row."""
        self.seat_size = sum(plane.size for plane in self.planes if plane.each_seat)
        """Numbers of each seat."""
        self.size = self.table_size + players * self.seat_size
        """Numbers of a row."""
        parts = list(self.parts())
        self._table = {plane.name: place.start for plane, seat, place in parts if seat is None}
        self._seat = {plane.name: place.start - self.table_size for plane, seat, place in parts if seat == 0}

    def parts(self) -> Iterator[tuple[Plane, int | None, slice]]:
        """Yield each plane with its seat, counted from the own, and its place; None: it is of no seat."""
        at = 0
        table = [(plane, None) for plane in self.planes if not plane.each_seat]
        seats = [(plane, n) for n in range(self.players) for plane in self.planes if plane.each_seat]
        for plane, seat in [*table, *seats]:
            yield plane, seat, slice(at, at + plane.size)
            at += plane.size

    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the least and the highest number that each place of a row can have."""
        low, high = np.zeros(self.size, np.float32), np.zeros(self.size, np.float32)
        for plane, _, place in self.parts():
            low[place], high[place] = plane.low, plane.high
        return low, high

    def of(self, view: View, seat: int) -> NDArray[np.float32]:
        """Return one position as `seat` sees it."""
        row = np.empty(self.size, np.float32)
        self.write([view], [seat], row[np.newaxis])
        return row

    def write(self, views: Sequence[View], seats: Sequence[int], out: NDArray[np.float32]) -> None:
        """Write positions, each as one seat sees it, into the rows of `out` (rows x `size`)."""
        rows, size = len(views), self.size
        out.fill(0)
        ones: list[int] = []
        positions: list[int] = []
        for row, (view, seat) in enumerate(zip(views, seats, strict=True)):
            self._collect(view, seat, row * size, ones, positions)
        flat = out.reshape(-1)
        flat[ones] = 1
        cities = out[:, self.table_size :].reshape(rows, self.players, self.seat_size)
        city = cities[:, :, self._seat["city"] : self._seat["positions"]]
        cities[:, :, self._seat["inhabitants"] : self._seat["city"]] = city @ _SUMS / _SCALES
        flat[positions[::2]] = _POSITIONS[positions[1::2]]
        self._write_numbers(views, seats, out, cities)

    def _collect(self, view: View, seat: int, start: int, ones: list[int], positions: list[int]) -> None:
        """Collect where ones are, and where positions of cards are and which."""
        table, players = self._table, self.players
        ones.append(start + table["phase"] + view.phase - 1)
        ones.append(start + table["seat"] + seat)
        ones.append(start + table["turn"] + (view.seat - seat) % players)
        first = start + table["specials"] - _FIRST_SPECIAL
        ones.extend([first + card.number for card in view.specials])
        at = start + self.table_size - 1  # cards are numbered from 1
        city, place = self._seat["city"], self._seat["positions"]
        cities = view.cities
        for cards in cities[seat:] + cities[:seat]:
            for position, card in enumerate(cards):
                number = at + card.number
                ones.append(number + city)
                positions += (number + place, position)
            at += self.seat_size

    def _write_numbers(
        self,
        views: Sequence[View],
        seats: Sequence[int],
        out: NDArray[np.float32],
        cities: NDArray[np.float32],
    ) -> None:
        table, numbers = self._table, self._seat
        config = [view.config for view in views]
        out[:, table["expert"]] = [each.mode is Mode.EXPERT for each in config]
        out[:, table["sum"]] = [each.scoring is Scoring.SUM for each in config]
        out[:, table["round"]] = [view.round / LAST_ROUND for view in views]
        for row, view in enumerate(views):
            for card in view.centre:
                out[row, table["centre"] + card.number - 1] += 0.5
        out[:, table["dwellings"] : table["decks"]] = [view.dwellings for view in views]
        out[:, table["dwellings"] : table["decks"]] /= 4
        sizes = out[:, table["decks"] : self.table_size]
        sizes[:] = [view.decks + view.discards for view in views]
        sizes /= _MOST_IN_DECK
        pairs = list(zip(views, seats, strict=True))
        cities[:, :, numbers["coins"]] = [view.coins[seat:] + view.coins[:seat] for view, seat in pairs]
        cities[:, :, numbers["income"]] = [view.incomes[seat:] + view.incomes[:seat] for view, seat in pairs]
        cities[:, :, numbers["uses"]] = [view.uses[seat:] + view.uses[:seat] for view, seat in pairs]
        cities[:, :, numbers["coins"]] /= _COINS
        cities[:, :, numbers["income"]] /= _INCOMES
        cities[:, :, numbers["uses"]] /= 2


ACTION_NUMBERING: Final = 1
"""The version of the numbering. It goes up whenever a number gets another meaning."""
ACTIONS: Final[tuple[Move, ...]] = tuple(Move.all())
"""The move with each number."""
ACTION_COUNT: Final = len(ACTIONS)

_NUMBERS: Final = {move: number for number, move in enumerate(ACTIONS)}


def action_of(move: Move) -> int:
    """Return the number of a move, 0 to `ACTION_COUNT` - 1."""
    return _NUMBERS[move]


def move_of(action: int) -> Move:
    """Return the move with a number that a learner chose.

    Raises:
        ConfigError: no move has the number; a negative one would count from the end.
    """
    if not 0 <= action < ACTION_COUNT:
        raise ConfigError(f"action: {action} is not between 0 and {ACTION_COUNT - 1}")
    return ACTIONS[action]


def write_masks(options: Iterable[Sequence[Move]], out: NDArray[np.int8]) -> None:
    """Write for each row of `out` (rows x `ACTION_COUNT`) which actions are legal: 1, or else 0."""
    out.fill(0)
    flat = out.reshape(-1)
    flat[[row * ACTION_COUNT + _NUMBERS[move] for row, moves in enumerate(options) for move in moves]] = 1


def mask_of(moves: Sequence[Move]) -> NDArray[np.int8]:
    """Return a mask of all actions: 1 for those of `moves`, or else 0."""
    mask = np.empty(ACTION_COUNT, np.int8)
    write_masks([moves], mask[np.newaxis])
    return mask


class Reward(Enum):
    """What a learner plays for."""

    RANK = "rank"
    """The place: 1 for the first, -1 for the last, evenly in between; tied seats share. The sum is 0."""
    POINTS = "points"
    """The points, divided by 100."""


def rewards_of(outcome: Outcome, reward: Reward = Reward.RANK) -> tuple[float, ...]:
    """Return each seat's reward for a finished game."""
    if reward is Reward.POINTS:
        return tuple([points / 100 for points in outcome.points])
    ranks = outcome.ranks
    # Seats that share a place share the mean of the places that they fill.
    places = [rank + (ranks.count(rank) - 1) / 2 for rank in ranks]
    return tuple([1 - 2 * (place - 1) / (len(ranks) - 1) for place in places])


@dataclass(frozen=True, slots=True)
class Arrays:
    """What is known of games played in step: a row for each game, written in place by every step."""

    observations: NDArray[np.float32]
    """The position as the seat to decide sees it."""
    masks: NDArray[np.int8]
    """1 for each legal action."""
    seats: NDArray[np.int8]
    """The seat to decide."""
    ended: NDArray[np.bool_]
    """Whether the last step ended a game; the row shows the next one's first position already."""
    rewards: NDArray[np.float32]
    """Each seat's reward if the last step ended a game, else 0."""
    seeds: NDArray[np.uint64]
    """The seed of the deal."""


class SelfPlay:
    """Many games played in step: choose one action for each, call `step`, and look at the arrays again.

        play = SelfPlay(Config(players=4), games=256, seed=1)
        while training:
            play.step(policy(play.arrays.observations, play.arrays.masks))

    Row i plays the deals with the seeds `seed + i`, `seed + i + games`, and so on, so the same actions give
    the same arrays.
    """

    def __init__(
        self, config: Config, *, games: int = 256, seed: int = 0, reward: Reward = Reward.RANK
    ) -> None:
        """Deal the first games.

        Raises:
            ConfigError: there is no game.
        """
        if games < 1:
            raise ConfigError(f"games: {games} is less than 1")
        self._config = config
        self._reward = reward
        self._observations = Observations(config.players)
        self._seeds = list(range(seed, seed + games))
        self.games = [Game.deal(config, seed=each) for each in self._seeds]
        """The games as the engine has them, hidden orders included."""
        self.arrays = Arrays(
            observations=np.zeros((games, self._observations.size), np.float32),
            masks=np.zeros((games, ACTION_COUNT), np.int8),
            seats=np.zeros(games, np.int8),
            ended=np.zeros(games, np.bool_),
            rewards=np.zeros((games, config.players), np.float32),
            seeds=np.array(self._seeds, np.uint64),
        )
        self._write()

    def step(self, actions: Sequence[int] | NDArray[np.integer]) -> None:
        """Play one legal action in each game, and write all arrays.

        Raises:
            IllegalMoveError: an action is not legal; games before it have been played on.
            ConfigError: there are more or fewer actions than games, or an action has no move.
        """
        arrays = self.arrays
        if len(actions) != len(self.games):
            raise ConfigError(f"actions: {len(actions)} instead of {len(self.games)}, one for each game")
        arrays.ended.fill(False)  # noqa: FBT003 - numpy's signature
        arrays.rewards.fill(0)
        for row, action in enumerate(np.asarray(actions).tolist()):
            game = self.games[row]
            game.apply(move_of(action))
            if game.outcome is not None:
                arrays.ended[row] = True
                arrays.rewards[row] = rewards_of(game.outcome, self._reward)
                self._deal_next(row)
        self._write()

    def _deal_next(self, row: int) -> None:
        self._seeds[row] += len(self.games)
        self.arrays.seeds[row] = self._seeds[row]
        self.games[row] = Game.deal(self._config, seed=self._seeds[row])

    def _write(self) -> None:
        seats = [game.seat for game in self.games]
        self.arrays.seats[:] = seats
        write_masks([game.legal_moves for game in self.games], self.arrays.masks)
        self._observations.write([game.view() for game in self.games], seats, self.arrays.observations)
