"""docs/agents.md is true: its configurations can be read, and their commands are ours."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main
from tests.docs.test_docs import ROOT, blocks, text_of
from tests.mcp.clients import golden
from tests.server.server_process import server_process

from happycity_mcp.cli import mcp
from happycity_runtime.child import child_environment

PAGE = text_of("docs/agents.md")


def configurations() -> list[dict[str, Any]]:
    """Return what each program's configuration says of our server."""
    read = [*map(json.loads, blocks(PAGE, "json")), *map(tomllib.loads, blocks(PAGE, "toml"))]
    return [next(iter(content.values()))["happycity"] for content in read]


@pytest.mark.parametrize("configuration", configurations(), ids=lambda c: " ".join(c["args"]))
def test_a_configuration_starts_our_command(configuration: dict[str, Any]) -> None:
    """Its options are those of the command, and its environment is one that bots read."""
    assert Path(configuration["command"]).name == "happycity"
    command, *options = configuration["args"]
    assert command == "mcp"
    known = typer.Typer()
    known.command()(mcp)
    typer.main.get_command(known).make_context(command, [*options])
    assert set(configuration["env"]) <= {"HAPPYCITY_SERVER", "HAPPYCITY_NAME", "HAPPYCITY_TOKEN"}


def test_each_tool_is_explained() -> None:
    table = PAGE.split("## Tools")[1].split("An answer is text")[0]
    cells = re.findall(r"^\| (`.*?`) \|", table, flags=re.MULTILINE)
    explained = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert explained == {tool["name"] for tool in golden("tools.json")}


@pytest.mark.level(2)
def test_the_script_plays_a_game(tmp_path: Path) -> None:
    """Against a bot of the house, by the command as agents' programs start it."""
    with server_process(tmp_path, "--house", "greedy") as server:
        done = subprocess.run(
            [sys.executable, ROOT / "clients" / "mcp" / "examples" / "scripted_agent.py"],
            env={**child_environment(), "HAPPYCITY_SERVER": server.address},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Match 1 is over: your place is" in done.stdout
