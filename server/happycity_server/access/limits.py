"""How much one caller may ask for: calls a second, open streams, and what the server keeps open for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from happycity_server.errors import ApiError, Reason, too_many


class RateLimits:
    """The rate of each caller's calls, or of anything else that is counted by caller.

    Each caller has a token bucket: `rate` a second, bursts up to `burst`.
    """

    def __init__(
        self, *, rate: float, burst: int, clock: Callable[[], float], quota: str | None = None
    ) -> None:
        """Limit a rate, per second; `quota` describes it in refusals."""
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._quota = quota or f"{rate:g} calls a second"
        self._buckets: dict[str, tuple[float, float]] = {}
        """By caller: what was left in the bucket, and when."""

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, caller: str, amount: float = 1) -> None:
        """Count a call, or an amount of what is counted.

        An amount beyond the burst is taken from a full bucket, which is then empty for longer.

        Raises:
            ApiError: the caller had too many in a short time; nothing is counted then.
        """
        now = self._clock()
        level, needed = self._level(caller, now), min(amount, self._burst)
        if level < needed:
            text = f"more than {self._quota}; try again later"
            raise ApiError(Reason.RATE_LIMITED, text, retry_seconds=(needed - level) / self._rate)
        self._buckets[caller] = level - amount, now

    def sweep(self) -> None:
        """Forget callers that have been quiet, so that memory does not grow with all that ever called."""
        now = self._clock()
        for caller in [caller for caller in self._buckets if self._level(caller, now) >= self._burst]:
            del self._buckets[caller]

    def _level(self, caller: str, now: float) -> float:
        level, since = self._buckets.get(caller, (self._burst, now))
        return min(self._burst, level + (now - since) * self._rate)


class OpenCounts:
    """What is open now, by key: streams by caller, or calls by method."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    @contextmanager
    def slot(
        self, key: str, limit: int, what: str, *, advice: str, reason: Reason, others: int = 0
    ) -> Iterator[None]:
        """Count one more of a key while the context lasts; see `too_many` for the words of a refusal.

        Raises:
            ApiError: with `others` that are not counted here, `limit` of them are open already.
        """
        if others + self._open[key] >= limit:
            raise too_many(limit, what, advice=advice, reason=reason)
        self._open[key] += 1
        try:
            yield
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]


@dataclass(frozen=True, slots=True)
class Limit:
    """How many of something the server keeps open at once."""

    what: str
    limit: int
    count: Callable[[], int]
    """Returns how many there are now."""


class ConcurrencyLimits:
    """The calls that open something, by method, and how much of it may be open."""

    def __init__(self, limits: Mapping[str, Limit]) -> None:
        self._limits = limits
        self._pending = OpenCounts()

    def slot(self, method: str) -> AbstractContextManager[None]:
        """Let a call of a method open something while the context lasts; other methods open nothing.

        Calls that have not opened theirs yet are counted too, or many at once would pass together.

        Raises:
            ApiError: as much is open as may be.
        """
        limited = self._limits.get(method)
        if limited is None:
            return nullcontext()
        return self._pending.slot(
            method,
            limited.limit,
            limited.what,
            advice="try again when one is over",
            reason=Reason.TOO_MANY_OPEN,
            others=limited.count(),
        )
