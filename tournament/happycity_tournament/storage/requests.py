"""The answers of calls that changed something, so that a call that is repeated is answered as before."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import delete, func, insert, select

from happycity_tournament.storage.schema import requests
from happycity_tournament.storage.store import Store

REPEAT_SECONDS = 86_400.0
"""For how long an answer is kept."""
ANSWERS_OF_ONE, ANSWERS = 500, 50_000
"""Answers that are kept: of one caller, so that none makes the server forget those of others, and of all."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What a call that named itself was answered."""

    caller: str
    request: str
    """Hash of the caller, the method, and the id that the caller has given to the call."""
    asked: str
    """Hash of all that the call asked for."""
    answer: bytes
    match_id: int | None
    """The match that it has made, if any: no other gets its number."""
    at: float
    """Unix time in seconds."""


class RequestStore:
    """The answers in a store; each method is one transaction and raises StoreError."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def find(self, request: str, now: float) -> StoredAnswer | None:
        """Return what a call was answered; None if it wasn't, or too long ago."""
        own = requests.c.request == request, requests.c.at > now - REPEAT_SECONDS
        columns = [column for column in requests.c if column.name != "id"]
        with self.store.reading() as connection:
            row = connection.execute(select(*columns).where(*own)).first()
        return None if row is None else StoredAnswer(*row)

    def keep(self, answer: StoredAnswer) -> None:
        """Keep an answer, and forget old ones."""
        ids, is_own = requests.c.id, requests.c.caller == answer.caller
        with self.store.writing() as connection:
            connection.execute(delete(requests).where(requests.c.request == answer.request))
            connection.execute(insert(requests).values(asdict(answer)))
            newest = select(func.max(ids)).scalar_subquery()
            own = select(ids).where(is_own).order_by(ids.desc()).offset(ANSWERS_OF_ONE).limit(1)
            oldest = connection.scalar(own) or 0
            connection.execute(delete(requests).where(is_own, ids <= oldest))
            connection.execute(delete(requests).where(ids <= newest - ANSWERS))
            connection.execute(delete(requests).where(requests.c.at <= answer.at - REPEAT_SECONDS))
