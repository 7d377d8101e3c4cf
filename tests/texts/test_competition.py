"""What `happycity competition init` writes is true: an organiser and a guest do what their texts say."""

import json
import re
import shutil
import socket
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.texts.reader import Reader, command_lines, commented_commands
from tests.waiting import PATIENT
from tools import ROOT

SHORT = f"--rounds 2 {' '.join(PATIENT)}"
"""What a test adds to a tournament: it is played like any other, but sooner, and on a slow machine too."""


@pytest.fixture
def organiser(tmp_path: Path) -> Iterator[Reader]:
    """Yield an organiser in an empty folder."""
    reader = Reader(tmp_path)
    yield reader
    reader.stop()


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Reader]:
    """Yield a guest in an empty folder, where nothing is the organiser's."""
    (tmp_path / "guest").mkdir()
    reader = Reader(tmp_path / "guest")
    yield reader
    reader.stop()


def opened(organiser: Reader, *options: str) -> list[str]:
    """Let an organiser make a competition on this machine and go there; return the commands it names next."""
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    said = organiser.run(f"happycity competition init cup --host localhost --port {port} {' '.join(options)}")
    organiser.run("cd cup")
    return re.findall(r"with: (.*)$", said, re.MULTILINE)


def follow_settings(organiser: Reader, name: str) -> str:
    """Run the commands in a file's comments, but for the first, which uses the file; return that one."""
    text = (organiser.folder / name).read_text(encoding="utf-8")
    use, *others = commented_commands(text)
    for line in others:
        assert organiser.run(line)
    return use


def follow_guests_readme(guest: Reader, text: str, link: str) -> None:
    """Do what the README for guests says, in a new environment.

    What `git` and `pip` get there is the checkout of these tests and what is installed for them.
    """
    lines = [line.replace("LINK", link).replace("NAME", "alice") for line in command_lines(text)]
    for line in lines:
        if line.startswith("git clone "):
            (guest.folder / line.rpartition("/")[2]).symlink_to(ROOT)
        elif line.startswith("pip install "):
            package = re.fullmatch(r"pip install '(.+)\[arena\]'", line)
            assert package, line
            assert (guest.folder / package[1] / "pyproject.toml").exists()
            install_what_tests_have(guest.folder / ".venv")
        elif line == "make start":
            guest.start(line, "connected to localhost")
        elif line.startswith("happycity practice "):
            assert "10 of 10 games of alice" in guest.run(line)
        else:
            guest.run(line)


def version_of(organiser: Reader, name: str) -> str:
    """Return the version that a connected bot says it has."""
    bots = json.loads(organiser.run("happycity status --json"))["bots"]
    (version,) = (bot["info"]["version"] for bot in bots if bot["name"] == name)
    assert isinstance(version, str)
    return version


def install_what_tests_have(environment: Path) -> None:
    """Let an environment have the packages and commands of the one in which the tests run."""
    (packages,) = environment.glob("lib/python*/site-packages")
    line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (packages / "tests.pth").write_text(line, encoding="utf-8")
    for command in ("happycity", "tournament"):
        (environment / "bin" / command).symlink_to(Path(sysconfig.get_path("scripts")) / command)


@pytest.mark.level(3)
def test_organiser_and_guest_follow_their_texts(organiser: Reader, guest: Reader) -> None:
    """From an empty folder to a tournament; the guest has the README and the link alone."""
    serve, invite = opened(organiser)
    assert follow_settings(organiser, "server.toml") == serve
    organiser.start(serve, "greedy: connected to")
    readme = (organiser.folder / "README.md").read_text(encoding="utf-8")
    follow_guests_readme(guest, readme, organiser.run(invite).strip())
    assert guest.run("happycity submit . 2>&1 | grep -e --hosted")  # what the organiser would have to do
    versions = []
    for _ in range(2):
        guest.stop()  # the token is another one by now
        guest.start("make start", "connected to localhost")
        versions.append(version_of(organiser, "alice"))
        guest.run("echo '# a change' >> bot.py")
    assert versions[0] != versions[1]
    other_link = organiser.run(invite).strip()
    guest.run(
        f"mkdir ../bea && cp bot.py Makefile ../bea && cd ../bea && happycity join '{other_link}' --bot bea"
    )
    guest.run("cd ../bea")
    guest.start("make start", "connected to localhost")
    settings = organiser.folder / "tournament.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(re.sub(r"^# (\[\[bots\]\]|name = |join = )", r"\1", text, flags=re.MULTILINE))
    play = follow_settings(organiser, "tournament.toml")
    assert "8 of 8 games" in organiser.run(f"{play} {SHORT}")


@pytest.mark.level(3)
def test_organiser_of_a_ladder_follows_the_texts(organiser: Reader) -> None:
    """The file of the ladder names a command that starts the same server."""
    serve, invite = opened(organiser, "--ladder")
    assert follow_settings(organiser, "server.toml") == serve
    organiser.start(serve, "planner: connected to")
    assert organiser.run(invite).startswith("grpcs://localhost:")
    organiser.stop()
    shutil.copy(organiser.folder / "ladder.toml", organiser.folder / "FILE")
    use = follow_settings(organiser, "ladder.toml")
    organiser.start(f"{use} --config server.toml", "planner: connected to")
