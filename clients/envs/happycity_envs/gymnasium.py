"""Happy City as an environment of Gymnasium: one seat learns, bots play the others.

    import gymnasium
    env = gymnasium.make("happycity_envs.gymnasium:HappyCity-v0", opponents=("greedy", "planner", "random"))

Every observation is a position in which the own seat decides; `info["action_mask"]` has its legal
actions, and `action_masks()` too, as masked learners expect. Actions are numbered as in
`happycity.selfplay.ACTIONS`. An action that isn't legal ends the episode with the reward -1.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from happycity import ConfigError, Event, Game, Move
from happycity.match import check_reference_bot
from happycity.rules.deals import MAX_PLAYERS, MAX_SEED, MIN_PLAYERS
from happycity.selfplay import ACTION_COUNT, Observations, Reward, mask_of, move_of, rewards_of
from happycity_bots import BOTS
from happycity_client import Bot, BotFactory, Decision, GameStarted
from happycity_envs.options import check_render_mode, choice, render, table

Opponent = str | BotFactory
"""The name of a reference bot, or what makes a bot of the SDK, such as its class."""


class HappyCityEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One seat of a game; the reward is paid at its end."""

    metadata: dict[str, Any] = {"render_modes": ["human", "ansi"], "render_fps": 1}  # noqa: RUF012 - theirs

    def __init__(
        self,
        *,
        opponents: Sequence[Opponent] = ("greedy", "greedy", "greedy"),
        seat: int | None = None,
        mode: str = "family",
        scoring: str = "product",
        reward: str = "rank",
        render_mode: str | None = None,
    ) -> None:
        """Set the table.

        Args:
            opponents: 1 to 4 bots for the other seats, in order of turns after the own seat.
            seat: The own seat from 0; None: another one in each game, at random.
            mode: "family" or "expert".
            scoring: "product" or "sum".
            reward: "rank": 1 for the first to -1 for the last; "points": points / 100.
            render_mode: "human" prints the board, "ansi" returns it as text.

        Raises:
            ConfigError: there are too few or too many opponents, one isn't known, or there is no such seat.
        """
        players = len(opponents) + 1
        if not MIN_PLAYERS <= players <= MAX_PLAYERS:
            raise ConfigError(f"opponents: {len(opponents)} is not between 1 and {MAX_PLAYERS - 1}")
        if seat is not None and not 0 <= seat < players:
            raise ConfigError(f"seat: {seat} is not between 0 and {players - 1}")
        self.config = table(players, mode, scoring)
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self._opponents = [
            BOTS[check_reference_bot(each)] if isinstance(each, str) else each for each in opponents
        ]
        self._fixed_seat = seat
        self._reward = choice(Reward, "reward", reward)
        self._observations = Observations(players)
        low, high = self._observations.bounds()
        self.observation_space = spaces.Box(low, high, dtype=np.float32)
        self.action_space = spaces.Discrete(ACTION_COUNT)
        self.seat = 0
        """The own seat in this game."""
        self.game = Game.deal(self.config, seed=0)
        """The game as the engine has it."""
        self._bots: dict[int, Bot] = {}
        self._pending_events: dict[int, list[Event]] = {}  # by seat: for its next decision

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deal, and let the others play up to the first own decision. A seed fixes all that is random."""
        super().reset(seed=seed)
        self.seat = (
            int(self.np_random.integers(self.config.players))
            if self._fixed_seat is None
            else self._fixed_seat
        )
        self.game = Game.deal(self.config, seed=self._draw_seed())
        self._bots = {}
        for number, opponent in enumerate(self._opponents, start=1):
            seat = (self.seat + number) % self.config.players
            names = tuple(f"seat{each}" for each in range(self.config.players))
            self._bots[seat] = opponent(
                GameStarted(match_id=0, config=self.config, seat=seat, bots=names, seed=self._draw_seed())
            )
        self._pending_events = {seat: list(self.game.events) for seat in self._bots}
        self._play_others()
        return self._observation(), self._info()

    def _draw_seed(self) -> int:
        return int(self.np_random.integers(MAX_SEED, endpoint=True, dtype=np.uint64))

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play an action, and let the others play up to the next own decision or the end.

        Raises:
            ConfigError: the action is not in the action space.
        """
        move = move_of(int(action))
        if move not in self.game.legal_moves:
            return self._observation(), -1.0, True, False, {**self._info(), "illegal": True}
        self._apply(move)
        self._play_others()
        outcome = self.game.outcome
        reward = 0.0 if outcome is None else rewards_of(outcome, self._reward)[self.seat]
        if self.render_mode == "human":
            self.render()
        return self._observation(), reward, outcome is not None, False, self._info()

    def _play_others(self) -> None:
        game = self.game
        while game.outcome is None and game.seat != self.seat:
            events, self._pending_events[game.seat] = self._pending_events[game.seat], []
            move = self._bots[game.seat].choose(Decision.of(game, events))
            if inspect.isawaitable(move):
                raise ConfigError(f"opponents: {type(self._bots[game.seat]).__name__} chooses asynchronously")
            assert isinstance(move, Move)
            self._apply(move)

    def _apply(self, move: Move) -> None:
        self.game.apply(move)
        for pending in self._pending_events.values():
            pending.extend(self.game.events)

    def _observation(self) -> NDArray[np.float32]:
        return self._observations.of(self.game, self.seat)

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"action_mask": mask_of(self.game.legal_moves)}
        if self.game.outcome is not None:
            info["points"] = self.game.outcome.points[self.seat]
            info["rank"] = self.game.outcome.ranks[self.seat]
        return info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are legal now; none at the end."""
        return mask_of(self.game.legal_moves).astype(np.bool_)

    def render(self) -> str | None:
        """Return the board as text ("ansi"), or print it ("human")."""
        return render(self.game, self.render_mode)


gymnasium.register(
    id="HappyCity-v0",
    entry_point="happycity_envs.gymnasium:HappyCityEnv",
    vector_entry_point="happycity_envs.vector:HappyCityVectorEnv",
)
