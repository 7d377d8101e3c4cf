"""How this project is installed: from a checkout, a file or an index, and with which extras."""

from __future__ import annotations

import json
import re
import shlex
from importlib.metadata import distribution, version
from pathlib import Path
from urllib.parse import urlsplit

from happycity.errors import FieldError

_REQUIREMENT = re.compile(r"""(?P<name>[A-Za-z0-9._-]+).*;\s*extra\s*==\s*['"](?P<extra>[^'"]+)['"]""")


def own_checkout() -> Path | None:
    """Return the checkout from which this project runs or was installed; None if it is of a package."""
    for root in (Path(__file__).resolve().parents[2], _installed_from()):
        if root is not None and (root / "clients" / "go" / "go.mod").exists():
            return root
    return None


def install_command(extra: str) -> str:
    """Return the command that installs an extra of this project, from where the project itself came.

    That is a checkout, a file, or the index that has this version. Another name or version of an index could
    lead to nothing, or to what a stranger has published.
    """
    source = own_checkout() or _installed_from()
    requirement = f"{source}[{extra}]" if source else f"happycity[{extra}]=={version('happycity')}"
    return f"pip install {shlex.quote(requirement)}"


def _installed_from() -> Path | None:
    """Return the folder or file from which this project was installed; None if it came from an index.

    Source: the file direct_url.json of PEP 610.
    """
    from urllib.request import url2pathname  # noqa: PLC0415 - it imports ssl, and most commands ask for no extra

    text = distribution("happycity").read_text("direct_url.json")
    url = json.loads(text)["url"] if text else ""
    return Path(url2pathname(urlsplit(url).path)) if url.startswith("file:") else None


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
