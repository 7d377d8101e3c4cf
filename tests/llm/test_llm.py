"""The command `happycity llm` as a whole: a real llama.cpp server, and rated games."""

import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from tests.commands.programs import happycity
from tests.llm.endpoints import KEY, completion, endpoint
from tests.programs import run
from tests.waiting import PATIENT

from happycity import Ending
from happycity.records.record import loads
from happycity_tournament.storage.store import Store

HAPPYCITY = [sys.executable, "-m", "happycity"]
SEATED = "--seats", "2", "--no-web", *PATIENT


@pytest.fixture
def short(tmp_path: Path) -> tuple[str, str]:
    """Return the option for prompts that are short, as the model reads byte after byte."""
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "system.txt").write_text("Seat $seat of $players.")
    (tmp_path / "prompts" / "turn.txt").write_text("$question")
    return "--prompts", str(tmp_path / "prompts")


@contextmanager
def llama(folder: Path) -> Iterator[str]:
    """Serve a tiny model while the context lasts; yield the base URL."""
    if find_spec("xllamacpp") is None or find_spec("gguf") is None:
        pytest.skip("xllamacpp and gguf are not installed; `make envs` installs them")
    command = [sys.executable, str(Path(__file__).parent / "llama.py"), str(folder / "tiny.gguf")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield f"{server.stdout.readline().strip()}/v1"
        finally:
            server.stdin.close()


def means(folder: Path, url: str, *options: str) -> dict[str, float]:
    command = [*HAPPYCITY, "llm", "--model", "tiny", "--base-url", url, *options]
    bots = ("--bots", "random", "--bot", f"model={shlex.join(command)}")
    done = run(
        *("run", *bots, *SEATED, "--rounds", "1", "--store", "sqlite:///games.sqlite"),
        module="happycity_tournament",
        cwd=folder,
        env={"PATH": "", "HAPPYCITY_LLM_KEY": KEY},
    )
    assert done.returncode == 0, done.stderr
    assert KEY not in "".join(path.read_text(errors="replace") for path in folder.rglob("*.log"))
    noted: defaultdict[str, list[float]] = defaultdict(list)
    with Store.existing(f"sqlite:///{folder}/games.sqlite") as store:
        for game, record in store.all_games(with_records=True):
            assert [seat.ending for seat in game.seats] == [Ending.FINISHED] * 2
            for entry in loads(record or "")["metrics"]:
                for name, value in entry["values"].items():
                    noted[name].append(value)
    return {name: fmean(values) for name, values in noted.items()}


@pytest.mark.level(3)
def test_a_model_plays_rated_games(tmp_path: Path, short: tuple[str, str]) -> None:
    """Bound to the legal moves by the schema, even a model of random weights plays each of its moves."""
    with llama(tmp_path) as url:
        noted = means(tmp_path, url, "--max-tokens", "100", *short)
    assert (noted["fallback"], noted["illegal"]) == (0, 0)
    assert noted["tokens_in"] > 100


@pytest.mark.level(2)
def test_a_faulty_endpoint_costs_no_game(tmp_path: Path) -> None:
    """Of its answers one is busy, one is nonsense, and the rest refuse: all games are finished."""
    answers = iter([(429, b"{}"), (200, b"nonsense"), (200, completion(None, refusal="No."))])

    def answer(handler: Any, body: Any) -> None:
        handler.send(*next(answers, (403, b"{}")))

    with endpoint(answer) as url:
        assert means(tmp_path, url)["fallback"] == 1


@pytest.mark.level(2)
def test_a_dry_run_prints_what_a_model_would_read() -> None:
    """It needs neither a model nor a server."""
    done = run("llm", "--dry-run", "--seats", 3)
    assert done.returncode == 0
    assert done.stdout.startswith("--- system\nYou play the card game Happy City")
    assert "Your legal moves:\n- draw 1: draw from deck 1" in done.stdout


def test_bad_input_costs_one_line() -> None:
    for arguments, problem in [
        ((), "--model: name the model, or see what it would read by --dry-run"),
        (("--model", "m", "--base-url", "localhost"), "--base-url: 'localhost' begins with neither http"),
        (("--model", "m", "--fallback", "gredy"), "gredy"),
        (("--model", "m", "--server", "http://a"), "HAPPYCITY_SERVER: 'http://a' is not an address"),
        (("--dry-run", "--prompts", "."), "--prompts: . has none of rules.txt, system.txt, turn.txt, retry"),
    ]:
        assert problem in happycity("llm", *arguments).error
