"""Bots that join and leave tournaments of a real server, over real gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.trust import met, refused

from happycity import Config, Move
from happycity.v1 import match_service_pb2
from happycity.v1 import tournament_service_pb2 as pb
from happycity.v1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.wire import config_message
from happycity_client import Bot, Decision, Settings, play_games
from happycity_server.app import serving
from happycity_server.config import ServerSettings
from happycity_tournament.store import Store

BOTS = ("anna", "ben", "carl", "dora")
SWISS, ROUND_ROBIN = pb.TOURNAMENT_FORMAT_SWISS, pb.TOURNAMENT_FORMAT_ROUND_ROBIN
CYCLES = 6


class LastMove(Bot):
    """Plays the last legal move."""

    def choose(self, decision: Decision) -> Move:
        return decision.moves[-1]


def config(kind: pb.TournamentFormat.ValueType, **others: Any) -> pb.TournamentConfig:
    return pb.TournamentConfig(
        bots=BOTS,
        game=config_message(Config(players=2)),
        format=kind,
        rounds=12,
        cycles=CYCLES,
        seed=1,
        concurrency=4,
        time_control=match_service_pb2.TimeControl(connect_ms=60_000),
        **others,
    )


Connect = Callable[[str], None]


@asynccontextmanager
async def arena(url: str, *bots: str, resume: bool = True) -> AsyncIterator[tuple[grpc.aio.Channel, Connect]]:
    """Give a channel to a server on a store, and a function that lets a bot play there."""
    settings = ServerSettings(
        open=True, listen="127.0.0.1:0", store=url, grace_seconds=0.0, resume_tournaments=resume
    )
    playing: list[asyncio.Task[None]] = []
    async with serving(settings) as address, grpc.aio.insecure_channel(address) as channel:

        def connect(name: str) -> None:
            told = Settings(name=name, server=address, reconnect_seconds=0.0)
            playing.append(asyncio.create_task(play_games(LastMove, told)))

        for name in bots:
            connect(name)
        yield channel, connect
    await asyncio.gather(*playing)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/games.sqlite"


async def create(channel: grpc.aio.Channel, tournament: pb.TournamentConfig, *, games: int = 0) -> int:
    """Begin a tournament and return its id once so many of its games are finished."""
    stub = TournamentServiceStub(channel)
    created = await stub.CreateTournament(pb.CreateTournamentRequest(config=tournament))
    request = pb.WatchTournamentRequest(tournament_id=created.tournament.tournament_id, interval_ms=1)
    async for update in stub.WatchTournament(request):
        if update.tournament.games_finished >= games:
            break
    return int(created.tournament.tournament_id)


async def add(channel: grpc.aio.Channel, tournament_id: int, *bots: str) -> pb.Tournament:
    request = pb.AddBotsRequest(tournament_id=tournament_id, bots=bots)
    return (await TournamentServiceStub(channel).AddBots(request)).tournament


async def withdraw(channel: grpc.aio.Channel, tournament_id: int, bot: str) -> pb.Tournament:
    request = pb.WithdrawBotRequest(tournament_id=tournament_id, bot=bot)
    return (await TournamentServiceStub(channel).WithdrawBot(request)).tournament


async def watched(channel: grpc.aio.Channel, tournament_id: int) -> list[pb.WatchTournamentResponse]:
    """Watch a tournament to its end."""
    request = pb.WatchTournamentRequest(tournament_id=tournament_id, interval_ms=1)
    return [update async for update in TournamentServiceStub(channel).WatchTournament(request)]


def positions(url: str, tournament_id: int) -> list[tuple[tuple[int, int, int], tuple[str, ...], int]]:
    """Return what was played, game by game."""
    with Store(url) as store:
        return [
            (result.fixture.position, result.fixture.bots, result.fixture.deal_seed)
            for result in store.results(tournament_id)
        ]


@pytest.mark.parametrize("kind", [SWISS, ROUND_ROBIN])
async def test_bots_join_and_leave_a_running_tournament(
    url: str, kind: pb.TournamentFormat.ValueType
) -> None:
    """Watchers see new totals and bots but no stop, and the end is that of the roster from the start."""
    async with arena(url, *BOTS, "late", "later") as (channel, _):
        tournament_id = await create(channel, config(kind), games=6)
        request = pb.WatchTournamentRequest(tournament_id=tournament_id, interval_ms=1)
        watching = aiter(TournamentServiceStub(channel).WatchTournament(request))
        first = await anext(watching)
        before = await add(channel, tournament_id, "late", "later")
        assert before.games_total > first.tournament.games_total
        after = await withdraw(channel, tournament_id, "ben")
        assert list(before.config.bots) == list(after.config.bots) == [*BOTS, "late", "later"]
        assert after.state == pb.TOURNAMENT_STATE_RUNNING
        *updates, last = [update async for update in watching]
        assert {update.tournament.state for update in (first, *updates)} == {pb.TOURNAMENT_STATE_RUNNING}
        assert len(first.standings) == 4
        assert len(last.standings) == 6
        assert last.tournament.state == pb.TOURNAMENT_STATE_FINISHED
        assert last.tournament.games_finished == last.tournament.games_total

        stays = {stay.bot: stay for stay in last.tournament.config.roster}
        assert stays["late"].first_round == stays["later"].first_round > 1
        assert stays["ben"].last_round >= stays["late"].first_round - 1
        whole = await create(channel, last.tournament.config)
        again = (await watched(channel, whole))[-1]
        assert list(again.standings) == list(last.standings)
        assert again.tournament.decisions == last.tournament.decisions
    assert positions(url, whole) == positions(url, tournament_id)


async def test_every_pair_of_a_round_robin_has_met_equally_often(url: str) -> None:
    """Whoever joined in its middle has played as much as all others in the end."""
    async with arena(url, *BOTS, "late") as (channel, _):
        tournament_id = await create(channel, config(ROUND_ROBIN), games=15)
        await add(channel, tournament_id, "late")
        last = (await watched(channel, tournament_id))[-1]
    assert {line.bot: line.games for line in last.standings} == dict.fromkeys([*BOTS, "late"], 2 * 4 * CYCLES)


async def test_a_bot_that_is_away_is_waited_for_while_the_others_play(url: str) -> None:
    """It joins as soon as it is connected."""
    async with arena(url, *BOTS) as (channel, connect):
        tournament_id = await create(channel, config(ROUND_ROBIN), games=1)
        adding = asyncio.create_task(add(channel, tournament_id, "late"))
        request = pb.WatchTournamentRequest(tournament_id=tournament_id, interval_ms=1)
        async for update in TournamentServiceStub(channel).WatchTournament(request):
            if update.tournament.games_finished >= 10:  # they play on meanwhile
                break
        assert not adding.done()
        connect("late")
        assert list((await adding).config.bots) == [*BOTS, "late"]
        last = (await watched(channel, tournament_id))[-1]
    assert sum(line.forfeits for line in last.standings) == 0


async def test_a_stopped_tournament_gets_its_bots_for_later(url: str) -> None:
    """Nobody has to be there; when it is resumed, the newcomer takes part and the one that left doesn't."""
    async with arena(url, *BOTS, "late") as (channel, _):
        await met(channel, *BOTS, "late")
        stub = TournamentServiceStub(channel)
        tournament_id = await create(channel, config(SWISS), games=6)
        await stub.StopTournament(pb.StopTournamentRequest(tournament_id=tournament_id))
        added = await add(channel, tournament_id, "late", "later")
        assert added.state == pb.TOURNAMENT_STATE_STOPPED
        assert list(added.missing_bots) == ["later"]
        await withdraw(channel, tournament_id, "later")
        await stub.ResumeTournament(pb.ResumeTournamentRequest(tournament_id=tournament_id))
        last = (await watched(channel, tournament_id))[-1]
    assert last.tournament.state == pb.TOURNAMENT_STATE_FINISHED
    games = {line.bot: line.games for line in last.standings}
    assert games["later"] == 0 < games["late"]


async def test_an_interrupted_tournament_gets_its_bots_for_the_next_server(url: str) -> None:
    """What is changed while nobody plays is there after a restart too."""
    async with arena(url, *BOTS) as (channel, _):
        tournament_id = await create(channel, config(ROUND_ROBIN), games=6)
    async with arena(url, resume=False) as (channel, _):
        added = await add(channel, tournament_id, "late")
        assert added.state == pb.TOURNAMENT_STATE_INTERRUPTED
    async with arena(url, *BOTS, "late") as (channel, _):
        last = (await watched(channel, tournament_id))[-1]
    assert {line.games for line in last.standings} == {2 * 4 * CYCLES}


async def test_whoever_asks_and_leaves_holds_up_nobody(url: str) -> None:
    """A call that is given up while it waits is made or not, and the next one is served."""
    async with arena(url, *BOTS, "late", "later") as (channel, _):
        tournament_id = await create(channel, config(ROUND_ROBIN), games=3)
        stub = TournamentServiceStub(channel)
        for seconds in (0.005, 0.02, 0.05):
            with suppress(grpc.aio.AioRpcError):  # most are too late, or were made before
                request = pb.AddBotsRequest(tournament_id=tournament_id, bots=["late"])
                await stub.AddBots(request, timeout=seconds)
        await add(channel, tournament_id, "later")
        last = (await watched(channel, tournament_id))[-1]
        assert last.tournament.state == pb.TOURNAMENT_STATE_FINISHED
        assert "later" in last.tournament.config.bots


# Refusals ------------------------------------------------------------------------------------------------


async def refusal(call: Awaitable[pb.Tournament], status: grpc.StatusCode, reason: str) -> str:
    """Return the text of a refusal with this status and reason."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    assert (caught.value.code(), refused(caught.value).reason) == (status, reason)
    text = str(caught.value.details())
    assert "\n" not in text
    return text


async def test_what_cannot_be_changed_is_refused_with_its_reason(url: str) -> None:
    """Each refusal is one line and a typed reason, and the tournament plays on."""
    async with arena(url, *BOTS) as (channel, _):
        gauntlet = await create(channel, config(pb.TOURNAMENT_FORMAT_GAUNTLET, challengers=["anna"]))
        for call in (add(channel, gauntlet, "late"), withdraw(channel, gauntlet, "anna")):
            text = await refusal(call, grpc.StatusCode.FAILED_PRECONDITION, "ROSTER_CLOSED")
            assert "gauntlet has the same bots from beginning to end" in text
        await watched(channel, gauntlet)
        text = await refusal(
            add(channel, gauntlet, "late"), grpc.StatusCode.FAILED_PRECONDITION, "ROSTER_CLOSED"
        )
        assert text == f"tournament {gauntlet} is finished"

        invalid = grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"
        running = await create(channel, config(ROUND_ROBIN), games=1)
        assert "takes part already" in await refusal(add(channel, running, "anna"), *invalid)
        assert "no bot's name" in await refusal(add(channel, running, "l/te"), *invalid)
        assert "more than once" in await refusal(add(channel, running, "late", "late"), *invalid)
        assert "there are none" in await refusal(add(channel, running), *invalid)
        assert "doesn't take part" in await refusal(withdraw(channel, running, "zoe"), *invalid)
        unknown = grpc.StatusCode.NOT_FOUND, "UNKNOWN_TOURNAMENT"
        await refusal(add(channel, 77, "late"), *unknown)
        await refusal(withdraw(channel, 77, "late"), *unknown)
        last = (await watched(channel, running))[-1]
        assert last.tournament.games_finished == 2 * 6 * CYCLES


async def test_a_bot_that_does_not_come_is_refused(url: str) -> None:
    """A name that nobody has, such as a mistyped one, doesn't fill a tournament with forfeits."""
    impatient = config(ROUND_ROBIN)
    impatient.time_control.connect_ms = 100
    async with arena(url, *BOTS) as (channel, _):
        await met(channel, *BOTS)
        tournament_id = await create(channel, impatient, games=1)
        text = await refusal(
            add(channel, tournament_id, "laet"), grpc.StatusCode.FAILED_PRECONDITION, "BOTS_MISSING"
        )
        assert text == "laet is not connected; connect first, then join"
        assert (await watched(channel, tournament_id))[-1].tournament.games_finished == 2 * 6 * CYCLES
