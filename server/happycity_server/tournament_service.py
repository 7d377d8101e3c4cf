"""TournamentService: set tournaments up, follow them, end them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

import grpc

from happycity.v1 import tournament_service_pb2 as pb
from happycity.v1.tournament_service_pb2_grpc import TournamentServiceServicer
from happycity_server.access import WATCHERS, require
from happycity_server.match_service import check_names, page
from happycity_server.refusals import Reason, Refusal, refusing, refusing_stream
from happycity_server.tournaments import Tournaments
from happycity_tournament.config import TournamentConfig
from happycity_tournament.messages import (
    sprt_message,
    standing_messages,
    tournament_config_of,
    tournament_message,
)
from happycity_tournament.status import TournamentStatus

DEFAULT_INTERVAL_SECONDS = 0.25


class TournamentService(TournamentServiceServicer):
    """Decodes, asks the tournaments, encodes."""

    def __init__(self, tournaments: Tournaments) -> None:
        self._tournaments = tournaments

    @refusing
    async def CreateTournament(  # noqa: N802 - gRPC names its methods so
        self,
        request: pb.CreateTournamentRequest,
        context: grpc.aio.ServicerContext[pb.CreateTournamentRequest, pb.CreateTournamentResponse],
    ) -> pb.CreateTournamentResponse:
        """Set up a tournament and begin it once its bots are there."""
        status = await self._tournaments.create(_config(request.config))
        return pb.CreateTournamentResponse(tournament=self._message(status))

    @refusing
    async def GetTournament(  # noqa: N802
        self,
        request: pb.GetTournamentRequest,
        context: grpc.aio.ServicerContext[pb.GetTournamentRequest, pb.GetTournamentResponse],
    ) -> pb.GetTournamentResponse:
        """Return a tournament."""
        status = await self._tournaments.status(request.tournament_id)
        return pb.GetTournamentResponse(tournament=self._message(status))

    @refusing
    async def ListTournaments(  # noqa: N802
        self,
        request: pb.ListTournamentsRequest,
        context: grpc.aio.ServicerContext[pb.ListTournamentsRequest, pb.ListTournamentsResponse],
    ) -> pb.ListTournamentsResponse:
        """List tournaments, newest first."""
        size, before = page(request.page_size, request.page_token)
        newest, following = await self._tournaments.newest(size, before)
        return pb.ListTournamentsResponse(
            tournaments=map(self._message, newest), next_page_token=str(following or "")
        )

    @refusing
    async def StopTournament(  # noqa: N802
        self,
        request: pb.StopTournamentRequest,
        context: grpc.aio.ServicerContext[pb.StopTournamentRequest, pb.StopTournamentResponse],
    ) -> pb.StopTournamentResponse:
        """Start no more games."""
        status = await self._tournaments.stop(request.tournament_id)
        return pb.StopTournamentResponse(tournament=self._message(status))

    @refusing
    async def ResumeTournament(  # noqa: N802
        self,
        request: pb.ResumeTournamentRequest,
        context: grpc.aio.ServicerContext[pb.ResumeTournamentRequest, pb.ResumeTournamentResponse],
    ) -> pb.ResumeTournamentResponse:
        """Go on with a tournament that was stopped or interrupted."""
        status = await self._tournaments.resume(request.tournament_id)
        return pb.ResumeTournamentResponse(tournament=self._message(status))

    @refusing
    async def AddBots(  # noqa: N802
        self,
        request: pb.AddBotsRequest,
        context: grpc.aio.ServicerContext[pb.AddBotsRequest, pb.AddBotsResponse],
    ) -> pb.AddBotsResponse:
        """Let bots join a tournament."""
        bots = list(request.bots)
        if not bots:
            raise Refusal(Reason.INVALID_FIELD, "bots: there are none to add", field="bots")
        check_names(bots)
        status = await self._tournaments.add_bots(request.tournament_id, bots)
        return pb.AddBotsResponse(tournament=self._message(status))

    @refusing
    async def WithdrawBot(  # noqa: N802
        self,
        request: pb.WithdrawBotRequest,
        context: grpc.aio.ServicerContext[pb.WithdrawBotRequest, pb.WithdrawBotResponse],
    ) -> pb.WithdrawBotResponse:
        """Let a bot leave a tournament."""
        status = await self._tournaments.withdraw_bot(request.tournament_id, request.bot)
        return pb.WithdrawBotResponse(tournament=self._message(status))

    @refusing_stream
    async def WatchTournament(  # noqa: N802
        self,
        request: pb.WatchTournamentRequest,
        context: grpc.aio.ServicerContext[pb.WatchTournamentRequest, pb.WatchTournamentResponse],
    ) -> AsyncIterator[pb.WatchTournamentResponse]:
        """Send progress and standings until the tournament is over."""
        status = await self._tournaments.status(request.tournament_id)
        interval = request.interval_ms / 1000 or DEFAULT_INTERVAL_SECONDS
        while not status.over:
            yield self._update(status)
            await self._tournaments.wait(status.tournament_id, interval)
            status = await self._tournaments.status(status.tournament_id)  # another one with another roster
        last = self._update(status)
        if request.with_final_ratings and status.revealed:
            final = await self._tournaments.final_ratings(status)
            last.MergeFrom(pb.WatchTournamentResponse(final_ratings=final))
        yield last

    @refusing
    async def GetStandings(  # noqa: N802
        self,
        request: pb.GetStandingsRequest,
        context: grpc.aio.ServicerContext[pb.GetStandingsRequest, pb.GetStandingsResponse],
    ) -> pb.GetStandingsResponse:
        """Return the standings after the games that count."""
        status = await self._tournaments.status(request.tournament_id)
        final = None
        if request.with_final_ratings:
            if not status.over:  # with each game there is more to compute, and bots are many
                require(WATCHERS)
            final = await self._tournaments.final_ratings(status)
        return pb.GetStandingsResponse(standings=standing_messages(status), final_ratings=final)

    def _update(self, status: TournamentStatus) -> pb.WatchTournamentResponse:
        return pb.WatchTournamentResponse(
            tournament=self._message(status),
            standings=standing_messages(status),
            sprt=sprt_message(status.test),
        )

    def _message(self, status: TournamentStatus) -> pb.Tournament:
        missing = self._tournaments.lobby.missing(status.config.remaining)
        return tournament_message(status, missing_bots=missing)


def _config(message: pb.TournamentConfig) -> TournamentConfig:
    """Read what a tournament consists of.

    Raises:
        ConfigError: the game or the terms make no sense.
        Refusal: a name makes no sense.
    """
    check_names(list(message.bots))
    return tournament_config_of(message, default_seed=secrets.randbits(53))
