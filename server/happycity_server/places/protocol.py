"""The stream between a server and a worker: `WorkerService` at the server, `ServerLink` at the worker."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, TypeAlias

import grpc
import structlog

from happycity import Deal, VoidReason
from happycity.errors import FieldError
from happycity.hosting.v1beta1.hosting_service_pb2 import Submission
from happycity.match import one_line
from happycity.text.words import plural
from happycity.tournament.v1beta1.tournament_service_pb2 import BotActivity, MatchIncident
from happycity.v1 import match_pb2
from happycity.wire.enums import enum_number
from happycity.wire.fields import to_message
from happycity.wire.match import (
    failure_policy_message,
    failure_policy_of,
    result_message,
    result_of,
    time_control_message,
    time_control_of,
    void_reason_of,
)
from happycity.wire.messages import config_message, config_of
from happycity.worker.v1 import worker_service_pb2 as pb
from happycity.worker.v1.worker_service_pb2_grpc import WorkerServiceServicer
from happycity_runtime.event_loop import first_of, running, spawn
from happycity_server.errors import ApiError, invalid
from happycity_server.places.reports import check_report, counters_of
from happycity_server.play.counters import Counters
from happycity_server.play.events import Events
from happycity_server.play.lobby import Lobby
from happycity_server.play.match import Match, MatchState, OpenMatch
from happycity_tournament.plain_json import adapter
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.storage.packing import pack

VERSION = version("happycity")
CHECK_SECONDS = 1.0
SILENT_CHECKS = 15
"""The number of checks without a message from a worker or gateway after which it counts as lost."""
START_SECONDS = 10.0
"""How long the workers of a server and their bots may take to start before tournaments begin without them."""
GATHER_SECONDS = 0.02
"""How long what has happened at a worker gathers before it is sent."""
REPORT_SECONDS = 0.5
"""How often the server gets the states of bots and matches, and the counters."""

_OUTCOME = ("decisions", "decisions_asked", "started_at", "finished_at")
"""What a worker reports of a finished match besides result and record."""

_log = structlog.get_logger()
WorkContext = grpc.aio.ServicerContext[pb.WorkRequest, pb.WorkResponse]
WorkCall = grpc.aio.StreamStreamCall[pb.WorkRequest, pb.WorkResponse]


# The server's end ------------------------------------------------------------------------------------------


class WorkerLostError(Exception):
    """A worker was lost before a match was over."""


class Worker:
    """A worker that has joined, as its server sees it: a place where matches are played, as a lobby is."""

    def __init__(self, service: WorkerService, name: str, conditions: pb.Conditions) -> None:
        self.name = name
        self.matches: dict[int, OpenMatch] = {}
        """Matches that it plays, or that are being stored, by id."""
        self.bots: dict[str, BotActivity] = {}
        """What its bots do, by name."""
        self.digests: Mapping[str, str] = {}
        """Of the hosted bots that it plays, by name."""
        self.counters = Counters()
        """What it has counted since it joined."""
        self._service = service
        self._tasks = deque([pb.WorkResponse(conditions=conditions)])
        self._changed = asyncio.Event()  # there is something to send
        self._conditions: object = None  # those of the last chunk
        self._heard = 0  # messages
        self.is_ready = False
        """Whether all its bots have been connected."""
        self._lost = self._closing = False

    def is_connected(self, bot: str) -> bool:
        """Return whether a bot is connected to the worker, if it is hosted, as the server plays it."""
        is_same = self.digests.get(bot) == self._service.digests.get(bot)
        return is_same and bot in self.bots and self.bots[bot].connected

    def create(self, spec: MatchSpec, match_id: int) -> OpenMatch:
        """Set up a match; `played` begins it."""
        return OpenMatch(match_id, spec, created_at=self._service.unix_clock())

    @asynccontextmanager
    async def played(self, match: OpenMatch) -> AsyncIterator[None]:
        """Have a match played, and wait until it is over; WorkerLostError if the worker is lost before that.

        The match stays in `matches` while the context lasts, so that it can be stored before it is removed.
        """
        self.matches[match.match_id] = match
        try:
            if self._closing:
                match.void(VoidReason.SHUTDOWN)
            elif not self._lost:
                self._begin(match)
                await asyncio.wait((match.over,))
            if self._lost and not self._closing and match.state is not MatchState.FINISHED:
                match.void(VoidReason.SERVER_ERROR)
                raise WorkerLostError
            yield
        finally:
            match.void(VoidReason.STOPPED)  # if it was given up
            del self.matches[match.match_id]
            match.closed.set()

    def _begin(self, match: OpenMatch) -> None:
        """Send a match; those on the same conditions that are begun together are sent together."""
        spec, last = match.spec, self._tasks[-1] if self._tasks else None
        conditions = spec.tournament_id, spec.deal.config, spec.time, spec.policy, spec.disqualified
        if last is None or last.WhichOneof("task") != "chunk" or conditions != self._conditions:
            chunk = pb.Chunk(
                tournament_id=spec.tournament_id,
                config=config_message(spec.deal.config),
                time_control=time_control_message(spec.time),
                failure_policy=failure_policy_message(spec.policy),
                disqualified=sorted(spec.disqualified),
            )
            last = pb.WorkResponse(chunk=chunk)
            self._send(last)
            self._conditions = conditions
        own = {"match_id": match.match_id, "deal_seed": spec.deal.seed}
        last.chunk.games.append(to_message(pb.Game, spec, "bots", "bot_seeds", "ladder_deal_id", **own))

    def disqualify(self, bot: str, tournament_id: int, text: str) -> None:
        """Forfeit a bot's seats in the open matches of a tournament, and notify the bot."""
        out = pb.Disqualification(bot=bot, tournament_id=tournament_id, text=text)
        self._send(pb.WorkResponse(disqualification=out))

    def drop_waiting(self, tournament_id: int) -> None:
        """Void the matches of a tournament that have not begun."""
        self._send(pb.WorkResponse(drop_waiting=tournament_id))

    def drop_match(self, match: OpenMatch) -> None:
        """Void a match."""
        match.void(VoidReason.STOPPED)
        self._send(pb.WorkResponse(drop_match=match.match_id))

    def host(self, digests: Mapping[str, str]) -> None:
        """Have hosted bots played, and no others."""
        self._send(pb.WorkResponse(hosted=pb.HostedBots(digests=digests)))

    async def close(self, grace: float) -> None:
        """Begin nothing more, let running matches end, and wait until all that is over is stored."""
        self._closing = True
        self._send(pb.WorkResponse(close_seconds=grace))
        for match in list(self.matches.values()):
            await match.closed.wait()

    def void_all(self) -> None:
        """Break off every match, because the server shuts down."""
        self._send(pb.WorkResponse(close_seconds=0.0))

    async def serve(self, context: WorkContext) -> None:
        """Send what the worker is to do, and take its reports, until it has ended or is lost."""
        self._service.note_joined(self)
        try:
            await first_of(self._read(context), self._write(context), self._watch())
        finally:
            self._lose()

    def _send(self, response: pb.WorkResponse) -> None:
        if not self._lost:
            self._tasks.append(response)
            self._changed.set()

    async def _read(self, context: WorkContext) -> None:
        try:
            while isinstance(request := await context.read(), pb.WorkRequest):
                self._heard += 1
                check = partial(check_report, request, self.matches, self._service.unix_clock())
                await asyncio.to_thread(check) if request.finished else check()
                self._take(request)
        except (grpc.RpcError, asyncio.InvalidStateError):  # the stream broke
            return
        except FieldError as error:
            self._service.note_faulty(self.name, str(error))
            text = f"{error.problem}; the server takes nothing more from {self.name}"
            raise invalid(error.path, text) from None
        except Exception:  # noqa: BLE001 - the boundary of a worker, which joins again
            _log.exception("worker_report_failed", worker=self.name)

    async def _write(self, context: WorkContext) -> None:
        with suppress(grpc.RpcError, asyncio.InvalidStateError):
            while True:
                while self._tasks:
                    await context.write(self._tasks.popleft())
                self._changed.clear()
                await self._changed.wait()

    async def _watch(self) -> None:
        """Return when the worker gives no sign of life."""
        await until_silent("worker", self.name, lambda: self._heard)
        self._service.events.worker_silent(self.name)

    def _take(self, request: pb.WorkRequest) -> None:
        """Take what has happened at the worker."""
        for progress in request.matches:
            match = self.matches.get(progress.match_id)
            if match is not None and not match.over.done():
                match.decisions = progress.decisions
                if progress.HasField("started_at"):
                    match.state, match.started_at = MatchState.RUNNING, progress.started_at
        for incident in filter(self._is_own, request.incidents):
            self._service.events.incident(incident.tournament_id, incident.incident)
        for finished in request.finished:
            match = self.matches.get(finished.match_id)
            if match is not None and not match.over.done():  # it is still wanted
                _end_as(match, finished)
        for voided in request.voided:
            match = self.matches.get(voided.match_id)
            if match is not None:
                match.void(void_reason_of(voided.reason))
        if request.HasField("counters"):
            past, self.counters = self.counters, counters_of(request.counters)
            if again := self.counters.restarts - past.restarts:
                text = f"{self.name}: {', '.join(again)} ended, and is started again"
                self._service.tell_user(text, restarted=again)
        self._service.events.usage_reported(request.used)
        self._service.tell_remarks(self.name, request.remarks)
        if request.HasField("bots"):
            before = set(filter(self.is_connected, self.bots))
            self.bots = {bot.bot: bot for bot in request.bots.activity}
            self.digests = dict(request.bots.digests)
            if before != set(filter(self.is_connected, self.bots)):
                self._service.note_bots(self)

    def _is_own(self, incident: pb.Incident) -> bool:
        match = self.matches.get(incident.incident.match_id)
        return match is not None and match.spec.tournament_id == incident.tournament_id

    def _lose(self) -> None:
        """Give up what the worker still plays."""
        self._lost = True
        unfinished = [match for match in self.matches.values() if not match.over.done()]
        for match in unfinished:
            match.void(VoidReason.SHUTDOWN if self._closing else VoidReason.SERVER_ERROR)
        self.bots.clear()
        self._service.note_lost(self, 0 if self._closing else len(unfinished))


async def until_silent(
    kind: str, name: str, messages: Callable[[], int], sleep: Callable[[float], Any] = asyncio.sleep
) -> None:
    """Return when the number of messages of a worker or gateway stands still.

    They are counted, not timed: where this process itself was stuck, one late check is one check.
    """
    heard, silent = messages(), 0
    while silent < SILENT_CHECKS:
        await sleep(CHECK_SECONDS)
        silent = silent + 1 if messages() == heard else 0
        heard = messages()
    _log.error(f"{kind}_silent", **{kind: name}, seconds=SILENT_CHECKS * CHECK_SECONDS)


async def name_of_joining(context: grpc.aio.ServicerContext[Any, Any], kind: str) -> str:
    """Read the hello of a worker or gateway; return its name. ApiError if its version is not the server's."""
    first = await context.read()
    hello = pb.Hello() if first is grpc.aio.EOF else first.hello
    if hello.version != VERSION:
        shown = one_line(hello.version)[:40] or "none"
        text = (
            f"the {kind} is of version {shown}, the server of version {VERSION}; "
            f"install happycity {VERSION} for the {kind} too"
        )
        raise invalid("hello.version", text)
    return one_line(hello.name)[:80]


def _end_as(match: OpenMatch, finished: pb.FinishedMatch) -> None:
    """End a match as a worker has finished it."""
    match.results, match.packed_record = result_of(finished.result), finished.record
    for name in _OUTCOME:
        setattr(match, name, getattr(finished, name))
    match.end(MatchState.FINISHED)


Place: TypeAlias = Lobby | Worker
"""Where matches are played: the server's own lobby, or a worker."""


@dataclass(eq=False, repr=False)
class WorkerService(WorkerServiceServicer):
    """Admits workers, and keeps those that have joined."""

    unix_clock: Callable[[], float]
    conditions: pb.Conditions
    """What is offered to workers."""
    events: Events = field(default_factory=Events)
    tell_user: Callable[..., None] = lambda text, **details: None
    """Gets lines about workers; `restarted`: how often which bots were started again."""
    bots: Collection[str] = ()
    """Those that each worker starts."""
    expected: int = 0
    """Workers that the server starts itself: up to START_SECONDS it waits until they have joined."""
    joined: list[Worker] = field(default_factory=list, init=False)
    past_counters: Counters = field(default_factory=Counters, init=False)
    """What the workers have counted that were lost."""
    digests: Mapping[str, str] = field(default_factory=dict, init=False)
    """Of the hosted bots that workers are to play, by name."""
    _faulty: dict[str, str] = field(default_factory=dict, init=False)
    """By worker that plays no more: what it has reported."""
    _all_ready: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _start: float = field(default_factory=time.monotonic, init=False)

    async def Work(  # type: ignore[override]  # it reads and writes by itself
        self, request_iterator: object, context: WorkContext
    ) -> None:
        """Let a worker join, and have it play until its stream ends."""
        name = await name_of_joining(context, "worker")
        if problem := self._faulty.get(name):
            text = f"{name} has reported what can't be true: {problem}; when it is repaired, give it another "
            raise invalid("hello.name", f"{text}name, or start the server again")
        await Worker(self, name, self.conditions).serve(context)

    def note_joined(self, worker: Worker) -> None:
        """Note that a worker has joined."""
        self.joined.append(worker)
        _log.info("worker_joined", worker=worker.name)
        if self.digests:
            worker.host(self.digests)
        self.note_bots(worker)

    def host(self, digests: Mapping[str, str]) -> None:
        """Have hosted bots played by all workers: by name, the digests of their submissions."""
        self.digests = dict(digests)
        for worker in self.joined:
            worker.host(digests)

    def note_bots(self, worker: Worker) -> None:
        """Note that other bots are connected to a worker."""
        self.events.changed()
        if worker.is_ready or not all(map(worker.is_connected, (*self.bots, *self.digests))):
            return
        worker.is_ready = True
        if self._all_ready.is_set() or not self.expected:
            self.tell_user(f"{worker.name} plays")
        elif sum(each.is_ready for each in self.joined) == self.expected:
            self._all_ready.set()
            self.tell_user(f"{plural(self.expected, 'worker')} play{'s' * (self.expected == 1)}")

    def tell_remarks(self, name: str, remarks: Iterable[str]) -> None:
        """Pass the lines on that a worker has for people."""
        for text in map(one_line, remarks):
            _log.warning("worker_remark", worker=name, text=text)
            self.tell_user(f"{name}: {text}")

    def note_faulty(self, name: str, problem: str) -> None:
        """Let a worker play no more, as it has reported what can't be true."""
        self._faulty[name] = problem
        _log.error("worker_faulty", worker=name, problem=problem)
        self.tell_user(f"{name} is faulty and plays no more: {problem}")

    def note_ended(self, name: str, ended: str) -> None:
        """Note that the program of a worker has ended, which is started again."""
        if not self._all_ready.is_set():  # later on its loss says enough
            self.tell_user(f"{name} has ended ({ended}) before it played; it starts again, and others begin")
            self._all_ready.set()

    async def wait_for_expected(self) -> None:
        """Wait for the workers that are started with the server, but not longer than `START_SECONDS`.

        Without them, the server would begin as many games at once as it may, and they would have few.
        """
        if self.expected:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, self._start + START_SECONDS - time.monotonic())):
                    await self._all_ready.wait()

    def note_lost(self, worker: Worker, matches: int) -> None:
        """Note that a worker has left, or was lost while it played `matches`."""
        self.joined.remove(worker)
        past = worker.counters
        past.bots_asked = past.outbox_bytes = 0
        self.past_counters += past
        if not matches:
            _log.info("worker_left", worker=worker.name)
        else:
            _log.warning("worker_lost", worker=worker.name, matches=matches)
            self.tell_user(f"{worker.name} was lost; its {matches} games begin again elsewhere")
        self.events.changed()


# The worker's end ------------------------------------------------------------------------------------------


class ServerLink:
    """The server that a worker has joined: plays in a lobby what the server asks for, and reports it."""

    def __init__(self, lobby: Lobby, unix_clock: Callable[[], float], *, message_bytes: int) -> None:
        """Prepare to report a lobby to a server that takes messages of at most `message_bytes`."""
        self._lobby = lobby
        self._unix_clock = unix_clock
        self._record_bytes = message_bytes // 2  # in one message; what else is in it takes less
        self._tasks: set[asyncio.Task[None]] = set()
        self._report = pb.WorkRequest()
        self._finished: deque[pb.FinishedMatch] = deque()
        self._urgent = asyncio.Event()  # there is something that the server waits for
        self._done = False  # there is nothing more to report
        self._reported_bots = pb.Bots()
        self._reported_matches: dict[int, pb.OpenMatch] = {}
        self.hosted: Mapping[str, str] = {}
        """By hosted bot that is to play: the digest of its submission."""
        self.hosted_changed = asyncio.Event()
        self.digests: Mapping[str, str] = {}
        """Of those that play."""
        lobby.events.changed.append(self._note_bots)
        lobby.events.incident.append(self._note_incident)

    async def serve(self, call: WorkCall) -> None:
        """Play for the server at the other end of a stream until that ends.

        Raises:
            AioRpcError: the stream broke.
        """
        async with running(self._read(call)) as (reading,):
            reading.add_done_callback(lambda _: self._finish())
            with suppress(asyncio.InvalidStateError):  # the stream has ended, and the reader knows why
                await self._write(call)
            await reading

    async def _read(self, call: WorkCall) -> None:
        """Do what the server asks for, until it ends the stream."""
        while isinstance(response := await call.read(), pb.WorkResponse):
            match response.WhichOneof("task"):
                case "chunk":
                    self._begin(response.chunk)
                case "disqualification":
                    out = response.disqualification
                    self._lobby.disqualify(out.bot, out.tournament_id, out.text)
                case "drop_waiting":
                    self._lobby.drop_waiting(response.drop_waiting)
                case "drop_match":
                    if (match := self._lobby.matches.get(response.drop_match)) is not None:
                        self._lobby.drop_match(match)
                case "hosted":
                    self.hosted = response.hosted.digests
                    self.hosted_changed.set()
                case "close_seconds":
                    closing = spawn(self._lobby.close(response.close_seconds), self._tasks)
                    closing.add_done_callback(lambda _: self._finish())

    async def _write(self, call: WorkCall) -> None:
        """Report what happens, until there is nothing more."""
        clock = asyncio.get_running_loop().time
        due, done = clock(), False
        while not done:
            done = self._done
            if clock() >= due:
                self._note_states()
                due = clock() + REPORT_SECONDS
            for request in self._take_reports():
                await call.write(request)
            if not done:
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(due):
                        await self._urgent.wait()
                await asyncio.sleep(GATHER_SECONDS)
        await call.done_writing()

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
                ladder_deal_id=game.ladder_deal_id,
                disqualified=frozenset(chunk.disqualified),
            )
            spawn(self._play(game.match_id, spec), self._tasks)

    async def _play(self, match_id: int, spec: MatchSpec) -> None:
        """Play a match, and report how it ended."""
        try:
            match = self._lobby.create(spec, match_id)
        except ApiError:  # the server has asked for the end meanwhile
            self._note_void(match_id, VoidReason.SHUTDOWN)
            return
        try:
            async with self._lobby.played(match):
                if match.void_reason is None:
                    self._note_finished(match)
                else:
                    self._note_void(match_id, match.void_reason)
        except Exception:  # noqa: BLE001 - nobody awaits this task, so its failure ends here
            _log.exception("match_failed", match=match_id)
            self._note_void(match_id, VoidReason.SERVER_ERROR)
        self._reported_matches.pop(match_id, None)

    def _note_finished(self, match: Match) -> None:
        result, record = result_message(match.results), pack(match.record)
        finished = to_message(pb.FinishedMatch, match, "match_id", *_OUTCOME, result=result, record=record)
        self._finished.append(finished)
        self._urgent.set()

    def _note_void(self, match_id: int, reason: VoidReason) -> None:
        self._report.voided.add(match_id=match_id, reason=enum_number(match_pb2.VoidReason, reason))
        self._urgent.set()

    def _note_incident(self, tournament_id: int, incident: MatchIncident) -> None:
        self._report.incidents.add(tournament_id=tournament_id, incident=incident)
        self._urgent.set()

    def tell_user(self, text: str) -> None:
        """Report a line for people."""
        self._report.remarks.append(text)
        self._urgent.set()

    def note_used(self, used: Submission) -> None:
        """Report what a hosted bot has used since the last such report."""
        self._report.used.append(used)

    def _note_bots(self) -> None:
        """Report the bots if something of them has changed."""
        now, sessions = self._lobby.clock(), self._lobby.sessions.values()
        states = [one.activity(now, self._unix_clock) for one in sessions if not one.gone]
        bots = pb.Bots(activity=states, digests=self.digests)
        if bots != self._reported_bots:
            self._reported_bots = bots
            self._report.bots.CopyFrom(bots)
            self._urgent.set()

    def _note_states(self) -> None:
        """Report the bots and matches of which something has changed, and the counters."""
        self._note_bots()
        for match in self._lobby.matches.values():
            progress = to_message(pb.OpenMatch, match, "match_id", "started_at", "decisions")
            if self._reported_matches.get(match.match_id) != progress:
                self._reported_matches[match.match_id] = progress
                self._report.matches.append(progress)
        self._report.counters = adapter(Counters).dump_json(self._lobby.counted())

    def _take_reports(self) -> Iterator[pb.WorkRequest]:
        """Yield all that is to be reported, records of many games in several messages."""
        report, self._report = self._report, pb.WorkRequest()
        self._urgent.clear()
        record_bytes = 0
        while self._finished:
            finished = self._finished.popleft()
            record_bytes += len(finished.record)
            if report.finished and record_bytes > self._record_bytes:
                yield report
                report, record_bytes = pb.WorkRequest(), len(finished.record)
            report.finished.append(finished)
        yield report

    def _finish(self) -> None:
        self._done = True
        self._urgent.set()
