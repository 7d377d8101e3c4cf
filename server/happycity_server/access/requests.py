"""Calls that are repeated because an answer was lost: each is carried out once, and answered as the first."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from happycity_server.access.roles import SECRET_ANSWERS, check_request_id, method_of, principal
from happycity_server.errors import invalid
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.requests import RequestStore, StoredAnswer

_log = structlog.get_logger()


class Requests:
    """Carries out the calls whose requests have a `request_id`, and stores what those with one are answered.

    Calls whose answer is a secret are left to their service, as none is stored.
    """

    def __init__(self, store: AsyncStore, unix_clock: Callable[[], float]) -> None:
        self._store = store
        self._stored = RequestStore(store.store)
        self._unix_clock = unix_clock
        self._open: dict[str, tuple[str, asyncio.Future[Message]]] = {}
        """The calls that are being carried out: by request, what was asked for and the answer."""

    async def answer(self, path: str, request: Message, call: Callable[[], Awaitable[Any]]) -> Any:
        """Return what `call` returns, or what the same request of the same caller was answered before.

        What changes something is carried out also if its caller leaves. ApiError if the request id is too
        long, or was used to ask for something else; StoreError if it can't be looked up.
        """
        request_id = getattr(request, "request_id", None)
        if request_id is None or path in SECRET_ANSWERS:
            return await call()
        check_request_id(request_id)
        asked = hashlib.sha256(request.SerializeToString(deterministic=True)).hexdigest()
        named = [principal().caller, path, request_id or secrets.token_hex()]
        key = hashlib.sha256(json.dumps(named).encode()).hexdigest()
        if key not in self._open:
            work = self._carry_out(path, key, asked, call) if request_id else call()
            answer: asyncio.Future[Message] = asyncio.ensure_future(work)
            self._open[key] = asked, answer
            answer.add_done_callback(lambda done: self._end(key, done))
        known, answer = self._open[key]
        _check_same(known, asked)
        return await asyncio.shield(answer)

    async def _carry_out(
        self, path: str, key: str, asked: str, call: Callable[[], Awaitable[Message]]
    ) -> Message:
        known = await self._store.read(self._stored.find, key, self._unix_clock())
        if known is not None:
            _check_same(known.asked, asked)
            return GetMessageClass(method_of(path).output_type).FromString(known.answer)
        made = await call()
        content, match_id, now = made.SerializeToString(), getattr(made, "match_id", None), self._unix_clock()
        answer = StoredAnswer(principal().caller, key, asked, content, match_id, now)
        try:
            await self._store.write(self._stored.keep, answer)
        except StoreError as error:  # what was asked for is done all the same
            _log.error("answer_not_stored", method=path, problem=str(error))
        return made

    def _end(self, key: str, done: asyncio.Future[Message]) -> None:
        del self._open[key]
        if not done.cancelled():
            done.exception()  # its caller may have left

    async def wait_closed(self) -> None:
        """Wait until every call is carried out."""
        while self._open:
            await asyncio.wait([answer for _, answer in self._open.values()])


def _check_same(known: str, asked: str) -> None:
    """Refuse a request whose id was used to ask for something else."""
    if known != asked:
        raise invalid("request_id", "another call had it that asked for something else; use a new one")
