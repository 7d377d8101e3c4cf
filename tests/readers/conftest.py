"""What programs of other people read: servers with pages, and a run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import LIMIT, PATIENT
from tests.web.conftest import expert_match, family_match, frames, ladder, quick, site, tournament

__all__ = ["expert_match", "family_match", "frames", "ladder", "quick", "site", "tournament"]


def tool(program: str | Path, need: str) -> str:
    """Return the path of a program; skip the test where it is not installed."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{Path(program).name} is missing: python -m tools install {need}")
    return found


def read_by(*command: str | Path, text: str | None = None, status: int = 0) -> str:
    """Let a program read something; return what it says on both streams."""
    done = subprocess.run(
        command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT,
        check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout
    return done.stdout


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play a small tournament as anybody does; return its folder."""
    folder = tmp_path_factory.mktemp("run")
    words = ("run", "--rounds", "2", "--seats", "2", "--bots", "random,greedy", "--no-web", *PATIENT)
    subprocess.run(
        [sys.executable, "-m", "happycity_tournament", *words], cwd=folder, timeout=LIMIT, check=True
    )
    (made,) = (folder / "runs").iterdir()
    return made
