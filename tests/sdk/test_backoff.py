"""The pauses between two attempts to connect."""

from __future__ import annotations

import random

from happycity_client.backoff import FIRST_SECONDS, LONGEST_SECONDS, Backoff


class Highest(random.Random):
    """Always draws the upper end."""

    def uniform(self, a: float, b: float) -> float:
        """Return it."""
        assert a == 0.0
        return b


def test_the_bound_doubles_up_to_the_longest_pause() -> None:
    """From a tenth of a second to five seconds."""
    backoff = Backoff(Highest())
    bounds = [backoff.next() for _ in range(8)]
    assert bounds[:3] == [FIRST_SECONDS, 2 * FIRST_SECONDS, 4 * FIRST_SECONDS]
    assert bounds[-2:] == [LONGEST_SECONDS, LONGEST_SECONDS]
    backoff.reset()
    assert backoff.next() == FIRST_SECONDS


def test_pauses_are_spread_over_the_whole_range() -> None:
    """Bots that lost the same server don't come back at the same moment."""
    rng = random.Random(1)
    pauses = [Backoff(rng).next() for _ in range(1000)]
    assert 0 <= min(pauses) < 0.1 * FIRST_SECONDS
    assert 0.9 * FIRST_SECONDS < max(pauses) <= FIRST_SECONDS
