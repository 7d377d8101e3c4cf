"""The help of all commands: complete, readable, and printed at once."""

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import typer
from tests.commands.programs import Done, happycity, tournament
from tests.tournament.conftest import Run

from happycity_tournament.cli.app import app

HEAVY = ("grpc", "google.protobuf", "sqlalchemy", "numpy", "rich", "structlog", "jinja2", "happycity_client")
GROUP = typer.main.get_group(app)
CONTEXT = typer.Context(GROUP)
COMMANDS: dict[str, Any] = {name: GROUP.get_command(CONTEXT, name) for name in GROUP.list_commands(CONTEXT)}


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("happycity_tournament.cli.app", ["--help"]),
        ("happycity_entry.cli", ["--help"]),
        ("happycity_entry.cli", ["serve", "--help"]),
    ],
)
def test_help_imports_nothing_that_it_does_not_need(program: str, arguments: list[str]) -> None:
    """Every start of a command waits for what its help needs."""
    code = (
        f"import sys\nfrom {program} import main\nsys.argv = ['x', *{arguments}]\ntry:\n    main()\n"
        f"except SystemExit:\n    pass\nsys.exit(' '.join(set(sys.modules) & set({HEAVY})) or 0)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Usage: ")


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
