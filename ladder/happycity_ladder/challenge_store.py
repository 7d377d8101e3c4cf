"""The challenges of the ladder in the store."""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any

from sqlalchemy import delete, exists, func, insert, select, update

from happycity_ladder.entries import Challenge, ChallengeState
from happycity_ladder.ladder_rows import entry_of, read_entries, row_of
from happycity_tournament.games import LARGEST_ID
from happycity_tournament.storage.rows import mentions
from happycity_tournament.storage.schema import ladder_challenges, ladder_deals
from happycity_tournament.storage.store import Store

BROKEN_OFF = (ChallengeState.DECLINED, ChallengeState.EXPIRED, ChallengeState.WITHDRAWN)
"""States of challenges that ended before all their deals were played."""


class ChallengeStore:
    """The challenges of a store; each method is one transaction and raises StoreError."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(self, challenge: Challenge, *, request_id: str | None = None) -> Challenge:
        """Store a new challenge; return it with its id. No other may have the `request_id`."""
        row = row_of(challenge, "id") | {"request_id": request_id}
        with self.store.writing() as connection:
            new = insert(ladder_challenges).values(row).returning(ladder_challenges)
            return _challenge_of(connection.execute(new).one())

    def get(self, challenge_id: int) -> Challenge | None:
        """Return a challenge, None if there is none with this id."""
        found = self._all(ladder_challenges.c.id == min(challenge_id, LARGEST_ID))
        return found[0] if found else None

    def of_request(self, request_id: str) -> Challenge | None:
        """Return the challenge that a request has made, None if there is none."""
        found = self._all(ladder_challenges.c.request_id == request_id)
        return found[0] if found else None

    def newest(
        self,
        limit: int | None,
        before_id: int | None = None,
        *,
        states: Collection[ChallengeState] | None = None,
        bots: Collection[str] | None = None,
        of_or_to: str | None = None,
        created_after: float | None = None,
    ) -> list[Challenge]:
        """Return up to `limit` challenges, newest first; each argument but None leaves others out.

        They have ids below `before_id`, stand in one of `states`, were made for one of `bots`, have the bot
        `of_or_to` at the table, and were made later than `created_after`, Unix time in seconds.
        """
        conditions: list[Any] = []
        if before_id is not None:
            conditions.append(ladder_challenges.c.id < before_id)
        if states is not None:
            conditions.append(ladder_challenges.c.state.in_([state.value for state in states]))
        if bots is not None:
            conditions.append(ladder_challenges.c.bot.in_(bots))
        if created_after is not None:
            conditions.append(ladder_challenges.c.created_at > created_after)
        if of_or_to is None:
            return self._all(*conditions, limit=limit)
        named = mentions(ladder_challenges.c.opponents, of_or_to)
        conditions.append((ladder_challenges.c.bot == of_or_to) | named)
        with closing(self._stream(*conditions)) as entries:
            found = (each for each in entries if of_or_to in (each.bot, *each.opponents))
            return list(islice(found, limit))

    def count(self, states: Collection[ChallengeState]) -> int:
        """Return how many challenges stand in one of some states."""
        own = ladder_challenges.c.state.in_([state.value for state in states])
        with self.store.reading() as connection:
            return int(connection.scalar(select(func.count()).where(own)) or 0)

    def change(self, challenge_id: int, state: ChallengeState, **columns: Any) -> Challenge:
        """Change where a challenge stands, and other columns; return it.

        One that is neither open nor being played stays as it is.
        """
        active = (ChallengeState.OPEN.value, ChallengeState.PLAYING.value)
        own = ladder_challenges.c.id == challenge_id
        change = update(ladder_challenges).where(own, ladder_challenges.c.state.in_(active))
        with self.store.writing() as connection:
            connection.execute(change.values(state=state.value, **columns))
            return _challenge_of(connection.execute(select(ladder_challenges).where(own)).one())

    def forget(self, expired_before: float) -> None:
        """Delete the challenges that ended without a deal and whose time was over before, Unix time."""
        broken_off = [state.value for state in BROKEN_OFF]
        without_deal = ~exists().where(ladder_deals.c.challenge_id == ladder_challenges.c.id)
        own = ladder_challenges.c.state.in_(broken_off), ladder_challenges.c.expires_at < expired_before
        with self.store.writing() as connection:
            connection.execute(delete(ladder_challenges).where(*own, without_deal))

    def deals(self, challenge_ids: Collection[int]) -> dict[int, tuple[int, int]]:
        """Return how many deals of challenges are finished, and how many are being played."""
        finished = func.count().filter(ladder_deals.c.finished > 0)
        is_open = func.count().filter(ladder_deals.c.finished.is_(None))
        query = (
            select(ladder_deals.c.challenge_id, finished, is_open)
            .where(ladder_deals.c.challenge_id.in_(challenge_ids))
            .group_by(ladder_deals.c.challenge_id)
        )
        counted = dict.fromkeys(challenge_ids, (0, 0))
        with self.store.reading() as connection:
            for challenge_id, done, running in connection.execute(query):
                counted[challenge_id] = done, running
        return counted

    def _all(self, *conditions: Any, limit: int | None = None) -> list[Challenge]:
        return list(self._stream(*conditions, limit=limit))

    def _stream(self, *conditions: Any, limit: int | None = None) -> Generator[Challenge]:
        query = select(ladder_challenges).where(*conditions).order_by(ladder_challenges.c.id.desc())
        return read_entries(self.store, query.limit(limit), _challenge_of)


_challenge_of = partial(entry_of, Challenge)
