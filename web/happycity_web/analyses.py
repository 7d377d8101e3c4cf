"""Analyses of finished matches, made by `happycity analyse` in processes of low priority."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

from happycity.records.record import Json
from happycity_server.broadcast import SharedValues
from happycity_server.errors import too_many

AT_ONCE = 1
"""Analyses that are made at once; further ones wait."""
MOST_OPEN = 8
"""Analyses that are made or wait; further ones are refused."""
KEPT = 200
"""Analyses that are kept, those asked for last."""
SECONDS = 120.0
"""How long an analysis may take."""
COSTLIEST = 3
"""Decisions of each seat that become questions."""
_OF_DECISION = ("decision", "round", "phase", "loss", "losses", "line")
_NICE = ("nice", "-n", "10")


class Analyses:
    """Analyses by match, each made once by the evaluator of the installed version."""

    def __init__(self) -> None:
        self._made = SharedValues[int, Json](kept=KEPT)
        self._free = asyncio.Semaphore(AT_ONCE)
        self._open = 0

    def __contains__(self, match_id: int) -> bool:
        """Return whether an analysis is kept, or being made."""
        return match_id in self._made

    async def get(self, match_id: int, record: str) -> Json:
        """Return the analysis of a match's record.

        `places` has the expected places of all seats at each decision, and at the end, `seats` by seat the
        loss and the `costliest` decisions, as `happycity analyse --json` has them.

        Raises:
            ApiError: too many analyses are wanted already.
        """
        if match_id not in self and self._open >= MOST_OPEN:
            raise too_many(MOST_OPEN, "analyses")
        return await self._made.get(match_id, lambda: self._make(record))

    async def _make(self, record: str) -> Json:
        self._open += 1
        try:
            async with self._free, asyncio.timeout(SECONDS):
                return _shown(json.loads(await _analysed(record)))
        finally:
            self._open -= 1


async def _analysed(record: str) -> bytes:
    """Return what the command prints of a record."""
    with tempfile.TemporaryDirectory(prefix="happycity-") as folder:
        file = Path(folder, "game.json")
        await asyncio.to_thread(file.write_text, record, encoding="utf-8")
        arguments = (sys.executable, "-m", "happycity", "analyse", str(file), "--every-seat", "--json")
        lowered = _NICE if shutil.which(_NICE[0]) else ()
        process = await asyncio.create_subprocess_exec(
            *lowered, *arguments, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
        try:
            output, errors = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    if process.returncode:
        raise RuntimeError(f"happycity analyse failed: {errors.decode(errors='replace')[-500:]}")
    return output


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
