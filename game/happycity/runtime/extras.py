"""Which extras of the distribution are installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires, version

_REQUIREMENT = re.compile(r"""(?P<name>[A-Za-z0-9._-]+).*;\s*extra\s*==\s*['"](?P<extra>[^'"]+)['"]""")


def missing_packages(extra: str) -> list[str]:
    """Return the packages that an extra needs and that are not installed, other extras left out."""
    found = (_REQUIREMENT.fullmatch(line) for line in requires("happycity") or ())
    names = [match["name"] for match in found if match is not None and match["extra"] == extra]
    return [name for name in names if name != "happycity" and not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
