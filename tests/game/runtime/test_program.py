"""Programs without a command line, as the runs of tournaments start them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("happycity_server",), "error: HAPPYCITY_SERVE_LISTEN: "),
        (("happycity_bots", "ann=gredy"), "error: 'gredy' is not a reference bot; did you mean greedy?"),
    ],
)
def test_bad_input_costs_one_line(arguments: tuple[str, ...], problem: str) -> None:
    """A setting or a name that is wrong ends the program with status 2 and says what is wrong."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        env={**os.environ, "HAPPYCITY_SERVE_LISTEN": "nowhere"},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(problem)
    assert done.stderr.count("\n") == 1
