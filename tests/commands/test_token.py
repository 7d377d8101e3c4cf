"""The command `happycity token` as a real process."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

DEADLINE = 60.0


def token(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "happycity", "token", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


def created(folder: Path, role: str, name: str, *options: str) -> str:
    done = token("create", "--role", role, "--name", name, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_token_is_printed_once(tmp_path: Path) -> None:
    """The standard output has the token and nothing else; the file doesn't have it."""
    done = token("create", "--role", "bot", "--name", "alice", cwd=tmp_path)
    assert re.fullmatch(r"hc_[0-9a-f]{8}_[A-Za-z0-9_-]{43}\n", done.stdout)
    token_id = done.stdout.split("_")[1]
    assert done.stderr == f"bot token {token_id} of alice, for ever; in runs/tokens.json\n"
    path = tmp_path / "runs" / "tokens.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert done.stdout.strip() not in path.read_text()


def test_tokens_are_listed_and_revoked(tmp_path: Path) -> None:
    """What was made is listed, for people and programs, until it is revoked."""
    clear = created(tmp_path, "organiser", "olga", "--expires", "30d")
    created(tmp_path, "observer", "olaf")
    token_id = clear.split("_")[1]
    listed = token("list", cwd=tmp_path).stdout
    assert re.search(rf"^{token_id}  organiser  until \d{{4}}-\d\d-\d\d \d\d:\d\d UTC +olga$", listed, re.M)
    assert re.search(r"^[0-9a-f]{8}  observer   for ever +olaf$", listed, re.M)
    told = json.loads(token("list", "--json", cwd=tmp_path).stdout)
    assert [set(one) for one in told] == [{"id", "role", "name", "created", "expires", "expired"}] * 2
    assert (told[0]["id"], told[0]["role"], told[0]["expired"]) == (token_id, "organiser", False)
    assert token("revoke", token_id, cwd=tmp_path).stdout == f"revoked: organiser token {token_id} of olga\n"
    assert [one["name"] for one in json.loads(token("list", "--json", cwd=tmp_path).stdout)] == ["olaf"]


def test_file_may_be_elsewhere(tmp_path: Path) -> None:
    """--tokens names another file."""
    created(tmp_path, "bot", "alice", "--tokens", "etc/mine.json")
    assert (tmp_path / "etc" / "mine.json").is_file()
    assert "alice" in token("list", "--tokens", "etc/mine.json", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("create", "--role", "king", "--name", "a"), "role: 'king' is none of bot, observer and organiser"),
        (("create", "--role", "bot", "--name", "no name"), "name: 'no name' is not 1 to 64 letters"),
        (
            ("create", "--role", "bot", "--name", "a", "--expires", "soon"),
            "expires: 'soon' is no time such as",
        ),
        (("create", "--role", "bot", "--name", "a", "--expires", "0d"), "expires: '0d' is no time"),
        (("revoke", "12345678"), "there is no token '12345678' in runs/tokens.json"),
        (("list",), "tokens: there is no file runs/tokens.json"),
    ],
)
def test_wrong_arguments_cost_one_line(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    """Status 2, one line, and no file is made."""
    done = token(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {told}")
    assert not (tmp_path / "runs" / "tokens.json").exists()
