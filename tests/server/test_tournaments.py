"""TournamentService over real gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from happycity import Config, Move
from happycity.v1 import match_service_pb2
from happycity.v1 import tournament_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.wire import config_message
from happycity_client import Bot, Decision, Settings, play_games
from happycity_server.app import ServerConfig, serving
from happycity_tournament.store import Store

Connect = Callable[..., "asyncio.Task[None]"]

OVER = (pb.TOURNAMENT_STATE_FINISHED, pb.TOURNAMENT_STATE_STOPPED)


def config(*bots: str, rounds: int = 3, concurrency: int = 8, connect_ms: int = 5000) -> pb.TournamentConfig:
    return pb.TournamentConfig(
        bots=bots,
        game=config_message(Config(players=2)),
        rounds=rounds,
        seed=1,
        concurrency=concurrency,
        time_control=match_service_pb2.TimeControl(connect_ms=connect_ms),
    )


async def create(channel: grpc.aio.Channel, tournament: pb.TournamentConfig) -> int:
    stub = TournamentServiceStub(channel)
    response = await stub.CreateTournament(pb.CreateTournamentRequest(config=tournament))
    return int(response.tournament.tournament_id)


async def follow(channel: grpc.aio.Channel, tournament_id: int) -> pb.WatchTournamentResponse:
    """Watch a tournament to its end; return the last message."""
    request = pb.WatchTournamentRequest(tournament_id=tournament_id, interval_ms=10)
    updates = [update async for update in TournamentServiceStub(channel).WatchTournament(request)]
    last = updates[-1]
    assert last.tournament.state in OVER
    return last


async def test_tournament_is_played_to_its_end(channel: grpc.aio.Channel, connect: Connect) -> None:
    """All games are played and stored, and standings count all of them."""
    for name in ("anna", "ben", "carl"):
        connect(name)
    last = await follow(channel, await create(channel, config("anna", "ben", "carl", rounds=6)))
    tournament = last.tournament
    assert tournament.state == pb.TOURNAMENT_STATE_FINISHED
    assert tournament.games_finished == tournament.games_total == 12
    assert sorted(line.bot for line in last.standings) == ["anna", "ben", "carl"]
    assert [line.games for line in last.standings] == [8, 8, 8]
    listed = await MatchServiceStub(channel).ListMatches(
        match_service_pb2.ListMatchesRequest(tournament_id=1)
    )
    assert len(listed.matches) == 12
    assert sum(match.decisions for match in listed.matches) == tournament.decisions


async def test_concurrency_changes_nothing(channel: grpc.aio.Channel, connect: Connect) -> None:
    """One game at a time or many: the same results and standings."""
    connect("anna")
    connect("ben")
    one = await follow(channel, await create(channel, config("anna", "ben", concurrency=1)))
    many = await follow(channel, await create(channel, config("anna", "ben", concurrency=6)))
    assert list(one.standings) == list(many.standings)
    assert one.tournament.decisions == many.tournament.decisions


async def test_seed_and_records_are_secret_while_deals_are_in_play(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """Neither the seed nor the record of a finished game is told before the tournament is over."""
    go_on = asyncio.Event()
    finished: list[int] = []

    class Waiter(Bot):
        """Plays the first game, and the others when it is told to."""

        async def choose(self, decision: Decision) -> Move:
            if finished:
                await go_on.wait()
            return decision.moves[0]

        def game_over(self, over: object) -> None:
            finished.append(self.start.game_id)

    connect("waiter", Waiter)
    connect("ben")
    tournament_id = await create(channel, config("waiter", "ben", rounds=1, concurrency=1))
    matches = MatchServiceStub(channel)
    stub = TournamentServiceStub(channel)
    request = pb.GetTournamentRequest(tournament_id=tournament_id)
    while (status := (await stub.GetTournament(request)).tournament).games_finished == 0:
        assert not status.config.HasField("seed")
    record_request = match_service_pb2.GetMatchRecordRequest(match_id=finished[0])
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await matches.GetMatchRecord(record_request)
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    go_on.set()
    last = await follow(channel, tournament_id)
    assert last.tournament.config.seed == 1
    assert (await matches.GetMatchRecord(record_request)).record_json


async def test_stop_finishes_running_games_and_starts_no_more(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """A stopped tournament keeps what it played."""
    connect("anna")
    connect("ben")
    stub = TournamentServiceStub(channel)
    tournament_id = await create(channel, config("anna", "ben", rounds=5000, concurrency=2))
    request = pb.GetTournamentRequest(tournament_id=tournament_id)
    while (await stub.GetTournament(request)).tournament.games_finished < 3:
        pass
    await stub.StopTournament(pb.StopTournamentRequest(tournament_id=tournament_id))
    last = await follow(channel, tournament_id)
    assert last.tournament.state == pb.TOURNAMENT_STATE_STOPPED
    assert 3 <= last.tournament.games_finished < last.tournament.games_total
    assert sum(line.games for line in last.standings) == 2 * last.tournament.games_finished


async def test_tournament_without_its_bots_ends_in_forfeits(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """A bot that never connects loses all its games; nobody waits for ever."""
    connect("anna")
    last = await follow(channel, await create(channel, config("anna", "ghost", connect_ms=50)))
    forfeits = {line.bot: line.forfeits for line in last.standings}
    assert forfeits == {"anna": 0, "ghost": 6}


@pytest.mark.parametrize(
    "tournament",
    [
        config("anna"),
        config("anna", "anna"),
        config("anna", "ben", rounds=0),
        config("anna", "b/n"),
        pb.TournamentConfig(bots=["anna", "ben"], rounds=1),
    ],
)
async def test_tournament_that_makes_no_sense_is_refused(
    channel: grpc.aio.Channel, tournament: pb.TournamentConfig
) -> None:
    """Each refusal is an INVALID_ARGUMENT with one line."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await create(channel, tournament)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "\n" not in (caught.value.details() or "")


async def test_unknown_tournament_is_refused(channel: grpc.aio.Channel) -> None:
    """A tournament that isn't there answers NOT_FOUND."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await TournamentServiceStub(channel).GetStandings(pb.GetStandingsRequest(tournament_id=77))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_server_that_stops_keeps_games_and_parts_from_bots(tmp_path: Path) -> None:
    """On shutdown no game is lost that was finished, running ones are void, and bots return normally."""
    url = f"sqlite:///{tmp_path}/games.sqlite"

    class Player(Bot):
        def choose(self, decision: Decision) -> Move:
            return decision.moves[-1]

    async with serving(ServerConfig(listen="127.0.0.1:0", store=url, grace_seconds=0.0)) as address:
        bots = [
            asyncio.create_task(play_games(Player, Settings(name=name, server=address)))
            for name in ("anna", "ben")
        ]
        async with grpc.aio.insecure_channel(address) as channel:
            tournament_id = await create(channel, config("anna", "ben", rounds=5000))
            stub = TournamentServiceStub(channel)
            request = pb.GetTournamentRequest(tournament_id=tournament_id)
            while (await stub.GetTournament(request)).tournament.games_finished < 5:
                pass
    await asyncio.gather(*bots)
    store = Store(url)
    assert len(store.results(tournament_id)) >= 5
    stored = store.tournament(tournament_id)
    store.close()
    assert stored is not None
    assert stored.state == "stopped"
    async with (
        serving(ServerConfig(listen="127.0.0.1:0", store=url)) as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        last = await follow(channel, tournament_id)
        assert last.tournament.games_finished >= 5
        newest = await TournamentServiceStub(channel).ListTournaments(pb.ListTournamentsRequest())
        assert [tournament.tournament_id for tournament in newest.tournaments] == [tournament_id]
