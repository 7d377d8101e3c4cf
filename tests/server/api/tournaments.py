"""A real server on a store, bots of the SDK that play on it, and tournaments between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.conftest import FirstMove
from tests.server.harness import PATIENT, Outcome, refused, serving

from happycity import Config
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire.messages import config_message
from happycity_client import BotFactory, Settings, play


def config(*bots: str, rounds: int = 3, players: int = 2, **fields: Any) -> pb.TournamentConfig:
    """Return a tournament of random rounds if no other format is among the fields."""
    game = config_message(Config(players=players))
    defaults = {"game": game, "seed": 1, "concurrency": 8, "time_control": PATIENT}
    message = pb.TournamentConfig(bots=bots, **{**defaults, **fields})
    if message.WhichOneof("format") is None:
        message.random_rounds.rounds = rounds
    return message


@dataclass
class Changes:
    """What the messages of a watch add up to."""

    tournament: pb.Tournament = field(default_factory=pb.Tournament)
    """Without its progress."""
    progress: pb.TournamentProgress = field(default_factory=pb.TournamentProgress)
    standings: dict[str, pb.Standing] = field(default_factory=dict)
    """By bot."""
    sprt: pb.SprtState = field(default_factory=pb.SprtState)
    messages: list[pb.WatchTournamentResponse] = field(default_factory=list)

    def add(self, message: pb.WatchTournamentResponse) -> None:
        """Take the next message."""
        self.messages.append(message)
        if message.HasField("tournament"):
            self.tournament = message.tournament
        if message.HasField("progress"):
            self.progress = message.progress
        if message.HasField("sprt"):
            self.sprt = message.sprt
        self.standings |= {line.bot: line for line in message.standings}


class Arena:
    """A server, and ways to it."""

    def __init__(self, address: str, channel: grpc.aio.Channel) -> None:
        self.address = address
        self.channel = channel
        self.tournaments: Any = TournamentServiceStub(channel)
        self.matches: Any = MatchServiceStub(channel)
        self._bots: dict[str, asyncio.Task[None]] = {}

    def play(self, name: str, bot: BotFactory = FirstMove, games: int = 0) -> None:
        """Let a bot play in the background."""
        settings = Settings(name=name, server=self.address, games=games)
        self._bots[name] = asyncio.create_task(play(bot, settings))

    async def close(self) -> None:
        """End all bots."""
        for task in self._bots.values():
            task.cancel()
        await asyncio.gather(*self._bots.values(), return_exceptions=True)

    async def create(self, config: pb.TournamentConfig, **fields: Any) -> int:
        """Set up a tournament; return its id."""
        request = pb.CreateTournamentRequest(config=config, **fields)
        return int((await self.tournaments.CreateTournament(request)).tournament_id)

    async def get(self, tournament_id: int) -> pb.Tournament:
        """Return a tournament."""
        request = pb.GetTournamentRequest(tournament_id=tournament_id)
        tournament: pb.Tournament = await self.tournaments.GetTournament(request)
        return tournament

    async def stop(self, tournament_id: int) -> None:
        """Stop a tournament."""
        await self.tournaments.StopTournament(pb.StopTournamentRequest(tournament_id=tournament_id))

    async def resume(self, tournament_id: int) -> pb.Tournament:
        """Continue a tournament."""
        request = pb.ResumeTournamentRequest(tournament_id=tournament_id)
        tournament: pb.Tournament = await self.tournaments.ResumeTournament(request)
        return tournament

    async def delete(self, tournament_id: int) -> int:
        """Delete a tournament; return how many games it had."""
        request = pb.DeleteTournamentRequest(tournament_id=tournament_id)
        return int((await self.tournaments.DeleteTournament(request)).games_deleted)

    async def disqualify(self, tournament_id: int, bot: str) -> pb.Tournament:
        """Take a bot out of a tournament."""
        request = pb.DisqualifyBotRequest(tournament_id=tournament_id, bot=bot)
        tournament: pb.Tournament = await self.tournaments.DisqualifyBot(request)
        return tournament

    async def standings(self, tournament_id: int, **fields: Any) -> pb.Standings:
        """Return the standings of a tournament."""
        request = pb.GetStandingsRequest(tournament_id=tournament_id, **fields)
        standings: pb.Standings = await self.tournaments.GetStandings(request)
        return standings

    async def page(self, **fields: Any) -> pb.ListTournamentsResponse:
        """Return a page of tournaments."""
        request = pb.ListTournamentsRequest(**fields)
        response: pb.ListTournamentsResponse = await self.tournaments.ListTournaments(request)
        return response

    async def ids(self, **fields: Any) -> list[int]:
        """Return the ids of the tournaments of a page."""
        return [tournament.tournament_id for tournament in (await self.page(**fields)).tournaments]

    async def games(self, tournament_id: int) -> list[match_pb.Match]:
        """Return the finished games of a tournament, at most 200."""
        request = match_pb.ListMatchesRequest(tournament_id=tournament_id, page_size=200)
        return list((await self.matches.ListMatches(request)).matches)

    def watch(self, tournament_id: int, **fields: Any) -> Any:
        """Return a call of WatchTournament that sends as often as one may."""
        request = pb.WatchTournamentRequest(tournament_id=tournament_id, **fields)
        request.interval.SetInParent()
        return self.tournaments.WatchTournament(request)

    async def watched(self, tournament_id: int, *, games: int | None = None) -> Changes:
        """Watch a tournament to its end, or until so many games are finished."""
        changes = Changes()
        call = self.watch(tournament_id)
        async for message in call:
            changes.add(message)
            if games is not None and changes.progress.games_finished >= games:
                call.cancel()
                break
        return changes

    async def played(self, config: pb.TournamentConfig) -> Changes:
        """Play a tournament to its end."""
        return await self.watched(await self.create(config))


@asynccontextmanager
async def arena_with(folder: Path, *bots: str, **values: Any) -> AsyncIterator[Arena]:
    """Run a server on the store of a folder while the context lasts, and bots that end with it."""
    async with serving(folder, **{"grace": 0, **values}) as (server, channel):
        arena = Arena(server.address, channel)
        for name in bots:
            arena.play(name)
        yield arena
    await arena.close()


async def refusal(call: Awaitable[object]) -> Outcome:
    """Return how a call is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return refused(caught.value)
