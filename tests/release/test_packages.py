"""Packages of all languages as their users get them: outside of the checkout, from what was packed alone."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from release.licences import UNKNOWN, licences
from release.packages import LANGUAGES, ROOT, pack
from release.version import version
from tests.clients.programs import played
from tests.release.consumers import CONSUMERS

from happycity import Mode

SDKS = [language for language in LANGUAGES if language != "python"]


@pytest.mark.parametrize("language", SDKS)
def test_every_sdk_has_licence_changelog_and_readme(language: str) -> None:
    """They are in its own folder, as that is what is packed; the licence is the repository's."""
    folder = ROOT / "clients" / language
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert "## [" in (folder / "CHANGELOG.md").read_text()
    assert (folder / "README.md").is_file()


def test_dependencies_have_licences() -> None:
    """A line for each package has its name, version and licence; what isn't installed is left out."""
    lines = licences(["rich", "grpcio", "colorama-of-another-system"]).splitlines()
    assert [line.split()[0] for line in lines] == ["grpcio", "rich"]
    assert "Apache" in lines[0]
    assert "MIT" in lines[1]


@pytest.mark.thorough
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("language", LANGUAGES)
def test_packed_sdk_plays_outside_of_the_checkout(language: str, tmp_path: Path) -> None:
    """A project of its own builds a bot on what was packed alone, and the bot plays its games to the end."""
    tool, build = CONSUMERS[language]
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    packed, project = tmp_path / "dist", tmp_path / "project"
    project.mkdir()
    pack([language], packed)
    assert _metadata(language, packed) <= set(_names(language, packed))
    bot = build(project, packed)
    assert played(("--bots", "random", "--bot", f"first={bot}"), mode=Mode.FAMILY, folder=tmp_path)


def _names(language: str, packed: Path) -> Iterator[str]:
    """Yield the names of the packed files, without the folder of the version that is around them."""
    for path in packed.rglob("*"):
        yield path.name
        if path.suffix in (".whl", ".zip", ".jar"):
            with zipfile.ZipFile(path) as archive:
                yield from (name.rpartition("/")[2] for name in archive.namelist())
        elif path.suffix in (".gz", ".tgz", ".crate"):
            with tarfile.open(path) as archive:
                yield from (name.rpartition("/")[2] for name in archive.getnames())


def _metadata(language: str, packed: Path) -> set[str]:
    """Return the files that a registry or a user looks for."""
    of_registry = {
        "python": {f"happycity-{version()}.cdx.json", f"happycity-{version()}.licences.txt", "METADATA"},
        "java": {f"happycity-{version()}-{kind}.jar" for kind in ("sources", "javadoc")},
    }
    return {"LICENSE", "README.md", "CHANGELOG.md"} | of_registry.get(language, set())


@pytest.mark.thorough
def test_python_package_is_built_alike_twice(tmp_path: Path) -> None:
    """Wheel, source distribution and the list of dependencies are the same bytes, whenever they are built."""
    sums = []
    for number in (1, 2):
        pack(["python"], tmp_path / str(number))
        files = sorted(path for path in (tmp_path / str(number)).iterdir() if not path.name.startswith("."))
        sums.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files})
    assert len(sums[0]) == 4
    assert sums[0] == sums[1]
    licence_list = (tmp_path / "1" / f"happycity-{version()}.licences.txt").read_text()
    assert UNKNOWN not in licence_list
    sbom = json.loads((tmp_path / "1" / f"happycity-{version()}.cdx.json").read_text())
    assert {"grpcio", "protobuf", "sqlalchemy"} < {component["name"] for component in sbom["components"]}


@pytest.mark.thorough
def test_command_needs_no_installation(tmp_path: Path) -> None:
    """`uvx` and `pipx` get the commands from the wheel in an environment that they make."""
    pack(["python"], tmp_path / "dist")
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    uv = Path(sys.executable).with_name("uv")
    done = subprocess.run(
        [uv, "tool", "run", "--quiet", "--from", f"{wheel}[arena]", "tournament", "run", "--rounds", "1"],
        cwd=tmp_path,
        env={**os.environ, "UV_PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert "4 of 4 games" in done.stdout
