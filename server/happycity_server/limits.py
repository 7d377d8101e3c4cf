"""How much one caller may ask for: calls a second, open streams, and what the server keeps open for all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from happycity_server.refusals import Reason, Refusal


class TokenBucket:
    """Allows so many calls, or so much of anything, a second; more for a moment if there was less before."""

    def __init__(self, *, rate: float, burst: int, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._level = float(burst)
        self._at = now

    def take(self, now: float, amount: int = 1) -> float:
        """Take calls out, all or none; return 0, or the seconds after which to try again."""
        self._fill(now)
        if self._level < amount:
            return (amount - self._level) / self._rate
        self._level -= amount
        return 0.0

    def is_full(self, now: float) -> bool:
        """Tell whether the bucket is as good as a new one."""
        self._fill(now)
        return self._level >= self._burst

    def _fill(self, now: float) -> None:
        self._level = min(self._burst, self._level + (now - self._at) * self._rate)
        self._at = now


class CallRates:
    """The rate of each caller's calls, or of anything else that is counted by caller."""

    def __init__(
        self, *, rate: float, burst: int, clock: Callable[[], float], quota: str | None = None
    ) -> None:
        """Take the rate, a second, and `quota`, the words in which callers are told of it."""
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._quota = quota or f"{rate:g} calls a second"
        self._buckets: dict[str, TokenBucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, caller: str, amount: int = 1) -> None:
        """Count a call, or an amount of what is counted.

        Raises:
            Refusal: the caller had too many in a short time; nothing is counted then.
        """
        now = self._clock()
        bucket = self._buckets.get(caller)
        if bucket is None:
            bucket = self._buckets[caller] = TokenBucket(rate=self._rate, burst=self._burst, now=now)
        seconds = bucket.take(now, amount)
        if seconds:
            raise Refusal(
                Reason.RATE_LIMITED,
                f"more than {self._quota}; try again later",
                retry_after_ms=str(math.ceil(seconds * 1000)),
            )

    def sweep(self) -> None:
        """Forget callers that have been quiet, so that memory does not grow with all who ever called."""
        now = self._clock()
        for caller in [caller for caller, bucket in self._buckets.items() if bucket.is_full(now)]:
            del self._buckets[caller]


class StreamCounts:
    """The streams that each caller has open."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    @contextmanager
    def one_more(self, caller: str, limit: int) -> Iterator[None]:
        """Count a stream while the context lasts.

        Raises:
            Refusal: the caller has `limit` streams open already.
        """
        if self._open[caller] >= limit:
            raise Refusal(
                Reason.TOO_MANY_STREAMS,
                f"{limit} streams are open already, and no more are allowed; close some",
                limit=str(limit),
            )
        self._open[caller] += 1
        try:
            yield
        finally:
            self._open[caller] -= 1
            if not self._open[caller]:
                del self._open[caller]


@dataclass(frozen=True, slots=True)
class OpenLimit:
    """How many of something the server keeps open at once."""

    what: str
    limit: int
    count: Callable[[], int]
    """How many there are now."""


class Openings:
    """The calls that open something, and how much of it may be open."""

    def __init__(self, limits: Mapping[str, OpenLimit]) -> None:
        """Take the limits by method."""
        self._limits = limits
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def one_more(self, method: str) -> Iterator[None]:
        """Let a call of a method open something while the context lasts; other methods open nothing.

        Calls that have not opened theirs yet are counted too, or many at once would pass together.

        Raises:
            Refusal: there is as much open as may be.
        """
        limited = self._limits.get(method)
        if limited is None:
            yield
            return
        if limited.count() + self._under_way[method] >= limited.limit:
            raise Refusal(
                Reason.TOO_MANY_OPEN,
                f"{limited.limit} {limited.what} are open already, and no more are allowed; "
                "try again when one is over",
                limit=str(limited.limit),
            )
        self._under_way[method] += 1
        try:
            yield
        finally:
            self._under_way[method] -= 1
