"""Games as arrays: what learners load is what was played, and the same games give the same bytes."""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from tests.commands.programs import happycity, tournament
from tests.tournament.conftest import Run
from tests.tournament.servers import arena
from tools import ROOT

from happycity import Config, Game
from happycity_envs.selfplay import ACTIONS, Observations, mask_of, rewards_of
from happycity_tournament.config import RandomRounds, TournamentConfig

pq = pytest.importorskip("pyarrow.parquet")
minari = pytest.importorskip("minari")
BOTS = {"random": "random", "greedy": "greedy", "planner": "planner", "random2": "random"}


@pytest.mark.level(2)
def test_a_game_can_be_played_again_from_its_rows(run: Run, played: Path) -> None:
    run("export", played, "--format", "records", "--out", "games.jsonl")
    first_games = Path("games.jsonl").read_text("utf-8").splitlines(keepends=True)[:12]
    Path("games.jsonl").write_text("".join(first_games), "utf-8")
    assert dataset("games.jsonl", "--out", "rows.parquet") == "rows.parquet: 48 episodes\n"
    rows = pq.read_table("rows.parquet")
    assert rows.num_rows > 1000
    first = [row for row in rows.slice(0, 400).to_pylist() if row["game"] == 0]
    seats = [[row for row in first if row["seat"] == seat] for seat in range(4)]
    assert {row["deal_seed"] for row in first} == {seed_of("games.jsonl")}
    game = Game.deal(Config(), seed=seed_of("games.jsonl"))
    observations, returns = Observations(4), [rows[0]["return"] for rows in seats]
    while game.outcome is None:
        row = seats[game.seat].pop(0)
        np.testing.assert_array_equal(row["observation"], observations.of(game, game.seat))
        np.testing.assert_array_equal(row["mask"], mask_of(game.legal_moves))
        assert row["reward"] == (0 if seats[game.seat] else row["return"])
        game.apply(ACTIONS[row["action"]])
    np.testing.assert_allclose(returns, rewards_of(game.outcome), rtol=1e-6)
    assert not any(seats)


@pytest.mark.level(2)
def test_minari_loads_the_seats_of_a_bot(run: Run, played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(Path.cwd()))
    options = ("--format", "minari", "--bots", "greedy", "--reward", "points", "--out", "greedy-v0")
    author = ("--author", "Ann")
    assert dataset(played, *options, *author) == "greedy-v0: 48 episodes\n"
    loaded = minari.load_dataset("greedy-v0")
    assert (loaded.total_episodes, loaded.id) == (48, "greedy-v0")
    listed = minari.list_local_datasets()["greedy-v0"]
    assert (list(listed["author"]), listed["algorithm_name"]) == (["Ann"], "greedy")
    assert listed["code_permalink"].startswith("https://")
    assert listed["description"].startswith("48 episodes of 48 games of Happy City with 4 players, family")
    seeds = {entry["options"]["deal_seed"] for entry in loaded.storage.get_episode_metadata(range(48))}
    assert len(seeds) == 12
    episode = loaded[7]
    steps = len(episode.actions)
    assert episode.observations.shape == (steps + 1, Observations(4).size)
    masks = episode.infos["action_mask"]
    assert masks[np.arange(steps), episode.actions].all()
    assert not masks[-1].any()
    assert episode.terminations.tolist() == [False] * (steps - 1) + [True]
    assert episode.rewards[-1] > 0 == abs(episode.rewards[:-1]).sum()
    env = loaded.recover_environment()
    assert env.observation_space.contains(episode.observations[-1])
    assert env.unwrapped.config == Config()
    assert "takes a new folder" in dataset(played, *options)
    assert "takes a new folder" in dataset(played, *options[:-1], "greedy")


@pytest.mark.level(2)
def test_concurrency_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for concurrency in (2, 40):
        folder = tmp_path / str(concurrency)
        folder.mkdir()
        config = TournamentConfig(
            bots=tuple(BOTS), game=Config(), format=RandomRounds(rounds=2), seed=9, concurrency=concurrency
        )
        with arena(folder, BOTS) as opened:
            opened.play(config)
        dataset(folder / "games.sqlite", "--out", folder / "rows.parquet")
        dataset(folder / "games.sqlite", "--format", "minari", "--out", folder / "all-v1")
    one, other = (digests(tmp_path / name) for name in ("2", "40"))
    assert one == other
    assert len(one) == 3


@pytest.mark.level(1)
def test_what_makes_no_data_set_is_refused_in_a_line(run: Run, played: Path) -> None:
    assert "no game with a record has such a seat" in dataset(
        played, "--out", "x.parquet", "--bots", "nobody"
    )
    assert dataset("none.jsonl", "--out", "x.parquet").startswith("error: none.jsonl: there is no such file")
    assert not Path("x.parquet").exists()


@pytest.mark.level(3)
def test_an_example_imitates_a_bot(run: Run, played: Path) -> None:
    """By so few games it plays as the bot more often than a random choice does, and in the arena."""
    dataset(played, "--bots", "greedy", "--out", "greedy.parquet")
    examples = ROOT / "clients/envs/examples"
    learn = [sys.executable, str(examples / "imitate.py"), "greedy.parquet", "policy.npz"]
    done = subprocess.run(learn, capture_output=True, text=True, check=False)
    shares = [float(share) for share in re.findall(r"plays as the bot in ([\d.]+)%", done.stdout)]
    assert (done.returncode, len(shares)) == (0, 10), done.stderr
    assert shares[-1] > 40
    bot = f"imitator={sys.executable} {examples / 'ppo.py'} policy.npz --play"
    options = ("--rounds", 2, "--seats", 2, "--no-clock", "--no-web", "--bots", "greedy", "--bot", bot)
    assert "imitator" in tournament("run", *options).output


def dataset(*arguments: object) -> str:
    return happycity("dataset", *arguments).errors


def digests(folder: Path) -> Mapping[str, str]:
    found = [*folder.glob("*.parquet"), *folder.glob("all-v1/data/*")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def seed_of(records: str) -> int:
    with open(records, encoding="utf-8") as file:
        return int(json.loads(file.readline())["deal"]["seed"])
