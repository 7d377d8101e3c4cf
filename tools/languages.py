"""The languages with an SDK, and how their example bots are started. `make clients` builds them."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from tools import ROOT

CLIENTS = ROOT / "clients"

LANGUAGES = {
    "go": "{clients}/go/bin/{bot}",
    "typescript": "node {clients}/typescript/dist/examples/{bot}.js",
    "rust": "{clients}/rust/target/debug/examples/{bot}",
    "java": "java -XX:TieredStopAtLevel=1 -cp {clients}/java/examples/target/examples.jar {Bot}",
    "cpp": "{clients}/cpp/build/bin/{bot}",
}
"""How an example bot is started, by language: {bot} is such as `greedy`, {Bot} the same with a capital.

docs/engine.md (In other languages) says why Java goes without its optimising compiler.
"""
SDKS = {"python": f"{shlex.quote(sys.executable)} {{clients}}/python/examples/{{bot}}.py", **LANGUAGES}
"""The same, of all SDKs."""


def command(language: str, bot: str) -> str:
    """Return the command that starts an example bot."""
    return SDKS[language].format(clients=shlex.quote(str(CLIENTS)), bot=bot, Bot=bot.capitalize())


def missing(command: str) -> str:
    """Return what is not there of a command, or an empty text if it can be started."""
    program, *arguments = shlex.split(command)
    if shutil.which(program) is None:
        return program
    files = [word for word in arguments if word.startswith(f"{CLIENTS}/")]
    return next((file for file in files if not Path(file).exists()), "")
