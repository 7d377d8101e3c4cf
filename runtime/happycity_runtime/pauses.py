"""How long is waited before something is tried again."""

from __future__ import annotations

import math
from collections.abc import Iterator


def doubling(first: float, longest: float = math.inf) -> Iterator[float]:
    """Yield pauses without end, of which each is twice as long as the one before, up to the longest."""
    while True:
        yield first
        first = min(2 * first, longest)
