"""TournamentService: set tournaments up, follow them, end them."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing

from happycity import TimeControl
from happycity.errors import fields_named
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.wire.match import seconds_of
from happycity_server.access.roles import READERS, WATCHERS, Principal
from happycity_server.api.paging import MAX_PAGE, PAGE_BYTES, ListRequest
from happycity_server.places.deals import DealsInPlay
from happycity_server.places.places import Places
from happycity_server.tournaments.registry import Tournaments
from happycity_server.tournaments.watch import DEFAULT_INTERVAL_SECONDS, TournamentWatches
from happycity_tournament.config import TournamentState, check_bots
from happycity_tournament.standings.standings import Standings
from happycity_tournament.visibility import Play, Sight, sees_incidents, sight_of_tournament
from happycity_tournament.wire import (
    hide_seed,
    seed_of,
    sprt_message,
    standing_message,
    state_of,
    tournament_config_of,
)

MAX_INTERVAL_SECONDS = 3600.0


class TournamentService:
    """Decodes, asks the tournaments, encodes."""

    def __init__(self, tournaments: Tournaments, places: Places, deals: DealsInPlay) -> None:
        self._tournaments = tournaments
        self._deals = deals
        self._places = places
        self._watches = TournamentWatches(tournaments, places)

    async def CreateTournament(self, caller: Principal, request: pb.CreateTournamentRequest) -> pb.Tournament:
        """Set up a tournament and begin it once its bots are there."""
        key = caller.request_key(request.request_id)
        paths = _paths(request.config)
        with fields_named(lambda name: paths.get(name, f"config.{name}".removesuffix("."))):
            check_bots(request.config.bots)  # first, as it is cheap
            config = tournament_config_of(request.config, default_seed=secrets.randbits(53))
            tournament_id = await self._tournaments.create(config, request_key=key)
        return await self._message(caller, tournament_id)

    async def GetTournament(self, caller: Principal, request: pb.GetTournamentRequest) -> pb.Tournament:
        """Return a tournament."""
        tournament = await self._message(caller, request.tournament_id)
        if not _is_seen(caller, tournament):
            caller.require_token(f"tournament {request.tournament_id}, which has not ended,")
        return tournament

    async def ListTournaments(
        self, caller: Principal, request: pb.ListTournamentsRequest
    ) -> pb.ListTournamentsResponse:
        """List tournaments, newest first; a page also ends after as many as the largest one has."""
        asked = ListRequest(request)
        state = state_of(request) if request.HasField("state") else None
        page: list[pb.Tournament] = []
        token, left, seen, last = "", PAGE_BYTES, 0, 0
        newest = self._tournaments.newest(asked.limit, asked.before_id, state=state, bot=asked.bot())
        async with aclosing(newest) as entries:
            async for tournament_id, entry in entries:
                if len(page) == asked.size or left <= 0 or seen == MAX_PAGE:
                    token = asked.token(last)
                    break
                seen, last = seen + 1, tournament_id
                if entry is not None and _is_seen(caller, entry):
                    page.append(entry)
                    left -= entry.ByteSize()
        await self._hide_seeds(caller, *page)
        return pb.ListTournamentsResponse(tournaments=page, next_page_token=token)

    async def StopTournament(self, caller: Principal, request: pb.StopTournamentRequest) -> pb.Tournament:
        """Start no more games."""
        await self._tournaments.stop(request.tournament_id)
        return await self._message(caller, request.tournament_id)

    async def ResumeTournament(self, caller: Principal, request: pb.ResumeTournamentRequest) -> pb.Tournament:
        """Continue a tournament that was stopped or interrupted."""
        seconds = seconds_of(request.connect_time) if request.HasField("connect_time") else None
        if seconds is not None:
            with fields_named(lambda _: "connect_time"):
                TimeControl(connect_seconds=seconds)  # which refuses impossible times
        await self._tournaments.resume(request.tournament_id, connect_seconds=seconds)
        return await self._message(caller, request.tournament_id)

    async def DeleteTournament(
        self, caller: Principal, request: pb.DeleteTournamentRequest
    ) -> pb.DeleteTournamentResponse:
        """Remove a tournament with all its games."""
        deleted = await self._tournaments.delete(request.tournament_id)
        return pb.DeleteTournamentResponse(games_deleted=deleted)

    async def DisqualifyBot(self, caller: Principal, request: pb.DisqualifyBotRequest) -> pb.Tournament:
        """Forfeit a bot's games that are not finished."""
        await self._tournaments.disqualify(request.tournament_id, request.bot)
        return await self._message(caller, request.tournament_id)

    async def WatchTournament(
        self, caller: Principal, request: pb.WatchTournamentRequest
    ) -> AsyncIterator[pb.WatchTournamentResponse]:
        """Send a tournament and its standings, then what changes, until it is over."""
        await self._check_visible(caller, request.tournament_id)
        interval = DEFAULT_INTERVAL_SECONDS
        if request.HasField("interval"):
            interval = min(seconds_of(request.interval), MAX_INTERVAL_SECONDS)
        updates = self._watches.updates(
            request.tournament_id,
            interval=interval,
            with_final_ratings=request.with_final_ratings,
            with_incidents=sees_incidents(caller.viewer),
        )
        async for update in updates:
            await self._hide_seeds(caller, update.tournament, progress=update.progress)
            yield update

    async def GetStandings(self, caller: Principal, request: pb.GetStandingsRequest) -> pb.Standings:
        """Return the standings after the games that count."""
        await self._check_visible(caller, request.tournament_id)
        status = await self._tournaments.status(request.tournament_id)
        final = None
        if request.with_final_ratings:
            if not status.state.over:  # with each game there is more to compute, and bots are many
                caller.require(WATCHERS)
            final = await self._tournaments.final_ratings(status)
        return pb.Standings(
            standings=map(standing_message, await asyncio.to_thread(status.standings.lines_later())),
            sprt=sprt_message(status.test),
            final_ratings=final,
        )

    async def events(
        self, caller: Principal, tournament_id: int
    ) -> tuple[dict[str, pb.BotActivity], list[pb.MatchIncident]]:
        """Return what each bot of a tournament does, and what went wrong lately, the newest first.

        Incidents are for callers who may watch running games; others get none.
        """
        caller.require(READERS)
        await self._check_visible(caller, tournament_id)
        status = await self._tournaments.status(tournament_id)
        activity = {entry.bot: entry for entry in self._places.activity(status.config.bots)}
        return activity, self._watches.incidents(tournament_id) if sees_incidents(caller.viewer) else []

    async def standings(self, caller: Principal, tournament_id: int) -> Standings:
        """Return the standings of a tournament; while it is played, they go on changing."""
        caller.require(READERS)
        await self._check_visible(caller, tournament_id)
        return (await self._tournaments.status(tournament_id)).standings

    async def _message(self, caller: Principal, tournament_id: int) -> pb.Tournament:
        """Return a tournament as far as the caller may see it, if it does."""
        tournament = await self._tournaments.message(tournament_id)
        await self._hide_seeds(caller, tournament)
        return tournament

    async def _hide_seeds(
        self, caller: Principal, *shown: pb.Tournament, progress: pb.TournamentProgress | None = None
    ) -> None:
        """Take the seeds that the caller may not see out of messages; of a watch the progress comes apart."""
        seeded = [one for one in shown if seed_of(one.config) is not None]
        numbers = [one.tournament_id for one in seeded]
        elsewhere = await self._deals.of_tournaments(numbers) if numbers else {}
        for one in seeded:
            state = state_of(progress or one.progress)
            play = elsewhere.get(one.tournament_id, Play.ENDED)
            if sight_of_tournament(caller.viewer, state, play) is not Sight.ALL:
                hide_seed(one.config)

    async def _check_visible(self, caller: Principal, tournament_id: int) -> None:
        """Refuse a tournament that the caller doesn't see yet."""
        if sight_of_tournament(caller.viewer, TournamentState.RUNNING) is Sight.NOTHING:
            await self.GetTournament(caller, pb.GetTournamentRequest(tournament_id=tournament_id))


def _is_seen(caller: Principal, tournament: pb.Tournament) -> bool:
    """Return whether the caller sees that there is such a tournament."""
    return sight_of_tournament(caller.viewer, state_of(tournament.progress)) is not Sight.NOTHING


def _paths(config: pb.TournamentConfig) -> dict[str, str]:
    """Return the path in a request of each field that an error about its tournament may name."""
    chosen = config.WhichOneof("format")
    paths = {"format": f"config.{chosen}" if chosen else "config"}
    for part in ("game", "time_control", "failure_policy", *([chosen] if chosen else ())):
        fields = getattr(config, part).DESCRIPTOR.fields_by_name
        paths |= {name: f"config.{part}.{name}" for name in fields}
    return {**paths, **{name: f"config.{name}" for name in config.DESCRIPTOR.fields_by_name}}
