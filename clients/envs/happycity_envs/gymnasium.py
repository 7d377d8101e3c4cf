"""Happy City as an environment of Gymnasium: one seat learns, bots or policies play the others.

    import gymnasium
    env = gymnasium.make("happycity_envs.gymnasium:HappyCity-v0", opponents=("greedy", "planner", "random"))

Every observation is a position in which the own seat decides; `info["action_mask"]` has its legal
actions, and `action_masks()` too, as masked learners expect. Actions are numbered as in
`happycity_envs.selfplay.ACTIONS`. An action that isn't legal ends the episode with the reward -1, and no
action is legal at its end.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from happycity_envs.options import check_render_mode, render
from happycity_envs.selfplay import Observations, mask_of, move_of
from happycity_envs.vector import HappyCityVectorEnv


class HappyCityEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One seat of a game: a `HappyCityVectorEnv` of one table, by an episode at a time."""

    metadata: dict[str, Any] = {"render_modes": ["human", "ansi"], "render_fps": 1}  # noqa: RUF012 - theirs

    def __init__(self, *, render_mode: str | None = None, **options: Any) -> None:
        """Set the table.

        Args:
            render_mode: "human" prints the board, "ansi" returns it as text.
            options: Those of `HappyCityVectorEnv`; a policy is asked about one row at a time.

        Raises:
            ConfigError: an option can't be used.
        """
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self.tables = HappyCityVectorEnv(1, **options)
        self.config = self.tables.config
        self.observation_space = self.tables.single_observation_space
        self.action_space = self.tables.single_action_space
        self._observations = Observations(self.config.players)
        self._begin()
        self._is_over = True

    def _begin(self) -> None:
        self.seat = int(self.tables.seats[0])
        """The own seat in this game."""
        self._followed = self.tables.play.follow(0)
        self.game = self._followed.game
        """The game as the engine has it."""
        self._is_over = False
        self._mask: NDArray[np.int8] = self.tables.play.arrays.masks[0].copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deal, and let the others play up to the first own decision. A seed fixes all that is random."""
        super().reset(seed=seed)
        self.tables.reset(seed=seed)
        self._begin()
        return self._observation(), self._info()

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play an action, and let the others play up to the next own decision or the end.

        Raises:
            ConfigError: the action is not in the action space.
            ResetNeeded: the episode is over, or none has begun.
        """
        if self._is_over:
            raise ResetNeeded("there is no episode to play on; call reset first")
        is_legal = self._mask[move_of(int(action)).index] == 1
        _, rewards, over, _, _ = self.tables.step(np.array([action], np.int64))
        self._is_over = bool(over[0])
        if not self._is_over:
            self.tables.play.follow(0)
        elif 0 in self.tables.last_games:
            self._followed.catch_up(self.tables.last_games[0].actions)
        # A table whose game has ended shows the next one, which this environment leaves to `reset`.
        self._mask = mask_of(()) if self._is_over else self.tables.play.arrays.masks[0].copy()
        if self.render_mode == "human":
            self.render()
        info = self._info() if is_legal else {**self._info(), "illegal": True}
        return self._observation(), float(rewards[0]), self._is_over, False, info

    def _observation(self) -> NDArray[np.float32]:
        return self._observations.of(self.game, self.seat)

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"action_mask": self._mask.copy()}
        if self.game.outcome is not None:
            info["points"] = self.game.outcome.points[self.seat]
            info["rank"] = self.game.outcome.ranks[self.seat]
        return info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are legal now; none at the end."""
        return self._mask.astype(np.bool_)

    def render(self) -> str | None:
        """Return the board as text ("ansi"), or print it ("human")."""
        return render(self.game, self.render_mode)


gymnasium.register(
    id="HappyCity-v0",
    entry_point="happycity_envs.gymnasium:HappyCityEnv",
    vector_entry_point="happycity_envs.vector:HappyCityVectorEnv",
)
