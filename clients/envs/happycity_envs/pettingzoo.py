"""Happy City as an environment of PettingZoo (AEC), with the conventions of its classic card games.

    from happycity_envs.pettingzoo import env
    game = env(players=4, mode="family")

Importing it also registers `happycity/happy_city_v0` for `pettingzoo.make("aec", ...)`.

The agents are `player_0`, `player_1`, ... by seat. An observation is a dict of `observation`
(`happycity_envs.selfplay.Observations`) and `action_mask`; the mask is all 0 for all who are not to move.
Actions are numbered as in `happycity_envs.selfplay.ACTIONS`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.env_registry import register
from pettingzoo.utils import wrappers

from happycity import Game
from happycity.rules.deals import MAX_SEED
from happycity_envs.options import check_render_mode, enum_member, game_config, render
from happycity_envs.selfplay import ACTION_COUNT, Observations, Reward, mask_of, move_of, rewards_of

Observation = dict[str, Any]


def env(**options: Any) -> AECEnv:
    """Return the environment in PettingZoo's usual wrappers: an illegal action costs 1 and ends the game."""
    game = raw_env(**options)
    game = wrappers.TerminateIllegalWrapper(game, illegal_reward=-1)
    game = wrappers.AssertOutOfBoundsWrapper(game)
    return wrappers.OrderEnforcingWrapper(game)


class raw_env(AECEnv):  # type: ignore[misc]  # noqa: N801 - PettingZoo has no types, and this name
    """One game without wrappers; see `env`."""

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo's attribute
        "name": "happy_city_v0",
        "render_modes": ["human", "ansi"],
        "is_parallelizable": False,
    }

    def __init__(
        self,
        *,
        players: int = 4,
        mode: str = "family",
        scoring: str = "product",
        reward: str = "rank",
        render_mode: str | None = None,
    ) -> None:
        """Set the table.

        Args:
            players: Seats, 2 to 5.
            mode: "family" or "expert".
            scoring: "product" or "sum".
            reward: "rank": 1 for the first to -1 for the last; "points": points / 100. Paid at the end.
            render_mode: "human" prints the board, "ansi" returns it as text.

        Raises:
            ConfigError: an option can't be used.
        """
        super().__init__()
        self.config = game_config(players, mode, scoring)
        self._reward = enum_member(Reward, "reward", reward)
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self._observations = Observations(players)
        low, high = self._observations.bounds()
        self.possible_agents = [f"player_{seat}" for seat in range(players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(low, high, dtype=np.float32),
                    "action_mask": spaces.Box(0, 1, (ACTION_COUNT,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(ACTION_COUNT) for agent in self.possible_agents}
        self._seeds = np.random.default_rng()
        self._game: Game | None = None

    @property
    def game(self) -> Game:
        """The game as the engine has it.

        Raises:
            ValueError: the environment hasn't been reset yet.
        """
        if self._game is None:
            raise ValueError("there is no game yet; call reset first")
        return self._game

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal. A seed fixes this deal and those of later resets without one."""
        if seed is not None:
            self._seeds = np.random.default_rng(seed)
        deal = int(self._seeds.integers(MAX_SEED, endpoint=True, dtype=np.uint64))
        self._game = Game.deal(self.config, seed=deal)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._pass_on()

    def _deads_step_first(self) -> str:
        """Show that nobody may move where a wrapper has ended the game after an illegal action."""
        for agent, info in self.infos.items():
            if self.terminations[agent]:
                info["action_mask"] = self._mask(agent)
        chosen: str = super()._deads_step_first()
        return chosen

    def step(self, action: int | None) -> None:
        """Play an action for the agent to move; None for an agent whose game is over.

        Raises:
            IllegalMoveError: the action is not legal.
            ConfigError: no move has this number.
            ValueError: the environment hasn't been reset yet, or an agent whose game is over acts.
        """
        game, agent = self.game, self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        assert action is not None
        game.apply(move_of(action))
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._pass_on()
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def _pass_on(self) -> None:
        """Let the next agent move, or end the game."""
        game = self.game
        for info in self.infos.values():
            info.clear()
        if game.outcome is None:
            self.agent_selection = self.possible_agents[game.seat]
            self.infos[self.agent_selection]["action_mask"] = self._mask(self.agent_selection)
            return
        for agent, reward in zip(self.agents, rewards_of(game.outcome, self._reward), strict=True):
            self.rewards[agent] = reward
            self.terminations[agent] = True
            self.infos[agent]["action_mask"] = self._mask(agent)
        self.agent_selection = self.agents[0]

    def observe(self, agent: str) -> Observation:
        """Return the position as an agent sees it, with the actions that it may choose now."""
        observation = self._observations.of(self.game, self._seats[agent])
        return {"observation": observation, "action_mask": self._mask(agent)}

    def _mask(self, agent: str) -> np.ndarray[Any, np.dtype[np.int8]]:
        is_to_move = self.game.seat == self._seats[agent] and not self.terminations[agent]
        return mask_of(self.game.legal_moves if is_to_move else ())

    def render(self) -> str | None:
        """Return the board as text ("ansi"), or print it ("human")."""
        return render(self.game, self.render_mode)


register("aec", "happycity/happy_city_v0", entry_point=env)
