"""A call whose answer was lost is repeated: it is carried out once, and answered as the first one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from tests.server import harness as h
from tests.server.api.arena import AT_ONCE
from tests.server.api.tournaments import config

from happycity import Config
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.v1 import match_service_pb2 as match_pb
from happycity.wire.messages import config_message
from happycity_runtime.tokens import Role
from happycity_server.access.requests import Requests
from happycity_server.access.roles import CONTRACT, SECRET_ANSWERS, Principal, principal_variable
from happycity_server.errors import ApiError, invalid
from happycity_tournament.storage import requests as stored_module
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.requests import RequestStore, StoredAnswer
from happycity_tournament.storage.store import Store

READS = ("Get", "List", "Watch", "Compare", "Read")
"""How the names of methods begin that change nothing."""
OTHERS = {
    "Play": "a stream, which resumes by its own rules",
    "Submit": "the digest of its files says whether the server has them",
}
PATH = "/happycity.tournament.v1beta1.TournamentService/StopTournament"


def test_every_call_that_changes_something_can_be_repeated() -> None:
    paths = [f"/{service}/{name}" for service, names in CONTRACT.items() for name in names]
    changing = {
        path
        for path in paths
        if not path.rpartition("/")[2].startswith(READS) and path.rpartition("/")[2] not in OTHERS
    }
    with_id = {path for path in paths if "request_id" in h.method_named(path).input_type.fields_by_name}
    assert with_id == changing
    secret = {
        path
        for path in changing
        if {"token", "tokens", "link"} & set(h.method_named(path).output_type.fields_by_name)
    }
    assert secret == SECRET_ANSWERS


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[AsyncStore]:
    with Store.create(f"sqlite:///{tmp_path}/games.sqlite") as stored:
        async with AsyncStore(stored) as opened:
            yield opened


def acts_as(caller: str) -> None:
    principal_variable.set(Principal(caller, frozenset()))


def stop(request_id: str, tournament_id: int = 1) -> pb.StopTournamentRequest:
    return pb.StopTournamentRequest(tournament_id=tournament_id, request_id=request_id)


def counting(calls: list[int]) -> Callable[[], Awaitable[Message]]:
    async def call() -> pb.Tournament:
        calls.append(len(calls))
        return pb.Tournament(tournament_id=len(calls))

    return call


async def test_a_call_is_carried_out_although_its_caller_leaves(store: AsyncStore) -> None:
    """Who repeats it meanwhile waits for the same; later its answer is read from the store."""
    going_on, calls = asyncio.Event(), list[int]()

    async def slow() -> Message:
        await going_on.wait()
        return await counting(calls)()

    acts_as("anna")
    requests = Requests(store, lambda: 0.0)
    first, second = (asyncio.create_task(requests.answer(PATH, stop("one"), slow)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    going_on.set()
    answers = [await second, await requests.answer(PATH, stop("one"), slow)]
    answers.append(await Requests(store, lambda: 0.0).answer(PATH, stop("one"), slow))
    assert answers == [pb.Tournament(tournament_id=1)] * 3
    assert len(calls) == 1
    await requests.wait_closed()


async def test_only_the_same_call_is_a_repeated_one(store: AsyncStore) -> None:
    """Of another caller or method, without an id, or a day later it is another; other fields are refused."""
    calls, now = list[int](), [0.0]
    requests = Requests(store, lambda: now[0])

    async def made(path: str, request: Message) -> Any:
        return (await requests.answer(path, request, counting(calls))).tournament_id

    acts_as("anna")
    other_path = PATH.replace("Stop", "Resume")
    assert [await made(PATH, stop(one)) for one in ("one", "one", "two", "", "")] == [1, 1, 2, 3, 4]
    assert [await made(other_path, stop("one")) for _ in range(2)] == [5, 5]
    for wrong in (stop("one", 2), stop("x" * 65)):
        with pytest.raises(ApiError, match=r"^request_id: "):
            await made(PATH, wrong)
    acts_as("ben")
    assert await made(PATH, stop("one")) == 6
    now[0] += stored_module.REPEAT_SECONDS
    assert [await made(PATH, stop("one")) for _ in range(2)] == [7, 7]


async def test_a_call_that_failed_may_be_repeated(store: AsyncStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal is no answer; an answer that can't be stored is given all the same."""
    calls = list[int]()

    async def refused() -> Message:
        raise invalid("x", "y")

    acts_as("anna")
    requests = Requests(store, lambda: 0.0)
    with pytest.raises(ApiError):
        await requests.answer(PATH, stop("one"), refused)

    def full(*_: object) -> None:
        raise StoreError("", "is full")

    with monkeypatch.context() as patch:
        patch.setattr(RequestStore, "keep", full)
        assert (await requests.answer(PATH, stop("one"), counting(calls))).tournament_id == 1


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By number, by the callers' own numbers, and by age."""
    monkeypatch.setattr(stored_module, "ANSWERS_OF_ONE", 3)
    monkeypatch.setattr(stored_module, "ANSWERS", 8)
    with Store.create(f"sqlite:///{tmp_path}/games.sqlite") as store:
        kept = RequestStore(store)

        def keep(caller: str, number: int, at: float = 0.0) -> None:
            kept.keep(StoredAnswer(caller, f"{caller} {number}", "", b"", None, at))

        def found(caller: str, at: float = 0.0) -> list[int]:
            return [number for number in range(20) if kept.find(f"{caller} {number}", at) is not None]

        keep("ben", 0)
        for number in range(10):
            keep("anna", number)
        assert (found("anna"), found("ben")) == ([7, 8, 9], [])
        for number in range(5):
            keep(f"caller {number}", 0)
        assert found("anna") == [7, 8, 9]
        keep("dora", 0, stored_module.REPEAT_SECONDS)
        assert found("dora", stored_module.REPEAT_SECONDS) == [0]
        assert not found("anna")


async def test_no_match_gets_the_number_of_one_that_was_answered(tmp_path: Path) -> None:
    """Also if that one was lost with its server: repeated, the call is answered with it once more."""
    asked = match_pb.CreateMatchRequest(
        config=config_message(Config(players=2)),
        bots=["anna", "ben"],
        time_control=h.PATIENT,
        request_id="one",
    )
    answers: list[match_pb.Match] = []
    for _ in range(2):
        async with h.serving(tmp_path, grace=0.0) as (_, channel):
            matches = h.matches_at(channel)
            answers.append(await matches.CreateMatch(**{f.name: v for f, v in asked.ListFields()}))
            other = await matches.CreateMatch(config=asked.config, bots=asked.bots, time_control=AT_ONCE)
            assert other.match_id > answers[0].match_id
    assert answers[0] == answers[1]


async def test_repeated_changes_of_a_tournament_are_made_once(tmp_path: Path) -> None:
    """A stop that is repeated after somebody has resumed the tournament stops it no more."""
    tokens = tmp_path / "tokens.json"
    olga = h.bearer(h.issued_token(tokens, Role.ORGANISER, "olga"))
    async with h.serving(tmp_path, tokens=tokens) as (_, channel):
        call = h.tournaments_at(channel)
        made = await call.CreateTournament(olga, config=config("anna", "ben"), request_id="one")
        stopped = await call.StopTournament(olga, tournament_id=made.tournament_id, request_id="one")
        await call.ResumeTournament(olga, tournament_id=made.tournament_id)
    async with h.serving(tmp_path, tokens=tokens) as (_, channel):
        call = h.tournaments_at(channel)
        assert await call.StopTournament(olga, tournament_id=made.tournament_id, request_id="one") == stopped
        now = await call.GetTournament(olga, tournament_id=made.tournament_id)
        assert now.progress.state == pb.TOURNAMENT_STATE_WAITING
        await call.StopTournament(olga, tournament_id=made.tournament_id)
        async for _ in call.WatchTournament(olga, tournament_id=made.tournament_id):
            pass
        deleted = [
            await call.DeleteTournament(olga, tournament_id=made.tournament_id, request_id="two")
            for _ in range(2)
        ]
        assert deleted[0] == deleted[1]
