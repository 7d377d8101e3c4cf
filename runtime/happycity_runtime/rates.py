"""The rates of callers: how often each may do something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

_FEW = 64
"""Buckets that are kept without a look at who has been quiet."""


@dataclass(eq=False, repr=False, kw_only=True)
class TokenBuckets:
    """A token bucket for each caller: some calls a second, and a burst after a pause.

    Memory holds those that called lately, not all that ever did.
    """

    rate: float
    """By which a bucket is filled, a second."""
    burst: int
    """What a bucket holds."""
    clock: Callable[[], float]
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict, init=False)
    """By caller: what was left in the bucket, and when."""
    _full_at: int = field(default=_FEW, init=False)
    """At how many buckets those of quiet callers are removed."""

    def __len__(self) -> int:
        return len(self._buckets)

    def wait(self, caller: str, amount: float = 1) -> float:
        """Count a call, or an amount of what is counted, and return 0.

        If it comes too early, nothing is counted, and the seconds to wait are returned. An amount beyond the
        burst is taken from a full bucket, which is then empty for longer.
        """
        now = self.clock()
        level, needed = self._level(caller, now), min(amount, self.burst)
        if level < needed:
            return (needed - level) / self.rate
        self._buckets[caller] = level - amount, now
        if len(self) > self._full_at:
            for quiet in [one for one in self._buckets if self._level(one, now) >= self.burst]:
                del self._buckets[quiet]
            self._full_at = max(_FEW, 2 * len(self))
        return 0.0

    def _level(self, caller: str, now: float) -> float:
        level, since = self._buckets.get(caller, (self.burst, now))
        return min(self.burst, level + (now - since) * self.rate)
