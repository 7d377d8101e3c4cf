"""What programs import before they do anything, as all wait for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = ("jinja2", "numpy", "pydantic", "rich", "sqlalchemy", "starlette", "typer", "uvicorn")
"""Packages that take long to import."""


@pytest.mark.parametrize(
    ("program", "needed"),
    [
        ("import happycity_bots.playing", set()),
        ("import happycity_client", set()),
        ("import happycity_server.app, happycity_server.__main__", {"pydantic", "rich", "sqlalchemy"}),
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
