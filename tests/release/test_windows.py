"""Windows, as far as another system can tell: without what Python lacks there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BOTS = "random,greedy"
LACKING = Path(__file__).parent / "as_windows"


@pytest.mark.thorough
def test_a_tournament_needs_nothing_that_windows_lacks(tmp_path: Path) -> None:
    """Server and bots do without uvloop, locks of files by fcntl, process groups and most signals."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "happycity_tournament",
            "run",
            "--rounds",
            "2",
            "--bots",
            BOTS,
            "--seats",
            "2",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(LACKING)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "4 of 4 games" in done.stdout
    (log,) = tmp_path.glob("runs/*/server.log")
    assert "Traceback" not in log.read_text()
