"""Policies of other worlds as bots of the arena, which play over gRPC as any other bot does.

    from happycity_client import run
    from happycity_envs.arena import policy_bot

    run(policy_bot(policy), name="mine")

It needs numpy alone.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happycity import Game, Move
from happycity_client import Bot, Decision, GameStarted
from happycity_envs.selfplay import ACTION_COUNT, ACTIONS, Observations, mask_of

Policy = Callable[[NDArray[np.float32], NDArray[np.int8]], Any]
"""Chooses an action from an observation and a mask of the legal actions (1 is legal).

It may return the action's number, or a number for each action (logits, values, probabilities), of which the
highest legal one counts.
"""


def choose_action(policy: Policy, observation: NDArray[np.float32], mask: NDArray[np.int8]) -> int:
    """Return the number of the legal action that a policy chooses.

    Raises:
        ValueError: the policy chooses an action that isn't legal, or returns something else.
    """
    answer = np.asarray(policy(observation, mask))
    if answer.size == ACTION_COUNT:
        return int(np.where(mask == 1, answer.reshape(-1), -np.inf).argmax())
    if answer.size != 1:
        raise ValueError(f"the policy returned {answer.size} numbers instead of 1 or {ACTION_COUNT}")
    action = int(answer.item())
    if not 0 <= action < ACTION_COUNT or mask[action] != 1:
        legal = ", ".join(f"{number} ({ACTIONS[number]})" for number in np.flatnonzero(mask))
        raise ValueError(f"the policy chose action {action}, which is not legal: {legal}")
    return action


class PolicyBot(Bot):
    """Plays by a policy on observation and mask. Make a factory of such bots with `policy_bot`."""

    def __init__(self, start: GameStarted, *, policy: Policy) -> None:
        super().__init__(start)
        self._policy = policy
        self._observations = Observations(start.config.players)

    def choose(self, decision: Decision) -> Move:
        """Return the policy's move."""
        # Hidden orders, which are drawn here, are in no observation.
        game = Game.from_view(decision.view, Random(0))
        observation = self._observations.of(game, decision.seat)
        return ACTIONS[choose_action(self._policy, observation, mask_of(decision.moves))]


def policy_bot(policy: Policy) -> Callable[[GameStarted], PolicyBot]:
    """Return what makes a bot for each game that plays by `policy`; hand it to `happycity_client.run`."""

    def start(game: GameStarted) -> PolicyBot:
        return PolicyBot(game, policy=policy)

    start.__name__ = getattr(policy, "__name__", "policy")
    return start
