"""Pauses for bots that fail: one that forfeits deal after deal would spoil the games of all others."""

from __future__ import annotations

from dataclasses import dataclass

FORFEITED_IN_A_ROW = 3
"""Deals with a forfeit of a bot, one after the other, after which it pauses."""
FIRST_PAUSE = 60.0
LONGEST_PAUSE = 3600.0
"""Seconds; each pause is twice as long as the one before, until the bot finishes a deal without a forfeit."""
RECONNECTED_SHARE = 1 / 6
"""Share of a pause that stays for a bot that connects again, which may be mended. A supervisor that starts a
broken bot again and again makes it grow, too."""


@dataclass(slots=True)
class _Record:
    row: int = 0
    """Deals in a row with a forfeit."""
    last_at: float = 0.0
    """When the last of them was over."""
    reconnected_until: float = 0.0
    """Until when the pause lasts if the bot connects again."""
    until: float = 0.0


class Pauses:
    """Which bots pause, and until when; times are Unix seconds."""

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}

    def note_deal(self, bot: str, now: float, *, forfeited: bool) -> float:
        """Count a deal of a bot; return the seconds of the pause that begins by it, 0 without one."""
        if not forfeited:
            self._records.pop(bot, None)
            return 0.0
        record = self._records.setdefault(bot, _Record())
        record.row += 1
        record.last_at = now
        self._forget(now)
        if record.row < FORFEITED_IN_A_ROW or now < record.until:
            return 0.0
        pause = min(FIRST_PAUSE * 2.0 ** min(record.row - FORFEITED_IN_A_ROW, 10), LONGEST_PAUSE)
        record.until, record.reconnected_until = now + pause, now + pause * RECONNECTED_SHARE
        return pause

    def note_arrival(self, bot: str) -> None:
        """Shorten the pause of a bot that has connected again: it may be another program now."""
        record = self._records.get(bot)
        if record is not None:
            record.until = min(record.until, record.reconnected_until)

    def until(self, bot: str) -> float:
        """Return until when a bot pauses; a time that is past if it doesn't."""
        record = self._records.get(bot)
        return 0.0 if record is None else record.until

    def _forget(self, now: float) -> None:
        """Forget bots that have not played for long, as anybody may connect under any number of names."""
        for bot, record in list(self._records.items()):
            if now - max(record.last_at, record.until) > LONGEST_PAUSE:
                del self._records[bot]
