"""A worker as the server sees it: the bots that are connected to it, and the matches that it plays."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import grpc
import structlog

from happycity import Config, SeatResult, VoidReason
from happycity.tournament.v1beta1.tournament_service_pb2 import MatchIncident
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import failure_policy_message, result_of, time_control_message, void_reason_of
from happycity.wire.messages import config_message
from happycity.worker.v1 import worker_service_pb2 as pb
from happycity.worker.v1.worker_service_pb2_grpc import WorkerServiceStub
from happycity_server.places.bots import ConnectedBot
from happycity_server.places.counters import counters_of, total
from happycity_server.play.counters import Counters
from happycity_server.play.match import MatchState
from happycity_tournament.games import Fixture
from happycity_tournament.running.terms import Terms

CHECK_SECONDS = 1.0
SILENT_CHECKS = 15
"""A worker of which nothing came between so many checks is taken for dead."""
CHANNEL_OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),  # a new connection must not come back to an old one's dead socket
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
)

_log = structlog.get_logger()


@dataclass(slots=True, eq=False, kw_only=True)
class RemoteMatch:
    """A match that a worker plays; an `OpenMatch`."""

    match_id: int
    tournament_id: int
    ladder_deal_id: int
    config: Config
    bots: tuple[str, ...]
    created_at: float
    place: RemotePlace
    practice: bool = False
    state: MatchState = MatchState.WAITING
    decisions: int = 0
    decisions_asked: int = 0
    """Those that bots were asked for, once it is finished."""
    started_at: float | None = None
    finished_at: float | None = None
    void_reason: VoidReason | None = None
    results: tuple[SeatResult, ...] = ()
    record: bytes = b""
    """The record, compressed as the store keeps it, once it is finished."""
    lost: bool = False
    """Whether the worker was lost before it was over."""
    over: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Done when it is finished, voided or lost."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when nothing more will be done about it: a finished one is stored by then."""

    def steps(self) -> AsyncIterator[bytes]:
        """Yield its steps, as WatchMatch sends them, until it is over."""
        return self.place.watch(self.match_id)

    def finish(self, message: pb.FinishedMatch) -> None:
        """Take how it ended."""
        self.results = result_of(message.result)
        self.decisions, self.decisions_asked = message.moves, message.decisions
        self.started_at, self.finished_at = message.started_at, message.finished_at
        self.record = message.record
        self._end(MatchState.FINISHED)

    def void(self, reason: VoidReason) -> None:
        """Note that it was broken off."""
        self.void_reason = reason
        self._end(MatchState.VOIDED)

    def lose(self) -> None:
        """Note that its worker was lost."""
        self.lost = True
        self.void(VoidReason.SERVER_ERROR)

    def _end(self, state: MatchState) -> None:
        self.state = state
        if not self.over.done():
            self.over.set_result(None)


class RemotePlace:
    """A worker, across its restarts; all methods are called on the event loop."""

    def __init__(self, number: int) -> None:
        self.number = number
        """From 1."""
        self.ready = False
        """Whether the worker is there."""
        self.matches: dict[int, RemoteMatch] = {}
        """Matches that it plays, or that are being stored, by id."""
        self.bots: dict[str, pb.Bot] = {}
        """The bots that are connected to it, or were a moment ago."""
        self.outbox_bytes = 0
        """Bytes that wait to be sent to bots."""
        self.on_arrival: Callable[[ConnectedBot], None] = lambda bot: None
        """Is called with each bot that connects."""
        self.on_change: Callable[[], None] = lambda: None
        """Is called when other bots are connected, or the worker comes or goes."""
        self.on_match_over: Callable[[], None] = lambda: None
        """Is called when a match is over, and its bots have more room."""
        self.on_incident: Callable[[int, MatchIncident], None] = lambda tournament_id, incident: None
        """Is called with the tournament of each strike and forfeit."""
        self._counters = Counters()  # of the worker that is there
        self._past = Counters()  # of those that were lost
        self._requests: deque[pb.WorkRequest] = deque()
        self._requested = asyncio.Event()
        self._terms: Terms | None = None  # of the last chunk
        self._stub: WorkerServiceStub | None = None
        self._metadata: tuple[tuple[str, str | bytes], ...] = ()
        self._heard = 0  # messages
        self._closing = False

    @property
    def counters(self) -> Counters:
        """What the worker and those before it have counted."""
        return total((self._past, self._counters))

    def is_connected(self, bot: str) -> bool:
        """Return whether a bot is connected."""
        state = self.bots.get(bot)
        return state is not None and state.bot.connected

    def knows(self, bot: str) -> bool:
        """Return whether a bot is connected, or was a moment ago."""
        return bot in self.bots

    @asynccontextmanager
    async def played(
        self,
        match: RemoteMatch,
        fixture: Fixture,
        terms: Terms,
    ) -> AsyncIterator[None]:
        """Have a match played, and wait until it is over, voided or lost.

        The match stays in `matches` while the context lasts, so that it can be stored before it is removed.
        """
        self.matches[match.match_id] = match
        try:
            if self._closing:
                match.void(VoidReason.SHUTDOWN)
            elif self._stub is None:
                match.lose()
            else:
                self._begin(match, fixture, terms)
            await asyncio.wait((match.over,))
            yield
        finally:
            del self.matches[match.match_id]
            match.closed.set()
            self.on_match_over()

    def _begin(self, match: RemoteMatch, fixture: Fixture, terms: Terms) -> None:
        """Send a match to the worker; those with the same terms that are begun together are sent together."""
        last = self._requests[-1] if self._requests else None
        if last is None or last.WhichOneof("task") != "chunk" or terms != self._terms:
            chunk = pb.Chunk(
                tournament_id=terms.tournament_id,
                config=config_message(terms.game),
                time_control=time_control_message(terms.time),
                failure_policy=failure_policy_message(terms.policy),
                disqualified=terms.disqualified,
            )
            last = pb.WorkRequest(chunk=chunk)
            self._request(last)
            self._terms = terms
        last.chunk.games.add(
            match_id=match.match_id,
            deal_seed=fixture.deal_seed,
            bots=fixture.bots,
            bot_seeds=fixture.bot_seeds,
        )

    def disqualify(self, bot: str, tournament_id: int, text: str) -> None:
        """Forfeit a bot's seats in the open matches of a tournament, and notify the bot."""
        task = pb.Disqualification(bot=bot, tournament_id=tournament_id, text=text)
        self._request(pb.WorkRequest(disqualification=task))

    def send_notice(self, bot: str, kind: play.NoticeKind.ValueType, text: str) -> None:
        """Send a notice to a bot, if it is connected."""
        self._request(pb.WorkRequest(notice=pb.Notice(bot=bot, kind=kind, text=text)))

    def drop_waiting(self, tournament_id: int) -> None:
        """Void the matches of a tournament that have not begun."""
        self._request(pb.WorkRequest(drop_waiting=tournament_id))

    async def close(self, grace: float) -> None:
        """Begin nothing more, let running matches end, and wait until all that is over is stored."""
        self._closing = True
        self._request(pb.WorkRequest(close=pb.Close(grace_seconds=grace)))
        for match in list(self.matches.values()):
            await match.closed.wait()

    def void_all(self) -> None:
        """Break off every match, because the server shuts down."""
        self._request(pb.WorkRequest(void_all=pb.VoidAll()))

    async def watch(self, match_id: int) -> AsyncIterator[bytes]:
        """Yield the steps of a match until it is over, or until the worker is lost."""
        if self._stub is None:
            return
        call: Any = self._stub.WatchMatch(pb.WatchMatchRequest(match_id=match_id), metadata=self._metadata)
        try:
            while isinstance(step := await call.read(), pb.WatchMatchResponse):
                yield step.response
        except grpc.aio.AioRpcError:  # the match is over, or the worker is lost, which its stream says too
            return
        finally:
            call.cancel()

    async def work(self, channel: grpc.aio.Channel, secret: str) -> None:
        """Use the worker at the other end of a channel, until it is lost or has ended."""
        if self._closing:
            return
        self._metadata = (("authorization", f"Bearer {secret}"),)
        self._stub = WorkerServiceStub(channel)
        call = self._stub.Work(metadata=self._metadata)
        reader, writer, watch = (
            asyncio.create_task(work) for work in (self._read(call), self._write(call), self._watch())
        )
        try:
            await asyncio.wait((reader, watch), return_when=asyncio.FIRST_COMPLETED)
        finally:
            call.cancel()
            for task in (reader, writer, watch):
                task.cancel()
            await asyncio.gather(reader, writer, watch, return_exceptions=True)
            self._lose()

    def _request(self, request: pb.WorkRequest) -> None:
        if self._stub is not None:
            self._requests.append(request)
            self._requested.set()

    async def _write(self, call: grpc.aio.StreamStreamCall[pb.WorkRequest, pb.WorkResponse]) -> None:
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):  # the reader ends too
            while True:
                while self._requests:
                    await call.write(self._requests.popleft())
                self._requested.clear()
                await self._requested.wait()

    async def _read(self, call: grpc.aio.StreamStreamCall[pb.WorkRequest, pb.WorkResponse]) -> None:
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            while isinstance(response := await call.read(), pb.WorkResponse):
                self._heard += 1
                try:
                    self._take(response)
                except Exception:  # noqa: BLE001 - the boundary of a worker, which is started again
                    _log.exception("worker_response_failed", worker=self.number)
                    return

    async def _watch(self) -> None:
        """Return when the worker gives no sign of life.

        Messages are counted, not timed: where this process itself was stuck, one late check is one check.
        """
        heard, silent = self._heard, 0
        while silent < SILENT_CHECKS:
            await asyncio.sleep(CHECK_SECONDS)
            silent = silent + 1 if self._heard == heard else 0
            heard = self._heard
        _log.error("worker_silent", worker=self.number, seconds=SILENT_CHECKS * CHECK_SECONDS)

    def _take(self, response: pb.WorkResponse) -> None:
        changed, self.ready = not self.ready, True
        for state in response.bots:
            changed |= self._take_bot(state)
        for name in response.bots_gone:
            changed |= self.bots.pop(name, None) is not None
        for progress in response.matches:
            match = self.matches.get(progress.match_id)
            if match is not None and match.state in (MatchState.WAITING, MatchState.RUNNING):
                match.decisions = progress.decisions
                if progress.HasField("started_at"):
                    match.state, match.started_at = MatchState.RUNNING, progress.started_at
        for incident in response.incidents:
            self.on_incident(incident.tournament_id, incident.incident)
        for finished in response.finished:
            match = self.matches.get(finished.match_id)
            if match is not None:  # it is still wanted
                match.finish(finished)
        for voided in response.voided:
            match = self.matches.get(voided.match_id)
            if match is not None:
                self._void(match, void_reason_of(voided.reason))
        if response.HasField("counters"):
            self._counters = counters_of(response.counters)
            self.outbox_bytes = response.counters.outbox_bytes
        if changed:
            self.on_change()

    def _void(self, match: RemoteMatch, reason: VoidReason) -> None:
        """Note that the worker broke a match off. If it shuts down alone, others go on."""
        if reason is VoidReason.SHUTDOWN and not self._closing:
            match.lose()
        else:
            match.void(reason)

    def _take_bot(self, state: pb.Bot) -> bool:
        """Take a bot as it is now; return whether it is newly connected, or no longer."""
        name = state.bot.name
        before, now = self.bots.get(name), state.bot
        self.bots[name] = state
        if now.connected and (before is None or before.bot.since != now.since):
            self.on_arrival(now)
            return True
        return before is None or before.bot.connected != now.connected

    def _lose(self) -> None:
        """Give up what the worker played, and forget what it said."""
        self._stub, self.ready = None, False
        self._requests.clear()
        self.bots.clear()
        self._past, self._counters, self.outbox_bytes = self.counters, Counters(), 0
        self._past.bots_asked = 0
        unfinished = [match for match in self.matches.values() if not match.over.done()]
        for match in unfinished:
            match.void(VoidReason.SHUTDOWN) if self._closing else match.lose()
        if unfinished and not self._closing:
            _log.error("worker_lost", worker=self.number, matches=len(unfinished))
        self.on_change()
