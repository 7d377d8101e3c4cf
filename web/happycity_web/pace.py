"""How often viewers are written to: so seldom that it takes a small share of the event loop's time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time

SHARE = 0.015
"""Of the event loop's time, for writing to viewers; waking their tasks takes about as much again."""
_FIRST_GUESS = 100e-6  # seconds for one message to one viewer
_LONGEST = 1e-3  # a message that had to wait for the network took no longer than this
_WEIGHT = 1 / 64  # of the last message in the mean


class Pace:
    """Knows how many viewers there are, and what a message to one of them costs."""

    def __init__(self) -> None:
        self.viewers = 0
        """Sockets that are open."""
        self._seconds = _FIRST_GUESS

    @contextmanager
    def viewer(self) -> Iterator[None]:
        """Count a viewer while the context lasts."""
        self.viewers += 1
        try:
            yield
        finally:
            self.viewers -= 1

    @contextmanager
    def message(self) -> Iterator[None]:
        """Measure the writing of one message."""
        started = thread_time()
        yield
        self._seconds += _WEIGHT * (min(_LONGEST, thread_time() - started) - self._seconds)

    def interval(self, least: float) -> float:
        """Return how many seconds must lie between two messages to the same viewers, `least` or more."""
        return max(least, self.viewers * self._seconds / SHARE)
