"""The arena's time, in which the server's own delays don't count."""

from __future__ import annotations

from collections.abc import Callable

OVERLOAD_SECONDS = 0.25
"""How long the event loop may be stuck before the excess is taken out of the clock."""


class FairClock:
    """A steady clock that stands still while the server's own event loop is stuck.

    Whoever runs the loop calls `tick` every `tick_seconds`. A call that comes too late tells how long the
    loop was stuck; what exceeds `OVERLOAD_SECONDS` of that never happened on this clock. Until the late call
    comes, the clock doesn't run on either, so no reading is ever ahead of what it will turn out to be.
    """

    def __init__(self, raw: Callable[[], float], *, tick_seconds: float) -> None:
        self.lost_seconds = 0.0
        """What was taken out so far."""
        self._raw = raw
        self._tick_seconds = tick_seconds
        self._due = float("inf")
        self._ceiling = float("inf")

    def __call__(self) -> float:
        """Return the time in seconds; only differences mean anything."""
        return min(self._raw() - self.lost_seconds, self._ceiling)

    def tick(self) -> float:
        """Note that the loop runs; return the seconds by which this call came late."""
        now = self._raw()
        late = max(0.0, now - self._due)
        self.lost_seconds += max(0.0, late - OVERLOAD_SECONDS)
        self._due = now + self._tick_seconds
        self._ceiling = self._due - self.lost_seconds + OVERLOAD_SECONDS
        return late
