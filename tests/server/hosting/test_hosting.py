"""A bot is submitted by the command, tried in the sandbox, and plays; the author of a bad one learns why."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.server.harness import serving, settings
from tests.server.hosting.conftest import why_not
from tests.server.server_process import server_process

from happycity import ConfigError
from happycity.runtime.tokens import Role, add_tokens, new_token
from happycity_server.config import load_settings

FIRST = Path(__file__).parents[3] / "clients/python/examples/first.py"
BOT = 'name = "alice"\ncommand = "{command}"\nlanguage = "Python"\nfiles = ["*.py"]\n'


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"hosted": "bots"}, "only run in a sandbox"),
        ({"sandbox": "bwrap"}, "give --hosted FOLDER too"),
    ],
)
def test_settings_that_belong_together(flags: dict[str, str], says: str) -> None:
    """Without a sandbox nothing is hosted."""
    with pytest.raises(Exception, match=says):
        load_settings(flags, {})


@pytest.mark.parametrize(
    ("sandbox", "says"),
    [
        ("podman-of-nobody run {socket} {folder} {command}", "there is no program"),
        ("podman run {folder} {command}", "lacks {socket}"),
        ("podman run {socket}", "lacks {image} or {folder}"),
        ("podman run {socket} {folder}", "lacks {command}"),
        ("podman 'run", "can't read the command"),
    ],
)
async def test_sandbox_that_cannot_be_used(tmp_path: Path, sandbox: str, says: str) -> None:
    """A template that lacks something, or whose program is missing, is refused in one line."""
    add_tokens(tmp_path / "tokens.json", [])
    hosted: dict[str, Any] = {
        "hosted": tmp_path / "bots",
        "sandbox": sandbox,
        "tokens": tmp_path / "tokens.json",
    }
    with pytest.raises(ConfigError, match=re.escape(says)):
        async with serving(tmp_path, **hosted):
            pass


async def test_open_server_hosts_nothing(tmp_path: Path) -> None:
    """Without tokens the bots inside the sandbox could do everything, so hosting is refused."""
    assert settings(tmp_path).open
    with pytest.raises(ConfigError, match="it needs tokens"):
        async with serving(tmp_path, hosted=tmp_path / "bots", sandbox="bwrap"):
            pass


@pytest.mark.thorough
def test_submitted_bot_plays(tmp_path: Path) -> None:
    """A bot passes and plays as the version of its digest; a bad one is rejected, and the good one stays."""
    if reason := why_not():
        pytest.skip(reason)
    clear, token = new_token(Role.BOT, "alice", created=datetime.now(UTC), owner="Team 7")
    add_tokens(tmp_path / "tokens.json", [token])
    good, bad = tmp_path / "good", tmp_path / "bad"
    for folder, command in ((good, "python bot.py"), (bad, "python -c 'print(40 + 2)'")):
        folder.mkdir()
        shutil.copy(FIRST, folder / "bot.py")
        (folder / "bot.toml").write_text(BOT.format(command=command))
    flags = (
        "--tokens",
        str(tmp_path / "tokens.json"),
        "--hosted",
        str(tmp_path / "bots"),
        "--sandbox",
        "bwrap",
    )
    with server_process(tmp_path, *flags) as server:
        environment = {**os.environ, "HAPPYCITY_SERVER": server.address, "HAPPYCITY_TOKEN": clear}

        def run(*words: str, status: int = 0) -> str:
            command = (sys.executable, "-m", "happycity", *words)
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == status, done.stderr
            return done.stdout

        submitted = json.loads(run("submit", str(good), "--json"))
        assert submitted["state"] == "playing"
        assert [line.partition(":")[0] for line in submitted["result"]] == ["conformance", "practice game"]
        assert "42" in run("submit", str(bad), status=1)
        states = {one["digest"]: one["state"] for one in json.loads(run("submit", "--list", "--json"))}
        assert sorted(states.values()) == ["playing", "rejected"]
        assert states[submitted["digest"]] == "playing"
        bots = json.loads(run("status", "--json"))
        assert submitted["digest"][:12] in json.dumps(bots)
        assert "retired" in run("submit", str(good), "--withdraw")
