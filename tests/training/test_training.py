"""The training of the champion's network."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from training import learner as learner_module
from training.__main__ import CURVE, WEIGHTS, train
from training.games import MAX_SEATS, Positions, play, play_many
from training.learner import Learner, fit, targets
from training.matches import compare
from training.strengths import row

from happycity import Config, Deal
from happycity_bots import BOTS, GreedyBot, PlannerBot
from happycity_bots.champion import ChampionBot
from happycity_bots.network import Network, quantise


def test_the_targets_of_a_pair_of_seats_add_up() -> None:
    """What is a win for one seat is a loss for the other; seats that don't play count for nothing."""
    target, weight = targets(np.array([[30.0, 20.0, 20.0, -1, -1]], np.float32))
    assert np.allclose(target[0, :3, :3] + target[0, :3, :3].T, 1)
    assert target[0, 1, 2] == 0.5
    assert target[0, 0, 1] > 0.5
    assert weight[0].sum() == pytest.approx(1)
    assert not weight[0, 3:].any()
    assert not weight[0, :, 3:].any()


def test_a_gradient_step_makes_the_loss_smaller() -> None:
    """The same positions are judged better after some steps."""
    deal = Deal.shuffle(Config(players=2), seed=1)
    positions = play(deal, [GreedyBot, GreedyBot])
    many = Positions(np.repeat(positions.rows, 600, axis=0), np.repeat(positions.points, 600, axis=0))
    rng = np.random.default_rng(1)
    learner = Learner.fresh(rng)
    before = learner.loss(many)
    fit(learner, many, epochs=2, rate=2e-3, rng=rng)
    assert learner.loss(many) < before


def test_a_learner_goes_on_from_its_file(tmp_path: Path) -> None:
    """The weights are kept, and what Adam remembers."""
    positions = play(Deal.shuffle(Config(players=3), seed=2), [GreedyBot] * 3)
    many = Positions(np.repeat(positions.rows, 100, axis=0), np.repeat(positions.points, 100, axis=0))
    learner = Learner.fresh(np.random.default_rng(1))
    fit(learner, many, epochs=1, rate=1e-3, rng=np.random.default_rng(2))
    learner.save(tmp_path / "learner.npz")
    again = Learner.load(tmp_path / "learner.npz")
    for each in (learner, again):
        fit(each, many, epochs=1, rate=1e-3, rng=np.random.default_rng(3))
    assert again.loss(many) == learner.loss(many)


def test_a_save_that_is_interrupted_leaves_the_old_file(tmp_path: Path) -> None:
    """A training that is stopped while it writes goes on from the generation before."""

    class Interrupted:
        def __array__(self, *_: object, **__: object) -> NDArray[np.float32]:
            raise KeyboardInterrupt

    learner = Learner.fresh(np.random.default_rng(1))
    learner.save(tmp_path / "learner.npz")
    before = (tmp_path / "learner.npz").read_bytes()
    learner.weights[-1] = Interrupted()  # type: ignore[call-overload]
    with pytest.raises(KeyboardInterrupt):
        learner.save(tmp_path / "learner.npz")
    assert (tmp_path / "learner.npz").read_bytes() == before


def test_whole_numbers_play_like_the_learner() -> None:
    """The quantised network gives the learner's strengths, but for some thousandths."""
    positions = play(Deal.shuffle(Config(), seed=3), [GreedyBot] * 4)
    learner = Learner.fresh(np.random.default_rng(1))
    rows = positions.rows[:, :4].reshape(-1, positions.rows.shape[2])
    strengths = Network(quantise(learner.weights)).strengths(rows.tolist())
    assert np.allclose(strengths, learner.strengths(rows), atol=0.005)


def test_positions_have_a_row_for_each_seat() -> None:
    """Rows of seats that don't play are zeros, and their points are -1."""
    positions = play(Deal.shuffle(Config(players=3), seed=1), [GreedyBot] * 3)
    assert positions.rows.shape[1] == MAX_SEATS
    assert not positions.rows[:, 3:].any()
    assert (positions.points[:, 3:] == -1).all()
    assert (positions.points[:, :3] >= 0).all()


def test_a_bot_as_strong_as_the_planner_is_level_with_it() -> None:
    """The planner's own row in the table of strengths says +0 in both modes, as each deal is played twice."""
    assert re.fullmatch(
        r"\| `planner` \| 2 \| \+0 ±0 \| \d+\.\d\d \| \+0 ±0 \| \d+\.\d\d \|\n", row("planner", 2, deals=2)
    )


def test_a_bot_that_never_wins_has_no_elo() -> None:
    """A bot that loses every pair is named so: no number says how much weaker it is."""
    result = compare(BOTS["random"], PlannerBot, Config(players=2), deals=2, seed=1)
    assert result.lead == "loses every pair"
    assert min(result.seconds) > 0


@pytest.mark.thorough
def test_a_short_training_learns_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives the same weights with a stop in between, and they judge unseen games better."""
    monkeypatch.setattr(ChampionBot, "network", None)  # restored afterwards: training sets it
    monkeypatch.setattr(learner_module, "HIDDEN", (16, 8))
    monkeypatch.setattr(learner_module, "BATCH", 64)
    train(tmp_path / "once", generations=2, games=24, epochs=40, deals=0)
    for _ in range(2):
        train(tmp_path / "twice", generations=1, games=24, epochs=40, deals=0)
    assert (tmp_path / "once" / WEIGHTS).read_bytes() == (tmp_path / "twice" / WEIGHTS).read_bytes()
    points = [json.loads(line) for line in (tmp_path / "twice" / CURVE).read_text().splitlines()]
    assert [point["generation"] for point in points] == [0, 1]
    unseen = play_many([(1.0, PlannerBot)], seed=77, games=24)
    untrained = Learner.fresh(np.random.default_rng(5)).loss(unseen)
    assert Learner.load(tmp_path / "once" / "learner.npz").loss(unseen) < untrained - 0.03
