"""Programs that a release, its image and its checks run are of one version, and actions of one commit."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [*(ROOT / ".github/workflows").iterdir(), ROOT / "Makefile", ROOT / "Dockerfile", ROOT / ".ci/run"]
RUN = re.compile(
    r"\b(?:pipx run|npx|uv tool run|uvx|go run [\w.]+\.\w+/|go install|cargo install|bin/pip install)\b.*"
)
"""What takes a program from a registry where it is not locked."""
VERSION = re.compile(r"(?:==|@v?)(?:\d[\w.]*|\$\{\w+\})")


def runs() -> Iterator[str]:
    for file in FILES:
        yield from (match[0] for match in RUN.finditer(file.read_text()))


@pytest.mark.level(0)
def test_programs_from_registries_have_a_version() -> None:
    found = list(runs())
    assert len(found) >= 6
    assert [run for run in found if not VERSION.search(run)] == []


@pytest.mark.level(0)
def test_actions_are_of_a_commit() -> None:
    uses = [line for file in FILES for line in re.findall(r"uses: (\S+)", file.read_text())]
    assert uses
    assert [one for one in uses if not re.search(r"@[0-9a-f]{40}$", one) and not one.startswith("./")] == []


@pytest.mark.level(0)
def test_a_release_names_its_base_by_its_digest() -> None:
    """Both stages are made of it, and the image says which it is."""
    release, image = (ROOT / name for name in (".github/workflows/release.yml", "Dockerfile"))
    assert "Manifest.Digest" in release.read_text()
    assert "BASE=${{ steps.base.outputs.name }}" in release.read_text()
    assert set(re.findall(r"^FROM (\S+)", image.read_text(), re.MULTILINE)) == {"${BASE}"}
    assert 'base.name="${BASE}"' in image.read_text()
