"""The training of the champion's network."""

import json
import random
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tools.training import learner as learner_module
from tools.training.games import play_many
from tools.training.learner import Learner, write_arrays
from tools.training.matches import compare
from tools.training.strengths import row
from tools.training.train import CURVE, train, weights_of

from happycity import Config, Game
from happycity_bots import BOTS, PlannerBot
from happycity_evaluation.features import position_rows
from happycity_evaluation.network import Network, quantise


def test_a_write_that_is_interrupted_leaves_the_old_file(tmp_path: Path) -> None:
    """A training that is stopped while it writes goes on from what was there before."""

    class Interrupted:
        def __array__(self, *_: object, **__: object) -> NDArray[np.float32]:
            raise KeyboardInterrupt

    path = tmp_path / "weights.npz"
    write_arrays(path, [np.zeros(3)])
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_arrays(path, [np.ones(3), Interrupted()])  # type: ignore[list-item]
    assert path.read_bytes() == before


def test_whole_numbers_play_like_the_learner() -> None:
    """The quantised network gives the learner's strengths, but for some thousandths."""
    game, rng = Game.deal(Config(), seed=3), random.Random(3)
    rows = []
    while game.outcome is None:
        rows += position_rows(game.view())
        game.apply(rng.choice(game.legal_moves))
    learner = Learner.fresh(np.random.default_rng(1))
    strengths = Network(quantise(learner.weights)).strengths(rows)
    assert np.allclose(strengths, learner.strengths(np.array(rows)[:, None])[:, 0], atol=0.005)


def test_strengths_of_bots() -> None:
    # The planner's own row in the table of strengths says +0 in both modes, as each deal is played twice.
    assert re.fullmatch(
        r"\| `planner` \| 2 \| \+0 ±0 \| \d+\.\d\d \| \+0 ±0 \| \d+\.\d\d \|\n", row("planner", 2, deals=2)
    )
    # A bot that loses every pair is named so: no number says how much weaker it is.
    result = compare(BOTS["random"], PlannerBot, Config(players=2), deals=2, seed=1)
    assert result.lead == "loses every pair"
    assert min(result.seconds) > 0


@pytest.mark.level(3)
@pytest.mark.usefixtures("engine")
def test_a_short_training_learns_and_goes_on_wherever_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes what is missing in its folder, the same from nothing, and judges unseen games better then."""
    monkeypatch.setattr(learner_module, "HIDDEN", (16, 8))
    monkeypatch.setattr(learner_module, "BATCH", 64)
    small = partial(train, files=2, games=10, epochs=20, deals=0)
    runs = []
    for folder in (tmp_path / "once", tmp_path / "again"):
        small(folder, generations=2)
        runs.append({path.name: path.read_bytes() for path in folder.iterdir() if path.name != CURVE})
    assert runs[0] == runs[1]
    for lost in (["champion-001.npz"], ["champion-001.npz", "games-00003.npz"]):
        for name in lost:
            (folder / name).unlink()
        small(folder, generations=1)
        assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name != CURVE} == runs[0]
    points = [json.loads(line) for line in (folder / CURVE).read_text().splitlines()]
    assert [point["generation"] for point in points] == [0, 1]
    unseen = play_many([], seed=77, games=24)
    untrained = Learner.fresh(np.random.default_rng(5)).loss(unseen)
    assert Learner.load(weights_of(folder, 1)).loss(unseen) < untrained - 0.03
