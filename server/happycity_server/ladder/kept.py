"""A ladder with all that reads it. Only a server that keeps one imports this: it takes numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

from happycity_server.ladder.ladder import Ladder
from happycity_server.ladder.odd_results import OddResults
from happycity_server.ladder.reader import LadderReader
from happycity_server.places.places import Places
from happycity_tournament.ladder.config import LadderConfig
from happycity_tournament.storage import AsyncStore


class KeptLadder(NamedTuple):
    """The ladder of a server."""

    ladder: Ladder
    reader: LadderReader
    odd_results: OddResults

    @classmethod
    def of(
        cls,
        file: Path,
        places: Places,
        store: AsyncStore,
        clock: Callable[[], float],
        *,
        owner_of: Callable[[str], str],
    ) -> Self:
        """Prepare the ladder that a file describes; `clock` returns Unix time in seconds.

        Raises:
            ConfigError: the file can't be read, or describes what no ladder can have.
        """
        ladder = Ladder(LadderConfig.read(file), places, store, clock, owner_of=owner_of)
        return cls(ladder, LadderReader(ladder, store, clock), OddResults(store, clock))
