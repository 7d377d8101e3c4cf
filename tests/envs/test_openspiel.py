"""The game of OpenSpiel passes OpenSpiel's own tests, and is the engine's game."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.envs.tables import CONFIGS, options_of

from happycity import Config, ConfigError, EventKind, Game, Scoring
from happycity.records.random_games import movers_rng
from happycity.rules.cards import specials_of
from happycity_envs.selfplay import ACTIONS, Observations, action_of, rewards_of

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: make envs")

from open_spiel.python.observation import INFO_STATE_OBS_TYPE, make_observation  # noqa: E402

from happycity_envs.openspiel import NAME, HappyCityState, chance_action  # noqa: E402

TURNED_OVER = (EventKind.DRAW, EventKind.COPY)


def load(config: Config) -> Any:
    return pyspiel.load_game(NAME, options_of(config))


OPENSPIELS_TESTS = """
import importlib, sys, unittest
import numpy
from absl import flags
import happycity_envs.openspiel

module = importlib.import_module(sys.argv[1])
flags.FLAGS(["test", *sys.argv[2:]])
numpy.random.seed(1)
loader = unittest.TestLoader()
loader.testNamePatterns = ["*happy_city*"]
done = unittest.TextTestRunner().run(loader.loadTestsFromModule(module))
sys.exit(not done.wasSuccessful())
"""


@pytest.mark.parametrize(
    ("module", "flags", "tests"),
    [
        ("open_spiel.python.tests.games_sim_test", (), 5),
        ("open_spiel.integration_tests.api_test", ("--test_only_games=python_happy_city",), 5),
    ],
)
def test_openspiels_own_tests_pass(module: str, flags: tuple[str, ...], tests: int) -> None:
    """Those of its wheel, for this game alone: simulations by number of players, and the API."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OPENSPIELS_TESTS, module, *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"Ran {tests} tests" in done.stderr


PLAYTHROUGH = Path(__file__).with_name("golden") / "playthrough.txt"


def test_the_golden_playthrough_is_replayed() -> None:
    """A kept game with every state, its observations, legal actions and strings is the same again.

    After a meant change it is written again by running this module: `python -m tests.envs.test_openspiel`.
    """
    assert playthrough() == PLAYTHROUGH.read_text(encoding="utf-8")


def playthrough() -> str:
    from absl import flags  # noqa: PLC0415 - with OpenSpiel only
    from open_spiel.python.algorithms import generate_playthrough  # noqa: PLC0415

    flags.FLAGS(["test"])
    game = f"{NAME}(players=2,mode=expert)"
    text: str = generate_playthrough.playthrough(game, action_sequence=None, seed=1)
    return text


def follow(state: Any, game: Game, *, seed: int) -> int:
    config = game.config
    for special in sorted(game.specials, key=specials_of(config.mode).index):
        state.apply_action(chance_action(special))
    rng, positions = movers_rng(seed), 0
    while True:
        positions += 1
        assert state.position.view() == game.view()._replace(
            specials=tuple(card for card in specials_of(config.mode) if card in game.specials)
        )
        assert state.is_terminal() == (game.outcome is not None)
        if game.outcome is not None:
            assert state.position.outcome == game.outcome
            assert state.returns() == pytest.approx(rewards_of(game.outcome))
            return positions
        assert state.current_player() == game.seat
        assert state.legal_actions() == sorted(map(action_of, game.legal_moves))
        move = rng.choice(game.legal_moves)
        state.apply_action(action_of(move))
        game.apply(move)
        for event in game.events:
            # The special that the Sphinx copies is a card to come only if it is one of the box.
            if event.kind in TURNED_OVER and event.card is not None and state.is_chance_node():
                chances = dict(state.chance_outcomes())
                assert sum(chances.values()) == pytest.approx(1)
                assert chances[chance_action(event.card)] > 0
                state.apply_action(chance_action(event.card))


def test_states_agree_with_the_engine() -> None:
    for number in range(40):
        config = CONFIGS[number % len(CONFIGS)]
        config = Config(config.players, config.mode, Scoring.SUM if number % 3 == 0 else Scoring.PRODUCT)
        state = load(config).new_initial_state()
        assert follow(state, Game.deal(config, seed=number), seed=number) > 30


def test_chances_are_those_of_the_unseen_cards() -> None:
    """A draw has an outcome for each name, as likely as copies are left; the set-up has each special once."""
    state = load(Config(players=2)).new_initial_state()
    assert state.is_chance_node()
    assert len(state.chance_outcomes()) == 18
    for _ in range(4):
        state.apply_action(state.chance_outcomes()[-1][0])
    deck_1 = action_of(next(move for move in ACTIONS if str(move) == "draw 1"))
    state.apply_action(deck_1)
    assert {chance for _, chance in state.chance_outcomes()} == {2 / 28}
    first = state.chance_outcomes()[0][0]
    state.apply_action(first)
    state.apply_action(deck_1)
    assert Counter(round(chance * 27) for _, chance in state.chance_outcomes()) == {1: 1, 2: 13}
    assert dict(state.chance_outcomes())[first] == pytest.approx(1 / 27)


def test_set_ups_and_copies() -> None:
    # In which order the specials came has no trace in the state.
    texts = set()
    for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
        state = load(Config(players=2)).new_initial_state()
        outcomes = [action for action, _ in state.chance_outcomes()]
        for number in order:
            state.apply_action(outcomes[number])
        texts.add(str(state))
    assert len(texts) == 1

    # What is played in a clone changes nothing in the state.
    state = random_state(Config(), seed=1)
    before, clone = str(state), state.clone()
    while not clone.is_terminal():
        actions = [action for action, _ in clone.chance_outcomes()] if clone.is_chance_node() else None
        clone.apply_action((actions or clone.legal_actions())[0])
    assert str(state) == before


def random_state(config: Config, *, seed: int) -> HappyCityState:
    """Return a position some way into a game."""
    rng = random.Random(seed)
    state: HappyCityState = load(config).new_initial_state()
    for _ in range(80):
        step(state, rng)
    while state.is_chance_node():
        step(state, rng)
    return state


def step(state: HappyCityState, rng: random.Random) -> None:
    if state.is_chance_node():
        actions, weights = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(rng.choices(actions, weights)[0])
    else:
        state.apply_action(rng.choice(state.legal_actions()))


def test_tensors_are_those_of_the_arena() -> None:
    config = Config(players=3)
    game = load(config)
    state = random_state(config, seed=2)
    assert state.position is not None
    for player in range(3):
        expected = Observations(3).of(state.position, player)
        assert (np.array(state.observation_tensor(player), np.float32) == expected).all()
        recall = make_observation(game, INFO_STATE_OBS_TYPE)
        recall.set_from(state, player)
        assert (recall.tensor == expected).all()
        assert (np.array(state.information_state_tensor(player), np.float32) == recall.tensor).all()
        assert recall.dict["discarded"].sum() * 2 == sum(state.position.discard_sizes) > 0
        assert recall.dict["seats"].shape == (3, Observations(3).seat_size)
    assert state.observation_string(0).startswith("seat 1\n")


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"mode: there is no 'expart'; did you mean expert\?"):
        pyspiel.load_game(f"{NAME}(mode=expart)")


if __name__ == "__main__":
    PLAYTHROUGH.write_text(playthrough(), encoding="utf-8")
