"""The bots of the house: real processes that a server starts, restarts and ends."""

import os
import signal
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import grpc
import pytest
from structlog.testing import capture_logs
from tests.server import harness as h

from happycity_runtime.settings import SettingsError
from happycity_runtime.tokens import Role
from happycity_server.config import load_settings, parse_house
from happycity_server.process import programs


def pids(logs: list[MutableMapping[str, Any]]) -> list[int]:
    return [entry["pid"] for entry in logs if entry["event"] == "bot_started"]


@pytest.mark.parametrize("guarded", [False, True], ids=["open", "tokens"])
async def test_names_of_the_house_are_reserved(tmp_path: Path, *, guarded: bool) -> None:
    """Nobody else connects under the name of a bot of the house, not even with a token of that name."""
    path = tmp_path / "tokens.json"
    metadata = h.bearer(h.issued_token(path, Role.BOT, "greedy"))
    values: dict[str, Any] = {"tokens": path} if guarded else {}
    async with h.serving(tmp_path, house="greedy", **values) as (_, channel):
        outcome = await h.outcome_of(h.connected(channel, "greedy", metadata))
        assert (outcome.status, outcome.reason) == (grpc.StatusCode.PERMISSION_DENIED, "WRONG_NAME")
        assert "'greedy' is that of one of the server's own bots" in outcome.text


@pytest.mark.level(2)
async def test_bot_that_dies_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot of the house that is killed comes back, and the log says how it ended."""
    monkeypatch.setattr(programs, "FIRST_PAUSE_SECONDS", 0.0)
    with capture_logs() as logs:
        async with h.serving(tmp_path, house="greedy") as (_, channel):
            await h.met(channel, "greedy")
            os.kill(pids(logs)[0], signal.SIGKILL)
            await h.met(channel, "greedy")
    (ended,) = [entry["ended"] for entry in logs if entry["event"] == "bot_ended"]
    assert ended == "signal SIGKILL"


@pytest.mark.level(2)
async def test_house_ends_with_the_server(tmp_path: Path) -> None:
    """No process of the house outlives its server, and what bots print is in the server's log."""
    with capture_logs() as logs:
        async with h.serving(tmp_path, house="greedy") as (_, channel):
            await h.met(channel, "greedy")
    for pid in pids(logs):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    lines = [entry["text"] for entry in logs if entry["event"] == "bot_says"]
    assert any("INFO greedy: connected" in line for line in lines)


def test_house_is_named_as_bots_of_a_run_are() -> None:
    """`BOT` plays under its own name, `NAME=BOT` under another."""
    assert parse_house(" greedy, easy=random,") == {"greedy": "greedy", "easy": "random"}
    assert parse_house("") == {}


def test_wrong_house_is_refused() -> None:
    """A wrong name is one line, before anything is started."""
    for text, problem in (
        ("gredy", "'gredy' is not a reference bot; did you mean greedy?"),
        ("a b=greedy", "bot name 'a b': use 1-64 of a-z, A-Z, 0-9 and . _ - +"),
        ("greedy,Greedy=random", "'Greedy' is named more than once"),
        ("greedy,greedy=random", "'greedy' is named more than once"),
    ):
        with pytest.raises(SettingsError) as caught:
            load_settings({"house": text}, {})
        assert caught.value.problems == (f"--house: {problem}",)
