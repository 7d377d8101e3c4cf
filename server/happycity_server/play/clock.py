"""The arena's clocks: one in which the server's own delays don't count, and one of the calendar."""

from __future__ import annotations

from collections.abc import Callable

TOLERANCE_SECONDS = 0.01
"""How late a tick may come before the excess is taken out of the clock: timers are never exact."""
OVERLOAD_SECONDS = 0.25
"""From this delay on the server counts as overloaded, and tells the bots that are asked."""


class FairClock:
    """A steady clock that stands still while the server's own event loop is stuck.

    The owner of the loop calls `tick` every `tick_seconds`. A call that comes too late shows how long the
    loop was stuck; what exceeds `TOLERANCE_SECONDS` of that is left out of this clock. Until the late call
    comes, the clock stands still, so no reading is ever ahead of a later one.
    """

    def __init__(self, raw: Callable[[], float], *, tick_seconds: float) -> None:
        self._lost_seconds = 0.0
        self._raw = raw
        self._tick_seconds = tick_seconds
        self._due = float("inf")
        self._ceiling = float("inf")

    def __call__(self) -> float:
        """Return the time in seconds; only differences mean anything."""
        return min(self._raw() - self._lost_seconds, self._ceiling)

    def tick(self) -> float:
        """Note that the loop runs; return the seconds by which this call came late."""
        now = self._raw()
        late = max(0.0, now - self._due)
        self._lost_seconds += max(0.0, late - TOLERANCE_SECONDS)
        self._due = now + self._tick_seconds
        self._ceiling = self._due - self._lost_seconds + TOLERANCE_SECONDS
        return late


class UnixClock:
    """Unix time that doesn't jump: the time at the start, and the steady seconds since.

    So times that are stored keep their distances, also when the machine's clock is set.
    """

    def __init__(self, wall: Callable[[], float], steady: Callable[[], float]) -> None:
        self._steady = steady
        self._offset = wall() - steady()

    def __call__(self) -> float:
        """Return Unix time in seconds."""
        return self._offset + self._steady()
