"""The values that pages share: each is made once for all who need it, and the latest ones are kept."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from happycity_server.broadcast import SharedValues
from happycity_server.errors import too_many

SECONDS = 120.0
"""How long making a value in turn may take."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Kind(Generic[_T]):
    """A kind of values, each of which has a key."""

    name: str
    """In the plural, as a refusal has it."""
    kept: int
    """The number of values that are kept."""
    most_open: int = 0
    """Values that are made one after the other: with so many made or waiting, further ones are refused.
    0: any number at once."""


class PageCache:
    """Values by kind and key."""

    def __init__(self, charge: Callable[[float], None]) -> None:
        """Keep nothing yet; `charge` counts calls of the caller, or refuses them."""
        self._charge = charge
        self._values: dict[Kind[Any], SharedValues[Hashable, Any]] = {}
        self._turns: defaultdict[Kind[Any], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._open = Counter[Kind[Any]]()

    async def get(
        self, kind: Kind[_T], key: Hashable, make: Callable[[], Awaitable[_T]], *, calls: float = 0
    ) -> _T:
        """Return a value, made by `make` if it is not there, which counts as some calls of the caller.

        Raises:
            ApiError: the caller has asked for too much, or too many values of this kind are wanted already.
        """
        values = self._values.setdefault(kind, SharedValues(kept=kind.kept))
        if key not in values:
            if kind.most_open and self._open[kind] >= kind.most_open:
                raise too_many(kind.most_open, kind.name)
            if calls:
                self._charge(calls)
        value: _T = await values.get(key, partial(self._in_turn, kind, make) if kind.most_open else make)
        return value

    async def _in_turn(self, kind: Kind[_T], make: Callable[[], Awaitable[_T]]) -> _T:
        self._open[kind] += 1
        try:
            async with self._turns[kind], asyncio.timeout(SECONDS):
                return await make()
        finally:
            self._open[kind] -= 1
