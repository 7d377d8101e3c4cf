"""Whole programs of the project as processes of their own, run to their end."""

import subprocess
import sys
from typing import Any

from tests.waiting import LIMIT


def run(*arguments: object, module: str = "happycity", **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a module with arguments; `options` are those of `subprocess.run`."""
    usual = {"capture_output": True, "text": True, "check": False, "timeout": LIMIT}
    if not {"stdin", "input"} & options.keys():
        usual["stdin"] = subprocess.DEVNULL
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done: subprocess.CompletedProcess[str] = subprocess.run(command, **usual | options)  # noqa: PLW1510
    return done
