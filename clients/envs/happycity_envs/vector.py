"""Many tables in lockstep for learners: one seat of each learns, policies on batches play the others.

    import gymnasium
    envs = gymnasium.make_vec("happycity_envs.gymnasium:HappyCity-v0", num_envs=256)

Opponents are asked about all tables together that wait for them, so a network, such as a past self, is
one call for all. Every observation is a position in which the own seat decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from happycity import ConfigError, Move
from happycity.match import check_reference_bot
from happycity.rules.deals import MAX_PLAYERS, MIN_PLAYERS
from happycity.selfplay import ACTION_COUNT, Observations, Reward, SelfPlay, action_of
from happycity_bots import BOTS
from happycity_client import Bot, Decision, GameStarted
from happycity_envs.options import choice, table

BatchPolicy = Callable[[NDArray[np.float32], NDArray[np.int8]], Any]
"""Chooses a legal action for each row of observations (rows x size) and masks (rows x `ACTION_COUNT`)."""
Opponent = str | BatchPolicy
"""The name of a reference bot, or a policy on batches."""
_MOST_DEALS: Final = 2**48
"""The first deal is drawn below it, so that no seed of a later deal is too large."""


class HappyCityVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """`num_envs` tables; row i of all arrays is table i.

    `infos["action_mask"]` has the legal actions. A table whose game has ended shows the next one's first
    position (`AutoresetMode.SAME_STEP`); `infos["final_info"]` has the `points` and the `rank` of the game
    before, and `infos["final_obs"]` the last position in which the own seat decided. An action that isn't
    legal ends the game with the reward -1.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - theirs
        "autoreset_mode": AutoresetMode.SAME_STEP
    }

    def __init__(
        self,
        num_envs: int = 1,
        *,
        opponents: Sequence[Opponent] = ("greedy", "greedy", "greedy"),
        mode: str = "family",
        scoring: str = "product",
        reward: str = "rank",
        shaped: bool = False,
    ) -> None:
        """Set the tables. In each next game of a table, the learner sits one seat further.

        Args:
            num_envs: The number of tables.
            opponents: 1 to 4, in order of turns after the own seat. They may be exchanged in the list
                `opponents` of the environment, such as by the newest of the past selves.
            mode: "family" or "expert".
            scoring: "product" or "sum".
            reward: "rank": 1 for the first to -1 for the last; "points": points / 100.
            shaped: Pay the changes of the potential too; see `SelfPlay`.

        Raises:
            ConfigError: `num_envs` is less than 1, there are not 1 to 4 opponents, or no bot has such a name.
        """
        players = len(opponents) + 1
        if not MIN_PLAYERS <= players <= MAX_PLAYERS:
            raise ConfigError(f"opponents: {len(opponents)} is not between 1 and {MAX_PLAYERS - 1}")
        for each in opponents:
            if isinstance(each, str):
                check_reference_bot(each)
        self.num_envs = num_envs
        self.opponents = list(opponents)
        self.config = table(players, mode, scoring)
        self._reward = choice(Reward, "reward", reward)
        self._shaped = shaped
        low, high = Observations(players).bounds()
        self.single_observation_space = spaces.Box(low, high, dtype=np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.single_action_space = spaces.Discrete(ACTION_COUNT)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._deal(seed=0)

    def _deal(self, *, seed: int) -> None:
        self.play = SelfPlay(
            self.config, games=self.num_envs, seed=seed, reward=self._reward, shaped=self._shaped
        )
        """The games in lockstep, in all of which the own seat decides between two steps."""
        self.seats = np.arange(self.num_envs) % self.config.players
        """The own seat of each table."""
        self._bots: dict[tuple[int, int], Bot] = {}  # by table and seat, as long as a game lasts
        self._paid = np.zeros(self.num_envs, np.float32)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deal, and let the others play up to the first own decisions. One seed fixes all tables.

        Raises:
            ConfigError: there is a seed for each table.
        """
        if isinstance(seed, list):
            raise ConfigError("seed: one number fixes the deals of all tables")
        super().reset(seed=seed)
        self._deal(seed=int(self.np_random.integers(_MOST_DEALS)))
        self._play_others({})
        return self.play.arrays.observations.copy(), self._infos()

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[
        NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
    ]:
        """Play an action at each table, and let the others play up to the next own decisions.

        Raises:
            ConfigError: an action is not in the action space, or there are more or fewer than tables.
        """
        if actions.shape != (self.num_envs,) or not self.action_space.contains(actions):
            raise ConfigError(f"actions: not {self.num_envs} numbers between 0 and {ACTION_COUNT - 1}")
        arrays = self.play.arrays
        self._paid.fill(0)
        last = arrays.observations.copy()
        ended: dict[int, dict[str, Any]] = {}
        legal = arrays.masks[np.arange(self.num_envs), actions] == 1
        for row in np.flatnonzero(~legal).tolist():
            self._paid[row] = -1
            self.play.deal_next(row)
            self._leave(row, ended, {"illegal": True})
        self._step(np.flatnonzero(legal), actions[legal], ended)
        self._play_others(ended)
        infos = self._infos()
        for row, info in ended.items():
            infos = self._add_info(infos, {"final_obs": last[row], "final_info": info}, row)
        over = np.isin(np.arange(self.num_envs), list(ended))
        return arrays.observations.copy(), self._paid.astype(np.float64), over, np.zeros_like(over), infos

    def _step(
        self, rows: NDArray[np.int64], actions: NDArray[np.int64], ended: dict[int, dict[str, Any]]
    ) -> None:
        """Play on at some tables; pay the own seats, as long as the games last that the step began with."""
        arrays, games = self.play.arrays, self.play.games[:]
        self.play.step(actions, rows.tolist())
        for row in rows.tolist():
            if row not in ended:
                self._paid[row] += arrays.rewards[row, self.seats[row]]
        for row in np.flatnonzero(arrays.ended).tolist():
            outcome, seat = games[row].outcome, self.seats[row]
            assert outcome is not None
            self._leave(row, ended, {"points": outcome.points[seat], "rank": outcome.ranks[seat]})

    def _leave(self, row: int, ended: dict[int, dict[str, Any]], info: dict[str, Any]) -> None:
        ended[row] = info
        self.seats[row] = (self.seats[row] + 1) % self.config.players
        for seat in range(self.config.players):
            self._bots.pop((row, seat), None)

    def _play_others(self, ended: dict[int, dict[str, Any]]) -> None:
        arrays, players = self.play.arrays, self.config.players
        while (rows := np.flatnonzero(arrays.seats != self.seats)).size:
            which = (arrays.seats[rows] - self.seats[rows]) % players - 1
            actions = np.zeros(len(rows), np.int64)
            for opponent in dict.fromkeys(self.opponents):
                its = np.isin(
                    which, [number for number, each in enumerate(self.opponents) if each == opponent]
                )
                if its.any():
                    actions[its] = self._chosen(opponent, rows[its])
            self._step(rows, actions, ended)

    def _chosen(self, opponent: Opponent, rows: NDArray[np.int64]) -> Any:
        """Return the actions of an opponent at some tables."""
        if isinstance(opponent, str):
            return [self._chosen_by_bot(opponent, row) for row in rows.tolist()]
        masks = self.play.arrays.masks[rows]
        answer = np.asarray(opponent(self.play.arrays.observations[rows], masks))
        if answer.shape == masks.shape:
            return np.where(masks == 1, answer, -np.inf).argmax(1)
        if answer.shape != rows.shape:
            raise ValueError(f"the policy returned {answer.shape}, not {rows.shape} or {masks.shape}")
        return answer

    def _chosen_by_bot(self, name: str, row: int) -> int:
        game = self.play.games[row]
        bot = self._bots.get((row, game.seat))
        if bot is None:
            names = tuple(f"seat{each}" for each in range(self.config.players))
            seed = int(self.play.arrays.seeds[row]) * MAX_PLAYERS + game.seat
            bot = self._bots[row, game.seat] = BOTS[name](
                GameStarted(match_id=0, config=self.config, seat=game.seat, bots=names, seed=seed)
            )
        move = bot.choose(Decision.of(game))
        assert isinstance(move, Move)
        return action_of(move)

    def _infos(self) -> dict[str, Any]:
        every = np.ones(self.num_envs, np.bool_)
        return {"action_mask": self.play.arrays.masks.copy(), "_action_mask": every}
