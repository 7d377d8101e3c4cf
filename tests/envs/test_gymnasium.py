"""The environment of Gymnasium passes Gymnasium's own check, and is the game."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.envs.tables import each_table

from happycity import Config, ConfigError
from happycity.rules.cards import BUILDINGS
from happycity_bots import GreedyBot
from happycity_client import GameStarted
from happycity_envs.selfplay import ACTIONS, Observations

gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium is not installed: make setup")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from happycity_envs.arena import PolicyBot  # noqa: E402
from happycity_envs.gymnasium import HappyCityEnv  # noqa: E402

NAME = "happycity_envs.gymnasium:HappyCity-v0"


def game_of(env: Any) -> HappyCityEnv:
    own = env.unwrapped
    assert isinstance(own, HappyCityEnv)
    return own


@pytest.mark.filterwarnings("ignore:.*not within the observation space.*:UserWarning")
@each_table
def test_the_environment_passes_the_check(config: Config) -> None:
    env = gymnasium.make(NAME, opponents=("random",) * (config.players - 1), mode=config.mode.value)
    # The check plays sampled actions, most of which are not legal: that is allowed, and ends the episode.
    check_env(env.unwrapped)


def test_a_bot_of_the_sdk_may_be_an_opponent() -> None:
    """It gets all events since its last decision, so it sees which cards were discarded."""
    rows: list[NDArray[np.float32]] = []

    def policy(observation: NDArray[np.float32], mask: NDArray[np.int8]) -> int:
        rows.append(observation)
        assert (observation == Observations(2).of(game.game, 1)).all()
        return int(np.flatnonzero(mask)[-1])

    class Opponent(PolicyBot):
        def __init__(self, start: GameStarted) -> None:
            super().__init__(start, policy=policy)

    game = HappyCityEnv(opponents=[Opponent], seat=0)
    _, info = game.reset(seed=1)
    done = False
    while not done:
        _, _, done, _, info = game.step(int(np.flatnonzero(info["action_mask"])[-1]))
    assert rows[-1][-len(BUILDINGS) :].any()


@each_table
def test_every_position_is_an_own_decision(config: Config) -> None:
    """The others have played whenever the learner is asked, and the mask is the legal moves."""
    env = gymnasium.make(NAME, opponents=("random", GreedyBot, "random", "greedy")[: config.players - 1])
    observations = Observations(config.players)
    rng = np.random.default_rng(1)
    seats = set()
    for seed in range(6):
        seen, info = env.reset(seed=seed)
        game = game_of(env)
        seats.add(game.seat)
        done = False
        while not done:
            assert game.game.seat == game.seat
            legal = np.flatnonzero(info["action_mask"])
            assert {ACTIONS[number] for number in legal} == set(game.game.legal_moves)
            assert (game.action_masks() == (info["action_mask"] == 1)).all()
            assert (seen == observations.of(game.game, game.seat)).all()
            seen, reward, done, truncated, info = env.step(int(rng.choice(legal)))
            assert not truncated
        assert game.game.outcome is not None
        assert info["points"] == game.game.outcome.points[game.seat]
        assert info["rank"] == game.game.outcome.ranks[game.seat]
        assert not info["action_mask"].any()
        assert -1 <= reward <= 1
    assert len(seats) > 1


def test_a_seed_fixes_the_whole_game() -> None:
    env = gymnasium.make(NAME, opponents=("random", "random"))
    endings = []
    for seed in (4, 4, 5):
        _, info = env.reset(seed=seed)
        done = False
        while not done:
            _, _, done, _, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
        endings.append(str(game_of(env).game))
    assert endings[0] == endings[1] != endings[2]


def test_illegal_actions() -> None:
    # The learner is not asked again.
    env = gymnasium.make(NAME, seat=0)
    env.reset(seed=1)
    _, reward, done, _, info = env.step(0)
    assert (reward, done, info["illegal"]) == (-1, True, True)
    assert not info["action_mask"].any()
    assert not game_of(env).action_masks().any()

    # A number that no move has is an error of the learner, and nothing is played.
    for action in [-1, 141]:
        env = HappyCityEnv(opponents=("random", "random"))
        env.reset(seed=23)
        before = env.game.view()
        with pytest.raises(ConfigError) as refused:
            env.step(action)
        assert str(refused.value) == f"action: {action} is not between 0 and 140"
        assert env.game.view() == before


@pytest.mark.parametrize("choose", [np.argmax, np.argmin], ids=["legal", "illegal"])
def test_nothing_is_played_outside_an_episode(choose: Callable[[NDArray[np.int8]], Any]) -> None:
    """Neither before the first reset nor after an end, also one by an illegal action."""
    env = HappyCityEnv(opponents="random")
    for seed in range(2):
        with pytest.raises(gymnasium.error.ResetNeeded, match="call reset first"):
            env.step(int(env.action_masks().argmax()))
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            seen, _, over, _, info = env.step(int(choose(info["action_mask"])))
        assert (seen == Observations(2).of(env.game, env.seat)).all()
        assert (env.game.outcome is None) == ("illegal" in info)


def test_opponents_may_be_a_text() -> None:
    """As an option arrives from a command or a file of settings."""
    one, other = (HappyCityEnv(opponents=opponents) for opponents in ("greedy, random", ("greedy", "random")))
    assert one.config.players == 3
    assert one.tables.opponents == other.tables.opponents


def test_impossible_options_are_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"opponents": ()}, "opponents: 0 is not between 1 and 4"),
        ({"opponents": ("greddy",)}, "'greddy' is not a reference bot; did you mean greedy?"),
        ({"opponents": ""}, "'' is not a reference bot"),
        ({"opponents": "greedy,,random"}, "'' is not a reference bot"),
        ({"opponents": GreedyBot}, "opponents: not a list of them; for a single one write (it,)"),
        ({"opponents": 3}, "opponents: not a list of them; for a single one write (it,)"),
        ({"opponents": None}, "opponents: not a list of them; for a single one write (it,)"),
        ({"opponents": (3,)}, "opponents: 3 is neither a name, a class of bots, nor a policy"),
        ({"seat": 4}, "seat: 4 is not between 0 and 3"),
        ({"mode": "fam1ly"}, "mode: there is no 'fam1ly'; did you mean family?"),
    ]
    for options, problem in cases:
        with pytest.raises(ConfigError) as refused:
            HappyCityEnv(**options)
        assert str(refused.value).startswith(problem)
