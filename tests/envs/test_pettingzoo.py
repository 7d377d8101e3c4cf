"""The environment of PettingZoo passes PettingZoo's own tests, and is the game."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from tests.envs.tables import each_table, options_of

from happycity import Config, ConfigError
from happycity_envs.selfplay import ACTIONS, Observations, rewards_of

pytest.importorskip("pettingzoo", reason="PettingZoo is not installed: make setup")

import pettingzoo
from pettingzoo.test import api_test, render_test, seed_test

from happycity_envs.pettingzoo import env, raw_env


@contextmanager
def dict_observations_allowed() -> Iterator[None]:
    """Ignore what `api_test` warns about all environments but its own that have masks as observations do."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Observation is not a NumPy array")
        warnings.filterwarnings("ignore", "Observation space for each agent probably should be")
        yield


@each_table
def test_the_environment_passes_the_librarys_tests(
    config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    with dict_observations_allowed():
        api_test(env(**options_of(config)), num_cycles=400)
    seed_test(lambda: env(**options_of(config)), num_cycles=50)
    render_test(lambda render_mode=None: env(**options_of(config), render_mode=render_mode))
    assert "Centre" in capsys.readouterr().out


@each_table
def test_masks_are_the_legal_moves(config: Config) -> None:
    game = raw_env(**options_of(config))
    observations = Observations(config.players)
    game.reset(seed=1)
    rng = np.random.default_rng(1)
    while game.game.outcome is None:
        agent = game.agent_selection
        assert agent == f"player_{game.game.seat}"
        seen = game.observe(agent)
        legal = np.flatnonzero(seen["action_mask"])
        assert {ACTIONS[number] for number in legal} == set(game.game.legal_moves)
        assert (game.infos[agent]["action_mask"] == seen["action_mask"]).all()
        assert (seen["observation"] == observations.of(game.game, game.game.seat)).all()
        waiting = game.possible_agents[(game.game.seat + 1) % config.players]
        assert not game.observe(waiting)["action_mask"].any()
        game.step(int(rng.choice(legal)))
    assert list(game.rewards.values()) == pytest.approx(rewards_of(game.game.outcome))
    assert all(game.terminations.values())


def test_an_illegal_action_costs_1_and_ends_the_game() -> None:
    game = env(players=2)
    game.reset(seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        game.step(0)
    assert game.rewards["player_0"] == -1
    assert all(game.terminations.values())
    for agent in game.agents:
        assert not game.observe(agent)["action_mask"].any()
        assert not game.infos[agent].get("action_mask", np.zeros(1)).any()
    with pytest.raises(ValueError, match="only valid action is None"):
        game.step(1)


def test_nothing_is_played_before_a_reset() -> None:
    with pytest.raises(ValueError, match="call reset first"):
        raw_env().step(0)


def test_the_environment_is_registered() -> None:
    game: Any = pettingzoo.make("aec", "happycity/happy_city_v0", players=3)
    game.reset(seed=1)
    assert game.possible_agents == ["player_0", "player_1", "player_2"]


def test_impossible_options_are_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"mode": "expart"}, "mode: there is no 'expart'; did you mean expert?"),
        ({"scoring": "sums"}, "scoring: there is no 'sums'; did you mean sum?"),
        ({"reward": "ranks"}, "reward: there is no 'ranks'; did you mean rank?"),
        ({"render_mode": "ansii"}, "render_mode: there is no 'ansii'; did you mean ansi?"),
        ({"players": 6}, "players: 6 is not between 2 and 5"),
    ]
    for options, problem in cases:
        with pytest.raises(ConfigError) as refused:
            env(**options)
        assert str(refused.value) == problem
