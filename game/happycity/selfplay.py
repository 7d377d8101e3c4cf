"""Games for learners: positions as arrays, moves as numbers, and many games played in step.

It needs numpy (`pip install 'happycity[selfplay]'`), which the rest of `happycity` does without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from happycity.errors import ConfigError
from happycity.observation_rows import (
    ACTION_NUMBERS,
    COINS,
    INCOMES,
    MOST_IN_DECK,
    SYMBOLS,
    RowEncoder,
    masks_of,
    next_rows,
    play_moves,
)
from happycity.rules.cards import BUILDINGS, CARDS, DWELLINGS, SPECIALS, Card, Colour
from happycity.rules.deals import CITY_SIZE, DECKS, LAST_ROUND, Config
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.scoring import Outcome
from happycity.rules.views import Phase, View

OBSERVATION_LAYOUT: Final = 2
"""The version of the layout. It goes up whenever a number gets another meaning, or a row another length.

A row of version 1 is the beginning of a row of version 2: all but the last plane, `discarded`.
"""


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


def _planes(players: int) -> tuple[Plane, ...]:
    """Return the planes in the order in which `happycity.observation_rows` encodes them."""
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
        Plane("decks", len(DECKS), 0, 1, f"cards in each deck, divided by {MOST_IN_DECK}"),
        Plane("discards", len(DECKS), 0, 1, f"cards in each discard pile, divided by {MOST_IN_DECK}"),
        Plane("coins", 1, 0, 100, f"coins, divided by {COINS}", each_seat=True),
        Plane("income", 1, -10, 20, f"income of a round, divided by {INCOMES}", each_seat=True),
        Plane("uses", 1, 0, 1, "how often a limited special still applies, divided by 2", each_seat=True),
        Plane("inhabitants", 1, -10, 10, f"printed inhabitants, divided by {SYMBOLS}", each_seat=True),
        Plane("hearts", 1, -10, 10, f"printed hearts, divided by {SYMBOLS}", each_seat=True),
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
        Plane(
            "discarded", len(BUILDINGS), 0, 1, "copies of each building in the discard piles, divided by 2"
        ),
    )


class Observations:
    """Writes positions of one kind of game into arrays.

    A row has the planes of the table one after the other; then those of a seat, one seat after the other, the
    observer's first; last what is in the discard piles. Only the number of players decides how long a row is.
    It is all of the past that matters to the future: with it, a hidden order is all that isn't known.
    """

    def __init__(self, players: int) -> None:
        self.players = players
        self.planes = _planes(players)
        """What a row holds, in this order; planes of each seat are listed once."""
        parts = list(self.parts())
        self.table_size = next(place.start for plane, _, place in parts if plane.each_seat)
        """Numbers before those of the seats."""
        self.seat_size = sum(plane.size for plane in self.planes if plane.each_seat)
        """Numbers of each seat."""
        self.size = parts[-1][2].stop
        """Numbers of a row."""

    def parts(self) -> Iterator[tuple[Plane, int | None, slice]]:
        """Yield each plane with its seat, counted from the own, and its place; None: it is of no seat."""
        at = 0
        for each_seat, group in groupby(self.planes, attrgetter("each_seat")):
            planes = list(group)
            for seat in range(self.players) if each_seat else (None,):
                for plane in planes:
                    yield plane, seat, slice(at, at + plane.size)
                    at += plane.size

    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the least and the highest number that each place of a row can have."""
        low, high = np.zeros(self.size, np.float32), np.zeros(self.size, np.float32)
        for plane, _, place in self.parts():
            low[place], high[place] = plane.low, plane.high
        return low, high

    def of(self, game: Game, seat: int) -> NDArray[np.float32]:
        """Return the position of a game as `seat` sees it."""
        return self.of_view(game.view(), game.discarded, seat)

    def of_view(self, view: View, discarded: Sequence[Card], seat: int) -> NDArray[np.float32]:
        """Return a position as `seat` sees it: what a view shows, and the cards in the discard piles."""
        encoded = RowEncoder(view.config).row_of_view(view, discarded, seat)
        return np.frombuffer(encoded, np.float32).copy()


ACTION_NUMBERING: Final = 1
"""The version of the numbering. It goes up whenever a number gets another meaning."""
ACTIONS: Final[tuple[Move, ...]] = tuple(Move.all())
"""The move with each number."""
ACTION_COUNT: Final = len(ACTIONS)


def action_of(move: Move) -> int:
    """Return the number of a move, 0 to `ACTION_COUNT` - 1."""
    return ACTION_NUMBERS[move]


def move_of(action: int) -> Move:
    """Return the move with a number that a learner chose.

    Raises:
        ConfigError: no move has the number; a negative one would count from the end.
    """
    if not 0 <= action < ACTION_COUNT:
        raise ConfigError(f"action: {action} is not between 0 and {ACTION_COUNT - 1}")
    return ACTIONS[action]


def write_masks(options: Sequence[Sequence[Move]], out: NDArray[np.int8]) -> None:
    """Write for each row of `out` (rows x `ACTION_COUNT`) which actions are legal: 1, or else 0."""
    out[:] = np.frombuffer(masks_of(options), np.int8).reshape(out.shape)


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


_CHUNK: Final = 64
"""Games that are played on and written at once: what is used of them stays in the processor's caches."""


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
        self._encoders = [RowEncoder(config) for _ in range(games)]
        self._chunks = [slice(start, min(start + _CHUNK, games)) for start in range(0, games, _CHUNK)]
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
        for some in self._chunks:
            self._write(some)

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
        moves = [move_of(action) for action in np.asarray(actions).tolist()]
        for some in self._chunks:
            first = some.start
            for row in play_moves(self.games[some], moves[some]):
                self._end(first + row)
            self._write(some)

    def _end(self, row: int) -> None:
        outcome = self.games[row].outcome
        assert outcome is not None
        self.arrays.ended[row] = True
        self.arrays.rewards[row] = rewards_of(outcome, self._reward)
        self._deal_next(row)

    def _deal_next(self, row: int) -> None:
        self._seeds[row] += len(self.games)
        self.arrays.seeds[row] = self._seeds[row]
        self.games[row] = Game.deal(self._config, seed=self._seeds[row])

    def _write(self, some: slice) -> None:
        arrays, games = self.arrays, self.games[some]
        arrays.seats[some] = [game.seat for game in games]
        write_masks([game.legal_moves for game in games], arrays.masks[some])
        rows = np.frombuffer(next_rows(self._encoders[some], games), np.float32)
        arrays.observations[some] = rows.reshape(len(games), -1)
