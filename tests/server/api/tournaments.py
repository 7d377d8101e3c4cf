"""A real server on a store, bots of the SDK that play on it, and tournaments between them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from tests.server.conftest import FirstMove
from tests.server.harness import PATIENT, matches_at, serving, tournaments_at

from happycity import Config
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.v1 import match_service_pb2 as match_pb
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
    tournament: pb.Tournament = field(default_factory=pb.Tournament)
    """Without its progress."""
    progress: pb.TournamentProgress = field(default_factory=pb.TournamentProgress)
    standings: dict[str, pb.Standing] = field(default_factory=dict)
    """By bot."""
    sprt: pb.SprtState = field(default_factory=pb.SprtState)
    messages: list[pb.WatchTournamentResponse] = field(default_factory=list)

    def add(self, message: pb.WatchTournamentResponse) -> None:
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
        self.call = tournaments_at(channel)
        self.matches = matches_at(channel)
        self._bots: dict[str, asyncio.Task[None]] = {}

    def play(self, name: str, bot: BotFactory = FirstMove, games: int = 0) -> None:
        settings = Settings(name=name, server=self.address, games=games)
        self._bots[name] = asyncio.create_task(play(bot, settings))

    async def close(self) -> None:
        for task in self._bots.values():
            task.cancel()
        await asyncio.gather(*self._bots.values(), return_exceptions=True)

    async def get(self, tournament_id: int) -> pb.Tournament:
        tournament: pb.Tournament = await self.call.GetTournament(tournament_id=tournament_id)
        return tournament

    async def stop(self, tournament_id: int) -> None:
        await self.call.StopTournament(tournament_id=tournament_id)

    async def delete(self, tournament_id: int) -> int:
        """Delete a tournament; return how many games it had."""
        return int((await self.call.DeleteTournament(tournament_id=tournament_id)).games_deleted)

    async def ids(self, **fields: Any) -> list[int]:
        page = await self.call.ListTournaments(**fields)
        return [tournament.tournament_id for tournament in page.tournaments]

    async def games(self, tournament_id: int) -> list[match_pb.Match]:
        """Return the finished games of a tournament, at most 200."""
        return list((await self.matches.ListMatches(tournament_id=tournament_id, page_size=200)).matches)

    async def create(self, config: pb.TournamentConfig, **fields: Any) -> int:
        """Set up a tournament; return its id."""
        return int((await self.call.CreateTournament(config=config, **fields)).tournament_id)

    def watch(self, tournament_id: int, **fields: Any) -> Any:
        """Return a call of WatchTournament that sends as often as one may."""
        return self.call.WatchTournament(tournament_id=tournament_id, interval={}, **fields)

    async def watched(self, tournament_id: int, *, games: int | None = None) -> Changes:
        """Watch a tournament to its end, or until `games` are finished."""
        changes = Changes()
        call = self.watch(tournament_id)
        async for message in call:
            changes.add(message)
            if games is not None and changes.progress.games_finished >= games:
                call.cancel()
                break
        return changes

    async def played(self, config: pb.TournamentConfig) -> Changes:
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
