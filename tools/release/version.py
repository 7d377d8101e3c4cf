"""Print the project's version, or set it in all files that have it.

`python -m tools version` prints it, or says where it differs. With a version, such as 0.2.0, it sets it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tools import ROOT

_NUMBER = r"(\d+\.\d+\.\d+)"
_POM = rf"<artifactId>happycity-parent</artifactId>\s+<version>{_NUMBER}</version>"
_IN_LOCK = rf'^name = "happycity(?:-engine)?"\nversion = "{_NUMBER}"$'
PLACES = {
    "pyproject.toml": rf'^(?:version = "|engine = \["happycity-engine==){_NUMBER}"',
    "uv.lock": _IN_LOCK,
    "Dockerfile": rf"^ARG VERSION={_NUMBER}$",
    "CITATION.cff": rf"^version: {_NUMBER}$",
    "deploy/kubernetes/kustomization.yaml": rf"newTag: {_NUMBER}",
    "deploy/kubernetes-workers/kustomization.yaml": rf"newTag: {_NUMBER}",
    "deploy/kubernetes-gateways/kustomization.yaml": rf"newTag: {_NUMBER}",
    "clients/go/play.go": rf'^const Version = "{_NUMBER}"$',
    "clients/typescript/package.json": rf'^  "version": "{_NUMBER}",$',
    "clients/typescript/package-lock.json": rf'"name": "happycity",\s+"version": "{_NUMBER}",',
    "clients/rust/Cargo.toml": rf'^(?:happycity-engine = \{{ )?version = "{_NUMBER}"',
    "clients/rust/Cargo.lock": _IN_LOCK,
    "engine/Cargo.toml": rf'^version = "{_NUMBER}"$',
    "engine/Cargo.lock": rf'^name = "happycity-engine(?:-c|-python)?"\nversion = "{_NUMBER}"$',
    "engine/c/Cargo.toml": rf'^version = "{_NUMBER}"$',
    "engine/python/Cargo.toml": rf'^version = "{_NUMBER}"$',
    "engine/python/pyproject.toml": rf'^version = "{_NUMBER}"$',
    "clients/java/pom.xml": _POM,
    "clients/java/happycity/pom.xml": _POM,
    "clients/java/examples/pom.xml": _POM,
    "clients/java/happycity/src/main/java/dev/happycity/HappyCity.java": rf' VERSION = "{_NUMBER}";',
    "clients/java/README.md": rf"`io\.github\.happycity-arena:happycity:{_NUMBER}`",
    "clients/conformance/readmes.toml": rf"`io\.github\.happycity-arena:happycity:{_NUMBER}`",
    "clients/cpp/CMakeLists.txt": rf"^project\(happycity VERSION {_NUMBER} ",
    "clients/cpp/tests/settings_test.cpp": rf'"happycity-cpp/{_NUMBER}"',
}
"""The files with the version, and how each writes it."""


class VersionError(Exception):
    """The version can't be read or set; one line."""


def read_versions(root: Path = ROOT) -> dict[str, str]:
    """Return the version of each file; `git tag` and the changelog are not included.

    Raises:
        VersionError: a file doesn't have it where it should, or has two.
    """
    versions = {}
    for name, pattern in PLACES.items():
        found = set(re.findall(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE))
        if len(found) != 1:
            raise VersionError(f"{name}: there should be one version, but there are {sorted(found)}")
        versions[name] = found.pop()
    return versions


def version(root: Path = ROOT) -> str:
    """Return the version.

    Raises:
        VersionError: the files don't agree.
    """
    versions = read_versions(root)
    expected = versions["pyproject.toml"]
    different = [f"{name} has {each}" for name, each in versions.items() if each != expected]
    if different:
        raise VersionError(f"pyproject.toml has {expected}, but {', '.join(different)}")
    return expected


def set_version(new: str, root: Path = ROOT) -> None:
    """Write a version into all files.

    Raises:
        VersionError: it is not three numbers, or a file has no place for it.
    """
    if not re.fullmatch(_NUMBER, new):
        raise VersionError(f"{new}: a version is three numbers, such as 0.2.0")
    read_versions(root)
    for name, pattern in PLACES.items():
        path = root / name
        text = path.read_text(encoding="utf-8")
        path.write_text(
            re.sub(pattern, lambda match: match[0].replace(match[1], new), text, flags=re.MULTILINE)
        )


def main() -> None:
    """Print the version, or set it."""
    try:
        if sys.argv[1:]:
            set_version(sys.argv[1])
        sys.stdout.write(f"{version()}\n")
    except VersionError as error:
        sys.exit(f"error: {error}")
