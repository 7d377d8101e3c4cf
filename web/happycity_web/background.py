"""Values that pages need and that take seconds to compute, by programs of low priority."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from happycity.records.record import Json
from happycity_web.cache import Kind

MOST_OPEN = 8
"""Values of a kind that are made by such programs, one after the other, or wait."""
ANALYSES = Kind[Json]("analyses", kept=200, most_open=MOST_OPEN)
"""Of finished matches, by id."""
COSTLIEST = 3
"""Decisions of each seat that become questions."""
_OF_DECISION = ("decision", "round", "phase", "loss", "losses", "line")
_NICE = ("nice", "-n", "10")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "happycity", "analyses")
"""Where analyses are kept over restarts, by their records; without it, they are made again."""
MOST_FILES = 2000
"""Analyses that are kept there, the latest; one takes some 10 kB."""


async def output_of(module: str, *arguments: str, given: bytes = b"") -> bytes:
    """Return what a module writes that runs as a program of low priority; RuntimeError if it fails."""
    lowered = _NICE if shutil.which(_NICE[0]) else ()
    process = await asyncio.create_subprocess_exec(
        *lowered, sys.executable, "-m", module, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    try:
        output, errors = await process.communicate(given)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()  # `wait` would leave pipes open that are still to be read
    if process.returncode:
        raise RuntimeError(f"{module} failed: {errors.decode(errors='replace')[-500:]}")
    return output


async def analysis_of(record: str) -> Json:
    """Return the analysis of a match's record, by the evaluator of the installed version.

    It is made once for each record and version, also over restarts.

    `places` has the expected places of all seats at each decision, and at the end, `seats` by seat the
    loss and the `costliest` decisions, as `happycity analyse --json` has them.
    """
    name = hashlib.sha256(f"{version('happycity')} {record}".encode()).hexdigest()
    kept = CACHE / f"{name}.json"
    with suppress(OSError, ValueError):
        found: Json = json.loads(await asyncio.to_thread(kept.read_text, encoding="utf-8"))
        return found
    with tempfile.TemporaryDirectory(prefix="happycity-") as folder:
        file = Path(folder, "game.json")
        await asyncio.to_thread(file.write_text, record, encoding="utf-8")
        output = await output_of("happycity", "analyse", str(file), "--every-seat", "--json")
    analysis = _shown(json.loads(output))
    with suppress(OSError):  # a server without a folder for it makes the analysis again
        await asyncio.to_thread(_keep, kept, json.dumps(analysis))
    return analysis


def _keep(file: Path, text: str) -> None:
    """Write a file whole, and delete the oldest of too many in its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(file)
    for old in sorted(file.parent.iterdir(), key=os.path.getmtime)[:-MOST_FILES]:
        old.unlink(missing_ok=True)


def _shown(content: Json) -> Json:
    """Return what pages show of an analysis; all decisions with their positions would fill the memory."""
    seats = content["seats"]
    return {
        "evaluator": seats[0]["evaluator"],
        "places": content["places"],
        "seats": [
            {
                "loss": seat["loss"],
                "costliest": [
                    {name: decision[name] for name in _OF_DECISION}
                    for decision in seat["decisions"][:COSTLIEST]
                    if decision["line"]
                ],
            }
            for seat in seats
        ],
    }
