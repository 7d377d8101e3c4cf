"""Newcomers who do what the texts say, from accounts with nothing installed; each terminal is recorded.

The recordings are written to `build/diaries`: `asciinema play build/diaries/author.cast` shows one.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.docs.test_docs import blocks, sections, text_of
from tests.spaces import apart
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
GUEST = "203.0.113.8"


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


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
        self.home.mkdir(parents=True, exist_ok=True)
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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the home of an account with a checkout and its environment, as the README makes them."""
    account = Account(tmp_path_factory.mktemp("newcomers") / "home", "checkout")
    terminal = account.terminal()
    for heading in ("Two commands", "Write a bot in 5 minutes"):
        for line in command_lines(sections(text_of("README.md"))[heading])[:2]:
            terminal.run(line)
    account.close()
    return account.home


@pytest.fixture
def newcomer(home: Path, request: pytest.FixtureRequest) -> Iterator[Account]:
    account = Account(home, request.param)
    yield account
    account.close()


def enters(account: Account) -> Terminal:
    """Open a terminal in the checkout and its environment."""
    terminal = account.terminal("happycity")
    terminal.run(ENTER.format("."))
    return terminal


def follow_project(terminal: Terminal, account: Account) -> None:
    """Do what the README of a new bot's project says, in its folder; its server has a terminal of its own.

    The server is on a free port instead of the usual one. Lines of Docker are read by other tests.
    """
    text, server = terminal.run("cat README.md"), free_address()
    folder = terminal.run("pwd").strip()
    others = []
    for line in (line.partition("#")[0].strip() for line in command_lines(text)):
        if line == "happycity serve":
            others.append(account.terminal(folder))
            others[-1].run(ENTER.format(account.home / "happycity"))
            others[-1].start(f"{line} --listen {server}", "listening")
        elif line.startswith("HAPPYCITY_SERVER="):
            terminal.start(line.replace("127.0.0.1:50051", server), f"connected to {server}")
            terminal.leave()
        elif not line.startswith("docker "):
            terminal.run(line)
    for other in others:
        other.leave()


def follow_first_bot(terminal: Terminal, account: Account, language: str) -> None:
    """Do what the page of the first bot says, and then what the README of its project does."""
    (block,) = blocks(text_of(f"docs/first-bot/{language}.md"), "sh")
    *_, printed = [terminal.run(line) for line in block.splitlines()]
    assert "60 of 60 games" in printed
    follow_project(terminal, account)


@pytest.mark.parametrize("newcomer", ["author"], indirect=True)
def test_author(newcomer: Account) -> None:
    """The README's bot, a project with its test, and a lost position that becomes a test."""
    terminal = enters(newcomer)
    readme = text_of("README.md")
    run, test = [
        line.partition("#")[0].strip() for line in command_lines(sections(readme)["Two commands"])[2:]
    ]
    assert "2,000 of 2,000 games" in terminal.run(run)
    assert test == "make test"  # these tests' neighbours, which CI runs
    terminal.save("mybot.py", blocks(readme, "python")[0])
    for line in command_lines(sections(readme)["Write a bot in 5 minutes"])[2:]:
        if line.startswith("happycity show"):
            terminal.start(line, "q quit")
            terminal.leave("q")
        elif line.startswith("happycity play"):
            terminal.start(line, "? for help")
            terminal.leave()
        else:
            terminal.run(line)
    chapter = sections(text_of("docs/writing-a-bot.md"))["Test your bot"]
    write, test = command_lines(chapter)
    assert "mine has a choice of" in terminal.run(write)
    terminal.save("test_mybot.py", blocks(chapter, "python")[0])
    terminal.run(test, status=1)
    page = sections(text_of("docs/my-bot-lost.md"))["In Python"]
    ((old, new),) = re.findall(r"^```diff\n-(.*)\n\+(.*)\n", page, re.MULTILINE)
    terminal.save("mybot.py", blocks(page, "python")[0].replace(old, new))
    terminal.run(test)
    follow_first_bot(terminal, newcomer, "python")


@pytest.mark.parametrize("newcomer", ["go", "typescript", "java"], indirect=True)
def test_author_in_another_language(newcomer: Account) -> None:
    """The first bot of the language's page, and a project."""
    if shutil.which({"typescript": "npm", "java": "mvn"}.get(newcomer.name, newcomer.name)) is None:
        pytest.skip(f"the tools of {newcomer.name} aren't installed")
    folder = newcomer.home / f"with-{newcomer.name}"
    folder.mkdir()
    terminal = newcomer.terminal(folder.name)
    terminal.run(ENTER.format("../happycity"))
    follow_first_bot(terminal, newcomer, newcomer.name)


def knowing(hosts: Path) -> Sequence[str]:
    """Return what starts a program that looks names up in a file."""
    return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts)]


@pytest.fixture
def organiser(home: Path, request: pytest.FixtureRequest) -> Iterator[Account]:
    account = Account(home, request.param)
    yield account
    account.close()


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Account]:
    account = Account(tmp_path / "guest", "guest")
    yield account
    account.close()


@pytest.fixture
def network(tmp_path: Path, organiser: Account, guest: Account) -> Iterator[None]:
    """Let both be on machines of their own."""
    if os.geteuid() or shutil.which("ip") is None:
        pytest.skip("only root makes network name spaces, by ip of iproute2")
    hosts = tmp_path / "hosts"
    hosts.write_text(f"{Path('/etc/hosts').read_text('utf-8')}\n{HOST} {NAME}\n", encoding="utf-8")
    with apart(f"hc-{os.getpid()}", here=GUEST, there=HOST) as entered:
        organiser.within = [*entered, *knowing(hosts)]
        guest.within = knowing(hosts)
        yield
        guest.close()
        organiser.close()


def follow_guests_readme(guest: Account, text: str, link: str) -> Terminal:
    """Do what the README for guests says, and start the bot again at the end; return the second terminal."""
    lines = [line.replace("LINK", link).replace("NAME", "alice") for line in command_lines(text)]
    first = terminal = guest.terminal()
    for line in lines:
        if line == "make start":
            terminal.start(line, f"connected to {NAME}")
            terminal = guest.terminal("alice")
        elif line.startswith("happycity practice "):
            assert "10 of 10 games of alice" in terminal.run(line)
        else:
            terminal.run(line)
    first.leave()
    first.start("make start", f"connected to {NAME}")
    return terminal


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("organiser", ["organiser"], indirect=True)
def test_organiser_and_guests_on_two_machines(organiser: Account, guest: Account) -> None:
    """A small competition, as its page and its folder say it."""
    page = text_of("docs/small-competition.md")
    init, enter, serve = command_lines(sections(page)["The server"])[:3]
    terminal = enters(organiser)
    terminal.run(init)
    terminal.run(enter)
    terminal.start(serve, "greedy: connected to")
    terminal = organiser.terminal("happycity/cup")
    terminal.run(ENTER.format(".."))
    invite, invited = command_lines(sections(page)["Guests"])[:2]
    (link,) = re.findall(r"https://\S+", terminal.run(invite))
    assert "Team 7" in terminal.run(invited)
    readme = (organiser.home / "happycity/cup/README.md").read_text(encoding="utf-8")
    author = follow_guests_readme(guest, readme, link)
    (link,) = re.findall(r"https://\S+", terminal.run(invite.replace("7", "8", 1)))
    other = guest.terminal()
    for line in (
        ENTER.format("."),
        "happycity new-bot bea --language python --checkout happycity",
        "cd bea",
        f"happycity join '{link}' --bot bea",
    ):
        other.run(line)
    other.start("make start", f"connected to {NAME}")
    status, play = command_lines(sections(page)["The tournament"])
    assert "Team 8" in terminal.run(status)
    assert "8 of 8 games" in terminal.run(play)
    for line in command_lines(sections(page)["Results"]):
        terminal.run(line)
    look, show = re.findall(r"`((?:tournament|happycity) [^`]+)`", sections(page)["Results"])
    assert "alice" in author.run(look)
    author.start(show, "q quit")
    author.leave("q")
    assert "--hosted" in author.run("happycity submit .", status=2)


@pytest.mark.parametrize("organiser", ["organiser-alone"], indirect=True)
def test_organiser_alone(organiser: Account) -> None:
    """A tournament that is interrupted, its results and their proof; then a ladder."""
    terminal = enters(organiser)
    terminal.start("tournament run --rounds 500 --title Friday", "games/s")
    assert "tournament resume" in terminal.leave()
    assert "2,000 of 2,000 games" in terminal.run("tournament resume")
    assert "nothing is left to play" in terminal.run("tournament resume")
    for line in (
        "tournament list",
        "tournament show",
        "tournament games --worst 3 --bot greedy",
        "tournament report --out report.html",
        "tournament export --format csv --out - | head -n 3",
        "tournament publish ../published",
    ):
        terminal.run(line)
    assert "all of it is true" in terminal.run("tournament verify ../published")
    init, serve = command_lines(sections(text_of("docs/ladder.md"))["Keeping a ladder"])[:2]
    terminal.run(init)
    server, address = enters(organiser), free_address()
    server.start(
        f"{serve.replace('127.0.0.1:8080', free_address())} --listen {address}", "greedy: connected to"
    )
    terminal.run(f"export HAPPYCITY_SERVER={address}")
    for line in ("happycity status", "happycity ladder show", "happycity ladder seasons"):
        terminal.run(line)
    server.leave()
