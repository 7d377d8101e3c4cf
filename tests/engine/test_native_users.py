"""Self-play and reference bots do the same with the native engine and without it; luck is taken off by it."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tools.benchmarks.luck import play_deal, variance_ratio
from tools.engine.engine_equality import take_at_random

from happycity import Config, Deal, Game, IllegalMoveError, Mode, Move, Phase, Scoring
from happycity.records.random_games import record_random_game
from happycity_bots import BOTS
from happycity_client import Bot, Decision, GameStarted
from happycity_envs.gymnasium import HappyCityEnv
from happycity_envs.selfplay import Reward, SelfPlay
from happycity_envs.vector import HappyCityVectorEnv
from happycity_evaluation.evaluator import Evaluator
from happycity_tournament.luck_adjusted import PlayedCards, luck_evaluator, luck_of

pytestmark = [pytest.mark.level(3), pytest.mark.usefixtures("engine")]

KINDS = [
    Config(players=players, mode=mode, scoring=scoring)
    for players, scoring in ((2, Scoring.PRODUCT), (3, Scoring.SUM), (4, Scoring.PRODUCT), (5, Scoring.SUM))
    for mode in Mode
]


class Uses:
    """Switches what is under test to the engine, or to Python."""

    def __init__(self, engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        self._engine, self._patch = engine, monkeypatch

    def native(self, *, used: bool) -> None:
        self._patch.setattr("happycity_envs.selfplay.Games", self._engine.Games if used else None)
        self._patch.setattr("happycity_bots.sampled.Worlds", self._engine.Worlds if used else None)


@pytest.fixture
def uses(engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Uses:
    return Uses(engine, monkeypatch)


def arrays_of(play: SelfPlay) -> list[NDArray[Any]]:
    arrays = play.arrays
    return [
        arrays.observations,
        arrays.masks,
        arrays.seats,
        arrays.ended,
        arrays.rewards,
        arrays.seeds,
    ]


@pytest.mark.parametrize("config", KINDS, ids=str)
@pytest.mark.parametrize("shaped", [False, True])
def test_arrays_are_equal(config: Config, shaped: bool, uses: Uses) -> None:  # noqa: FBT001
    """Every row, mask, seat and reward after every step, until each row has ended some games."""
    plays = []
    for native in (False, True):
        uses.native(used=native)
        plays.append(SelfPlay(config, games=5, seed=2**63, reward=Reward.POINTS, shaped=shaped))
    pure, native_play = plays
    rng, ended = np.random.default_rng(1), np.zeros(5, int)
    while ended.min() < 3:
        rows = None if rng.random() < 0.9 else sorted(rng.permutation(5)[:2].tolist())
        masks = pure.arrays.masks if rows is None else pure.arrays.masks[rows]
        actions = (rng.random(masks.shape) * masks).argmax(1)
        for play in plays:
            play.step(actions, rows)
        for one, other in zip(arrays_of(pure), arrays_of(native_play), strict=True):
            assert one.tobytes() == other.tobytes()
        assert pure.last_games.keys() == native_play.last_games.keys()
        for row, last in pure.last_games.items():
            other_last = native_play.last_games[row]
            assert (last.outcome, last.actions) == (other_last.outcome, other_last.actions)
            for seat in range(config.players):
                assert last.observation(seat).tobytes() == other_last.observation(seat).tobytes()
        ended += pure.arrays.ended
        row = int(rng.integers(5))
        assert pure.follow(row).events == native_play.follow(row).events


def test_illegal_actions_are_refused_alike(uses: Uses) -> None:
    """Nothing is played."""
    for native in (False, True):
        uses.native(used=native)
        play = SelfPlay(Config(), games=4)
        before = play.arrays.observations.copy()
        actions = play.arrays.masks.argmax(1)
        actions[2] = 0
        with pytest.raises(IllegalMoveError, match="keep"):
            play.step(actions)
        assert (play.arrays.observations == before).all()


@pytest.mark.parametrize("shaped", [False, True])
@pytest.mark.parametrize(
    "opponents", [("greedy", "random"), (lambda rows, masks: masks, "greedy"), ("random",) * 4]
)
def test_environments_are_equal(opponents: Any, shaped: bool, uses: Uses) -> None:  # noqa: FBT001
    """So are environments of many tables and of one: what each step returns."""
    runs: list[list[Any]] = []
    for native in (False, True):
        uses.native(used=native)
        envs, env, rng = (
            HappyCityVectorEnv(3, opponents=opponents, shaped=shaped),
            HappyCityEnv(opponents=opponents),
            random.Random(1),
        )
        observations, infos = envs.reset(seed=4)
        steps: list[Any] = [observations.tobytes()]
        for _ in range(120):
            observations, rewards, over, _, infos = envs.step(infos["action_mask"].argmax(1))
            finals = [row.tobytes() for row in infos["final_obs"][over]] if over.any() else []
            steps.append((observations.tobytes(), rewards.tolist(), over.tolist(), finals))
        for seed in range(2):
            _, info = env.reset(seed=seed)
            done = False
            while not done:
                legal = np.flatnonzero(info["action_mask"]).tolist()
                observation, reward, done, _, info = env.step(rng.choice(legal))
                steps.append((observation.tobytes(), reward, done, env.game.view()))
            steps.append((info["points"], info["rank"], env.game.outcome))
        runs.append(steps)
    assert runs[0] == runs[1]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("name", ["planner", "careless", "rollout", "search", "champion"])
def test_bots_choose_alike(name: str, mode: Mode, uses: Uses) -> None:
    """At each decision of games in which random movers have the other seats.

    Between two decisions a bot keeps its generator, so one draw more or less would change all that follow.
    """
    choices: dict[bool, list[Move]] = {}
    tried = 0
    for native in (True, False):
        uses.native(used=native)
        choices[native] = []
        for seed in range(3):
            game, rng = Game.deal(Config(players=2 + seed, mode=mode), seed=seed), random.Random(seed)
            names = tuple("abcd"[: game.config.players])
            seats: list[Bot] = [
                BOTS[name](GameStarted(match_id=1, config=game.config, seat=seat, bots=names, seed=seat))
                for seat in range(game.config.players)
            ]
            while game.outcome is None:
                if game.seat == seed % game.config.players:
                    tried += game.phase in (Phase.BUY, Phase.SPECIAL)
                    choice = seats[game.seat].choose(Decision.of(game))
                    assert isinstance(choice, Move)
                    move = choice
                    choices[native].append(move)
                else:
                    move = take_at_random(game, rng)
                game.apply(move)
    assert choices[True] == choices[False]
    assert tried > 40


def test_luck_by_games_played_on() -> None:
    """It takes off the score of deals what the cards decided; what a seat won others lost."""
    scores = []
    for number in range(100):  # with 30 the ratio varies from 1.4 to 5
        deal = Deal.shuffle(Config(players=2), seed=6 * 10**9 + number)
        scores.append(play_deal(deal, [BOTS["rollout"], BOTS["planner"]], luck_evaluator(8))[:2])
    won, luck = np.array(scores).T
    assert variance_ratio(won, won - luck)[0] > 1.5

    deal = Deal.shuffle(Config(players=3), seed=5)
    record = record_random_game(deal, random.Random(1))
    found = [luck_of(record, PlayedCards(games)) for games in (2, 2, 3)]
    assert found[0] == found[1] != found[2]
    assert [sum(luck) for luck in found] == pytest.approx([0, 0, 0])
    digests = {evaluator.digest for evaluator in (Evaluator(), PlayedCards(2), PlayedCards(3))}
    assert len(digests) == 3
