"""The SDKs of other languages, by their example bots: built by `make clients`, played as whole programs."""

import importlib
import json
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from types import ModuleType

import pytest
from tests.clients.programs import Reference, played, standings
from tests.commands.programs import ALL_GAMES
from tests.docs.transcripts import check_transcript
from tests.programs import run
from tests.server.harness import issued_token
from tests.server.server_process import server_process
from tests.waiting import LIMIT
from tools.languages import CLIENTS, LANGUAGES, SDKS, command, missing

from happycity import Mode
from happycity.records.replay import config_of, positions_of
from happycity_client import Bot, Decision, GameStarted
from happycity_runtime.guests import settings_text
from happycity_runtime.tokens import Role
from happycity_tournament.storage.store import Store


@pytest.mark.parametrize("mode", list(Mode), ids=lambda mode: mode.value)
def test_greedy_plays_as_python_does(greedy: str, mode: Mode, in_python: Reference, tmp_path: Path) -> None:
    records = played(("--bots", "random", "--bot", f"greedy={greedy}"), mode=mode, folder=tmp_path)
    assert records == in_python("greedy", mode)


def test_the_first_bot_plays_as_in_python(first: str, in_python: Reference, tmp_path: Path) -> None:
    records = played(("--bots", "random", "--bot", f"first={first}"), mode=Mode.FAMILY, folder=tmp_path)
    assert records == in_python("first", Mode.FAMILY)


def test_the_first_bot_of_the_bridge_plays_as_in_python(in_python: Reference, tmp_path: Path) -> None:
    if shutil.which("jq") is None:
        pytest.skip("there is no jq")
    bash = ["bash", str(CLIENTS / "examples" / "bash" / "first.sh")]
    first = shlex.join([sys.executable, "-m", "happycity", "bridge", "--", *bash])
    records = played(("--bots", "random", "--bot", f"first={first}"), mode=Mode.FAMILY, folder=tmp_path)
    assert records == in_python("first", Mode.FAMILY)


def test_a_bot_reads_the_file_of_a_guest(first: str, tmp_path: Path) -> None:
    """It plays under the name of the file, by the token of that name, in a folder without anything else."""
    folder, tokens = tmp_path / "guest", tmp_path / "tokens.json"
    folder.mkdir()
    own = {name: issued_token(tokens, Role.BOT, name) for name in ("alice", "bea")}
    with server_process(tmp_path, "--tokens", str(tokens)) as server:
        text = settings_text(server.address, "", own, HAPPYCITY_NAME="bea")
        (folder / "happycity.env").write_text(text)
        bot = subprocess.Popen(
            ["sh", "-c", f"exec {first}"],
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert bot.stdout is not None
        said: list[str] = []
        while not said or "connected to" not in said[-1]:
            said.append(bot.stdout.readline())
            assert said[-1], said
        (connected,) = json.loads(run("status", "--json", cwd=folder).stdout)["bots"]
        assert connected["name"] == "bea"
        bot.terminate()
        rest, _ = bot.communicate(timeout=LIMIT)
        assert bot.returncode == 0, rest


def test_all_languages_at_the_same_tables(tmp_path: Path) -> None:
    """They finish all games and decide alike, so every deal is even, and all are rated alike."""
    commands = {language: command(language, "greedy") for language in LANGUAGES}
    built = {language: bot for language, bot in commands.items() if not missing(bot)}
    if not built:
        pytest.skip("no language is built; `make clients` builds those that this machine has the tools for")
    options = [argument for language, bot in built.items() for argument in ("--bot", f"{language}={bot}")]
    lines = standings(("--bots", "greedy", *options), "--rounds", "20", "--seed", "1", folder=tmp_path)
    assert {line["bot"] for line in lines} == {"greedy", *built}
    assert [line["forfeits"] for line in lines] == [0] * len(lines)
    assert {line["elo"] for line in lines} == {1500}


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.nightly)])
def test_search_bots_of_all_languages_at_the_same_tables(
    rounds: int, engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has the native engine by its own SDK, plays all its games, and chooses as Python's would there."""
    monkeypatch.setenv("PYTHONPATH", str(Path(str(engine.__file__)).parent))
    commands = {language: command(language, "searcher") for language in SDKS}
    ready = {language: bot for language, bot in commands.items() if not missing(bot)}
    if len(ready) < 2:
        pytest.skip(
            "no other language is built; `make clients` builds those that this machine has the tools for"
        )
    options = [argument for language, bot in ready.items() for argument in ("--bot", f"{language}={bot}")]
    # An even number of bots, so that all play in each round.
    others = "greedy" if len(ready) % 2 else "greedy,random"
    store = f"sqlite:///{tmp_path / 'games.sqlite'}"
    options += ["--rounds", str(rounds), "--seats", "2", "--seed", "1", "--store", store]
    lines = standings(("--bots", others, *options), folder=tmp_path)
    assert {line["bot"] for line in lines} == {*ready, *others.split(",")}
    assert [line["forfeits"] for line in lines] == [0] * len(lines)
    monkeypatch.syspath_prepend(CLIENTS / "python/examples")
    compared = equal_choices(store, importlib.import_module("searcher").Searcher, of=ready)
    assert min(compared[language] for language in ready) > 20 * rounds, compared


def equal_choices(store: str, searcher: Callable[[GameStarted], Bot], of: Collection[str]) -> Counter[str]:
    """Compare the recorded choices of bots with those of another one; return their numbers."""
    compared: Counter[str] = Counter()
    with Store.existing(store) as opened:
        for played in opened.games(ALL_GAMES, tournament_id=1):
            record = json.loads(opened.record(played.match_id) or "")
            seats = [
                searcher(GameStarted(played.match_id, config_of(record), seat, played.bots, seed))
                for seat, seed in enumerate(played.bot_seeds)
            ]
            for game, entry in zip(positions_of(record), record["moves"], strict=False):
                bot = played.bots[game.seat]
                if bot in of:
                    expected = seats[game.seat].choose(Decision.of(game))
                    assert str(expected) == entry["move"], f"{bot}, game {played.match_id}"
                    compared[bot] += 1
    return compared


def test_a_bot_in_go_plays_badly_and_is_mended(tmp_path: Path) -> None:
    """Its worst game shows why, the recorded decisions are answered otherwise, and it is better."""
    if lacking := missing(command("go", "greedy")):
        pytest.skip(f"there is no {lacking}; `make clients` builds what this machine has the tools for")
    check_transcript("In Go", tmp_path)
