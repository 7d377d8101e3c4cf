"""A person at a table, who plays by the protocol that bots speak, over a connection inside the server.

While the person is away, a policy may choose in their place.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from happycity import Game
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import move_of, view_of
from happycity_runtime.event_loop import end_tasks
from happycity_server.broadcast import Broadcast
from happycity_server.errors import Reason, invalid, too_many
from happycity_server.play.lobby import Lobby
from happycity_server.play.outbox import Outbox
from happycity_server.play.session import Session

MAX_PAGES = 8
"""Pages that may show one seat at once."""
NOTICES = 5
"""Notices that are kept for a person."""
STAND_IN = "quick"
"""What chooses for a person who is away, as records name it: the policy of playouts."""

_SHOWN = frozenset(
    {
        play.NOTICE_KIND_TIMEOUT,
        play.NOTICE_KIND_LATE_ANSWER,
        play.NOTICE_KIND_FORFEIT,
        play.NOTICE_KIND_SHUTDOWN,
    }
)


class Person:
    """A person in one seat of one match: what the server asks, and what the person answers.

    The person is connected while a page of theirs is open. Without one the seat is kept for the match's grace
    time, and the next page goes on with it.
    """

    def __init__(self, name: str, lobby: Lobby) -> None:
        self.name = name
        self.started: play.GameStarted | None = None
        """The match, once it has begun."""
        self.decision: play.Decision | None = None
        """The choice that waits for the person."""
        self.notices: deque[play.Notice] = deque(maxlen=NOTICES)
        """What the server had to say since the person's last answer, the latest last."""
        self.has_left = False
        """Whether the person plays no more: the game is over, or the seat given up."""
        self.changes = Broadcast(None)
        """What the pages of the person watch."""
        self.stand_in = ""
        """What chooses for the person until they are back; "" if nothing does."""
        self.away_since = lobby.clock()
        """When the last page of the person was closed, on the lobby's clock."""
        self._lobby = lobby
        self._due: float | None = None
        self._resume_token = ""
        self._pages = 0
        self._connection: tuple[Session, Outbox] | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def is_present(self) -> bool:
        """Whether a page of the person is open."""
        return self._connection is not None and not self.stand_in

    @property
    def seconds_left(self) -> float | None:
        """How long the person may still think; None without a decision or a limit."""
        return None if self._due is None else max(0.0, self._due - self._lobby.clock())

    @asynccontextmanager
    async def present(self) -> AsyncIterator[None]:
        """Note that a page of the person is open while the context lasts.

        Raises:
            ApiError: too many are, or the server is shutting down.
        """
        if self._pages >= MAX_PAGES:
            raise too_many(
                MAX_PAGES, "pages of this seat", advice="close some", reason=Reason.TOO_MANY_STREAMS
            )
        self.stand_in = ""
        if self._connection is None and not self.has_left:
            self._connect()
        self._pages += 1
        try:
            yield
        finally:
            self._pages -= 1
            if not self._pages:
                await self._disconnect()

    def replace(self) -> None:
        """Let a policy choose for the person, who is away, until a page of theirs is opened."""
        self.stand_in = STAND_IN
        if self._connection is None and not self.has_left:
            self._connect()

    def answer(self, decision_id: int, position: int) -> None:
        """Choose a move of the decision that waits; one of an earlier decision is ignored."""
        decision = self.decision
        if decision is None or decision.decision_id != decision_id:
            return
        if not 0 <= position < len(decision.moves):
            raise invalid("move", f"{position} is not 0 to {len(decision.moves) - 1}")
        self._settle()
        self.notices.clear()
        answer = play.Answer(match_id=decision.match_id, decision_id=decision_id, move=position)
        self._send(play.PlayRequest(answers=[answer]))

    def leave(self) -> None:
        """Leave for good: a seat in a game is given up."""
        if self.has_left:
            return
        self.has_left = True
        self._settle()
        if self.started is not None:
            self._send(play.PlayRequest(resigns=[play.Resign(match_id=self.started.match_id)]))
        self._send(play.PlayRequest(goodbye=play.Goodbye()))
        self.changes.publish()

    def _connect(self) -> None:
        hello = play.Hello(
            name=self.name, software="browser", resume_token=self._resume_token or None, max_games=1
        )
        self._connection = self._lobby.enter(hello)
        self._reading = asyncio.create_task(self._read(*self._connection))

    async def _disconnect(self) -> None:
        reading, self._reading = self._reading, None
        self._lose_connection()  # at once, as the next page may be opened before the task has ended
        if reading is not None:
            await end_tasks(reading)

    def _lose_connection(self) -> None:
        connection, self._connection = self._connection, None
        self.away_since = self._lobby.clock()
        if connection is not None:
            self._lobby.leave(*connection)

    async def _read(self, session: Session, outbox: Outbox) -> None:
        """Take what the lobby sends, until it ends the connection or this is cancelled."""
        try:
            while batch := await _next_batch(outbox):
                self._take(play.PlayResponse.FromString(batch))
                self.changes.publish()
        finally:
            if self._connection == (session, outbox):
                self._lose_connection()

    def _take(self, response: play.PlayResponse) -> None:
        if response.HasField("welcome"):
            self._resume_token = response.welcome.resume_token
        for started in response.games_started:
            self.started = started
        for decision in response.decisions:
            self._ask(decision)
        for notice in response.notices:
            self._note(notice)
        if response.HasField("ping"):
            self._send(play.PlayRequest(pong=play.Pong(nonce=response.ping.nonce)))
        if response.games_over:
            self.leave()
        if self.stand_in and self.decision is not None:
            self._choose_instead(self.decision)

    def _choose_instead(self, decision: play.Decision) -> None:
        """Answer by the policy that stands in; it sees what the person would."""
        from happycity_evaluation.quick import quick_move  # noqa: PLC0415 - few tables need it

        chosen = quick_move(Game.from_view(view_of(decision.view), random.Random(0)))
        self.answer(decision.decision_id, list(map(move_of, decision.moves)).index(chosen))

    def _ask(self, decision: play.Decision) -> None:
        self.decision = decision
        clock = decision.clock
        limit = clock.time_left_us / 1e6 if clock.HasField("time_left_us") else None
        self._due = None if limit is None else self._lobby.clock() + limit

    def _note(self, notice: play.Notice) -> None:
        if notice.kind in _SHOWN:
            self.notices.append(notice)
        open_decision = 0 if self.decision is None else self.decision.decision_id
        if notice.kind == play.NOTICE_KIND_FORFEIT or notice.decision_id == open_decision:
            self._settle()

    def _settle(self) -> None:
        self.decision = self._due = None

    def _send(self, request: play.PlayRequest) -> None:
        if self._connection is not None:
            session, outbox = self._connection
            session.receive(outbox, request, self._lobby.clock())


async def _next_batch(outbox: Outbox) -> bytes:
    """Return what the lobby sends next; empty when the connection ends."""
    batch = asyncio.ensure_future(outbox.next_batch())
    try:
        await asyncio.wait((batch, outbox.cut_off), return_when=asyncio.FIRST_COMPLETED)
        return b"" if outbox.cut_off.done() else batch.result()
    finally:
        batch.cancel()
