"""Calls to a server about its tournaments."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

import grpc

from happycity import Config, ConfigError, HappyCityError, TimeControl
from happycity.access.v1beta1 import access_service_pb2 as access_pb
from happycity.access.v1beta1.access_service_pb2_grpc import AccessServiceStub
from happycity.errors import FieldError
from happycity.hosting.v1beta1 import hosting_service_pb2 as hosting_pb
from happycity.hosting.v1beta1.hosting_service_pb2_grpc import HostingServiceStub
from happycity.ladder.v1beta1 import ladder_service_pb2 as ladder_pb
from happycity.ladder.v1beta1.ladder_service_pb2_grpc import LadderServiceStub
from happycity.match import one_line
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.v1 import bot_service_pb2 as bot_pb
from happycity.v1 import match_pb2 as match_message
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1 import play_service_pb2 as play_pb
from happycity.v1 import server_service_pb2 as server_pb
from happycity.v1.bot_service_pb2_grpc import BotServiceStub
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.v1.server_service_pb2_grpc import ServerServiceStub
from happycity.wire.match import duration_message, result_of, time_control_message
from happycity.wire.messages import PROTOCOL_VERSION, config_message, config_of
from happycity.wire.moments import unix_of
from happycity.wire.status import StatusDetails, details_of
from happycity_runtime import event_loop
from happycity_runtime.calls import call_method
from happycity_runtime.transport import Access, Target
from happycity_runtime.unreachable import failure, is_lost
from happycity_tournament.client.run_folder import RemoteServer
from happycity_tournament.config import TournamentConfig
from happycity_tournament.games import FinishedGame
from happycity_tournament.play.snapshot import Snapshot
from happycity_tournament.recorded_games import RecordedGame, check_printable, game_of_record, named_record
from happycity_tournament.wire import ratings_of, snapshot_of, tournament_config_message

CONNECT_SECONDS = 5.0
FIRST_PAUSE_SECONDS = 0.1
NOTICED_SECONDS = 1.0
"""The time in which a server notices that a program on this machine has ended."""
PAGE_SIZE = 200

_T = TypeVar("_T")


class ServerError(HappyCityError):
    """A server can't be reached, or refuses a call."""

    def __init__(self, text: str, details: StatusDetails | None = None) -> None:
        super().__init__(text)
        self.details = details or StatusDetails()
        """The typed part of a refusal."""


class UnavailableError(ServerError):
    """The server is gone, or can't serve for now."""


class Connection:
    """A connection to a server that answers; see `connect`.

    Every method raises ServerError if the server refuses, and UnavailableError if it is gone.
    """

    def __init__(self, channel: grpc.aio.Channel, *, address: str, access: Access) -> None:
        self.address = address
        self._stub = TournamentServiceStub(channel)
        self.matches = MatchServiceStub(channel)
        """The methods for single matches, for `call`."""
        self._bots = BotServiceStub(channel)
        self._server = ServerServiceStub(channel)
        self._play: Callable[..., Any] = PlayServiceStub(channel).Play
        self.guests = AccessServiceStub(channel)
        """The methods for guests and their tokens, for `call`."""
        self.hosting = HostingServiceStub(channel)
        """The methods for bots that the server hosts, for `call`."""
        self.ladder = LadderServiceStub(channel)
        """The methods of the server's ladder, for `call`."""
        self._access = access

    async def create(self, config: TournamentConfig) -> Snapshot:
        """Create a tournament, which begins once its bots are connected."""
        request = pb.CreateTournamentRequest(config=tournament_config_message(config))
        return await self._tournament(self._stub.CreateTournament, request)

    async def tournament(self, tournament_id: int) -> Snapshot:
        """Return a tournament without its standings."""
        request = pb.GetTournamentRequest(tournament_id=tournament_id)
        return await self._tournament(self._stub.GetTournament, request)

    async def tournaments(self) -> list[Snapshot]:
        """Return all tournaments without their standings, newest first."""
        pages = self.pages(self._stub.ListTournaments, pb.ListTournamentsRequest(page_size=PAGE_SIZE))
        return [_snapshot(tournament) async for page in pages for tournament in page.tournaments]

    async def standings(self, tournament_id: int) -> Snapshot:
        """Return a tournament with its standings and the final ratings of its games so far."""
        request = pb.GetStandingsRequest(tournament_id=tournament_id, with_final_ratings=True)
        async with aclosing(self.watch(tournament_id)) as snapshots:
            snapshot = await anext(snapshots)
        response = await self.call(self._stub.GetStandings, request)
        final = ratings_of(response.final_ratings) if response.HasField("final_ratings") else None
        return replace(snapshot, final=final)

    async def watch(self, tournament_id: int) -> AsyncGenerator[Snapshot, None]:
        """Yield a tournament with its standings at once and after each change, the last time when it is over.

        Only this last one has final ratings, unless the tournament was interrupted.
        """
        request = pb.WatchTournamentRequest(tournament_id=tournament_id, with_final_ratings=True)
        known = WatchedTournament()
        async with aclosing(self._stream(self._stub.WatchTournament, request)) as updates:
            async for update in updates:
                yield known.after(update)

    async def stop(self, tournament_id: int) -> Snapshot:
        """Let no more games begin; return the tournament with the games that are still finished."""
        request = pb.StopTournamentRequest(tournament_id=tournament_id)
        return await self._tournament(self._stub.StopTournament, request)

    async def resume(self, tournament_id: int, *, connect_seconds: float | None = None) -> Snapshot:
        """Continue a tournament; one that is being played, or is finished, stays as it is.

        It waits for its bots for `connect_seconds`, by default as long as its configuration says.
        """
        wait = None if connect_seconds is None else duration_message(connect_seconds)
        request = pb.ResumeTournamentRequest(tournament_id=tournament_id, connect_time=wait)
        return await self._tournament(self._stub.ResumeTournament, request)

    async def delete(self, tournament_id: int) -> int:
        """Remove a tournament that is not being played; return how many games it had."""
        request = pb.DeleteTournamentRequest(tournament_id=tournament_id)
        response = await self.call(self._stub.DeleteTournament, request)
        return response.games_deleted

    async def disqualify(self, tournament_id: int, bot: str) -> Snapshot:
        """Take a bot out of a tournament: its games that are not finished are forfeited."""
        request = pb.DisqualifyBotRequest(tournament_id=tournament_id, bot=bot)
        return await self._tournament(self._stub.DisqualifyBot, request)

    async def acts(self) -> list[ladder_pb.Act]:
        """Return what organisers did to bots of the server's ladder, newest first; nothing without one."""
        try:
            pages = self.pages(self.ladder.ListActs, ladder_pb.ListActsRequest(page_size=PAGE_SIZE))
            return [act async for page in pages for act in page.acts]
        except ServerError as error:
            if error.details.reason != "NO_LADDER":
                raise
            return []

    async def server(self) -> server_pb.Server:
        """Return what the server is."""
        return await self.call(self._server.GetServer, server_pb.GetServerRequest())

    async def bots(self, *, house: bool | None = None) -> list[bot_pb.ConnectedBot]:
        """Return the connected bots by name; only those of the house, or only the others, if that is said."""
        pages = self.pages(self._bots.ListBots, bot_pb.ListBotsRequest(page_size=PAGE_SIZE, house=house))
        return [bot async for page in pages for bot in page.bots]

    async def hosted_digests(self, bots: Sequence[str]) -> dict[str, str]:
        """Return the digests of the submissions that the server plays as `bots`; ConfigError without one."""
        playing = {
            one.bot.name: one.digest
            for one in await self.submissions()
            if one.state == hosting_pb.SUBMISSION_STATE_PLAYING
        }
        if missing := [bot for bot in bots if bot not in playing]:
            raise ConfigError(f"hosted:{missing[0]}: no submitted bot of that name plays on {self.address}")
        return {bot: playing[bot] for bot in bots}

    async def submissions(self) -> list[hosting_pb.Submission]:
        """Return the submissions of the caller's owner, for organisers those of all owners, newest first."""
        request = hosting_pb.ListSubmissionsRequest(page_size=PAGE_SIZE)
        pages = self.pages(self.hosting.ListSubmissions, request)
        return [one async for page in pages for one in page.submissions]

    async def invitations(self) -> list[access_pb.Invitation]:
        """Return the invitations that no guest has used, oldest first."""
        request = access_pb.ListInvitationsRequest(page_size=PAGE_SIZE)
        pages = self.pages(self.guests.ListInvitations, request)
        return [one async for page in pages for one in page.invitations]

    async def submission(self, bot: str, digest: str) -> list[hosting_pb.SubmissionPart]:
        """Return a submission, part by part."""
        request = hosting_pb.ReadSubmissionRequest(bot=bot, digest=digest)
        return [part async for part in self._stream(self.hosting.ReadSubmission, request)]

    async def still_connected(self, bots: Sequence[str]) -> list[str]:
        """Return those of `bots` that are connected, after a time in which one that has ended is noticed."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + NOTICED_SECONDS
        while connected := [bot.name for bot in await self.bots() if bot.connected and bot.name in bots]:
            if clock() >= deadline:
                break
            await asyncio.sleep(FIRST_PAUSE_SECONDS)  # nothing reports that a bot is disconnected
        return connected

    async def leave(self, bot: str, *, token: str, reason: str) -> None:
        """Forfeit the games of a bot whose program won't come back, as the bot itself would do.

        A bot that isn't let in leaves nothing; its games are forfeited when their grace time is over.
        """
        access = replace(self._access, token=token)
        call = self._play(metadata=access.metadata)
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):  # the call has ended
            hello = play_pb.Hello(protocol_version=PROTOCOL_VERSION, name=bot)
            await call.write(play_pb.PlayRequest(hello=hello))
            first = await call.read()
            if isinstance(first, play_pb.PlayResponse):
                games = (game.match_id for game in first.games_started)
                resigns = (play_pb.Resign(match_id=game, reason=reason, crashed=True) for game in games)
                await call.write(play_pb.PlayRequest(resigns=resigns))
                await call.write(play_pb.PlayRequest(goodbye=play_pb.Goodbye()))
                await call.done_writing()
                while await call.read() is not grpc.aio.EOF:
                    pass  # what was under way
        call.cancel()

    async def newest_games(
        self, tournament_id: int, *, bot: str = "", count: int = PAGE_SIZE, token: str = ""
    ) -> tuple[list[match_pb.Match], str]:
        """Return up to `count` (1 to 200) finished games of a tournament, newest first, and a token for more.

        The games are those of `bot`, unless that is "". Both tokens are "" at the ends of the list.
        """
        request = match_pb.ListMatchesRequest(
            page_size=count,
            page_token=token,
            tournament_id=tournament_id,
            bot=bot or None,
            state=match_message.MATCH_STATE_FINISHED,
        )
        page = await self._call_at_allowed_rate(self.matches.ListMatches, request)
        return list(page.matches), page.next_page_token

    async def record(self, match: match_pb.Match) -> str:
        """Return the record of a finished game with the names of its bots; its deal must be revealed."""
        get = match_pb.GetMatchRecordRequest(match_id=match.match_id)
        return named_record(
            match.bots, (await self._call_at_allowed_rate(self.matches.GetMatchRecord, get)).json
        )

    async def game(self, match_id: int) -> RecordedGame:
        """Return a finished game with its record; its deal must be revealed."""
        found = await self.call(self.matches.GetMatch, match_pb.GetMatchRequest(match_id=match_id))
        record = await self.record(found)
        known = game_of_record(record, number=match_id)
        return replace(listed_game(found), deal_seed=known.deal_seed), record

    async def create_match(
        self, config: Config, bots: Sequence[str], *, seed: int | None, time: TimeControl
    ) -> int:
        """Set up a match, which begins once its bots are connected; return its match id."""
        request = match_pb.CreateMatchRequest(
            config=config_message(config), bots=bots, seed=seed, time_control=time_control_message(time)
        )
        return (await self.call(self.matches.CreateMatch, request)).match_id

    async def create_practice_match(self, config: Config, bots: Sequence[str], *, seed: int | None) -> int:
        """Set up an unrated match of the caller's bot with the default clocks; return its match id."""
        request = match_pb.CreatePracticeMatchRequest(
            config=config_message(config), bots=bots, seed=None if seed is None else seed % 2**32
        )
        return (await self.call(self.matches.CreatePracticeMatch, request)).match_id

    async def bots_of_game(self, match_id: int) -> list[str]:
        """Return the bots of a game by seat, whether it is finished or not."""
        found = await self.call(self.matches.GetMatch, match_pb.GetMatchRequest(match_id=match_id))
        return list(found.bots)

    async def newest_running_game(self) -> int | None:
        """Return the match id of the game that was set up last of those that are being played."""
        running = match_message.MATCH_STATE_RUNNING
        page = await self.call(
            self.matches.ListMatches, match_pb.ListMatchesRequest(page_size=1, state=running)
        )
        return page.matches[0].match_id if page.matches else None

    def watch_game(self, match_id: int) -> AsyncGenerator[match_pb.WatchMatchResponse, None]:
        """Yield a game's steps from its beginning, those to come too, and its end."""
        return self._stream(self.matches.WatchMatch, match_pb.WatchMatchRequest(match_id=match_id))

    async def _stream(self, method: Callable[..., Any], request: object) -> AsyncGenerator[Any, None]:
        """Yield the messages of a stream until it ends, or is left."""
        with translate_errors(self.address, self._access):
            call = method(request, metadata=self._access.metadata)
            try:
                while (message := await call.read()) is not grpc.aio.EOF:
                    yield message
            finally:
                call.cancel()

    async def pages(self, method: Callable[..., Awaitable[Any]], request: Any) -> AsyncIterator[Any]:
        """Yield the pages of a list, of which the request is for the first one."""
        while True:
            page = await self.call(method, request)
            yield page
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def _tournament(self, method: Callable[..., Awaitable[Any]], request: object) -> Snapshot:
        return _snapshot(await self.call(method, request))

    async def _call_at_allowed_rate(self, method: Callable[..., Awaitable[_T]], request: object) -> _T:
        """Return what a call returns, repeated at the pace that the server allows."""
        while True:
            try:
                return await self.call(method, request)
            except ServerError as error:
                if error.details.reason != "RATE_LIMITED":
                    raise
                await asyncio.sleep(error.details.retry_seconds or FIRST_PAUSE_SECONDS)

    async def call(self, method: Callable[..., Awaitable[_T]], request: Any, **options: bool) -> _T:
        """Return what a method of a stub returns; see `call_method`."""
        with translate_errors(self.address, self._access):
            return await call_method(method, request, self._access, **options)


async def check_names_are_free(
    connection: Connection, names: Collection[str], *, flag: str = "--bot, --bots"
) -> None:
    """Refuse to start bots whose names are those of connected ones, which would be thrown out.

    ConfigError if a program is connected under one of the names; `flag` is what names the bots.
    """
    for bot in await connection.bots() if names else ():
        if bot.connected and bot.name in names:
            raise FieldError(
                flag,
                f"a program is connected to {connection.address} as {bot.name!r} already; let it "
                f"play by --join {bot.name}, or end it first, or choose another name",
            )


def finished_game(match: match_pb.Match) -> FinishedGame:
    """Read a game of a tournament; raise HappyCityError if its deal is still in play."""
    if not match.HasField("deal"):
        raise HappyCityError(
            f"tournament {match.tournament_id} is being played, and its deals are secret until it is over"
        )
    return listed_game(match)


def listed_game(match: match_pb.Match) -> FinishedGame:
    """Read a finished game for a list; its deal is unknown as long as it is in play."""
    deal = match.deal if match.HasField("deal") else None
    return FinishedGame(
        match_id=match.match_id,
        tournament_id=match.tournament_id or None,
        position=None if deal is None or not match.tournament_id else (deal.round, deal.table, deal.rotation),
        deal_seed=0 if deal is None else deal.seed,
        config=config_of(match.config),
        bots=tuple(map(check_printable, match.bots)),
        seats=result_of(match.outcome.result),
        decisions=match.decisions,
        created_at=unix_of(match.create_time),
        started_at=unix_of(match.start_time),
        finished_at=unix_of(match.finish_time),
    )


def _snapshot(tournament: pb.Tournament) -> Snapshot:
    return snapshot_of(tournament, tournament.progress)


class WatchedTournament:
    """A watched tournament by all messages so far."""

    def __init__(self) -> None:
        self._whole = pb.WatchTournamentResponse()
        self._standings: dict[str, pb.Standing] = {}
        self._activity: dict[str, pb.BotActivity] = {}

    def after(self, update: pb.WatchTournamentResponse) -> Snapshot:
        """Return the tournament after one more message, which has what changed since the last one."""
        whole = self._whole
        self._standings.update((line.bot, line) for line in update.standings)
        self._activity.update((entry.bot, entry) for entry in update.activity)
        for field in ("tournament", "progress", "sprt", "final_ratings"):
            if update.HasField(field):
                getattr(whole, field).CopyFrom(getattr(update, field))
        return snapshot_of(
            whole.tournament,
            whole.progress,
            standings=self._standings.values(),
            sprt=whole.sprt if whole.HasField("sprt") else None,
            final=whole.final_ratings if whole.HasField("final_ratings") else None,
            activity=self._activity.values(),
            incidents=update.incidents,
        )


@asynccontextmanager
async def connect(address: str, access: Access) -> AsyncIterator[Connection]:
    """Give a connection to a server that answers.

    Raises:
        ConfigError: the settings of the connection can't be used.
        ServerError: no server answers.
    """
    async with access.channel(address) as channel:
        try:
            await asyncio.wait_for(channel.channel_ready(), CONNECT_SECONDS)
        except TimeoutError:
            raise ServerError(await _cause(channel, address, access)) from None
        yield Connection(channel, address=address, access=access)


async def _cause(channel: grpc.aio.Channel, address: str, access: Access) -> str:
    """Return why a channel isn't ready: a call by it ends with what the last attempt met."""
    try:
        check: Callable[..., Awaitable[bytes]] = channel.unary_unary("/grpc.health.v1.Health/Check")
        await check(b"", timeout=CONNECT_SECONDS)
    except grpc.aio.AioRpcError as error:
        return failure(Target.parse(address), error, ca=access.ca)
    return f"{address} did not answer within {CONNECT_SECONDS:g} s; try again"


def call_server(server: RemoteServer, call: Callable[[Connection], Awaitable[_T]]) -> _T:
    """Return what a call on a server returns, or raise a ServerError."""

    async def connected() -> _T:
        async with connect(server.address, server.access) as connection:
            return await call(connection)

    return event_loop.run(connected())


@contextmanager
def translate_errors(address: str, access: Access) -> Iterator[None]:
    """Turn gRPC's errors into ServerErrors."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        details = details_of(error)
        text = one_line(error.details() or error.code().name)
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:  # gRPC's own words name no service
            text = "it has no such service; its organiser switches it on (--hosted)"
        if is_lost(error):
            raise UnavailableError(failure(Target.parse(address), error, ca=access.ca), details) from None
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            raise UnavailableError(f"the server {address} can't serve: {text}", details) from None
        raise ServerError(f"the server {address} refused: {text}", details) from None
