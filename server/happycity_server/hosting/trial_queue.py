"""Which submission is tried next: owners take turns."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, time, timedelta

from happycity_server.errors import ApiError, Reason
from happycity_tournament.hosted.submissions import Submission

SECONDS_PER_DAY = 3600.0
"""How long the trials of an owner may take in a day."""


class TrialQueue:
    """Submissions that wait, of each bot the newest; first of who used least time today."""

    def __init__(self, now: Callable[[], datetime], clock: Callable[[], float]) -> None:
        """Begin without any; `now` returns the time, `clock` seconds that never jump."""
        self._now = now
        self._clock = clock
        self._waiting: dict[str, Submission] = {}
        """By bot, in the order in which they came."""
        self._has_some = asyncio.Event()
        self._today = now().astimezone(UTC).date()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        """By owner: what trials have taken today."""

    def put(self, submission: Submission) -> Submission | None:
        """Let a submission wait; return the older one of the same bot that doesn't any more."""
        older = self._waiting.pop(submission.bot.name, None)
        self._waiting[submission.bot.name] = submission
        self._has_some.set()
        return older

    def check(self, owner: str) -> None:
        """Refuse an owner whose trials have taken too long today, by an ApiError."""
        now = self._now().astimezone(UTC)
        if now.date() != self._today:
            self._today = now.date()
            self._seconds.clear()
        if self._seconds[owner] >= SECONDS_PER_DAY:
            text = f"your trials took more than {SECONDS_PER_DAY / 60:g} minutes today; try again tomorrow"
            tomorrow = datetime.combine(self._today + timedelta(days=1), time(), UTC)
            raise ApiError(Reason.RATE_LIMITED, text, retry_seconds=(tomorrow - now).total_seconds())

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Submission]:
        """Wait for a submission, and count the time that the context lasts for its owner."""
        while not self._waiting:
            self._has_some.clear()
            await self._has_some.wait()
        submission = min(self._waiting.values(), key=lambda one: self._seconds[one.owner])
        began, owner = self._clock(), self._waiting.pop(submission.bot.name).owner
        try:
            yield submission
        finally:
            self._seconds[owner] += self._clock() - began
