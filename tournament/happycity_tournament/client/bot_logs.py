"""What the server noted of a run's bots, for their logs: a bot that was killed could not write it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from happycity_tournament.play.snapshot import MatchIncident, Snapshot
from happycity_tournament.standings.digest import digest

LINES_KEPT = 200
"""Strikes and forfeits of a bot that are kept, the first ones; others are counted."""


class ServerNotes:
    """The strikes and forfeits of bots in the tournament that a session follows."""

    def __init__(self) -> None:
        self._incidents: dict[str, list[MatchIncident]] = {}
        self._dropped: Counter[str] = Counter()
        self._last: Snapshot | None = None

    def add(self, snapshot: Snapshot) -> None:
        """Take the next snapshot of the tournament."""
        self._last = snapshot
        for entry in snapshot.incidents:
            kept = self._incidents.setdefault(entry.bot, [])
            if len(kept) < LINES_KEPT:
                kept.append(entry)
            else:
                self._dropped[entry.bot] += 1

    def write(self, logs: Mapping[str, Path]) -> None:
        """Append what was noted to the logs of bots, by name; a bot that did nothing wrong has nothing."""
        for bot, log in logs.items():
            if lines := list(self._lines(bot)):
                with log.open("a", encoding="utf-8") as file:
                    file.writelines(f"{line}\n" for line in (f"--- noted by the server of {bot}:", *lines))

    def _lines(self, bot: str) -> Iterator[str]:
        for entry in self._incidents.get(bot, ()):
            moment = datetime.fromtimestamp(entry.time, UTC)
            yield f"{moment:%Y-%m-%dT%H:%M:%SZ} {entry.place}: {entry.incident.text}"
        if dropped := self._dropped[bot]:
            yield f"and {dropped} more strikes and forfeits"
        yield from self._digests(bot)

    def _digests(self, bot: str) -> Iterable[str]:
        last = self._last
        standings = () if last is None else last.standings
        return [
            digest(line, disqualified=last is not None and bot in last.disqualified)
            for line in standings
            if line.bot == bot and line.forfeits
        ]
