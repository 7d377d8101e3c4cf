"""Games for learners: positions as arrays, moves as numbers, and many games played in step.

It needs numpy alone (the extra `selfplay`). Self-play uses the native engine where it is installed (the extra
`engine`), with the same arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from happycity.compiled import native
from happycity.errors import FieldError
from happycity.rules.cards import BUILDINGS, CARDS, DWELLINGS, SPECIALS, Colour
from happycity.rules.deals import CITY_SIZE, DECKS, LAST_ROUND, Config
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.scoring import Outcome, shared_places
from happycity.rules.views import Phase
from happycity_envs.observation_rows import (
    COINS,
    INCOMES,
    MOST_IN_DECK,
    SYMBOLS,
    RowPosition,
    Rows,
    row_of,
    write_mask,
)

if TYPE_CHECKING:
    from happycity_engine import Games, Position
else:
    Games = native("Games")

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
    """Return the planes in the order in which `happycity_envs.observation_rows` encodes them."""
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
        return np.frombuffer(bytearray(row_of(game, seat)), np.float32)


ACTION_NUMBERING: Final = 1
"""The version of the numbering. It goes up whenever a number gets another meaning."""
ACTIONS: Final[tuple[Move, ...]] = tuple(Move.all())
"""The move with each number."""
ACTION_COUNT: Final = len(ACTIONS)


def action_of(move: Move) -> int:
    """Return the number of a move, 0 to `ACTION_COUNT` - 1."""
    return move.index


def move_of(action: int) -> Move:
    """Return the move with a number that a learner chose.

    Raises:
        ConfigError: no move has the number; a negative one would count from the end.
    """
    if not 0 <= action < ACTION_COUNT:
        raise FieldError("action", f"{action} is not between 0 and {ACTION_COUNT - 1}")
    return ACTIONS[action]


def mask_of(moves: Sequence[Move]) -> NDArray[np.int8]:
    """Return a mask of all actions: 1 for those of `moves`, or else 0."""
    mask = bytearray(ACTION_COUNT)
    write_mask(tuple(moves), mask, 0)
    return np.frombuffer(mask, np.int8)


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
    places = shared_places(outcome.ranks)
    return tuple([1 - 2 * (place - 1) / (len(places) - 1) for place in places])


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
    """Each seat's reward if the last step ended a game, else 0; or shaped, for any step."""
    seeds: NDArray[np.uint64]
    """The seed of the deal."""


class FollowedGame:
    """A game of self-play in Python: for bots, teachers and boards."""

    def __init__(self, config: Config, seed: int) -> None:
        self.game = Game.deal(config, seed=seed)
        self.events = list(self.game.events)
        """All events of the game."""
        self._played = 0

    def catch_up(self, actions: bytes) -> None:
        """Play on, by all actions of the game."""
        for action in actions[self._played :]:
            self.game.apply(ACTIONS[action])
            self.events += self.game.events
        self._played = len(actions)


@dataclass(frozen=True, slots=True)
class LastGame:
    """A game that has ended."""

    outcome: Outcome
    actions: bytes
    """What was played, a byte each."""
    position: RowPosition | Position

    def observation(self, seat: int) -> NDArray[np.float32]:
        """Return the end as a seat sees it."""
        return np.frombuffer(self.position.observation(seat), np.float32)


class SelfPlay:
    """Many games played in step: choose one action for each, call `step`, and look at the arrays again.

        play = SelfPlay(Config(players=4), games=256, seed=1)
        while training:
            play.step(policy(play.arrays.observations, play.arrays.masks))

    Row i plays the deals with the seeds `seed + i`, `seed + i + games`, and so on, so the same actions give
    the same arrays.
    """

    def __init__(
        self,
        config: Config,
        *,
        games: int = 256,
        seed: int | Sequence[int] = 0,
        reward: Reward = Reward.RANK,
        shaped: bool = False,
    ) -> None:
        """Deal the first games; of several seeds, each is that of a row's first deal instead of `seed + i`.

        With `shaped`, each step also pays each seat the change of its potential: the reward that it would
        get if the game ended there; 0 at the end. A game's rewards add up to the same sum less the first
        potential, so the best policy without discount stays the best (Ng, Harada and Russell, "Policy
        invariance under reward transformations", 1999).

        Raises:
            ConfigError: there is no game, or there are more or fewer seeds than games.
        """
        if games < 1:
            raise FieldError("games", f"{games} is less than 1")
        self._config = config
        self._reward = reward
        self._shaped = shaped
        size = Observations(config.players).size
        self._seeds = list(range(seed, seed + games)) if isinstance(seed, int) else list(seed)
        if len(self._seeds) != games:
            raise FieldError("seed", f"{len(self._seeds)} instead of {games}, one for each game")
        observations, masks, seats = (
            bytearray(4 * size * games),
            bytearray(ACTION_COUNT * games),
            bytearray(games),
        )
        self._rows: Rows | Games
        if Games is None:
            self._rows = Rows(config, observations, masks, seats)
        else:
            self._rows = Games(config, memoryview(observations).cast("f"), masks, seats)
        self.arrays = Arrays(
            observations=np.frombuffer(observations, np.float32).reshape(games, size),
            masks=np.frombuffer(masks, np.int8).reshape(games, ACTION_COUNT),
            seats=np.frombuffer(seats, np.int8),
            ended=np.zeros(games, np.bool_),
            rewards=np.zeros((games, config.players), np.float32),
            seeds=np.array(self._seeds, np.uint64),
        )
        self.last_games: dict[int, LastGame] = {}
        """The games that the last step ended, by their rows."""
        self._every = list(range(games))
        self._followed: dict[int, FollowedGame] = {}
        self._potentials = np.zeros((games, config.players), np.float32)
        for row in range(games):
            self._deal(row)

    def step(
        self,
        actions: Sequence[int] | NDArray[np.integer],
        rows: Sequence[int] | NDArray[np.integer] | None = None,
    ) -> None:
        """Play one legal action in each game, or in those of `rows` alone, and write all arrays.

        Raises:
            IllegalMoveError: an action is not legal; nothing was played.
            ConfigError: there are more or fewer actions than games, or an action has no move.
        """
        games = self._every if rows is None else np.asarray(rows).tolist()
        numbers = np.asarray(actions).tolist()
        if len(numbers) != len(games):
            raise FieldError("actions", f"{len(numbers)} instead of {len(games)}, one for each game")
        try:
            ended = self._rows.play(numbers, games)
        except (ValueError, OverflowError):
            for action, row in zip(numbers, games, strict=True):
                if not self.arrays.masks[row, move_of(action).index]:
                    self.follow(row).game.apply(ACTIONS[action])
            raise
        self._pay(games, ended)

    def step_randomly(self, rows: list[int], seats: list[int]) -> None:
        """Play at random in the games of some rows up to another seat's decision, and write all arrays.

        Bit n of `seats` is set for a seat n that plays at random in the row's game.
        """
        self._pay(rows, self._rows.play_randomly(rows, seats))

    def _pay(self, played: list[int], ended: list[int]) -> None:
        """Deal the next games where games have ended, and write what seats are paid for a step."""
        arrays = self.arrays
        arrays.ended.fill(False)  # noqa: FBT003 - numpy's signature
        arrays.rewards.fill(0)
        self.last_games.clear()
        for row in ended:
            position = self._rows.position(row)
            last = LastGame(Outcome(*position.score()), self._rows.actions(row), position)
            self.last_games[row] = last
            arrays.ended[row] = True
            arrays.rewards[row] = rewards_of(last.outcome, self._reward)
            if self._shaped:
                arrays.rewards[row] -= self._potentials[row]
            self.deal_next(row)
        if self._shaped:
            self._shape(played)

    def deal_next(self, row: int) -> None:
        """Leave the game of a row, and deal its next one."""
        self._seeds[row] += len(self._seeds)
        self.arrays.seeds[row] = self._seeds[row]
        self._deal(row)

    def _deal(self, row: int) -> None:
        self._rows.deal(row, self._seeds[row])
        self._followed.pop(row, None)
        if self._shaped:
            self._potentials[row] = self._potential(row)

    def follow(self, row: int) -> FollowedGame:
        """Return the game of a row in Python, hidden orders included, as far as it was played."""
        if row not in self._followed:
            self._followed[row] = FollowedGame(self._config, self._seeds[row])
        self._followed[row].catch_up(self._rows.actions(row))
        return self._followed[row]

    def _shape(self, rows: Iterable[int]) -> None:
        """Pay what the games that go on have changed of the potentials."""
        for row in rows:
            if not self.arrays.ended[row]:
                after = np.array(self._potential(row), np.float32)
                self.arrays.rewards[row] = after - self._potentials[row]
                self._potentials[row] = after

    def _potential(self, row: int) -> tuple[float, ...]:
        return rewards_of(Outcome(*self._rows.position(row).score()), self._reward)
