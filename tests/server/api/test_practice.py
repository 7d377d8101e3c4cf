"""Practice matches over real gRPC: who may play them, on which deals, how many, and who sees them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.api.arena import Arena, RemoteProgram, arena_with
from tests.server.harness import Clock, Metadata, Outcome, bearer, connected, issued_token, refused, serving

from happycity import Config, Deal
from happycity.records.record import loads
from happycity.records.replay import deal_of
from happycity.runtime.tokens import Role
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire.match import duration_message
from happycity.wire.messages import config_message
from happycity_tournament.games import PRACTICE_SEEDS

WAITING, RUNNING = match_pb2.MATCH_STATE_WAITING, match_pb2.MATCH_STATE_RUNNING


def practice(*bots: str, **fields: Any) -> pb.CreatePracticeMatchRequest:
    """Return the request for a practice match."""
    return pb.CreatePracticeMatchRequest(
        config=config_message(Config(players=max(2, len(bots)))), bots=bots, **fields
    )


async def practised(arena: Arena, bot: RemoteProgram, **fields: Any) -> pb.Match:
    """Let a bot practise against itself to the end."""
    response = await arena.matches.CreatePracticeMatch(practice(bot.name, bot.name, **fields))
    await bot.play_to_end()
    return await arena.finished(response.match_id)


async def refusal(call: Any) -> Outcome:
    """Return how a call is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return refused(caught.value)


# Playing -------------------------------------------------------------------------------------------------


async def test_practice_is_played_and_stored_as_practice(arena: Arena) -> None:
    """A bot practises against itself with the default clocks; lists and lookups call the match practice."""
    match = await practised(arena, await arena.connect("anna"), seed=7)
    assert match.practice
    assert not match.tournament_id
    assert [listed.practice for listed in (await arena.list()).matches] == [True]
    assert deal_of(await arena.record(match.match_id)) == Deal.shuffle(
        Config(players=2), seed=PRACTICE_SEEDS + 7
    )


async def test_practice_deals_are_chosen_by_number_or_at_random(arena: Arena) -> None:
    """The same number deals the same cards; without a number each match has a deal of its own."""
    anna = await arena.connect("anna")
    numbers: list[dict[str, int]] = [{"seed": 3}, {"seed": 3}, {"seed": 2**32 - 1}, {}, {}]
    matches = [await practised(arena, anna, **number) for number in numbers]
    deals = [deal_of(await arena.record(match.match_id)) for match in matches]
    assert deals[0] == deals[1]
    assert len({deal.decks for deal in deals}) == 4
    assert all(deal.seed >= PRACTICE_SEEDS for deal in deals)


async def test_single_matches_have_no_practice_deals(arena: Arena) -> None:
    """The organiser's matches and practice never share a deal."""
    assert (await refusal(arena.create("anna", "ben", seed=PRACTICE_SEEDS))).fields == ("seed",)
    assert not (await arena.create("anna", "ben", seed=PRACTICE_SEEDS - 1)).practice


async def test_repeated_request_makes_one_practice_match(arena: Arena) -> None:
    """A request id makes a practice match once."""
    await arena.connect("anna")
    request = practice("anna", "anna", request_id="one")
    matches = [(await arena.matches.CreatePracticeMatch(request)).match_id for _ in range(2)]
    assert matches[0] == matches[1]


async def test_practice_has_the_time_that_was_asked_for(arena: Arena) -> None:
    """A slow bot practises with more time for its decisions than others."""
    anna = await arena.connect("anna")
    await arena.matches.CreatePracticeMatch(practice("anna", "anna", decision_time=duration_message(500.0)))
    received = await anna.until(lambda received: received.decisions)
    assert 400 < received.decisions[0].clock.time_left_us / 1e6 <= 500


@pytest.mark.parametrize("seconds", [0.0, -1.0, 600.1])
async def test_impossible_times_of_practice_are_refused(arena: Arena, seconds: float) -> None:
    """A decision of practice takes more than no time and at most ten minutes."""
    await arena.connect("anna")
    request = practice("anna", "anna", decision_time=duration_message(seconds))
    assert (await refusal(arena.matches.CreatePracticeMatch(request))).fields == ("decision_time",)


# Seats ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bots", "expected"),
    [
        (("anna", "ben"), Outcome(reason="NOT_HOUSE_BOT", metadata={"bot": "ben", "house": ""})),
        (("anna",), Outcome(reason="INVALID_FIELD", fields=("bots",))),
        (("anna", "an na"), Outcome(reason="INVALID_FIELD", fields=("bots",))),
        (("emil", "emil"), Outcome(reason="BOTS_MISSING", metadata={"bots": "emil"})),
    ],
    ids=["another's bot", "too few", "no name", "not connected"],
)
async def test_other_seats_are_refused(arena: Arena, bots: tuple[str, ...], expected: Outcome) -> None:
    """Without a house a bot may only play against itself, and it has to be there."""
    await arena.connect("anna")
    await arena.connect("ben")
    outcome = await refusal(arena.matches.CreatePracticeMatch(practice(*bots)))
    assert (outcome.reason, outcome.metadata, outcome.fields) == (
        expected.reason,
        expected.metadata,
        expected.fields,
    )
    assert outcome.text.isprintable()


# Quota ---------------------------------------------------------------------------------------------------


async def test_bot_has_few_practice_matches_open(tmp_path: Path) -> None:
    """More matches than a bot may have open are refused, with the limit, until one is over."""
    async with arena_with(tmp_path, practice_matches=2) as arena:
        anna = await arena.connect("anna")
        first, _ = [await arena.matches.CreatePracticeMatch(practice("anna", "anna")) for _ in range(2)]
        outcome = await refusal(arena.matches.CreatePracticeMatch(practice("anna", "anna")))
        assert (outcome.reason, outcome.metadata) == ("TOO_MANY_OPEN", {"limit": "2"})
        assert outcome.retry_seconds is not None
        assert outcome.retry_seconds > 0
        await arena.connect("ben")
        await arena.matches.CreatePracticeMatch(practice("ben", "ben"))
        while first.match_id not in {over.match_id for over in anna.received.games_over}:
            await anna.play_to_end()
        await arena.finished(first.match_id)
        await arena.matches.CreatePracticeMatch(practice("anna", "anna"))


async def test_bot_has_so_many_practice_matches_an_hour(tmp_path: Path) -> None:
    """The quota of an hour may be used at once; then a match comes free as often as the quota says."""
    async with arena_with(tmp_path, practice_matches_per_hour=2) as arena:
        anna = await arena.connect("anna")
        for _ in range(2):
            await practised(arena, anna)
        outcome = await refusal(arena.matches.CreatePracticeMatch(practice("anna", "anna")))
        assert outcome.reason == "RATE_LIMITED"
        assert outcome.retry_seconds == pytest.approx(1800, abs=60)
        assert "2 practice matches an hour" in outcome.text


# Beside other matches ------------------------------------------------------------------------------------


async def test_practice_waits_while_the_bot_plays_in_earnest(arena: Arena) -> None:
    """A bot's practice begins when its other matches are over."""
    anna, ben = await arena.connect("anna"), await arena.connect("ben")
    match = await arena.create("anna", "ben")
    await anna.until(lambda received: received.games_started)
    waiting = await arena.matches.CreatePracticeMatch(practice("anna", "anna"))
    await anna.settle()
    assert (await arena.match(waiting.match_id)).state == WAITING
    await asyncio.gather(anna.play_to_end(), ben.play_to_end())
    await arena.finished(match.match_id)
    await anna.until(lambda received: len(received.games_started) == 3)
    assert (await arena.match(waiting.match_id)).state == RUNNING


async def test_other_matches_come_before_practice_that_waits_longer(arena: Arena) -> None:
    """A bot that plays one game at once gets the match of a tournament first, whatever asked first."""
    anna, ben = await arena.connect("anna", max_games=1), await arena.connect("ben")
    await arena.matches.CreatePracticeMatch(practice("anna", "anna"))
    await anna.until(lambda received: len(received.games_started) == 2)
    later = await arena.matches.CreatePracticeMatch(practice("anna", "anna"))
    match = await arena.create("anna", "ben")
    await anna.play_to_end()
    await ben.until(lambda received: received.games_started)
    assert (await arena.match(match.match_id)).state == RUNNING
    assert (await arena.match(later.match_id)).state == WAITING


# Access --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guarded:
    """A server that needs tokens, with two bots that are connected."""

    matches: Any
    tokens: dict[str, Metadata]


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Guarded]:
    """Yield a server with tokens of two bots, an observer and an organiser."""
    path = tmp_path / "tokens.json"
    roles = {"anna": Role.BOT, "ben": Role.BOT, "olga": Role.OBSERVER, "oscar": Role.ORGANISER}
    tokens = {name: bearer(issued_token(path, role, name)) for name, role in roles.items()}
    async with serving(tmp_path, tokens=path) as (_, channel):
        calls = [await connected(channel, name, metadata=tokens[name]) for name in ("anna", "ben")]
        yield Guarded(MatchServiceStub(channel), tokens)
        for call in calls:
            call.cancel()


@pytest.mark.parametrize(
    ("caller", "bots", "reason"),
    [
        ("anna", ("anna", "anna"), ""),
        ("anna", ("anna", "ben"), "NOT_HOUSE_BOT"),
        ("anna", ("ben", "ben"), "INVALID_FIELD"),
        ("olga", ("anna", "anna"), "WRONG_ROLE"),
        ("oscar", ("anna", "anna"), "WRONG_ROLE"),
    ],
)
async def test_token_practises_for_its_bot_only(
    guarded: Guarded, caller: str, bots: tuple[str, ...], reason: str
) -> None:
    """A bot's token sets up matches of that bot; other roles have no bot."""
    call = guarded.matches.CreatePracticeMatch(practice(*bots), metadata=guarded.tokens[caller])
    if reason:
        assert (await refusal(call)).reason == reason
    else:
        assert (await call).practice


@pytest.mark.parametrize("caller", ["anna", "ben", "olga", "oscar"])
async def test_practice_is_watched_by_its_bot_and_watchers(guarded: Guarded, caller: str) -> None:
    """While a practice match runs, no other bot's token sees it."""
    own = guarded.tokens["anna"]
    request = practice("anna", "anna")
    match = await guarded.matches.CreatePracticeMatch(request, metadata=own)
    watch = pb.WatchMatchRequest(match_id=match.match_id)
    call = guarded.matches.WatchMatch(watch, metadata=guarded.tokens[caller])
    if caller != "ben":
        assert (await call.read()).HasField("step")
        call.cancel()
    else:
        assert (await refusal(call.read())).reason == "WRONG_ROLE"


@pytest.mark.parametrize("caller", ["anna", "ben", "olga"])
async def test_record_of_practice_is_for_its_bot_and_watchers(tmp_path: Path, caller: str) -> None:
    """The record of a practice match is refused to other bots' tokens."""
    path = tmp_path / "tokens.json"
    roles = {"anna": Role.BOT, "ben": Role.BOT, "olga": Role.OBSERVER}
    tokens = {name: bearer(issued_token(path, role, name)) for name, role in roles.items()}
    async with arena_with(tmp_path, Clock(), tokens=path) as arena:
        anna = RemoteProgram("anna", await connected(arena.channel, "anna", metadata=tokens["anna"]))
        response = await arena.matches.CreatePracticeMatch(practice("anna", "anna"), metadata=tokens["anna"])
        match_id = response.match_id
        await anna.play_to_end()
        await arena.matches.WaitMatch(pb.WaitMatchRequest(match_id=match_id), metadata=tokens["olga"])
        call = arena.matches.GetMatchRecord(
            pb.GetMatchRecordRequest(match_id=match_id), metadata=tokens[caller]
        )
        if caller != "ben":
            assert deal_of(loads((await call).json)).seed >= PRACTICE_SEEDS
        else:
            assert (await refusal(call)).reason == "WRONG_ROLE"
