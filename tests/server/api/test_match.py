"""Single matches over real gRPC: set up, played, listed, and refused with typed reasons."""

import asyncio
import sqlite3
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server import harness as h
from tests.server.api.arena import AT_ONCE, Arena, arena_with
from tests.server.play.arena import broken_deal

from happycity import Config, Deal
from happycity.records.replay import deal_of
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as pb
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import duration_message
from happycity_client.matches import WAIT_SECONDS
from happycity_runtime.tokens import Role
from happycity_tournament.storage import store as store_module

FINISHED, RUNNING, WAITING, VOIDED = (
    match_pb2.MATCH_STATE_FINISHED,
    match_pb2.MATCH_STATE_RUNNING,
    match_pb2.MATCH_STATE_WAITING,
    match_pb2.MATCH_STATE_VOIDED,
)
OF_ONE = ("GetMatch", "GetMatchRecord", "WatchMatch")
"""The methods that name a match."""


async def resigned(arena: Arena, *bots: str, **fields: Any) -> pb.Match:
    """Play a match of bots that resign at once, and return it."""
    programs = [await arena.connect(name) for name in bots if name != "ghost"]
    match = await arena.create(*bots, time_control=AT_ONCE, **fields)
    for program in programs:
        await program.until(lambda received: received.games_started)
        await program.say(resigns=[play.Resign(match_id=match.match_id, reason=f"{program.name} has lost")])
    return await arena.finished(match.match_id)


async def of_match(arena: Arena, method: str, match_id: int) -> h.Outcome:
    request = pb.GetMatchRequest(match_id=match_id).SerializeToString()  # as those of the other methods
    return await h.called(arena.channel, f"/happycity.v1.MatchService/{method}", request=request)


@pytest.mark.level(2)
async def test_match_is_played_stored_and_its_record_replays(arena: Arena) -> None:
    """Bots that are connected play the match on the deal of its seed; the times of its steps are kept."""
    created = await arena.create("anna", "ben", seed=7)
    assert (created.state, list(created.bots)) == (WAITING, ["anna", "ben"])
    assert created.config.edition == 1
    assert not created.HasField("outcome")
    assert not created.HasField("tournament_id")
    assert not created.HasField("ladder_deal_id")
    assert not created.HasField("start_time")
    arena.clock.now += 0.2
    anna, ben = await arena.connect("anna"), await arena.connect("ben")
    await anna.until(lambda received: received.games_started)
    running = await arena.match(created.match_id)
    assert running.state == RUNNING
    assert not running.HasField("finish_time")
    secret = await of_match(arena, "GetMatchRecord", created.match_id)
    assert (secret.status, secret.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "MATCH_RUNNING")
    arena.clock.now += 0.2
    await asyncio.gather(anna.play_to_end(), ben.play_to_end())
    match = await arena.finished(created.match_id)
    assert {seat.ending for seat in match.outcome.result.seats} == {match_pb2.ENDING_FINISHED}
    assert (match.create_time, match.start_time) == (created.create_time, running.start_time)
    create, start, finish = (
        moment.ToMilliseconds() for moment in (match.create_time, match.start_time, match.finish_time)
    )
    assert [start - create, finish - start] == pytest.approx([200, 200], abs=1)
    record = await arena.record(match.match_id)
    assert deal_of(record) == Deal.shuffle(Config(players=2), seed=7)
    assert len(record["moves"]) == len(record["clock"]["think_us"]) == match.decisions


@pytest.mark.level(2)
async def test_error_of_the_arena_voids_the_match_and_nothing_is_stored(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A match in which the server itself fails is forgotten."""
    anna, broken = await arena.connect("anna"), broken_deal()
    with monkeypatch.context() as patch:
        patch.setattr(Deal, "shuffle", lambda config, *, seed: broken)
        match = await arena.create("anna", "ghost", time_control=AT_ONCE)
    watching = arena.matches.WatchMatch(match_id=match.match_id)
    waiting = asyncio.create_task(h.ended_match(arena.matches, match.match_id))
    await arena.match(match.match_id)  # answered after the call before it has begun to wait
    assert (await watching.read()).HasField("step")
    over = await anna.play_to_end()
    ended = (await watching.read()).end
    assert await watching.read() is grpc.aio.EOF
    voided = await waiting
    assert (voided.state, voided.outcome.WhichOneof("end")) == (VOIDED, "void_reason")
    reasons = {message.outcome.void_reason for message in (over, ended, voided)}
    assert reasons == {match_pb2.VOID_REASON_SERVER_ERROR}
    assert (await of_match(arena, "GetMatch", match.match_id)).reason == "UNKNOWN_MATCH"
    again = await arena.create("anna", "ghost", time_control=AT_ONCE)
    assert again.match_id > match.match_id
    assert (await anna.play_to_end()).outcome.HasField("result")


@pytest.mark.level(2)
async def test_waiting_for_a_match_returns_it_at_its_end(arena: Arena) -> None:
    """Whenever the call is made: before the match begins, while it runs, or once it is stored."""
    match = await arena.create("anna", "anna")
    waiting = [asyncio.create_task(arena.finished(match.match_id))]
    anna = await arena.connect("anna")
    await anna.until(lambda received: received.decisions)
    waiting.append(asyncio.create_task(arena.finished(match.match_id)))
    assert not any(task.done() for task in waiting)
    over = await anna.play_to_end()
    early = await asyncio.gather(*waiting)
    assert early == [await arena.finished(match.match_id)] * 2
    assert early[0].outcome == over.outcome


async def test_waiting_ends_with_the_time_that_the_caller_gave(arena: Arena) -> None:
    """The match is returned as it is then; a wait of 0 is none, and one of less is refused."""
    match = await arena.create("absent1", "absent2", time_control=h.PATIENT)
    for seconds in (0.0, 0.001):
        waited = await arena.matches.GetMatch(match_id=match.match_id, wait=duration_message(seconds))
        assert waited == match
    negative = arena.matches.GetMatch(match_id=match.match_id, wait=duration_message(-0.001))
    assert (await h.outcome_of(negative)).fields == ("wait",)


async def test_callers_that_wait_get_the_match_that_the_server_voids(tmp_path: Path) -> None:
    """A server that shuts down leaves no call waiting."""
    async with AsyncExitStack() as closing:
        async with arena_with(tmp_path, grace=0.0) as arena:
            match = await arena.create("absent1", "absent2", time_control=h.PATIENT)
            matches = h.matches_at(
                await closing.enter_async_context(grpc.aio.insecure_channel(arena.address))
            )
            waiting = matches.GetMatch(match_id=match.match_id, wait=duration_message(WAIT_SECONDS))
            assert await matches.WatchMatch(match_id=match.match_id).read() is not grpc.aio.EOF
        voided = await waiting
    assert (voided.state, voided.outcome.void_reason) == (VOIDED, match_pb2.VOID_REASON_SHUTDOWN)


async def test_repeated_request_returns_the_same_match(tmp_path: Path) -> None:
    """A request id stands for one match of its caller, before and after its end."""
    tokens = tmp_path / "tokens.json"
    olga, otto = (h.bearer(h.issued_token(tokens, Role.ORGANISER, name)) for name in ("olga", "otto"))
    async with arena_with(tmp_path, tokens=tokens) as arena:

        async def created(metadata: Any, request_id: str) -> int:
            bots = ("anna", "ben")
            fields = {"request_id": request_id, "metadata": metadata, "time_control": AT_ONCE}
            return int((await arena.create(*bots, **fields)).match_id)

        first = await created(olga, "one")
        assert await created(olga, "one") == first
        await h.ended_match(arena.matches, first, olga)
        assert await created(olga, "one") == first
        others = [await created(*again) for again in ((otto, "one"), (olga, "two"), (olga, ""), (olga, ""))]
        assert len({first, *others}) == 5


async def test_a_search_ends_after_some_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may have fewer matches, or none; its token goes on, and all pages together have them all."""
    monkeypatch.setattr(store_module, "SEARCHED_AT_ONCE", 2)
    async with arena_with(tmp_path) as arena:
        for name in ("zoe", "ann", "ben", "cem", "zoe", "dee"):
            match = await arena.create(name, "ghost", time_control=AT_ONCE)
            await arena.finished(match.match_id)
        for filters, expected in (
            ({"bot": "zoe"}, [[5], [], [1]]),
            ({"bot": "nobody"}, [[], [], []]),
            ({"ending": match_pb2.ENDING_ABSENT, "page_size": 1}, [[6], [5], [4], [3], [2], [1], []]),
            ({}, [[6, 5, 4, 3, 2, 1]]),
        ):
            pages, token = list[list[int]](), ""
            while not pages or token:
                page = await arena.matches.ListMatches(page_token=token, **filters)
                pages.append([match.match_id for match in page.matches])
                token = page.next_page_token
            assert [page for page in pages if page] == [page for page in expected if page]


@pytest.mark.level(2)
async def test_lists_have_the_matches_of_their_filters(arena: Arena) -> None:
    """Every filter holds, alone and together with others; stored matches and open ones are in one list."""
    anna = await resigned(arena, "anna", "ghost")
    ben = await resigned(arena, "ben", "ghost")
    waiting = await arena.create("anna", "nobody", seed=6)
    absent, gave_up = match_pb2.ENDING_ABSENT, match_pb2.ENDING_RESIGNED
    cases: list[tuple[dict[str, Any], list[pb.Match]]] = [
        ({}, [waiting, ben, anna]),
        ({"bot": "anna"}, [waiting, anna]),
        ({"state": FINISHED}, [ben, anna]),
        ({"state": WAITING}, [waiting]),
        ({"state": RUNNING}, []),
        ({"ending": gave_up}, [ben, anna]),
        ({"ending": absent, "bot": "ghost"}, [ben, anna]),
        ({"ending": absent, "bot": "anna"}, []),
        ({"ending": gave_up, "bot": "anna", "state": FINISHED}, [anna]),
        ({"tournament_id": 0}, []),
        ({"tournament_id": 1}, []),
    ]
    for fields, expected in cases:
        assert list((await arena.matches.ListMatches(**fields)).matches) == expected, fields
    assert anna.outcome.result.seats[0].reason == "anna has lost"


@pytest.mark.level(2)
async def test_pages_are_the_list_cut(arena: Arena) -> None:
    """Pages follow each other without gaps, also from open to stored matches; the last has no token."""
    for _ in range(2):
        await resigned(arena, "anna", "ghost")
    for _ in range(3):
        await arena.create("anna", "nobody")
    everything = list((await arena.matches.ListMatches()).matches)
    assert len(everything) == 5
    for size in (1, 2, 3, 5):
        pages: list[list[pb.Match]] = []
        token = ""
        while token or not pages:
            page = await arena.matches.ListMatches(page_size=size, page_token=token, bot="anna")
            pages.append(list(page.matches))
            token = page.next_page_token
        assert pages == [everything[first : first + size] for first in range(0, 5, size)]


@pytest.mark.level(2)
async def test_store_that_fails_is_unavailable(
    arena: Arena, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The caller may try again and learns nothing of the database, which the log names."""
    match = await resigned(arena, "anna", "ghost")
    with sqlite3.connect(tmp_path / "games.sqlite") as database:
        database.execute("drop table records")
        database.execute("drop table games")
    text = "the server's store can't be used at present; the server's log says why"
    for method in (*OF_ONE, "ListMatches"):
        capfd.readouterr()
        match_id = 0 if method == "ListMatches" else match.match_id
        refusal = await of_match(arena, method, match_id)
        assert refusal == h.Outcome(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE", text)
        log = capfd.readouterr().err
        assert "games.sqlite" in log
        assert "Traceback" not in log


@pytest.mark.level(2)
async def test_match_that_can_t_be_stored_ends_for_everybody(arena: Arena, tmp_path: Path) -> None:
    """Bots and watchers get its result, who waits for it a refusal; the server forgets it, and goes on."""
    anna = await arena.connect("anna")
    match = await arena.create("anna", "ghost", time_control=AT_ONCE)
    await anna.until(lambda received: received.games_started)
    with sqlite3.connect(tmp_path / "games.sqlite") as database:
        database.execute("drop table records")
    watching = aiter(arena.matches.WatchMatch(match_id=match.match_id))
    assert (await anext(watching)).HasField("step")
    waiting = asyncio.create_task(h.outcome_of(h.ended_match(arena.matches, match.match_id)))
    over = await anna.play_to_end()
    *_, end = [part async for part in watching]
    assert end.end.outcome == over.outcome
    refusal = await waiting
    assert (refusal.status, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")
    assert (await of_match(arena, "GetMatch", match.match_id)).reason == "UNKNOWN_MATCH"
