"""TournamentService: set tournaments up, follow them, end them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

import grpc

from happycity.v1 import game_pb2
from happycity.v1 import tournament_service_pb2 as pb
from happycity.v1.tournament_service_pb2_grpc import TournamentServiceServicer
from happycity.wire import (
    config_message,
    config_of,
    failure_policy_message,
    failure_policy_of,
    time_control_message,
    time_control_of,
)
from happycity_server.match_service import check_names, page
from happycity_server.refusals import refusing, refusing_stream
from happycity_server.tournaments import Tournaments
from happycity_tournament.config import DEFAULT_CONCURRENCY, TournamentConfig
from happycity_tournament.standings import Standing
from happycity_tournament.status import TournamentState, TournamentStatus

DEFAULT_INTERVAL_SECONDS = 0.25

_STATES = {
    TournamentState.WAITING: pb.TOURNAMENT_STATE_WAITING,
    TournamentState.RUNNING: pb.TOURNAMENT_STATE_RUNNING,
    TournamentState.FINISHED: pb.TOURNAMENT_STATE_FINISHED,
    TournamentState.STOPPED: pb.TOURNAMENT_STATE_STOPPED,
    TournamentState.INTERRUPTED: pb.TOURNAMENT_STATE_INTERRUPTED,
}


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

    @refusing_stream
    async def WatchTournament(  # noqa: N802
        self,
        request: pb.WatchTournamentRequest,
        context: grpc.aio.ServicerContext[pb.WatchTournamentRequest, pb.WatchTournamentResponse],
    ) -> AsyncIterator[pb.WatchTournamentResponse]:
        """Send progress and standings until the tournament is over."""
        status = await self._tournaments.status(request.tournament_id)
        interval = request.interval_ms / 1000 or DEFAULT_INTERVAL_SECONDS
        while True:
            over = status.over
            yield pb.WatchTournamentResponse(tournament=self._message(status), standings=_standings(status))
            if over:
                break
            await self._tournaments.wait(status.tournament_id, interval)

    @refusing
    async def GetStandings(  # noqa: N802
        self,
        request: pb.GetStandingsRequest,
        context: grpc.aio.ServicerContext[pb.GetStandingsRequest, pb.GetStandingsResponse],
    ) -> pb.GetStandingsResponse:
        """Return the standings after the games that count."""
        status = await self._tournaments.status(request.tournament_id)
        return pb.GetStandingsResponse(standings=_standings(status))

    def _message(self, status: TournamentStatus) -> pb.Tournament:
        config = status.config
        message = pb.Tournament(
            tournament_id=status.tournament_id,
            config=pb.TournamentConfig(
                bots=config.bots,
                game=config_message(config.game),
                rounds=config.rounds,
                # Whoever knows the seed knows the deals.
                seed=config.seed if status.revealed else None,
                time_control=time_control_message(config.time),
                failure_policy=failure_policy_message(config.policy),
                concurrency=config.concurrency,
            ),
            state=_STATES[status.state],
            games_total=config.games,
            games_finished=status.progress.games,
            decisions=status.progress.decisions,
            seconds=status.progress.seconds,
            missing_bots=self._tournaments.lobby.missing(config.bots),
            disqualified_bots=status.standings.disqualified,
            games_voided=status.games_voided,
            remarks=status.remarks,
        )
        message.create_time.FromNanoseconds(round(status.created_at * 1e9))
        return message


def _config(message: pb.TournamentConfig) -> TournamentConfig:
    """Read what a tournament consists of.

    Raises:
        ConfigError: the game or the terms make no sense.
        Refusal: a name makes no sense.
    """
    bots = list(message.bots)
    check_names(bots)
    return TournamentConfig(
        bots=tuple(bots),
        game=config_of(message.game),
        rounds=message.rounds,
        seed=message.seed if message.HasField("seed") else secrets.randbits(53),
        time=time_control_of(message.time_control),
        policy=failure_policy_of(message.failure_policy),
        concurrency=message.concurrency or DEFAULT_CONCURRENCY,
    )


def _standings(status: TournamentStatus) -> list[pb.Standing]:
    return [_standing(line) for line in status.standings.lines()]


def _standing(line: Standing) -> pb.Standing:
    return pb.Standing(
        rank=line.rank,
        bot=line.bot,
        elo=line.elo,
        elo_low=line.elo_low,
        elo_high=line.elo_high,
        games=line.games,
        points_mean=line.points_mean,
        firsts=line.firsts,
        forfeits=line.forfeits,
        forfeits_by_reason=[
            pb.EndingCount(ending=game_pb2.Ending.Value(f"ENDING_FORFEIT_{reason.upper()}"), games=games)
            for reason, games in line.forfeits_by_reason.items()
        ],
    )
