"""The version, which many files have."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from release.version import PLACES, ROOT, VersionError, read_versions, set_version, version


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder with copies of the files that have the version."""
    for name in PLACES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_all_files_have_one_version() -> None:
    """Packages of all languages, the image and the citation are of the same version."""
    assert set(read_versions().values()) == {version()}


def test_version_is_set_everywhere(copy: Path) -> None:
    """A new version is written into all files, and into nothing else in them."""
    old = version()
    set_version("12.3.45", copy)
    assert set(read_versions(copy).values()) == {"12.3.45"}
    set_version(old, copy)
    for name in PLACES:
        assert (copy / name).read_bytes() == (ROOT / name).read_bytes(), name


def test_files_that_differ_are_named(copy: Path) -> None:
    """A file with another version, or without any, is an error that names it."""
    place = copy / "clients/rust/Cargo.toml"
    place.write_text(place.read_text().replace(f'version = "{version()}"', 'version = "9.9.9"', 1))
    with pytest.raises(VersionError, match=re.escape("but clients/rust/Cargo.toml has 9.9.9")):
        version(copy)
    place.write_text("[package]\n")
    with pytest.raises(VersionError, match=r"clients/rust/Cargo\.toml: there should be one version"):
        version(copy)
    with pytest.raises(VersionError, match="a version is three numbers"):
        set_version("0.2", copy)


def test_image_installs_the_locked_uv() -> None:
    """The Dockerfile's uv is that of uv.lock, which wrote the lock file that it reads."""
    (in_image,) = re.findall(r"^ARG UV=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert f'name = "uv"\nversion = "{in_image}"\n' in (ROOT / "uv.lock").read_text()
