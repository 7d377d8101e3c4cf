"""Games in step: the arrays are the games, whatever plays them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from happycity import Config, ConfigError, Game, IllegalMoveError, Mode, Move, Outcome, Scoring
from happycity.rules.scoring import score
from happycity_envs.selfplay import (
    ACTION_COUNT,
    ACTION_NUMBERING,
    ACTIONS,
    Observations,
    Reward,
    SelfPlay,
    action_of,
    rewards_of,
)

CONFIGS = [Config(players=players, mode=mode) for players in range(2, 6) for mode in Mode]


def random_actions(masks: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return a legal action for each game, all as likely."""
    choice: NDArray[Any] = (rng.random(masks.shape) * masks).argmax(1)
    return choice


@pytest.mark.level(1)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_arrays_show_the_games(config: Config) -> None:
    play = SelfPlay(config, games=6, seed=3)
    mirrors = [Game.deal(config, seed=3 + row) for row in range(6)]
    rng = np.random.default_rng(1)
    observations = Observations(config.players)
    ended = 0
    while ended < 12:
        actions = random_actions(play.arrays.masks, rng)
        play.step(actions)
        for row, action in enumerate(actions):
            game = mirrors[row]
            game.apply(ACTIONS[action])
            assert play.arrays.ended[row] == (game.outcome is not None)
            if game.outcome is not None:
                ended += 1
                assert tuple(play.arrays.rewards[row]) == pytest.approx(rewards_of(game.outcome))
                game = mirrors[row] = Game.deal(config, seed=int(play.arrays.seeds[row]))
            else:
                assert not play.arrays.rewards[row].any()
            legal = {ACTIONS[number] for number in np.flatnonzero(play.arrays.masks[row])}
            assert legal == set(game.legal_moves)
            assert play.arrays.seats[row] == game.seat
            shown = play.arrays.observations[row]
            assert (shown == observations.of(game, game.seat)).all()


def test_deals_follow_from_the_seed() -> None:
    play, rng, seeds = SelfPlay(Config(players=3), games=7, seed=5), np.random.default_rng(1), set()
    for _ in range(150):
        seeds |= set(play.arrays.seeds.tolist())
        play.step(random_actions(play.arrays.masks, rng))
    assert seeds == set(range(5, 5 + len(seeds)))
    assert len(seeds) > 7


def test_an_illegal_action_is_refused() -> None:
    play = SelfPlay(Config(), games=4)
    actions = random_actions(play.arrays.masks, np.random.default_rng(1))
    actions[2] = 0
    with pytest.raises(IllegalMoveError, match="keep"):
        play.step(actions)


def test_impossible_options_are_refused() -> None:
    with pytest.raises(ConfigError, match="games: 0"):
        SelfPlay(Config(), games=0)
    play = SelfPlay(Config(), games=2)
    with pytest.raises(ConfigError, match="actions: 1 instead of 2"):
        play.step([0])
    with pytest.raises(ConfigError, match="action: -1 is not between 0 and 140"):
        play.step([-1, 0])


def test_a_reward_by_rank_shares_places() -> None:
    """From 1 for the first to -1 for the last; tied seats share, and the sum is 0."""
    for ranks, expected in [
        ((1, 2), (1, -1)),
        ((1, 1), (0, 0)),
        ((2, 1, 3), (0, 1, -1)),
        ((1, 2, 2, 4), (1, 0, 0, -1)),
        ((1, 1, 1, 4), (1 / 3, 1 / 3, 1 / 3, -1)),
        ((5, 3, 3, 1, 2), (-1, -0.25, -0.25, 1, 0.5)),
    ]:
        zeros = (0,) * len(ranks)
        outcome = Outcome(points=zeros, coins=zeros, inhabitants=zeros, hearts=zeros, ranks=ranks)
        assert rewards_of(outcome) == pytest.approx(expected)
        assert sum(rewards_of(outcome)) == pytest.approx(0)


def test_a_reward_by_points_is_the_points() -> None:
    play = SelfPlay(Config(players=2, scoring=Scoring.SUM), games=1, reward=Reward.POINTS)
    rng = np.random.default_rng(1)
    while not play.arrays.ended[0]:
        play.step(random_actions(play.arrays.masks, rng))
    assert tuple(play.arrays.rewards[0] * 100) == pytest.approx(play.last_games[0].outcome.points)


@pytest.mark.parametrize("reward", Reward)
def test_shaped_rewards_add_up_to_the_others_less_the_first_potential(reward: Reward) -> None:
    """Nothing else differs, so what is best stays best; the first potential is that of the deal."""
    config, games = Config(players=3, mode=Mode.EXPERT), 5
    plain = SelfPlay(config, games=games, seed=2, reward=reward)
    shaped = SelfPlay(config, games=games, seed=2, reward=reward, shaped=True)
    rng, compared, between = np.random.default_rng(3), 0, 0
    firsts = [rewards_of(score(shaped.follow(row).game.cities), reward) for row in range(games)]
    sums = np.zeros((games, 3))
    while compared < 12:
        actions = random_actions(plain.arrays.masks, rng)
        plain.step(actions)
        shaped.step(actions)
        sums += shaped.arrays.rewards
        for row in range(games):
            if plain.arrays.ended[row]:
                assert plain.arrays.rewards[row] - firsts[row] == pytest.approx(sums[row], abs=1e-5)
                firsts[row], sums[row] = rewards_of(score(shaped.follow(row).game.cities), reward), 0
                compared += 1
            else:
                between += shaped.arrays.rewards[row].any()
    assert between > 50


def test_some_games_can_be_played_on_alone() -> None:
    """The others keep their rows, and the rewards of the last step are theirs no longer."""
    play = SelfPlay(Config(players=2), games=3, seed=1)
    before = play.arrays.observations.copy()
    while not play.arrays.ended[1]:
        play.step([int(play.arrays.masks[1].argmax())], rows=[1])
    assert play.arrays.rewards[1].any()
    play.step([int(play.arrays.masks[2].argmax())], rows=[2])
    assert not play.arrays.rewards.any()
    assert not play.arrays.ended.any()
    assert (play.arrays.observations[0] == before[0]).all()
    assert (play.arrays.observations[1:] != before[1:]).any(1).all()


GOLDEN = Path(__file__).with_name("golden")


def test_the_numbering_is_that_of_its_version() -> None:
    # A number keeps its meaning; a change has to raise `ACTION_NUMBERING` and keep a new file.
    kept = (GOLDEN / f"actions_{ACTION_NUMBERING}.txt").read_text(encoding="utf-8")
    assert "".join(f"{number} {move}\n" for number, move in enumerate(ACTIONS)) == kept
    # The numbering covers all moves, each once.
    assert {ACTIONS[action_of(move)] for move in Move.all()} == set(Move.all())
    assert ACTION_COUNT == len(set(ACTIONS)) == 141
