"""What pages need and takes seconds to compute: programs of low priority, one of a kind at a time."""

from __future__ import annotations

import asyncio
import shutil
import sys
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable
from typing import TypeVar

from happycity_server.errors import too_many

AT_ONCE = 1
"""Computations of a kind that are made at once; further ones wait."""
MOST_OPEN = 8
"""Computations of a kind that are made or wait; further ones are refused."""
SECONDS = 120.0
"""How long one may take."""
_NICE = ("nice", "-n", "10")
_T = TypeVar("_T")


class Turns:
    """Lets computations of a kind run one after the other, of which a few may wait."""

    def __init__(self, kind: str) -> None:
        """Begin without any; `kind` names them in a refusal, in the plural."""
        self._kind = kind
        self._free = asyncio.Semaphore(AT_ONCE)
        self._open = 0

    async def take(self, make: Callable[[], Awaitable[_T]]) -> _T:
        """Return what `make` computes, when it has its turn; ApiError if too many wait already."""
        if self._open >= MOST_OPEN:
            raise too_many(MOST_OPEN, self._kind)
        self._open += 1
        try:
            async with self._free, asyncio.timeout(SECONDS):
                return await make()
        finally:
            self._open -= 1


async def module_output(module: str, *arguments: str, given: bytes = b"") -> bytes:
    """Return what a module writes that is run as a program of low priority, and is given an input.

    Raises:
        RuntimeError: it failed.
    """
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
