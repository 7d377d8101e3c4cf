"""Happy City: rules engine, views and records.

The base of the arena. It does no I/O beyond its own card tables, reads no clock, and takes its
randomness from the caller. Its names are those of `happycity.public`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from happycity.compiled import check_compiled

check_compiled(__path__[0])

if TYPE_CHECKING:
    from happycity.public import *  # noqa: F403 - all of them


def __getattr__(name: str) -> object:
    """Import the rules when the first of their names is used: a command that shows its help needs none."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    public = import_module("happycity.public")
    globals().update({each: getattr(public, each) for each in ("__all__", *public.__all__)})
    return getattr(public, name)
