"""Bots and policies of OpenSpiel as bots of the arena."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.algorithms import mcts

from happycity import Game, Move
from happycity.records.random_games import random_move
from happycity.records.record import config_json
from happycity_client import Bot, Decision, GameStarted
from happycity_envs.openspiel import NAME, HappyCityGame, HappyCityState
from happycity_envs.selfplay import move_of, rewards_of
from happycity_evaluation.quick import quick_move

MakeBot = Callable[[HappyCityGame, int, int], Any]
"""Makes what plays one seat of one game: from the game, the seat and a seed for its randomness.

What it makes is a bot of OpenSpiel (`step(state)`) or a policy (`action_probabilities(state)`).
"""

EXPLORATION = 1.0
"""How much the search tries what looks worse (UCT's constant), for returns from -1 to 1."""


class PlayoutEvaluator(mcts.Evaluator):  # type: ignore[misc]  # OpenSpiel has no types
    """Values a state by one game to its end, which the engine plays faster than OpenSpiel would."""

    def __init__(self, policy: str, rng: random.Random) -> None:
        """Take what plays all seats: `quick` or `random`."""
        self._quick = {"quick": True, "random": False}[policy]
        self._rng = rng

    def evaluate(self, state: HappyCityState) -> Any:
        """Return each seat's return in one game from here to the end."""
        assert state.position is not None
        game = state.position.copy()
        while game.awaited:
            game.reveal(self._rng.choice(game.awaited))
        game = game.closed(self._rng) if game.outcome is None else game
        while game.outcome is None:
            game.apply(quick_move(game) if self._quick else random_move(game, self._rng))
        return np.array(rewards_of(game.outcome))

    def prior(self, state: HappyCityState) -> list[tuple[int, float]]:
        """Return equal probabilities for all actions, or those of a chance node."""
        if state.is_chance_node():
            return state.chance_outcomes()
        actions = state.legal_actions()
        return [(action, 1 / len(actions)) for action in actions]


def mcts_bot(*, simulations: int, evaluator: str = "quick") -> MakeBot:
    """Return what makes OpenSpiel's Monte Carlo tree search (max^n) with `simulations` for a decision."""

    def make(game: HappyCityGame, seat: int, seed: int) -> Any:
        return mcts.MCTSBot(
            game,
            uct_c=EXPLORATION,
            max_simulations=simulations,
            evaluator=PlayoutEvaluator(evaluator, random.Random(seed)),
            solve=False,  # a proof takes more simulations than a decision has
            random_state=np.random.RandomState(seed % 2**32),
        )

    return make


def random_bot(game: HappyCityGame, seat: int, seed: int) -> Any:
    """Return OpenSpiel's bot that plays any legal action."""
    return pyspiel.make_uniform_random_bot(seat, seed % 2**31)


class OpenSpielBot(Bot):
    """Plays by a bot or policy of OpenSpiel. Make a factory of such bots with `openspiel_bot`.

    Each decision is put to it as a state of its own, without history. It thinks in a thread, so that its
    connection stays alive meanwhile.
    """

    def __init__(self, start: GameStarted, *, make: MakeBot) -> None:
        super().__init__(start)
        self._game = pyspiel.load_game(NAME, config_json(start.config))
        self._player = make(self._game, start.seat, self.rng.getrandbits(32))

    async def choose(self, decision: Decision) -> Move:
        """Return the move of OpenSpiel's bot."""
        position = Game.from_view(decision.view, self.rng).opened()
        return await asyncio.to_thread(self._think, HappyCityState(self._game, position))

    def _think(self, state: HappyCityState) -> Move:
        if hasattr(self._player, "step"):
            return move_of(int(self._player.step(state)))
        chances: dict[int, float] = self._player.action_probabilities(state)
        actions = sorted(chances)
        (action,) = self.rng.choices(actions, [chances[each] for each in actions])
        return move_of(action)


def openspiel_bot(make: MakeBot) -> Callable[[GameStarted], OpenSpielBot]:
    """Return what makes a bot for each game; hand it to `happycity_client.run`."""

    def start(game: GameStarted) -> OpenSpielBot:
        return OpenSpielBot(game, make=make)

    return start
