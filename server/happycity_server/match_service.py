"""MatchService: single games, and a look at any game."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator

import grpc
import structlog

from happycity import Deal
from happycity.records import Json, dumps, loads, outcome_of
from happycity.records import config_of as record_config
from happycity.terms import BOT_NAME
from happycity.v1 import match_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceServicer
from happycity.wire import (
    config_message,
    config_of,
    failure_policy_of,
    result_message,
    time_control_of,
)
from happycity_server.access import WATCHERS, require
from happycity_server.matches import Match, MatchSpec, MatchState
from happycity_server.refusals import Reason, Refusal, refusing, refusing_stream
from happycity_server.shows import LiveShow, RecordedShow, Show
from happycity_server.tournaments import Tournaments, stored_game
from happycity_tournament.schedule import bot_seeds
from happycity_tournament.store import StoredGame, StoreError

_log = structlog.get_logger()

DEFAULT_PAGE = 50
LARGEST_PAGE = 200

_STATES = {
    MatchState.WAITING: pb.MATCH_STATE_WAITING,
    MatchState.RUNNING: pb.MATCH_STATE_RUNNING,
    MatchState.FINISHED: pb.MATCH_STATE_RUNNING,  # until it is stored, as nothing counts before
    MatchState.VOIDED: pb.MATCH_STATE_VOIDED,
}


def check_names(names: list[str]) -> None:
    """Refuse names that no bot can have, and a name that comes twice.

    Raises:
        Refusal: there is such a name.
    """
    for name in names:
        if not BOT_NAME.fullmatch(name):
            raise Refusal(Reason.INVALID_FIELD, f"bots: {name[:80]!r} is no bot's name", field="bots")
        if names.count(name) > 1:
            raise Refusal(Reason.INVALID_FIELD, f"bots: {name!r} is named more than once", field="bots")


def page(size: int, token: str) -> tuple[int, int | None]:
    """Return a page's length and the id before which it begins.

    Raises:
        Refusal: the token is not one of ours.
    """
    if token and not token.isdecimal():
        raise Refusal(
            Reason.INVALID_FIELD, f"page_token: {token[:40]!r} is not from a last page", field="page_token"
        )
    return min(size or DEFAULT_PAGE, LARGEST_PAGE), int(token) if token else None


class MatchService(MatchServiceServicer):
    """Decodes, asks lobby and store, encodes."""

    def __init__(self, tournaments: Tournaments) -> None:
        self._tournaments = tournaments
        self._lobby = tournaments.lobby
        self._archive = tournaments.archive
        self._playing: set[asyncio.Task[None]] = set()

    @refusing
    async def CreateMatch(  # noqa: N802 - gRPC names its methods so
        self,
        request: pb.CreateMatchRequest,
        context: grpc.aio.ServicerContext[pb.CreateMatchRequest, pb.CreateMatchResponse],
    ) -> pb.CreateMatchResponse:
        """Set up a match and begin it once its bots are there."""
        config = config_of(request.config)
        bots = list(request.bots)
        check_names(bots)
        if len(bots) != config.players:
            raise Refusal(Reason.INVALID_FIELD, f"bots: {len(bots)} for {config.players} seats", field="bots")
        seed = request.seed if request.HasField("seed") else secrets.randbits(53)
        spec = MatchSpec(
            deal=Deal.shuffle(config, seed=seed),
            bots=tuple(bots),
            bot_seeds=bot_seeds(f"single {seed}", bots=bots),
            time=time_control_of(request.time_control),
            policy=failure_policy_of(request.failure_policy),
        )
        match = self._lobby.create(spec)
        task = asyncio.create_task(self._play(match))
        self._playing.add(task)
        task.add_done_callback(self._playing.discard)
        return pb.CreateMatchResponse(match=_running(match))

    @refusing
    async def GetMatch(  # noqa: N802
        self,
        request: pb.GetMatchRequest,
        context: grpc.aio.ServicerContext[pb.GetMatchRequest, pb.GetMatchResponse],
    ) -> pb.GetMatchResponse:
        """Return a running or stored match."""
        match = self._lobby.matches.get(request.match_id)
        if match is not None:
            return pb.GetMatchResponse(match=_running(match))
        game, record = await self._archive.call(self._stored, request.match_id)
        return pb.GetMatchResponse(match=_finished(game, record))

    @refusing
    async def ListMatches(  # noqa: N802
        self,
        request: pb.ListMatchesRequest,
        context: grpc.aio.ServicerContext[pb.ListMatchesRequest, pb.ListMatchesResponse],
    ) -> pb.ListMatchesResponse:
        """List running and stored matches."""
        size, before = page(request.page_size, request.page_token)
        wanted = request.tournament_id
        running = [
            match
            for match in self._lobby.matches.values()
            if (before is None or match.match_id < before) and wanted in (0, match.spec.tournament_id)
        ]
        stored = await self._archive.call(self._stored_page, size + 1, before, wanted or None)
        # A match may be stored and not yet taken from the running ones.
        by_id = {match.match_id: _running(match) for match in running}
        by_id.update((game.id, _finished(game, record)) for game, record in stored)
        newest = sorted(by_id, reverse=True)[:size]
        more = len(by_id) > size
        return pb.ListMatchesResponse(
            matches=[by_id[match_id] for match_id in newest], next_page_token=str(newest[-1]) if more else ""
        )

    @refusing_stream
    async def WatchMatch(  # noqa: N802
        self,
        request: pb.WatchMatchRequest,
        context: grpc.aio.ServicerContext[pb.WatchMatchRequest, pb.WatchMatchResponse],
    ) -> AsyncIterator[pb.WatchMatchResponse]:
        """Replay a match as far as it is, then follow it.

        Every watcher replays the moves on a game of its own, so that watching costs the match nothing.
        """
        show = await self._show(request.match_id)
        try:
            async for step in show.steps(skip=request.from_decision):
                yield step
        finally:
            show.close()

    @refusing
    async def GetMatchRecord(  # noqa: N802
        self,
        request: pb.GetMatchRecordRequest,
        context: grpc.aio.ServicerContext[pb.GetMatchRecordRequest, pb.GetMatchRecordResponse],
    ) -> pb.GetMatchRecordResponse:
        """Return the record of a stored match."""
        return pb.GetMatchRecordResponse(record_json=dumps(await self._record(request.match_id)))

    async def _play(self, match: Match) -> None:
        await self._lobby.wait_for(match.spec.bots, match.spec.time.connect_seconds)
        async with self._lobby.played(match):
            if match.state is MatchState.FINISHED:
                try:
                    await self._archive.save(stored_game(match))
                except StoreError:  # nobody awaits this task, so its failure ends here
                    _log.exception("game_not_stored", match=match.match_id)

    async def _show(self, match_id: int) -> Show:
        """Return the way to watch a match: live, or from its record."""
        match = self._lobby.matches.get(match_id)
        if match is not None:
            require(WATCHERS)
            return LiveShow(match)
        return RecordedShow(await self._record(match_id))

    async def _record(self, match_id: int) -> Json:
        """Return the record of a finished match whose deal is not in play any more."""
        if match_id in self._lobby.matches:
            raise Refusal(Reason.MATCH_RUNNING, f"match {match_id} is not over, so its deal is secret yet")
        game, record = await self._archive.call(self._stored, match_id)
        tournament_id = game.tournament_id
        if tournament_id is not None and not (await self._tournaments.status(tournament_id)).revealed:
            raise Refusal(
                Reason.MATCH_RUNNING,
                f"match {match_id} shares its deal with others of tournament {tournament_id}, still on",
            )
        return record

    def _stored(self, match_id: int) -> tuple[StoredGame, Json]:
        """Return a stored game and its record; called in the store's thread."""
        store = self._archive.store
        game, record = store.game(match_id), store.record(match_id)
        if game is None or record is None:
            raise _unknown(match_id)
        return game, loads(record)

    def _stored_page(
        self, limit: int, before_id: int | None, tournament_id: int | None
    ) -> list[tuple[StoredGame, Json]]:
        games = self._archive.store.games(limit, before_id, tournament_id=tournament_id)
        return [self._stored(game.id) for game in games]


def _unknown(match_id: int) -> Refusal:
    return Refusal(Reason.UNKNOWN_MATCH, f"there is no match {match_id}, running or stored")


def _running(match: Match) -> pb.Match:
    """Write a match that waits or runs."""
    return pb.Match(
        match_id=match.match_id,
        config=config_message(match.spec.deal.config),
        bots=match.spec.bots,
        state=_STATES[match.state],
        decisions=len(match.referee.recorder.moves),
        tournament_id=match.spec.tournament_id,
    )


def _finished(game: StoredGame, record: Json) -> pb.Match:
    """Write a stored match."""
    message = pb.Match(
        match_id=game.id,
        config=config_message(record_config(record)),
        bots=game.bots,
        state=pb.MATCH_STATE_FINISHED,
        result=result_message(outcome_of(record), places=game.places, endings=game.endings),
        decisions=game.decisions,
        tournament_id=game.tournament_id or 0,
    )
    message.finish_time.FromNanoseconds(round(game.finished_at * 1e9))
    return message
