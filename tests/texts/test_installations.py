"""What texts install exists: no index has a package of this project, so all of it comes from a checkout."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools import ROOT

from happycity_new_bot.languages import LANGUAGES
from happycity_new_bot.project import write_project

TEXTS = (
    ".md",
    ".py",
    ".toml",
    ".in",
    ".html",
    ".po",
    ".ts",
    ".mjs",
    ".go",
    ".rs",
    ".java",
    ".h",
    ".cpp",
    ".sh",
)
"""The ends of names of files that say something to people: pages, messages in code, templates."""
PLACES = (
    *("docs", "game", "runtime", "server", "tournament", "ladder", "viewer", "web"),
    *("clients", "deploy", "tools", ".github"),
)
BUILT = {"node_modules", "target", "build", "dist", "bin", "v1", "v1beta1", "gen", "__pycache__"}
"""Names of folders with what is built or generated."""
COMMAND = re.compile(
    r"(?:pip3? install|uv (?:add|pip install|tool install|tool run)|uvx|pipx (?:install|run)"
    r"|npm (?:install|i|add|create)|npx|yarn add|pnpm add|cargo (?:add|install)|go (?:get|install)"
    r"|dependency:get)"
    r" (?P<what>[^`\n]*)"
)
"""A command that takes packages from an index, with what it is to install."""
OWN = re.compile(
    r"""(?: (?<![-\w./:@+])  # no part of a path, of an address or of another name
        (?: happycity (?: -engine )? (?![-\w./:]|\[\w+\]\s@\s) | github\.com/happycity-arena/ )
      | artifact=io\.github\.happycity-arena: )
    """,
    re.VERBOSE,
)
"""The name of a package of this project, as an index would have it."""
MAVEN = "io.github.happycity-arena:happycity"


def unpublished(text: str) -> list[str]:
    """Return the commands of a text that install a package of this project from an index."""
    return [
        command[0]
        for command in COMMAND.finditer(text)
        if OWN.search(command["what"])
        and "GOPROXY=file:" not in text[text.rfind("\n", 0, command.start()) + 1 : command.start()]
    ]


def texts() -> Iterator[tuple[str, str]]:
    """Yield all files that say something to people, by their names."""
    yield "README.md", (ROOT / "README.md").read_text(encoding="utf-8")
    for place in PLACES:
        for folder, folders, files in os.walk(ROOT / place):
            folders[:] = {*folders} - BUILT
            for path in (Path(folder, file) for file in files):
                if path.suffix in TEXTS and "_pb2" not in path.name:
                    yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_no_text_installs_what_is_not_published() -> None:
    """Neither pages nor messages nor templates do; who followed them would get nothing, or a stranger's."""
    found = dict(texts())
    assert {"docs/external-ais.md", "runtime/happycity_entry/cli.py", "clients/go/README.md"} <= set(found)
    assert sum(len(COMMAND.findall(text)) for text in found.values()) >= 20
    assert {name: lines for name, text in found.items() if (lines := unpublished(text))} == {}


def test_pages_that_name_the_maven_package_say_how_it_gets_into_the_local_repository() -> None:
    pages = {name: text for name, text in texts() if name.endswith(".md") and MAVEN in text}
    assert [
        name for name, text in pages.items() if not re.search(r"clients/java install|`maven/`", text)
    ] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_new_projects_install_from_the_checkout(language: str, tmp_path: Path) -> None:
    """What `happycity new-bot` writes does the same."""
    for path in write_project(tmp_path / "ann", language, name="ann", checkout=ROOT):
        if path.suffix != ".decision":
            assert unpublished(path.read_text(encoding="utf-8")) == [], path.name


def test_files_and_repositories_are_told_from_packages_of_an_index() -> None:
    for line, is_refused in {
        "pip install happycity": True,
        "`pip install 'happycity[web]'`": True,
        "uvx --from 'happycity[arena]' tournament run": True,
        "npm install happycity": True,
        "cargo add happycity": True,
        "go get github.com/happycity-arena/happycity/clients/go@v1": True,
        "mvn dependency:get -Dartifact=io.github.happycity-arena:happycity:1": True,
        "pip install '/path/to/checkout[web]'": False,
        "pip install './happycity[arena]'": False,
        "pip install 'happycity[arena] @ git+https://github.com/happycity-arena/happycity'": False,
        "pip install happycity-0.1.0-py3-none-any.whl": False,
        "npm install CHECKOUT/clients/typescript": False,
        "cargo add --path happycity-0.1.0": False,
        "GOPROXY=file:///path/dist/go go get github.com/happycity-arena/happycity/clients/go@v1": False,
    }.items():
        assert bool(unpublished(line)) is is_refused, line
