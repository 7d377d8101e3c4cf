"""How this project is installed: from a checkout, as it is not published yet, and with which extras."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from happycity.errors import FieldError

_SOMEWHERE = "/path/to/checkout"
_REQUIREMENT = re.compile(r"""(?P<name>[A-Za-z0-9._-]+).*;\s*extra\s*==\s*['"](?P<extra>[^'"]+)['"]""")


def own_checkout() -> Path | None:
    """Return the checkout from which this project runs; None if it is installed."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "clients" / "go" / "go.mod").exists() else None


def install_command(extra: str) -> str:
    """Return the command that installs an extra of this project.

    The names of an index would lead to nothing, or to what a stranger has published by that name.
    """
    return f"pip install {shlex.quote(f'{own_checkout() or _SOMEWHERE}[{extra}]')}"


def missing_packages(extra: str) -> list[str]:
    """Return the packages that an extra needs and that are not installed, other extras left out."""
    from importlib.metadata import requires  # noqa: PLC0415 - most commands ask for no extra

    found = (_REQUIREMENT.fullmatch(line) for line in requires("happycity") or ())
    names = [match["name"] for match in found if match is not None and match["extra"] == extra]
    return [name for name in names if name != "happycity" and not _is_installed(name)]


def check_installed(extra: str) -> None:
    """Refuse to go on without what an extra needs, with a ConfigError that says how to install it."""
    if missing := missing_packages(extra):
        raise FieldError(
            extra, f"{', '.join(missing)} is not installed; install it by: {install_command(extra)}"
        )


def _is_installed(name: str) -> bool:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
