"""Self-play for learners: many games in step, in this process or in workers."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from happycity.errors import ConfigError
from happycity.rules.deals import Config
from happycity.rules.game import Game
from happycity.selfplay.batch import Arrays, Batch
from happycity.selfplay.rewards import Reward
from happycity.selfplay.workers import Workers


class SelfPlay:
    """Many games played in step: choose one action for each, call `step`, and look at the arrays again.

        with SelfPlay(Config(players=4), games=256, seed=1, workers=2) as play:
            while training:
                actions = policy(play.arrays.observations, play.arrays.masks)
                play.step(actions)

    Row i plays the deals with the seeds `seed + i`, `seed + i + games`, and so on, whatever the number of
    workers: the same actions give the same arrays. `workers` processes share the games; 0 plays them here.
    """

    def __init__(
        self,
        config: Config,
        *,
        games: int = 256,
        seed: int = 0,
        workers: int = 0,
        reward: Reward = Reward.RANK,
    ) -> None:
        """Deal the first games.

        Raises:
            ConfigError: there is no game, or there are more workers than games.
        """
        if games < 1:
            raise ConfigError(f"games: {games} is less than 1")
        if not 0 <= workers <= games:
            raise ConfigError(f"workers: {workers} is not between 0 and the number of games, {games}")
        self._batch: Batch | None = None
        self._workers: Workers | None = None
        if workers:
            self._workers = Workers(config, games=games, seed=seed, workers=workers, reward=reward)
            self.arrays = self._workers.arrays
        else:
            self.arrays = Arrays.allocate(config, games)
            self._batch = Batch(
                config, seeds=range(seed, seed + games), stride=games, reward=reward, arrays=self.arrays
            )

    @property
    def games(self) -> Sequence[Game]:
        """The games as the engine has them, hidden orders included; only without workers.

        Raises:
            ConfigError: the games are in other processes.
        """
        if self._batch is None:
            raise ConfigError("workers: the games of worker processes can't be looked at; use workers=0")
        return self._batch.games

    def step(self, actions: Sequence[int] | NDArray[np.integer]) -> None:
        """Play one legal action in each game, and write all arrays.

        Raises:
            IllegalMoveError: an action is not legal.
            ConfigError: there are more or fewer actions than games, or a worker has ended.
        """
        if len(actions) != len(self.arrays.seats):
            raise ConfigError(
                f"actions: {len(actions)} instead of {len(self.arrays.seats)}, one for each game"
            )
        if self._workers is not None:
            self._workers.step(actions)
        elif self._batch is not None:
            self._batch.step(np.asarray(actions).tolist())

    def close(self) -> None:
        """End the worker processes; the arrays can't be used any longer then."""
        if self._workers is not None:
            self._workers.close()

    def __enter__(self) -> SelfPlay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
