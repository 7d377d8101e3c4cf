"""Newcomers who do what the texts say, from accounts with nothing installed; each terminal is recorded.

The recordings are written to `build/diaries`: `asciinema play build/diaries/author.cast` shows one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.texts.reader import command_lines
from tests.texts.terminal import Terminal
from tools import ROOT

from happycity_runtime.child import child_environment

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(0)]  # each wait has its own limit

ENTER = ". {}/.venv/bin/activate"
RECORDINGS = ROOT / "build/diaries"
ADDRESS = "https://github.com/happycity-arena/happycity"
NAME, HOST = "arena.example.org", "203.0.113.7"
"""The organiser's machine in docs/small-competition.md."""


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    (found,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert isinstance(found, str)
    return found


@dataclass
class Account:
    """A person's account, and its terminals.

    The address from which texts clone the project is this checkout; the commands that install what the
    project needs ask the real indexes.
    """

    home: Path
    name: str
    within: Sequence[str] = ()
    terminals: list[Terminal] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True)
        settings = f'[url "{ROOT}"]\n\tinsteadOf = {ADDRESS}\n[safe]\n\tdirectory = *\n'
        identity = "[user]\n\tname = Newcomer\n\temail = newcomer@example.org\n"
        (self.home / ".gitconfig").write_text(settings + identity, encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        own = str(Path.home())
        programs = [
            folder
            for folder in os.environ["PATH"].split(os.pathsep)
            if not folder.startswith(own) and not Path(folder, "happycity").exists()
        ]
        usual = {name: value for name, value in child_environment().items() if name != "VIRTUAL_ENV"}
        return {**usual, "HOME": str(self.home), "PATH": os.pathsep.join(programs), "LANG": "C.UTF-8"}

    def terminal(self, folder: str = "") -> Terminal:
        """Open another terminal in a folder."""
        number = f"-{len(self.terminals) + 1}" if self.terminals else ""
        recording = RECORDINGS / f"{self.name}{number}.cast"
        terminal = Terminal(recording, self.home / folder, self.environment, within=self.within)
        self.terminals.append(terminal)
        return terminal

    def close(self) -> None:
        while self.terminals:
            self.terminals.pop().close()


@pytest.fixture
def newcomer(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Account]:
    account = Account(tmp_path / "home", getattr(request, "param", "author"))
    yield account
    account.close()


def enters_a_checkout(terminal: Terminal) -> None:
    """Do what the README says of a checkout."""
    steps = command_lines(section(text_of("README.md"), "Two commands"))
    clone, enter, run, test = [line.partition("#")[0].strip() for line in steps]
    terminal.run(clone)
    terminal.run(enter)
    assert "2,000 of 2,000 games" in terminal.run(run)
    assert test == "make test"  # which would run these tests' neighbours
    for line in command_lines(section(text_of("README.md"), "Write a bot in 5 minutes"))[:2]:
        terminal.run(line)


def follow_project(terminal: Terminal, account: Account) -> None:
    """Do what the README of a new bot's project says, in its folder; its server and bot have terminals."""
    text = terminal.run("cat README.md")
    folder = terminal.run("pwd").strip()
    others = []
    for line in (line.partition("#")[0].strip() for line in command_lines(text)):
        if line == "happycity serve":
            others.append(account.terminal(folder))
            others[-1].run(ENTER.format(account.home / "happycity"))
            others[-1].start(line, "listening")
        elif line.startswith("HAPPYCITY_SERVER="):
            terminal.start(line, "connected to 127.0.0.1:50051")
            terminal.interrupt()
        elif not line.startswith("docker "):
            terminal.run(line)
    for other in others:
        other.interrupt()


def test_author(newcomer: Account) -> None:
    """The README's bot, a project with its test, and a lost position that becomes a test."""
    terminal = newcomer.terminal()
    enters_a_checkout(terminal)
    readme = text_of("README.md")
    (bot,) = re.findall(r"<!-- example bot -->\n```python\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    terminal.save("mybot.py", bot)
    for line in command_lines(section(readme, "Write a bot in 5 minutes"))[2:]:
        if line.startswith("happycity play"):
            terminal.start(line, "Your move")
            terminal.interrupt()
        else:
            terminal.run(line)
    for line in command_lines(text_of("docs/first-bot/python.md")):
        terminal.run(line)
