"""Some games played in step in one process, with positions and legal moves written into arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import DTypeLike, NDArray

from happycity.rules.deals import Config
from happycity.rules.game import Game
from happycity.selfplay.actions import ACTION_COUNT, ACTIONS, write_masks
from happycity.selfplay.observations import Observations
from happycity.selfplay.rewards import Reward, rewards_of


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
    actions: NDArray[np.int16]
    """The actions of the next step, for processes that share the arrays."""

    @classmethod
    def shapes(cls, config: Config, games: int) -> dict[str, tuple[tuple[int, ...], DTypeLike]]:
        """Return shape and type of each array."""
        return {
            "observations": ((games, Observations(config.players).size), np.float32),
            "masks": ((games, ACTION_COUNT), np.int8),
            "seats": ((games,), np.int8),
            "ended": ((games,), np.bool_),
            "rewards": ((games, config.players), np.float32),
            "seeds": ((games,), np.uint64),
            "actions": ((games,), np.int16),
        }

    @classmethod
    def allocate(cls, config: Config, games: int) -> Arrays:
        """Return arrays of zeros."""
        shapes = cls.shapes(config, games)
        return cls(**{name: np.zeros(shape, dtype) for name, (shape, dtype) in shapes.items()})

    def rows(self, part: slice) -> Arrays:
        """Return some of the rows of all arrays; they share memory."""
        return Arrays(**{field.name: getattr(self, field.name)[part] for field in fields(self)})


class Batch:
    """Games played in step. An ended game is followed by the deal whose seed is `stride` higher."""

    def __init__(
        self, config: Config, *, seeds: Sequence[int], stride: int, reward: Reward, arrays: Arrays
    ) -> None:
        self._config = config
        self._stride = stride
        self._reward = reward
        self._observations = Observations(config.players)
        self._arrays = arrays
        self._seeds = list(seeds)
        self.games = [Game.deal(config, seed=seed) for seed in seeds]
        """The games as the engine has them, hidden orders included."""
        arrays.seeds[:] = seeds
        self._write()

    def step(self, actions: Sequence[int]) -> None:
        """Play one action in each game.

        Raises:
            IllegalMoveError: an action is not legal; games before it have been played on.
        """
        arrays = self._arrays
        arrays.ended.fill(False)  # noqa: FBT003 - numpy's signature
        arrays.rewards.fill(0)
        for row, (game, action) in enumerate(zip(self.games, actions, strict=True)):
            game.apply(ACTIONS[action])
            if game.outcome is not None:
                arrays.ended[row] = True
                arrays.rewards[row] = rewards_of(game.outcome, self._reward)
                self._deal_next(row)
        self._write()

    def _deal_next(self, row: int) -> None:
        self._seeds[row] += self._stride
        self._arrays.seeds[row] = self._seeds[row]
        self.games[row] = Game.deal(self._config, seed=self._seeds[row])

    def _write(self) -> None:
        seats = [game.seat for game in self.games]
        self._arrays.seats[:] = seats
        write_masks([game.legal_moves for game in self.games], self._arrays.masks)
        self._observations.write([game.view() for game in self.games], seats, self._arrays.observations)
