"""The tables of the vector environment are games of the engine, seen from one seat each."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from numpy.typing import NDArray

from happycity import ConfigError
from happycity_envs.selfplay import Observations
from happycity_envs.vector import HappyCityVectorEnv

HAPPY_CITY = "happycity_envs.gymnasium:HappyCity-v0"


def first_legal(observations: NDArray[np.float32], masks: NDArray[np.int8]) -> Any:
    return masks.argmax(1)


def last_legal_by_values(observations: NDArray[np.float32], masks: NDArray[np.int8]) -> Any:
    """Answer by a value for each action; the highest are illegal."""
    return np.arange(masks.shape[1]) * np.ones(masks.shape) + 1000.0 * (1 - masks)


def play_randomly(envs: VectorEnv[Any, Any, Any], steps: int, *, seed: int = 5) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(1)
    observations, infos = envs.reset(seed=seed)
    seen: list[tuple[Any, ...]] = [(observations, infos)]
    for _ in range(steps):
        mask = seen[-1][-1]["action_mask"]
        seen.append(envs.step((rng.random(mask.shape) * mask).argmax(1)))
    return seen


@pytest.mark.parametrize("options", [{}, {"mode": "expert", "reward": "points"}], ids=str)
def test_it_keeps_to_gymnasiums_rules(options: dict[str, Any]) -> None:
    """What `check_env` asks of one environment, of many: spaces, types, the same again by the same seed."""
    tables = 6
    envs = gymnasium.make_vec(HAPPY_CITY, tables, opponents=("random", first_legal), **options)
    assert isinstance(envs.unwrapped, HappyCityVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    played = play_randomly(RecordEpisodeStatistics(envs), 60)
    ended = 0
    for observations, rewards, terminations, truncations, infos in played[1:]:
        assert envs.observation_space.contains(observations)
        assert [array.shape for array in (rewards, terminations, truncations)] == [(tables,)] * 3
        assert [array.dtype for array in (rewards, terminations, truncations)] == [float, bool, bool]
        assert not truncations.any()
        assert not rewards[~terminations].any()
        if terminations.any():
            ended += terminations.sum()
            assert (infos["_final_info"] == terminations).all()
            assert (infos["episode"]["r"][terminations] == rewards[terminations]).all()
            assert all(
                envs.single_observation_space.contains(row) for row in infos["final_obs"][terminations]
            )
    assert ended > tables
    again = play_randomly(RecordEpisodeStatistics(envs), 60)
    for one, other in zip(played, again, strict=True):
        assert data_equivalence([*one[:-1], one[-1]["action_mask"]], [*other[:-1], other[-1]["action_mask"]])
    different = play_randomly(envs, 1, seed=6)
    assert not data_equivalence(played[1][0], different[1][0])


def test_rows_are_the_own_seats_positions() -> None:
    """The own seat decides in each; it moves on by one with each game; the reward is that of its rank."""
    envs = HappyCityVectorEnv(4, opponents=(last_legal_by_values, "greedy", first_legal))
    rng, own = np.random.default_rng(2), Observations(4)
    observations, infos = envs.reset(seed=1)
    seats = envs.seats.copy()
    games = 0
    while games < 8:
        for row in range(4):
            game = envs.play.follow(row).game
            assert game.seat == seats[row]
            assert (observations[row] == own.of(game, game.seat)).all()
        played = [envs.play.follow(row) for row in range(4)]
        mask = infos["action_mask"]
        observations, rewards, over, _, infos = envs.step((rng.random(mask.shape) * mask).argmax(1))
        for row in np.flatnonzero(over).tolist():
            games += 1
            last = played[row]
            last.catch_up(envs.last_games[row].actions)
            assert last.game.outcome == envs.last_games[row].outcome
            assert (infos["final_obs"][row] == own.of(last.game, seats[row])).all()
            rank = infos["final_info"]["rank"][row]
            assert rewards[row] <= 1 - 2 * (rank - 1) / 3 + 1e-6  # less if the place is shared
            seats[row] = (seats[row] + 1) % 4


def test_opponents_are_asked_together_and_can_be_exchanged() -> None:
    asked: list[int] = []

    def past_self(observations: NDArray[np.float32], masks: NDArray[np.int8]) -> Any:
        asked.append(len(observations))
        return masks.argmax(1)

    envs = HappyCityVectorEnv(32, opponents=(past_self,) * 3)
    play_randomly(envs, 3)
    assert max(asked) > 20  # all three, at nearly all tables that wait
    envs.opponents[:] = ["random"] * 3
    before = len(asked)
    envs.step(envs.play.arrays.masks.argmax(1))
    assert len(asked) == before


def test_an_illegal_action_costs_the_game() -> None:
    envs = HappyCityVectorEnv(3, opponents=("random",))
    seen, infos = envs.reset(seed=1)
    actions = infos["action_mask"].argmax(1)
    actions[1] = infos["action_mask"][1].argmin()
    _, rewards, over, _, infos = envs.step(actions)
    assert rewards.tolist() == [0, -1, 0]
    assert over.tolist() == [False, True, False]
    assert infos["final_info"]["illegal"].tolist() == over.tolist()
    assert (infos["final_obs"][1] == seen[1]).all()  # nothing was played
    assert infos["action_mask"].any(1).all()


def test_what_is_impossible_is_refused() -> None:
    for options, problem in [
        ({"opponents": ()}, "opponents: 0 is not between 1 and 4"),
        ({"opponents": ("gredy",)}, "greedy"),
        ({"num_envs": 0}, "games: 0 is less than 1"),
    ]:
        with pytest.raises(ConfigError, match=problem):
            HappyCityVectorEnv(**options)  # type: ignore[arg-type]
    envs = HappyCityVectorEnv(2)
    with pytest.raises(ResetNeeded, match="call reset first"):
        envs.step(np.array([0, 0]))
    for seeds in ([], [1], [1, 2, 3]):
        with pytest.raises(ConfigError, match=f"seed: {len(seeds)} instead of 2, one for each table"):
            envs.reset(seed=seeds)  # type: ignore[arg-type]
    envs.reset(seed=1)
    for actions in ([1], [-1, 0], [0, 141]):
        with pytest.raises(ConfigError, match="actions: not 2 numbers between 0 and 140"):
            envs.step(np.array(actions))
    with pytest.raises(ValueError, match="the policy returned"):
        HappyCityVectorEnv(2, opponents=(lambda *_: [1, 2, 3],)).reset(seed=1)


def test_a_seed_for_each_table_makes_what_it_makes_of_one() -> None:
    options: dict[str, Any] = {"opponents": ("random", "greedy")}
    envs, alone = HappyCityVectorEnv(3, **options), HappyCityVectorEnv(1, **options)
    observations, infos = envs.reset(seed=[7, None, 9])
    for row, seed in ((0, 7), (2, 9)):
        one, info = alone.reset(seed=seed)
        assert (observations[row] == one[0]).all()
        assert (infos["action_mask"][row] == info["action_mask"][0]).all()
    again, _ = envs.reset(seed=[7, None, 9])
    assert [(one == other).all() for one, other in zip(observations, again, strict=True)] == [
        True,
        False,
        True,
    ]


def test_opponents_sit_in_their_order_after_the_own_seat() -> None:
    place = next(place for plane, _, place in Observations(3).parts() if plane.name == "seat")
    asked: list[set[int]] = [set(), set()]

    def opponent(number: int) -> Any:
        def policy(observations: NDArray[np.float32], masks: NDArray[np.int8]) -> Any:
            asked[number].update(observations[:, place].argmax(1).tolist())
            return masks

        return policy

    envs = HappyCityVectorEnv(4, opponents=[opponent(0), opponent(1)], seat=1)
    _, infos = envs.reset(seed=1)
    for _ in range(20):
        *_, infos = envs.step(infos["action_mask"].argmax(1))
    assert asked == [{2}, {0}]
