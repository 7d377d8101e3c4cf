"""The environment of a program, and the files that add to it: settings of a folder, secrets in files.

What has another form is a ConfigError.
"""

from __future__ import annotations

import os
import re
from collections.abc import MutableMapping
from pathlib import Path

from happycity.errors import ConfigError, FieldError
from happycity_runtime.files import read_text

# gRPC reads it when it is imported. It would log failed connections and taken ports, which have messages of
# our own, and what a server closes while a person thinks.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

SERVER_VARIABLE = "HAPPYCITY_SERVER"
"""The environment variable with the server that bots and commands use."""
SETTINGS_FILE = "happycity.env"
"""The file of settings that commands and bots read in the folder where they are started."""
SETTINGS_VARIABLE = "HAPPYCITY_ENV"
"""The environment variable with the path of another such file."""
_PREFIX, _SUFFIX = "HAPPYCITY_", "_FILE"
_PATHS = ("HAPPYCITY_CA", "HAPPYCITY_CERT", "HAPPYCITY_KEY", "HAPPYCITY_SERVE_TOKENS")
_LINE = re.compile(r"(?P<name>HAPPYCITY_[A-Z_]+)=(?P<value>[^\0]*)")


def read_variables_from_files(environ: MutableMapping[str, str]) -> None:
    """Replace each variable `HAPPYCITY_..._FILE` by the one without `_FILE`, with the content of that file.

    Blanks and line breaks around it are removed. The file wins over a value, as images set defaults.
    ConfigError if a file can't be read, or is not text.
    """
    names = [name for name in environ if name.startswith(_PREFIX) and name.endswith(_SUFFIX)]
    for name in names:
        path = environ.pop(name)
        if path:
            environ[name.removesuffix(_SUFFIX)] = _read(Path(path), name)


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


def read_settings_file(environ: MutableMapping[str, str]) -> None:
    """Take what the environment lacks from the file of settings, if there is one.

    It is the file that HAPPYCITY_ENV names, else `happycity.env` in this process's folder. Its tokens are for
    one server: where the environment has an address already, also an empty one, the file's CA alone counts,
    and that only where the environment has no access of its own. Paths in it are relative to the file.
    """
    other_server = SERVER_VARIABLE in environ
    if other_server and any(environ.get(f"HAPPYCITY_{name}") for name in ("CA", "TOKEN", "TOKENS")):
        return
    named = environ.get(SETTINGS_VARIABLE)
    path = Path(named or SETTINGS_FILE)
    try:
        lines = read_text(path).split("\n")
    except FileNotFoundError:
        if named and not other_server:
            raise ConfigError(f"{SETTINGS_VARIABLE}: there is no file {path}") from None
        return
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{path} can't be read as text in UTF-8") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if (match := _LINE.fullmatch(line.strip())) is None:
            raise ConfigError(f"{path}:{number}: it is not HAPPYCITY_NAME=VALUE")
        name, value = match["name"], match["value"]
        if other_server and name != "HAPPYCITY_CA":
            continue
        if name in _PATHS and value:
            value = str(path.parent / value)
        environ.setdefault(name, value)
