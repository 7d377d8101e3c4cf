"""Orders of cards from given randomness, the same in every release of Python (article 5.5)."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TypeVar

_T = TypeVar("_T")


def shuffled(items: Iterable[_T], rng: random.Random) -> list[_T]:
    """Return a random permutation of `items`, the same for the same `rng` state in every Python release.

    Only `random.Random.random` is guaranteed to keep its sequence in later versions, `shuffle` is not; and a
    deal must be reproducible from its seed for as long as records are kept. (Fisher-Yates; the bias of
    scaling a 53-bit float to at most 66 places is below 1e-14.)
    """
    order = list(items)
    uniform = rng.random
    for last in range(len(order) - 1, 0, -1):
        pick = int(uniform() * (last + 1))
        order[last], order[pick] = order[pick], order[last]
    return order


def reshuffle_rng(seed: int, deck: int, rebuilt: int) -> random.Random:
    """Return the randomness of one rebuilding of a deck (article 5.5).

    It depends on the deal's seed, the deck (1-3) and how often that deck was rebuilt before, and on
    nothing that players do.
    """
    return random.Random(f"happycity reshuffle {seed} {deck} {rebuilt}")
