"""What a program does at its start and end: variables in files, garbage, errors; which extras it has."""

from __future__ import annotations

import atexit
import gc
import os
import re
import sys
from collections.abc import Callable, MutableMapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import NoReturn

from happycity.errors import FieldError, HappyCityError
from happycity_runtime.files import read_text
from happycity_runtime.installation import install_command

_PREFIX, _SUFFIX = "HAPPYCITY_", "_FILE"


def collect_garbage_rarely() -> None:
    """Collect garbage rarely, and not at the end of this process."""
    # Imported modules stay, and games make few cycles: that saves 5%.
    gc.set_threshold(50_000, 20, 20)
    # Else the process would look through all its objects before it ends, for a tenth of a second.
    atexit.register(gc.freeze)


def read_variables_from_files(environ: MutableMapping[str, str]) -> None:
    """Replace each variable `HAPPYCITY_..._FILE` by the one without `_FILE`, with the content of that file.

    Blanks and line breaks around it are removed. The file wins over a value, as images set defaults.

    Raises:
        ConfigError: a file can't be read, or is not text.
    """
    names = [name for name in environ if name.startswith(_PREFIX) and name.endswith(_SUFFIX)]
    for name in names:
        path = environ.pop(name)
        if path:
            environ[name.removesuffix(_SUFFIX)] = _read(Path(path), name)


def run_program(main: Callable[[], None]) -> NoReturn:
    """Run a program without a command line, and exit: bad input costs one line and status 2."""
    collect_garbage_rarely()
    try:
        read_variables_from_files(os.environ)
        main()
    except (HappyCityError, OSError) as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        sys.exit(2)
    sys.exit(0)


def _read(path: Path, name: str) -> str:
    try:
        text = read_text(path).strip()
    except OSError as error:
        raise FieldError(name, f"{path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # which no variable can have
        raise FieldError(name, f"{path} is not text in UTF-8")
    return text


_REQUIREMENT = re.compile(r"""(?P<name>[A-Za-z0-9._-]+).*;\s*extra\s*==\s*['"](?P<extra>[^'"]+)['"]""")


def missing_packages(extra: str) -> list[str]:
    """Return the packages that an extra needs and that are not installed, other extras left out."""
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
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
