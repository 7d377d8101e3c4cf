"""How much one caller may ask for: calls a second, and open streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


class StreamCounts:
    """The streams that each caller has open."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    @contextmanager
    def slot(self, caller: str, limit: int) -> Iterator[None]:
        """Count a stream while the context lasts.

        Raises:
            ApiError: the caller has `limit` streams open already.
        """
        if self._open[caller] >= limit:
            raise too_many(limit, "streams", advice="close some", reason=Reason.TOO_MANY_STREAMS)
        self._open[caller] += 1
        try:
            yield
        finally:
            self._open[caller] -= 1
            if not self._open[caller]:
                del self._open[caller]
