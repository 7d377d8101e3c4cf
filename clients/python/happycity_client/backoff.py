"""How long to wait between two attempts to connect."""

from __future__ import annotations

import random

FIRST_SECONDS = 0.1
LONGEST_SECONDS = 5.0


class Backoff:
    """Exponential back-off with full jitter: a random share of a bound that doubles with every attempt.

    The randomness spreads the bots of a server that was restarted.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._bound = FIRST_SECONDS

    def next(self) -> float:
        """Return the seconds to wait before the next attempt, 0 to `LONGEST_SECONDS`."""
        bound, self._bound = self._bound, min(2 * self._bound, LONGEST_SECONDS)
        return self._rng.uniform(0.0, bound)

    def reset(self) -> None:
        """Start again, after a connection that was of use."""
        self._bound = FIRST_SECONDS
