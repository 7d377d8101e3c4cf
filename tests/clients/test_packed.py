"""Packages of all languages as their users get them: outside of the checkout, from what was packed alone."""

import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.clients.consumers import CONSUMERS
from tests.clients.programs import played
from tools.release.packages import pack
from tools.release.version import version

from happycity import Mode


@pytest.mark.parametrize("language", CONSUMERS)
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
    of_registry = {
        "python": {f"happycity-{version()}.cdx.json", f"happycity-{version()}.licences.txt", "METADATA"},
        "go": {"happycity_engine.wasm", "NOTICE"},
        "typescript": {"engine-wasm.js", "NOTICE"},
        "java": {f"happycity-{version()}-{kind}.jar" for kind in ("sources", "javadoc")} | {"NOTICE"},
    }
    return {"LICENSE", "README.md", "CHANGELOG.md"} | of_registry.get(language, set())
