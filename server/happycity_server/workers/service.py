"""WorkerService: what a worker does for its parent, and what it reports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any

import grpc

from happycity import Deal, Incident, VoidReason
from happycity.wire.match import failure_policy_of, result_message, time_control_of, void_reason_number
from happycity.wire.messages import config_of
from happycity.worker.v1 import worker_service_pb2 as pb
from happycity.worker.v1.worker_service_pb2_grpc import WorkerServiceServicer
from happycity_server.errors import ApiError
from happycity_server.places.bots import LobbyBots
from happycity_server.places.counters import counters_message
from happycity_server.places.places import incident_of_match
from happycity_server.play.lobby import Lobby
from happycity_server.play.match import Match, MatchSpec, MatchState
from happycity_server.play.session import Session
from happycity_tournament.storage import pack

GATHER_SECONDS = 0.02
"""How long what has happened gathers before it is sent to the parent."""
REPORT_SECONDS = 0.5
"""How often the parent gets the states of bots and matches, and the counters."""

_Context = grpc.aio.ServicerContext[Any, Any]


class WorkerService(WorkerServiceServicer):
    """Plays what the parent asks for, and reports it."""

    def __init__(self, lobby: Lobby, unix_clock: Callable[[], float]) -> None:
        self.ended = asyncio.Event()
        """Set when the parent has gone, or wants no more."""
        self._lobby = lobby
        self._unix_clock = unix_clock
        self._bots = LobbyBots(lobby, unix_clock)
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = pb.WorkResponse()
        self._urgent = asyncio.Event()  # there is something that the parent waits for
        self._done = False  # there is nothing more to report
        self._reported_bots: dict[str, pb.Bot] = {}
        self._reported_matches: dict[int, pb.OpenMatch] = {}
        lobby.on_arrival = lobby.on_departure = self._note_bot
        lobby.on_incident = self._note_incident

    async def Work(
        self, request_iterator: AsyncIterator[pb.WorkRequest], context: object
    ) -> AsyncIterator[pb.WorkResponse]:
        """Play for the parent, and send what happens."""
        clock = asyncio.get_running_loop().time
        taking = asyncio.create_task(self._take(request_iterator))
        taking.add_done_callback(lambda _: self._finish())
        try:
            report_at = clock()
            while not self._done:
                if clock() >= report_at:
                    self._report()
                    report_at = clock() + REPORT_SECONDS
                yield self._taken_news()
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(report_at):
                        await self._urgent.wait()
                await asyncio.sleep(GATHER_SECONDS)
            yield self._taken_news()
        finally:
            taking.cancel()
            self.ended.set()

    async def WatchMatch(
        self, request: pb.WatchMatchRequest, context: _Context
    ) -> AsyncIterator[pb.WatchMatchResponse]:
        """Refuse: a match at a worker is shown by its record, when it is over."""
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "matches are shown when they are over")
        yield pb.WatchMatchResponse()

    async def _take(self, requests: AsyncIterator[pb.WorkRequest]) -> None:
        """Do what the parent asks for, until it ends its side of the stream."""
        async for request in requests:
            match request.WhichOneof("task"):
                case "chunk":
                    self._begin(request.chunk)
                case "disqualification":
                    out = request.disqualification
                    self._lobby.disqualify(out.bot, out.tournament_id, out.text)
                case "notice":
                    notice = request.notice
                    self._lobby.send_notice(notice.bot, notice.kind, notice.text)
                case "drop_waiting":
                    self._lobby.drop_waiting(request.drop_waiting)
                case "close":
                    closing = self._start(self._lobby.close(request.close.grace_seconds))
                    closing.add_done_callback(lambda _: self._finish())
                case "void_all":
                    self._lobby.void_all()

    def _begin(self, chunk: pb.Chunk) -> None:
        """Begin the games of a chunk."""
        config = config_of(chunk.config)
        time, policy = time_control_of(chunk.time_control), failure_policy_of(chunk.failure_policy)
        for game in chunk.games:
            spec = MatchSpec(
                deal=Deal.shuffle(config, seed=game.deal_seed),
                bots=tuple(game.bots),
                bot_seeds=tuple(game.bot_seeds),
                time=time,
                policy=policy,
                tournament_id=chunk.tournament_id,
                disqualified=frozenset(chunk.disqualified),
            )
            self._start(self._play(game.match_id, spec))

    async def _play(self, match_id: int, spec: MatchSpec) -> None:
        """Play a match, and report how it ended."""
        try:
            match = self._lobby.create(spec, match_id)
        except ApiError:  # the parent has asked for the end meanwhile
            self._note_void(match_id, VoidReason.SHUTDOWN)
            return
        async with self._lobby.played(match):
            if match.state is MatchState.FINISHED:
                self._note_finished(match)
            else:
                assert match.void_reason is not None
                self._note_void(match_id, match.void_reason)
        self._reported_matches.pop(match_id, None)

    def _note_finished(self, match: Match) -> None:
        self._news.finished.add(
            match_id=match.match_id,
            result=result_message(match.results),
            decisions=match.referee.decision_id,
            moves=match.decisions,
            started_at=match.started_at or 0.0,
            finished_at=match.finished_at or 0.0,
            record=pack(match.record),
        )
        self._urgent.set()

    def _note_void(self, match_id: int, reason: VoidReason) -> None:
        self._news.voided.add(match_id=match_id, reason=void_reason_number(reason))
        self._urgent.set()

    def _note_incident(self, match: Match, incident: Incident) -> None:
        if match.tournament_id:
            noted = incident_of_match(match, incident, self._unix_clock())
            self._news.incidents.add(tournament_id=match.tournament_id, incident=noted)
            self._urgent.set()

    def _note_bot(self, session: Session) -> None:
        if not session.gone:  # else the next report says that it is forgotten
            self._news.bots.append(self._bot(session))
            self._urgent.set()

    def _bot(self, session: Session) -> pb.Bot:
        state = pb.Bot(bot=self._bots.bot(session), activity=self._bots.activity(session))
        self._reported_bots[session.name] = state
        return state

    def _report(self) -> None:
        """Report the bots and matches of which something has changed, and the counters."""
        names = set(self._bots.names())
        for name in self._reported_bots.keys() - names:
            del self._reported_bots[name]
            self._news.bots_gone.append(name)
        for name in names:
            session, known = self._lobby.sessions[name], self._reported_bots.get(name)
            state = self._bot(session)
            if state != known:
                self._news.bots.append(state)
        for match in self._lobby.matches.values():
            progress = pb.OpenMatch(
                match_id=match.match_id, started_at=match.started_at, decisions=match.decisions
            )
            if self._reported_matches.get(match.match_id) != progress:
                self._reported_matches[match.match_id] = progress
                self._news.matches.append(progress)
        outboxes = (session.outbox for session in self._lobby.sessions.values())
        waiting = sum(outbox.waiting_bytes for outbox in outboxes if outbox is not None)
        self._news.counters.CopyFrom(counters_message(self._lobby.counters, outbox_bytes=waiting))

    def _taken_news(self) -> pb.WorkResponse:
        news, self._news = self._news, pb.WorkResponse()
        self._urgent.clear()
        return news

    def _finish(self) -> None:
        self._done = True
        self._urgent.set()

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
