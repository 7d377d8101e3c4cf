"""Self-play for learners: many games played in step, with positions and legal moves in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from happycity.errors import ConfigError
from happycity.rules.deals import Config
from happycity.rules.game import Game
from happycity.rules.moves import Move
from happycity.rules.scoring import Outcome
from happycity.selfplay.observations import Observations

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
