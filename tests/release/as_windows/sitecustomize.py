"""Makes Python lack what it lacks on Windows; found by PYTHONPATH, so that child processes lack it too.

What other packages do on Windows can't run here, so these are imported before.
"""

import asyncio
import importlib
import importlib.abc
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import NoReturn

MODULES = {"fcntl", "grp", "pwd", "resource", "termios", "tty", "uvloop"}
FUNCTIONS = ("fork", "getpgid", "getuid", "killpg", "nice", "sched_getaffinity", "setsid")
SIGNALS = ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH")
KILL = int(signal.SIGKILL)
PACKAGES = (
    *("concurrent.futures.process", "multiprocessing.spawn", "ssl", "tempfile", "uuid", "zoneinfo"),
    *("babel", "filelock", "grpc.aio", "jinja2", "numpy", "orjson", "prometheus_client", "prompt_toolkit"),
    *("pydantic", "rich.live", "rich.table", "sqlalchemy.dialects.sqlite", "structlog", "typer"),
)


class Refusing(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise an error if there is no such module on Windows; else leave it to others."""
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def refuse(*_: object) -> NoReturn:
    """Refuse to handle a signal by the event loop."""
    raise NotImplementedError


def terminate(process: subprocess.Popen[bytes]) -> None:
    """End a process at once, if it still runs."""
    with suppress(ProcessLookupError):
        os.kill(process.pid, KILL)


for package in PACKAGES:
    importlib.import_module(package)
for module in MODULES:
    sys.modules.pop(module, None)
for function in FUNCTIONS:
    delattr(os, function)
for name in SIGNALS:
    delattr(signal, name)
sys.meta_path.insert(0, Refusing())
asyncio.SelectorEventLoop.add_signal_handler = refuse  # type: ignore[assignment,method-assign]
subprocess.Popen.kill = subprocess.Popen.terminate = terminate  # type: ignore[assignment,method-assign]
sys.platform = "win32"
