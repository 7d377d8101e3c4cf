"""Packs what a worker and the reference bots import, so that a node needs nothing but Python.

Nodes get what is installed here. So they need the same kind of machine, and the same minor version of Python,
which Ray requires anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from packaging.requirements import Requirement

OWN = ("happycity", "happycity_bots", "happycity_client", "happycity_server", "happycity_tournament")
"""The packages of this distribution that a node imports."""
COMPRESSION = 1
"""The fastest level: the nodes are waiting."""


def write_packages(folder: str) -> Path:
    """Write the packages into an archive in a folder; return its path."""
    path = Path(folder) / "packages.zip"
    files = dict(shipped_files())
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=COMPRESSION, strict_timestamps=False) as archive:
        for name in sorted(files):
            archive.write(files[name], name)
    return path


def shipped_files() -> Iterator[tuple[str, Path]]:
    """Yield the names of all files in the archive, with where they are here."""
    for package in OWN:  # by their folders, as a checkout has them elsewhere than its metadata
        spec = find_spec(package)
        assert spec is not None
        for root in map(Path, spec.submodule_search_locations or ()):
            for file in filter(_is_needed, root.rglob("*")):
                yield str(file.relative_to(root.parent)), file
    for installed in _distributions():
        for listed in installed.files or ():
            located = Path(str(installed.locate_file(listed)))
            # Not scripts, which are outside of the packages, nor what points to a checkout.
            if ".." not in listed.parts and located.suffix != ".pth" and _is_needed(located):
                yield str(listed), located


def _is_needed(file: Path) -> bool:
    return file.is_file() and file.suffix != ".pyc"


def _distributions() -> Iterator[Distribution]:
    """Yield this distribution and all that its extra `arena` needs."""
    waiting, seen = [("happycity", "arena")], set[tuple[str, str]]()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            found = distribution(name)
        except PackageNotFoundError:  # not on this system
            continue
        yield found
        for line in found.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting += [(requirement.name, more) for more in (requirement.extras or {""})]
