"""What programs import before they do anything, as all wait for it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = ("jinja2", "numpy", "pydantic", "rich", "sqlalchemy", "starlette", "typer", "uvicorn")
"""Packages that take long to import."""


@pytest.mark.parametrize(
    ("program", "needed"),
    [
        ("import happycity_bots.playing", set()),
        ("import happycity_client", set()),
        (
            "from happycity_server.config import LogFormat;"
            "from happycity_server.process.logs import configure; configure(LogFormat.JSON);"
            "import happycity_server.app, happycity_server.start",
            {"pydantic", "sqlalchemy"},
        ),
        ("import happycity_tournament.cli.app, happycity_tournament.cli.start", {"pydantic", "typer"}),
        (
            "import happycity_tournament.cli.app, happycity_tournament.cli.play",
            {"pydantic", "rich", "typer"},
        ),
    ],
    ids=["reference bots", "SDK", "server", "start of a run", "run"],
)
def test_a_program_imports_what_it_needs(program: str, needed: set[str]) -> None:
    """Each of these packages is a tenth of a start, which all of a run's processes have to make."""
    print_imported = f"import sys; {program}; print(*({set(SLOW)} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", print_imported], stdout=subprocess.PIPE, text=True, check=True
    )
    assert set(done.stdout.split()) == needed


def test_a_whole_run_does_without_sqlalchemy(tmp_path: Path) -> None:
    """The command of a run prints its result without what reads stores, which takes 0.2 s to import."""
    arguments = ("run", "--rounds", "1", "--bots", "random,greedy", "--seats", "2")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "happycity_tournament", *arguments],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    imported = re.findall(r"^import time:.*\| +(\w+)$", done.stderr, flags=re.MULTILINE)
    assert "happycity_tournament" in imported
    assert "sqlalchemy" not in imported
