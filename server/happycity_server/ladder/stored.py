"""What all parts of a ladder share: its rules, what is stored of it, and its clock."""

from __future__ import annotations

from collections.abc import Callable

from happycity_ladder.act_store import ActStore
from happycity_ladder.challenge_store import ChallengeStore
from happycity_ladder.ladder_config import LadderConfig
from happycity_ladder.ladder_store import LadderStore
from happycity_ladder.rating_store import RatingStore
from happycity_tournament.storage.async_store import AsyncStore


class StoredLadder:
    """A ladder's rules, what is stored of it, and the clock.

    The methods of `entries`, `challenges` and `ratings` are called by `read` and `write`, which raise
    StoreError.
    """

    def __init__(self, config: LadderConfig, store: AsyncStore, clock: Callable[[], float]) -> None:
        """Share a store; `clock` returns Unix time in seconds."""
        self.config = config
        self.store = store
        self.read, self.write, self.load = store.read, store.write, store.load
        self.clock = clock
        self.entries = LadderStore(store.store)
        self.challenges = ChallengeStore(store.store)
        self.ratings = RatingStore(store.store)
        self.acts = ActStore(store.store)
