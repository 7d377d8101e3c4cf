"""Values that pages need and that take seconds to compute, by programs of low priority."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

from happycity.records.record import Json
from happycity_server.broadcast import SharedValues
from happycity_server.errors import too_many

AT_ONCE = 1
"""Values of a kind that are made at once; further ones wait."""
MOST_OPEN = 8
"""Values of a kind that are made or wait; further ones are refused."""
SECONDS = 120.0
"""How long making one may take."""
ANALYSES_KEPT = 200
"""Analyses that are kept, those asked for last."""
COSTLIEST = 3
"""Decisions of each seat that become questions."""
_OF_DECISION = ("decision", "round", "phase", "loss", "losses", "line")
_NICE = ("nice", "-n", "10")
_T = TypeVar("_T")


class Background(Generic[_T]):
    """Values of a kind, each made once for all who ask for it, one after the other."""

    def __init__(self, kind: str, *, kept: int) -> None:
        """Keep the latest ones, at most `kept`; `kind` names them in a refusal, in the plural."""
        self._kind = kind
        self._made = SharedValues[Hashable, _T](kept=kept)
        self._free = asyncio.Semaphore(AT_ONCE)
        self._open = 0

    def __contains__(self, key: Hashable) -> bool:
        """Return whether a value is kept, or being made."""
        return key in self._made

    async def get(self, key: Hashable, make: Callable[[], Awaitable[_T]]) -> _T:
        """Return a value, made by `make` if it is not there; ApiError if too many are wanted already."""
        if key not in self and self._open >= MOST_OPEN:
            raise too_many(MOST_OPEN, self._kind)
        return await self._made.get(key, lambda: self._in_turn(make))

    async def _in_turn(self, make: Callable[[], Awaitable[_T]]) -> _T:
        self._open += 1
        try:
            async with self._free, asyncio.timeout(SECONDS):
                return await make()
        finally:
            self._open -= 1


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
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"{module} failed: {errors.decode(errors='replace')[-500:]}")
    return output


async def analysis_of(record: str) -> Json:
    """Return the analysis of a match's record, by the evaluator of the installed version.

    `places` has the expected places of all seats at each decision, and at the end, `seats` by seat the
    loss and the `costliest` decisions, as `happycity analyse --json` has them.
    """
    with tempfile.TemporaryDirectory(prefix="happycity-") as folder:
        file = Path(folder, "game.json")
        await asyncio.to_thread(file.write_text, record, encoding="utf-8")
        output = await output_of("happycity", "analyse", str(file), "--every-seat", "--json")
    return _shown(json.loads(output))


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
