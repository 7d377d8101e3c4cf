"""Which code runs: that of the sources, what mypyc made of them (`make compiled`), or the native engine."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

from happycity.errors import ConfigError

CHECKSUMS = f"compiled{EXTENSION_SUFFIXES[0]}.sums" if EXTENSION_SUFFIXES else ""
"""A file in a package with extension modules: the checksums of the sources that they were compiled from."""


def check_compiled(package: str) -> None:
    """Refuse extension modules in the package with this folder if they are out of date.

    Python prefers them to the sources in the same folder, so that it would silently run old code.

    Raises:
        ImportError: a source has changed since it was compiled.
    """
    try:
        checksums = Path(package, CHECKSUMS).read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    for line in checksums.splitlines():
        checksum, name = line.split()
        source = Path(package, name)
        if not source.exists() or crc32(source.read_bytes()) != int(checksum):
            raise ImportError(f"{source} has changed since it was compiled: run make compiled or make pure")


def is_compiled() -> bool:
    """Return whether the rules run compiled."""
    spec = find_spec("happycity.rules.game")
    return spec is not None and (spec.origin or "").endswith(tuple(EXTENSION_SUFFIXES))


def native(name: str) -> Any:
    """Return a class of the native engine by its name; None where the engine isn't installed.

    Raises:
        ConfigError: the engine is of another version than this package.
    """
    try:
        engine = import_module("happycity_engine")
    except ImportError:
        return None
    own = _own_version()
    if engine.__version__ != own:
        raise ConfigError(
            f"happycity-engine {engine.__version__} is installed beside happycity {own}: "
            f"install {own}; in its checkout, make engine builds it"
        )
    return getattr(engine, name)


@cache  # reading it takes as long as a bot's whole search, which asks for the engine at each decision
def _own_version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - takes long to import

    return version("happycity")


def required(name: str) -> Any:
    """Return a class of the native engine; ImportError where the engine isn't installed.

    Raises:
        ConfigError: the engine is of another version than this package.
    """
    if (found := native(name)) is None:
        raise ImportError("the native engine is not installed; in a checkout, make engine builds it")
    return found
