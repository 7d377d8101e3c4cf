"""The rates of callers: how often each may do something."""

from __future__ import annotations

from collections.abc import Callable

_FEW = 64
"""Buckets that are kept without a look at who has been quiet."""


class TokenBuckets:
    """A token bucket for each caller: some calls a second, and a burst after a pause.

    Memory holds those that called lately, not all that ever did.
    """

    def __init__(self, *, rate: float, burst: int, clock: Callable[[], float]) -> None:
        """Fill a bucket by `rate` a second, up to `burst`."""
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        """By caller: what was left in the bucket, and when."""
        self._full_at = _FEW
        """At how many buckets those of quiet callers are removed."""

    def __len__(self) -> int:
        return len(self._buckets)

    def wait(self, caller: str, amount: float = 1) -> float:
        """Count a call, or an amount of what is counted, and return 0.

        If it comes too early, nothing is counted, and the seconds to wait are returned. An amount beyond the
        burst is taken from a full bucket, which is then empty for longer.
        """
        now = self._clock()
        level, needed = self._level(caller, now), min(amount, self._burst)
        if level < needed:
            return (needed - level) / self._rate
        self._buckets[caller] = level - amount, now
        if len(self) > self._full_at:
            for quiet in [one for one in self._buckets if self._level(one, now) >= self._burst]:
                del self._buckets[quiet]
            self._full_at = max(_FEW, 2 * len(self))
        return 0.0

    def _level(self, caller: str, now: float) -> float:
        level, since = self._buckets.get(caller, (self._burst, now))
        return min(self._burst, level + (now - since) * self._rate)
