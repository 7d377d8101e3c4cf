"""Matches over real gRPC: they end in every case, with typed reasons, and their records hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from grpc_status import rpc_status
from tests.server.conftest import Clock
from tests.server.trust import met

from happycity import Config, Game, Move
from happycity.records import loads, replay
from happycity.v1 import cards_pb2, game_pb2
from happycity.v1 import match_service_pb2 as pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire import config_message, view_of
from happycity_client import Bot, ConnectionFailedError, Decision, GameOver
from happycity_server.referee import Referee

Connect = Callable[..., "asyncio.Task[None]"]
FAMILY = config_message(Config(players=2))


def reason(error: grpc.aio.AioRpcError) -> str:
    """Return the typed reason of a refused call."""
    status = rpc_status.from_call(error)
    assert status is not None
    info = ErrorInfo()
    status.details[0].Unpack(info)
    assert info.domain == "happycity"
    return str(info.reason)


async def create(channel: grpc.aio.Channel, *bots: str, **fields: Any) -> int:
    """Set up a match, which waits for its bots unless `fields` say otherwise, and return its id."""
    fields = {"time_control": pb.TimeControl(connect_ms=60_000), **fields}
    request = pb.CreateMatchRequest(config=config_message(Config(players=len(bots))), bots=bots, **fields)
    return int((await MatchServiceStub(channel).CreateMatch(request)).match.match_id)


async def finished(channel: grpc.aio.Channel, match_id: int) -> pb.Match:
    """Watch a match to its end and return it as it was stored."""
    stub = MatchServiceStub(channel)
    async for _ in stub.WatchMatch(pb.WatchMatchRequest(match_id=match_id)):
        pass
    match = (await stub.GetMatch(pb.GetMatchRequest(match_id=match_id))).match
    assert match.state == pb.MATCH_STATE_FINISHED
    return match


async def test_match_is_played_stored_and_its_record_replays(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """Bots that are connected play the match that was set up, on the deal of its seed."""
    connect("anna")
    connect("ben")
    match = await finished(channel, await create(channel, "anna", "ben", seed=7))
    assert list(match.result.endings) == [game_pb2.ENDING_FINISHED] * 2
    request = pb.GetMatchRecordRequest(match_id=match.match_id)
    record = loads((await MatchServiceStub(channel).GetMatchRecord(request)).record_json)
    assert record["deal"]["seed"] == 7
    assert len(record["moves"]) == match.decisions
    assert replay(record).outcome is not None


async def test_many_games_run_at_once_on_one_stream(channel: grpc.aio.Channel, connect: Connect) -> None:
    """Ten matches between the same two bots all finish."""
    connect("anna")
    connect("ben")
    ids = [await create(channel, "anna", "ben") for _ in range(10)]
    matches = await asyncio.gather(*(finished(channel, match_id) for match_id in ids))
    assert {match.match_id for match in matches} == set(ids)
    listed = await MatchServiceStub(channel).ListMatches(pb.ListMatchesRequest(page_size=4))
    assert [match.match_id for match in listed.matches] == sorted(ids, reverse=True)[:4]
    rest = await MatchServiceStub(channel).ListMatches(
        pb.ListMatchesRequest(page_token=listed.next_page_token)
    )
    assert [match.match_id for match in rest.matches] == sorted(ids, reverse=True)[4:]
    assert not rest.next_page_token
    exact = await MatchServiceStub(channel).ListMatches(pb.ListMatchesRequest(page_size=10))
    assert len(exact.matches) == 10
    assert not exact.next_page_token


async def test_bot_never_plays_more_games_than_it_offered(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """A bot that said 1 game at once is never asked in two."""
    running: set[int] = set()
    most = 0

    class OneByOne(Bot):
        def choose(self, decision: Decision) -> Move:
            nonlocal most
            running.add(decision.game_id)
            most = max(most, len(running))
            return decision.moves[0]

        def game_over(self, over: GameOver) -> None:
            running.discard(over.game_id)

    connect("shy", OneByOne, games=1)
    connect("ben")
    ids = [await create(channel, "shy", "ben") for _ in range(4)]
    await asyncio.gather(*(finished(channel, match_id) for match_id in ids))
    assert most == 1


async def test_absent_bot_forfeits_and_the_other_finishes(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """A match does not wait for ever for a bot that never comes."""
    connect("anna")
    connect("ben")
    await met(channel, "anna", "ben")
    match_id = await create(channel, "anna", "ghost", time_control=pb.TimeControl(connect_ms=50))
    match = await finished(channel, match_id)
    assert list(match.result.endings) == [game_pb2.ENDING_FINISHED, game_pb2.ENDING_FORFEIT_ABSENT]
    assert list(match.result.places) == [1, 2]


class _Silent(Bot):
    def choose(self, decision: Decision) -> asyncio.Future[Move]:
        return asyncio.get_running_loop().create_future()


async def test_silent_bot_forfeits_by_timeout(
    clock: Clock, channel: grpc.aio.Channel, connect: Connect
) -> None:
    """Late answers cost strikes and then the seat; the opponent's game ends normally."""

    class Mute(_Silent):
        def choose(self, decision: Decision) -> asyncio.Future[Move]:
            clock.now += 0.2
            return super().choose(decision)

    connect("mute", Mute)
    connect("ben")
    match_id = await create(
        channel,
        "mute",
        "ben",
        time_control=pb.TimeControl(connect_ms=60_000, decision_ms=100),
        failure_policy=pb.FailurePolicy(max_strikes=1),
    )
    match = await finished(channel, match_id)
    assert list(match.result.endings) == [game_pb2.ENDING_FORFEIT_TIMEOUT, game_pb2.ENDING_FINISHED]


async def test_bot_that_leaves_forfeits_and_the_other_finishes(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """A connection that ends in the middle of a game costs the seat, not the game."""
    asked = asyncio.Event()

    class Leaver(Bot):
        def choose(self, decision: Decision) -> asyncio.Future[Move]:
            asked.set()
            return asyncio.get_running_loop().create_future()

    leaver = connect("leaver", Leaver)
    connect("ben")
    match_id = await create(channel, "leaver", "ben")
    await asked.wait()
    leaver.cancel()
    match = await finished(channel, match_id)
    assert list(match.result.endings) == [game_pb2.ENDING_FORFEIT_DISCONNECTED, game_pb2.ENDING_FINISHED]


async def test_bot_that_fails_in_one_game_resigns_it_and_plays_the_others(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """An exception in the author's code costs one game."""
    failed: list[int] = []

    class Fragile(Bot):
        def choose(self, decision: Decision) -> Move:
            if not failed:
                failed.append(decision.game_id)
                raise RuntimeError("I can't go on")
            return decision.moves[0]

    connect("fragile", Fragile)
    connect("ben")
    ids = [await create(channel, "fragile", "ben") for _ in range(3)]
    for match in await asyncio.gather(*(finished(channel, match_id) for match_id in ids)):
        resigned = match.match_id == failed[0]
        expected = game_pb2.ENDING_FORFEIT_RESIGNED if resigned else game_pb2.ENDING_FINISHED
        assert match.result.endings[0] == expected


@pytest.mark.usefixtures("clock")  # or the bot might be told that the server was late
async def test_illegal_indices_forfeit(channel: grpc.aio.Channel, connect: Connect) -> None:
    """A bot that names moves that aren't there is told so, and loses its seat after its strikes."""
    connect("ben")
    stream = PlayServiceStub(channel).Play()
    await stream.write(play.PlayRequest(hello=play.Hello(name="wrong", protocol_version=1)))
    await stream.read()
    match_id = await create(channel, "wrong", "ben", failure_policy=pb.FailurePolicy(max_strikes=2))
    notices: list[play.Notice] = []
    is_over = False
    while not is_over:
        batch = await stream.read()
        assert isinstance(batch, play.PlayResponse)
        notices.extend(batch.notices)
        is_over = bool(batch.games_over)
        for decision in batch.decisions:
            answer = play.Answer(game_id=match_id, decision_id=decision.decision_id, move=77)
            await stream.write(play.PlayRequest(answers=[answer]))
    kinds = [notice.kind for notice in notices]
    assert kinds == [play.NOTICE_KIND_ILLEGAL_ANSWER] * 3 + [play.NOTICE_KIND_FORFEIT]
    match = await finished(channel, match_id)
    assert match.result.endings[0] == game_pb2.ENDING_FORFEIT_ILLEGAL
    stream.cancel()


@pytest.mark.usefixtures("clock")  # or a ping might come first
async def test_answer_for_another_game_is_noticed(channel: grpc.aio.Channel) -> None:
    """An answer for a game that the bot doesn't play harms nobody."""
    stream = PlayServiceStub(channel).Play()
    await stream.write(play.PlayRequest(hello=play.Hello(name="lost", protocol_version=1)))
    await stream.read()
    await stream.write(play.PlayRequest(answers=[play.Answer(game_id=12345)]))
    batch = await stream.read()
    assert isinstance(batch, play.PlayResponse)
    assert [notice.kind for notice in batch.notices] == [play.NOTICE_KIND_UNKNOWN_GAME]
    stream.cancel()


@pytest.mark.usefixtures("clock")  # or a ping might come first
async def test_heartbeat_is_echoed(channel: grpc.aio.Channel) -> None:
    """A sign of life comes back as it was."""
    stream = PlayServiceStub(channel).Play()
    await stream.write(play.PlayRequest(hello=play.Hello(name="alive", protocol_version=1)))
    await stream.read()
    await stream.write(play.PlayRequest(heartbeat=play.Heartbeat(nonce=42)))
    batch = await stream.read()
    assert isinstance(batch, play.PlayResponse)
    assert batch.heartbeat.nonce == 42
    stream.cancel()


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (play.PlayRequest(), "HELLO_EXPECTED"),
        (play.PlayRequest(hello=play.Hello(name="x", protocol_version=99)), "UNSUPPORTED_VERSION"),
        (play.PlayRequest(hello=play.Hello(name="", protocol_version=1)), "INVALID_FIELD"),
        (play.PlayRequest(hello=play.Hello(name="a b", protocol_version=1)), "INVALID_FIELD"),
    ],
)
async def test_bad_hello_is_refused_with_a_reason(
    channel: grpc.aio.Channel, request_: play.PlayRequest, expected: str
) -> None:
    """A stream that doesn't begin as the contract demands ends with a typed reason."""
    stream = PlayServiceStub(channel).Play()
    await stream.write(request_)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stream.read()
    assert reason(caught.value) == expected


async def test_newer_stream_takes_the_name_over(channel: grpc.aio.Channel, connect: Connect) -> None:
    """The older stream of the same name ends, with a line that says why; the newer one plays its games."""
    asked = asyncio.Event()

    class Thinker(_Silent):
        def choose(self, decision: Decision) -> asyncio.Future[Move]:
            asked.set()
            return super().choose(decision)

    older = connect("twin", Thinker)
    connect("ben")
    match_id = await create(channel, "twin", "ben")
    await asked.wait()
    connect("twin")
    with pytest.raises(ConnectionFailedError, match="another bot connected with the name 'twin'"):
        await older
    match = await finished(channel, match_id)
    assert list(match.result.endings) == [game_pb2.ENDING_FINISHED] * 2


async def test_watch_shows_every_position_live_and_from_the_record(
    channel: grpc.aio.Channel, connect: Connect
) -> None:
    """A spectator sees the same positions while the match runs, afterwards, and from any point."""
    stub = MatchServiceStub(channel)
    match_id = await create(channel, "anna", "ben", seed=3)
    watching = aiter(stub.WatchMatch(pb.WatchMatchRequest(match_id=match_id)))
    first = await anext(watching)
    connect("anna")
    connect("ben")
    live = [first, *[step async for step in watching]]
    assert live[-1].HasField("result")
    match = await finished(channel, match_id)
    stored = [step async for step in stub.WatchMatch(pb.WatchMatchRequest(match_id=match_id))]
    assert stored == live
    assert len(live) == match.decisions + 2  # the beginning, a step for each decision, the result
    assert view_of(first.view) == Game.deal(Config(players=2), seed=3).view()
    later = [
        step async for step in stub.WatchMatch(pb.WatchMatchRequest(match_id=match_id, from_decision=10))
    ]
    assert later == live[10:]


async def test_running_match_keeps_its_record(channel: grpc.aio.Channel) -> None:
    """The record, which shows the deal, is refused while the match is not over."""
    match_id = await create(channel, "anna", "ben", time_control=pb.TimeControl(connect_ms=30_000))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await MatchServiceStub(channel).GetMatchRecord(pb.GetMatchRecordRequest(match_id=match_id))
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert reason(caught.value) == "MATCH_RUNNING"


async def test_unknown_match_is_refused_everywhere(channel: grpc.aio.Channel) -> None:
    """Get, record and watch of a match that isn't there answer NOT_FOUND with a reason."""
    stub = MatchServiceStub(channel)
    watching = stub.WatchMatch(pb.WatchMatchRequest(match_id=999))
    for call in (
        stub.GetMatch(pb.GetMatchRequest(match_id=999)),
        stub.GetMatchRecord(pb.GetMatchRecordRequest(match_id=999)),
        watching.read(),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        assert reason(caught.value) == "UNKNOWN_MATCH"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (pb.CreateMatchRequest(bots=["a", "b"]), "INVALID_FIELD"),
        (pb.CreateMatchRequest(config=FAMILY, bots=["a"]), "INVALID_FIELD"),
        (pb.CreateMatchRequest(config=FAMILY, bots=["a", "a"]), "INVALID_FIELD"),
        (pb.CreateMatchRequest(config=FAMILY, bots=["a", "b c"]), "INVALID_FIELD"),
        (
            pb.CreateMatchRequest(
                config=game_pb2.GameConfig(
                    players=9, mode=cards_pb2.MODE_FAMILY, scoring=cards_pb2.SCORING_SUM
                ),
                bots=list("abcdefghi"),
            ),
            "INVALID_FIELD",
        ),
    ],
)
async def test_match_that_makes_no_sense_is_refused(
    channel: grpc.aio.Channel, request_: pb.CreateMatchRequest, expected: str
) -> None:
    """Each refusal has its typed reason."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await MatchServiceStub(channel).CreateMatch(request_)
    assert reason(caught.value) == expected


async def test_error_of_the_arena_voids_one_match_and_charges_nobody(
    channel: grpc.aio.Channel, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A match in which the server itself fails ends without a result; the next one is played."""
    sound = Referee.answer

    def fail(*_: object) -> Any:
        monkeypatch.setattr(Referee, "answer", sound)
        raise RuntimeError("a defect of the arena")

    monkeypatch.setattr(Referee, "answer", fail)
    match_id = await create(channel, "anna", "ben")
    watching = aiter(MatchServiceStub(channel).WatchMatch(pb.WatchMatchRequest(match_id=match_id)))
    steps = [await anext(watching)]
    connect("anna")
    connect("ben")
    steps += [step async for step in watching]
    assert not steps[-1].HasField("result")
    match = await finished(channel, await create(channel, "anna", "ben"))
    assert list(match.result.endings) == [game_pb2.ENDING_FINISHED] * 2
