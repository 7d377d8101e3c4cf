"""What the seats of recorded games bought and when. As a program it reads records, one a line."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress

from happycity import EventKind, HappyCityError
from happycity.records.record import loads
from happycity.records.replay import positions_of
from happycity_server.errors import ApiError
from happycity_web.background import output_of

KEPT = 2000
"""Games whose purchases are kept, before only those that were asked for last are; one takes some 3 KB."""

Purchase = tuple[int, str, int]
"""A seat, the id of the card that it bought or took, and the round."""
_BOUGHT = frozenset({EventKind.BUILD, EventKind.DWELL, EventKind.TAKE})


class Purchases:
    """The purchases of finished games by match id, read from their records once."""

    def __init__(self) -> None:
        self._known: dict[int, list[Purchase]] = {}

    def missing(self, matches: Iterable[int]) -> list[int]:
        """Return the matches whose records would have to be read."""
        return [match_id for match_id in matches if match_id not in self._known]

    async def of(
        self, matches: Collection[int], record: Callable[[int], Awaitable[str]]
    ) -> Mapping[int, list[Purchase]]:
        """Return the purchases of games that the caller may see; a game without a record is left out."""
        records: dict[int, str] = {}
        for match_id in self.missing(matches):
            with suppress(ApiError):  # it was deleted, or its deal is in play again
                records[match_id] = await record(match_id)
        if records:
            output = await output_of(__name__, given="\n".join(records.values()).encode())
            found = await asyncio.to_thread(lambda: list(map(json.loads, output.splitlines())))
            self._known |= zip(records, found, strict=True)
        known = {match_id: self._known[match_id] for match_id in matches if match_id in self._known}
        if len(self._known) > KEPT:
            self._known = dict(known)
        return known


def purchases_of(record: str) -> list[Purchase]:
    """Return the purchases of a recorded game; HappyCityError if the record is malformed."""
    number, bought = 0, list[Purchase]()
    for game in positions_of(loads(record)):
        for event in game.events:
            if event.kind is EventKind.ROUND_STARTED:
                number = event.round
            elif event.kind in _BOUGHT and event.card is not None and event.seat is not None:
                bought.append((event.seat, event.card.id, number))
    return bought


def main() -> None:
    """Read records, and write the purchases of each in a line; a malformed one has none."""
    for line in sys.stdin:
        try:
            found = purchases_of(line)
        except HappyCityError:
            found = []
        sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
