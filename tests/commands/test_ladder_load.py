"""The ladder as a whole, for a minute: bots come and go, its server is killed, and a backup is restored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_a_ladder_loses_nothing() -> None:
    """No game is lost, all deals are rated, nobody waits for long, and a backup has its leaderboard."""
    options = ("--seconds", "60", "--bots", "12", "--kills", "2", "--goings", "10")
    soak = subprocess.run(
        [sys.executable, "-m", "benchmarks.ladder_load", *options],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert soak.returncode == 0, soak.stdout + soak.stderr
    shown = json.loads(soak.stdout)
    assert shown["deals"]["finished"] > 10
    assert shown["kills"] == 2
    assert shown["restored lines"] > 5
