"""Projects that `happycity new-bot` makes: each is built with the checkout's SDK, and its bot plays."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.test_docs import ROOT

from happycity.runtime.child import child_environment
from happycity_new_bot.languages import LANGUAGES
from happycity_new_bot.project import write_project

TOOLS = {"go": "go", "typescript": "npm", "rust": "cargo", "java": "mvn", "cpp": "cmake", "bridge": "jq"}


def maven_repository(folder: Path) -> Path:
    """Return a repository with all that the user's has, but for packages of this project."""
    users = Path.home() / ".m2" / "repository"
    (folder / "io").mkdir(parents=True)
    for path in (*users.glob("*"), *users.glob("io/*")):
        own = folder / path.relative_to(users)
        if path.relative_to(users).as_posix() not in ("io", "io/github"):
            own.symlink_to(path)
    return folder


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_project_builds_and_plays(language: str, tmp_path: Path) -> None:
    """Its own commands build it with the checkout's SDK, and it plays; one bot passes the conformance kit.

    That each SDK passes it is tested with its scenario bot.
    """
    tool = TOOLS.get(language)
    if tool is not None and shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    target, success = ("check", r"^passed: \d+ ok") if language == "python" else ("play", "60 of 60 games")
    folder = tmp_path / "ann"
    write_project(folder, language, name="ann", checkout=ROOT)
    commands = Path(sys.executable).parent
    done = subprocess.run(
        ["make", "--silent", target],
        cwd=folder,
        env={
            **child_environment(),
            "PATH": f"{commands}:{os.environ['PATH']}",
            "GOFLAGS": "-mod=mod -trimpath",
            "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",  # a third of the time
            "MAVEN_OPTS": f"-Dmaven.repo.local={maven_repository(tmp_path / 'maven')}",
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(success, done.stdout, flags=re.MULTILINE), done.stdout
