"""A number of places that owners share: when all are taken, the owner with the most gives one up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_T = TypeVar("_T", bound=Hashable)


@dataclass(eq=False, repr=False)
class FairShare(Generic[_T]):
    """Which owner holds which places. One owner alone can never keep another one out."""

    most: int
    choose: Callable[[Collection[_T]], _T] = lambda own: next(iter(own))
    """Returns what an owner gives up; by default the oldest."""
    _owner: dict[_T, Hashable] = field(default_factory=dict, init=False)
    _owned: dict[Hashable, dict[_T, None]] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._owner)

    def take(self, owner: Hashable, thing: _T) -> _T | None:
        """Give a place to a thing; return what has lost its place for it, the thing itself if none is free.

        An owner gives up a place only to one that has at least two fewer, so that both don't take turns.
        """
        self.leave(thing)  # of another owner
        self._owner[thing] = owner
        own = self._owned.setdefault(owner, {})
        own[thing] = None
        if len(self) <= self.most:
            return None
        largest = max(self._owned.values(), key=len)
        leaving = self.choose(largest) if len(largest) > len(own) else thing
        self.leave(leaving)
        return leaving

    def leave(self, thing: _T) -> None:
        """Free the place of a thing, if it has one."""
        if thing in self._owner:
            owner = self._owner.pop(thing)
            del self._owned[owner][thing]
            if not self._owned[owner]:
                del self._owned[owner]
