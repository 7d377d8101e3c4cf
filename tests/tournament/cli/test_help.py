"""The help of all commands: complete, readable, and printed at once."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.commands.programs import Done, happycity, tournament
from tests.tournament.conftest import Run

from happycity_entry.cli import COMMANDS as HAPPYCITY
from happycity_entry.cli import app as happycity_app
from happycity_runtime.commands import command_summary
from happycity_tournament.cli.app import app

HEAVY = ("grpc", "google.protobuf", "sqlalchemy", "numpy", "rich", "structlog", "jinja2", "happycity_client")
"""What takes long to import, and no command line needs."""
SLOW = ("asyncio", "happycity.rules.game", "pydantic", "ssl", "urllib.request")
"""What some need to check a value."""
GROUP = typer.main.get_group(app)
CONTEXT = typer.Context(GROUP)
COMMANDS: dict[str, Any] = {name: GROUP.get_command(CONTEXT, name) for name in GROUP.list_commands(CONTEXT)}


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("program", "arguments", "allowed"),
    [
        ("happycity", ["--help"], set()),
        ("happycity", ["--bad"], set()),
        ("happycity", ["serve", "--help"], {"pydantic", "ssl"}),
        ("tournament", ["--help"], set()),
        ("tournament", ["list"], {"pydantic", "ssl"}),
        ("tournament", ["rate", "--bad"], {"pydantic"}),
    ],
)
def test_a_command_imports_nothing_that_it_does_not_need(
    tmp_path: Path, program: str, arguments: list[str], allowed: set[str]
) -> None:
    """Every start of a command waits for what it imports."""
    code = (
        f"import sys, happycity_entry as entry\nsys.argv = ['x', *{arguments}]\ntry:\n    entry.{program}()\n"
        f"except SystemExit:\n    pass\nprint(*set(sys.modules) & set({(*SLOW, *HEAVY)}))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
    )
    assert {*ended.stdout.splitlines()[-1].split()} <= allowed


@pytest.mark.level(2)
def test_the_options_of_all_commands_are_known_without_what_the_commands_need() -> None:
    """An option that there is not, or a value that can't be, is refused before anything else is imported."""
    code = (
        "import sys, typer\nfrom happycity_entry.cli import app\n"
        "def load(group):\n"
        "    context = typer.Context(group)\n"
        "    for name in group.list_commands(context):\n"
        "        command = group.get_command(context, name)\n"
        f"        if found := set(sys.modules) & set({HEAVY}):\n"
        "            sys.exit(f'{name}: {found}')\n"
        "        if hasattr(command, 'list_commands'):\n"
        "            load(command)\n"
        "load(typer.main.get_group(app))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_list_of_commands_has_the_first_sentence_of_the_help_of_each() -> None:
    group = typer.main.get_group(happycity_app)
    context = typer.Context(group)
    listed = {name: command_summary(target) for below in HAPPYCITY.values() for name, target in below.items()}
    commands: Any = {name: group.get_command(context, name) for name in listed}
    assert listed == {name: command.get_short_help_str(200) for name, command in commands.items()}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_readable(run: Run, command: str) -> None:
    status, output, errors = run(command, "--help")
    assert (status, errors) == (0, "")
    for parameter in COMMANDS[command].params:
        help_text = parameter.help.partition("  [")[0]
        assert help_text[0].isupper(), parameter.name
        assert help_text.endswith("."), parameter.name
    for text in ("[[", "{[", "(none)", "default: (", "range"):
        assert text not in output


def test_help_lists_all_commands(run: Run) -> None:
    status, output, _ = run("--help")
    assert status == 0
    lines = [line.strip() for line in output.partition("Commands:")[2].splitlines()]
    listed = dict(line.split(maxsplit=1) for line in lines if line)
    assert listed == {name: command.help.splitlines()[0] for name, command in COMMANDS.items()}


@pytest.mark.parametrize("program", [happycity, tournament])
def test_no_summary_is_cut_at_80_columns(
    program: Callable[[str], Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    summaries = program("--help").output.partition("-h, --help")[2]
    assert len(summaries.splitlines()) >= 14
    assert "..." not in summaries


def test_options_of_a_run_are_grouped(run: Run) -> None:
    sections: dict[str, set[str]] = {}
    for line in run("run", "--help")[1].splitlines():
        if re.fullmatch(r"[A-Z][a-z ]+:", line):
            options = sections.setdefault(line.rstrip(":"), set())
        if name := re.match(r"  (?:-., )?(--[a-z-]+)", line):
            options.add(name[1])
    assert list(sections) == [
        "Basics", "Schedule", "Game", "Time", "Running", "Ratings", "Options",
    ]  # fmt: skip
    assert sections["Basics"] == {"--config", "--bots", "--bot", "--join", "--rounds", "--seats", "--seed"}
    assert sections["Options"] == {"--json", "--example", "--quiet", "--help"}
    assert sum(map(len, sections.values())) <= 32
