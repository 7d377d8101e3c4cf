"""Projects that `happycity new-bot` makes: who follows the README of one gets what it says."""

import shutil
from pathlib import Path

import pytest
from tests.texts.projects import follow_readme
from tests.texts.reader import Reader

from happycity_new_bot.languages import LANGUAGES

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


@pytest.mark.parametrize(
    ("language", "options"),
    [
        *((name, "") for name in LANGUAGES),
        *(pytest.param(name, " --search", marks=pytest.mark.nightly) for name in LANGUAGES),
    ],
)
def test_a_project_does_what_its_readme_says(language: str, options: str, tmp_path: Path) -> None:
    """Its README's commands build it with the checkout's SDK, check it, play, and start it by hand."""
    tool = TOOLS.get(language)
    if tool is not None and shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    environment = {
        "GOFLAGS": "-mod=mod -trimpath",
        "MAVEN_OPTS": f"-Dmaven.repo.local={maven_repository(tmp_path / 'maven')}",
    }
    if not options:  # a third of the time; but a search needs its speed
        environment["CARGO_PROFILE_RELEASE_OPT_LEVEL"] = "0"
    author = Reader(tmp_path, environment)
    author.run(f"happycity new-bot ann --language {language}{options}")
    author.run("cd ann")
    # A check would start 30 Java machines, one after the other; the SDK's own tests do.
    follow_readme(author, without="make check" if language == "java" else "")
