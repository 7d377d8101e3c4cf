"""The book of a ladder that is played: with the ladder's rules and clock, and read and written in threads."""

from __future__ import annotations

from collections.abc import Callable

from happycity_ladder.book import Book
from happycity_ladder.ladder_config import LadderConfig
from happycity_tournament.storage.async_store import AsyncStore


class ServedBook(Book):
    """What all parts of a ladder share. On the event loop its methods are called by `read` and `write`."""

    def __init__(self, config: LadderConfig, store: AsyncStore, clock: Callable[[], float]) -> None:
        """Share a store; `clock` returns Unix time in seconds."""
        super().__init__(store.store)
        self.config = config
        self.clock = clock
        self.read, self.write, self.load = store.read, store.write, store.load
