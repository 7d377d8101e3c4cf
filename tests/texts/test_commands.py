"""Command lines that texts show are accepted by the commands: their arguments and options are complete."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from tests.docs.test_docs import DOCS
from tests.texts.reader import command_lines, commented_commands
from tools import ROOT
from tools.docs.commands import Command, all_commands
from typer._click.exceptions import ClickException  # typer has no public name for it

from happycity_ladder.ladder_config import example
from happycity_new_bot.languages import LANGUAGES
from happycity_new_bot.project import write_project

pytestmark = pytest.mark.level(1)
GENERATED = ROOT / "server/happycity_server/competition"
PROGRAMS = ("happycity", "tournament")


@pytest.fixture(scope="module")
def commands() -> dict[str, Command]:
    return dict(all_commands())


def problem(line: str, commands: dict[str, Command]) -> str:
    """Return why a command line would be refused before anything is done; "" if it would not."""
    words = shlex.split(line, comments=True)
    end = next((n for n, word in enumerate(words) if word in ("|", ">", "&", "&&", ";")), len(words))
    found = [(name, count) for count in (3, 2) if (name := " ".join(words[:count])) in commands]
    if not found:
        return "there is no such command"
    name, count = found[0]
    try:
        commands[name].make_context(name, words[count:end])
    except ClickException as error:
        return error.format_message()
    except typer.Exit:  # by --help
        return ""
    return ""


def refused(lines: list[str], commands: dict[str, Command]) -> dict[str, str]:
    """Return the lines that the commands of this project refuse, with the reasons."""
    own = [line for line in lines if line.split()[0] in PROGRAMS]
    return {line: why for line in own if (why := problem(line, commands))}


def test_commands_of_pages_are_complete(commands: dict[str, Command]) -> None:
    lines = [line for path in DOCS for line in command_lines(path.read_text("utf-8"))]
    assert len([line for line in lines if line.split()[0] in PROGRAMS]) >= 90
    assert refused(lines, commands) == {}


def test_commands_of_a_new_competition_are_complete(commands: dict[str, Command]) -> None:
    """Those for guests, and those in the settings."""
    guests = command_lines((GENERATED / "README.md").read_text("utf-8"))
    texts = *((GENERATED / name).read_text("utf-8") for name in ("server.toml", "tournament.toml")), example()
    settings = [line for text in texts for line in commented_commands(text)]
    assert (len(guests), len(settings)) == (11, 5)
    assert refused([*guests, *settings], commands) == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_commands_of_a_new_project_are_complete(
    language: str, commands: dict[str, Command], tmp_path: Path
) -> None:
    """Its README names targets of its Makefile, and images by the name under which they were built."""
    write_project(tmp_path / "ann", language, name="ann", checkout=ROOT)
    lines = command_lines((tmp_path / "ann/README.md").read_text("utf-8"))
    makefile = (tmp_path / "ann/Makefile").read_text("utf-8")
    targets = re.findall(r"^([a-z]+):", makefile, re.MULTILINE)
    assert [shlex.split(line, comments=True) for line in lines[:4]] == [
        ["make", name] for name in targets[:4]
    ]
    assert targets[4:] == ["start"] == lines[5].split()[-1:]
    *_, build, run = (shlex.split(line) for line in lines)
    assert build[:4] == ["docker", "build", "-t", "ann"]
    assert (run[:2], run[-1]) == (["docker", "run"], "ann")
    assert refused(lines, commands) == {}


def test_missing_arguments_and_options_are_noticed(commands: dict[str, Command]) -> None:
    for line, reason in {
        "happycity new-bot mybot": "Missing option '--language'.",
        "happycity new-bot --language go": "Missing argument 'DIR'.",
        "happycity practice --agianst greedy": "No such option: --agianst",
        "happycity no-such-command": "there is no such command",
        "tournament run --rounds many": "Invalid value for '--rounds'",
        "tournament run --rounds 20 > log": "",
    }.items():
        assert problem(line, commands).startswith(reason), line
