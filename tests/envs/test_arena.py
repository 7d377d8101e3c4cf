"""Policies and searches of other worlds play in the arena, over gRPC like anybody's bot."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.commands.programs import tournament

from happycity import Config, ConfigError, Event, EventKind, Game, Mode, Move
from happycity.selfplay import ACTION_COUNT, Observations, action_of, mask_of
from happycity_bots import GreedyBot
from happycity_client import Decision, GameStarted
from happycity_envs.arena import PolicyBot, choose_action, policy_bot
from happycity_envs.cli import openspiel_bot

POLICY = """
import numpy
from happycity_client import run
from happycity_envs.arena import policy_bot

def last_legal(observation, mask):
    return numpy.flatnonzero(mask)[-1]

run(policy_bot(last_legal))
"""
COIN = action_of(Move.parse("coin"))
SPIEL = """
import pyspiel
from open_spiel.python.policy import UniformRandomPolicy

def uniform(game, seat, seed):
    return UniformRandomPolicy(game)
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def played(*arguments: str) -> dict[str, float]:
    """Play a tournament of four games, all of which `mine` must finish; return the ratings."""
    done = tournament("run", "--no-web", "--seed", "1", "--seats", "2", "--json", *arguments)
    assert done.status == 0, done.errors
    result = json.loads(done.output)
    standings = {line["bot"]: line for line in result["standings"]}
    assert (standings["mine"]["games"], standings["mine"]["forfeits"]) == (4, 0)
    return {bot: line["elo"] for bot, line in standings.items()}


@pytest.mark.thorough
@pytest.mark.parametrize("mode", [mode.value for mode in Mode])
def test_a_policy_plays_a_tournament(mode: str) -> None:
    """Two lines make a bot of any callable on observation and mask."""
    Path("mine.py").write_text(POLICY, encoding="utf-8")
    played("--rounds", "2", "--mode", mode, "--bots", "random", "--bot", f"mine={sys.executable} mine.py")


def bot_for(policy: Any, game: Game) -> PolicyBot:
    start = GameStarted(match_id=0, config=game.config, seat=game.seat, bots=("", ""), seed=1)
    return policy_bot(policy)(start)


@pytest.mark.parametrize("mode", Mode)
def test_a_policy_sees_what_it_was_trained_on(mode: Mode) -> None:
    """Observation and mask of a decision are those of self-play in the same position, discards included."""
    game = Game.deal(Config(players=2, mode=mode), seed=1)
    seen: list[tuple[NDArray[np.float32], NDArray[np.int8]]] = []

    def policy(observation: NDArray[np.float32], mask: NDArray[np.int8]) -> int:
        seen.append((observation, mask))
        legal = np.flatnonzero(mask)  # buys nothing, and always discards: piles become decks again
        discards = mask[action_of(Move.parse("keep"))]
        return COIN if mask[COIN] else int(legal[-1 if discards else 0])

    bots = [bot_for(policy, game) for _ in range(2)]
    pending: list[list[Event]] = [[], []]
    unanswered = rebuilt = 0
    while game.outcome is None:
        for events in pending:
            events.extend(game.events)
        seat = game.seat
        move = bots[seat].choose(Decision.of(game, pending[seat]))
        # A decision that the clock settles while the stream is lost: its events are sent again.
        if game.round % 3:
            pending[seat] = []
        else:
            unanswered += 1
        assert isinstance(move, Move)
        observation, mask = seen.pop()
        assert (observation == Observations(2).of(game, game.seat)).all()
        assert (mask == mask_of(game.legal_moves)).all()
        game.apply(move)
        rebuilt += any(event.kind is EventKind.DECK_REBUILT for event in game.events)
    assert unanswered > 5
    assert rebuilt


def test_a_policy_is_not_asked_with_missing_events() -> None:
    game = Game.deal(Config(players=2), seed=1)
    while not game.discarded:
        game.apply(game.legal_moves[-1])
    with pytest.raises(ValueError, match=r"discard piles of \(.*\) cards"):
        bot_for(lambda *_: 0, game).choose(Decision.of(game, ()))


def test_what_a_policy_may_return() -> None:
    # Logits or probabilities: the highest legal one counts, whatever illegal ones are.
    mask = np.zeros(ACTION_COUNT, np.int8)
    mask[[3, 7]] = 1
    values = np.zeros(ACTION_COUNT)
    values[[3, 7, 9]] = -5, -2, 100
    observation = np.zeros(4, np.float32)
    assert choose_action(lambda *_: values, observation, mask) == 7
    assert choose_action(lambda *_: np.array([[3]]), observation, mask) == 3

    # One line says what the policy returned and what is legal; the arena counts it as a crash.
    for answer, problem in [
        (5, "chose action 5, which is not legal: 3"),
        (-1, "chose action -1"),
        (9999, "chose action 9999"),
        ([1, 2, 3], "returned 3 numbers instead of 1 or 141"),
    ]:
        mask = np.zeros(ACTION_COUNT, np.int8)
        mask[3] = 1
        with pytest.raises(ValueError, match=problem):
            choose_action(lambda *_, answer=answer: answer, np.zeros(4, np.float32), mask)


@pytest.fixture
def openspiel() -> Any:
    return pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: make envs")


@pytest.mark.usefixtures("openspiel")
@pytest.mark.parametrize("mode", [mode.value for mode in Mode])
def test_openspiels_search_finishes_a_rated_tournament(mode: str) -> None:
    """Monte Carlo tree search plays all its games in time and is rated above a random bot."""
    command = f"{sys.executable} -m happycity_envs mcts --simulations 10"
    ratings = played("--rounds", "2", "--mode", mode, "--bots", "random", "--bot", f"mine={command}")
    assert ratings["mine"] > ratings["random"]


@pytest.mark.usefixtures("openspiel")
def test_a_policy_of_openspiel_plays_a_tournament() -> None:
    Path("spiel.py").write_text(SPIEL, encoding="utf-8")
    command = f"{sys.executable} -m happycity_envs spiel:uniform"
    played("--rounds", "2", "--bots", "random", "--bot", f"mine={command}")


@pytest.mark.usefixtures("openspiel")
@pytest.mark.parametrize(
    ("bot", "problem"),
    [
        ("mtcs", "BOT: 'mtcs' is neither a bot nor MODULE:FUNCTION; did you mean mcts?"),
        ("nowhere:make", "BOT: 'nowhere:make' can't be imported: No module named 'nowhere'"),
    ],
)
def test_a_bot_that_does_not_exist_is_refused(bot: str, problem: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "happycity_envs", bot], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, f"error: {problem}\n")


def test_the_command_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OpenSpiel, one line says how to install it."""
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    for name in [name for name in sys.modules if name.startswith("happycity_envs.openspiel")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigError, match=r"^pyspiel is not installed; .* 'happycity\[openspiel\]'$"):
        openspiel_bot("mcts")


EXAMPLES = Path(__file__).parents[2] / "clients/envs/examples"


@pytest.fixture
def train(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("train")


def test_a_trained_network_is_kept_in_a_file(train: Any) -> None:
    """A short training gets better at what the teacher plays, and a saved network plays the same again."""
    config = Config(players=2)
    lessons = train.collect(config, games=8, steps=40, seed=1)
    network = train.Network.fresh(Observations(2).size, np.random.default_rng(1))
    first = network.learn(lessons, rate=1e-3)
    for _ in range(30):
        last = network.learn(lessons, rate=1e-3)
    assert last > first + 0.2
    network.save(Path("policy.npz"))
    again = train.Network.load(Path("policy.npz"))
    observation, mask = lessons.observations[0], lessons.masks[0]
    assert (again(observation, mask) == network(observation, mask)).all()
    game = Game.deal(config, seed=1)
    assert bot_for(again, game).choose(Decision.of(game)) in game.legal_moves


@pytest.mark.thorough
@pytest.mark.timeout(1200)
def test_a_trained_network_beats_greedy(train: Any) -> None:
    """Minutes of training are enough: by three standard errors, on deals that each side plays twice."""
    config = Config(players=4)
    network = train.train(config)
    mean, error = train.gain(network, GreedyBot, config, deals=200, seed=10**9)
    assert mean > 3 * error
