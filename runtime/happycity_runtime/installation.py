"""How this project is installed: from a checkout, as no package of it is published yet."""

from __future__ import annotations

import shlex
from pathlib import Path

_SOMEWHERE = "/path/to/checkout"


def own_checkout() -> Path | None:
    """Return the checkout from which this project runs; None if it is installed."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "clients" / "go" / "go.mod").exists() else None


def install_command(extra: str) -> str:
    """Return the command that installs an extra of this project.

    The names of an index would lead to nothing, or to what a stranger has published by that name.
    """
    return f"pip install {shlex.quote(f'{own_checkout() or _SOMEWHERE}[{extra}]')}"
