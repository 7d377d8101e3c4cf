"""Practice matches over real gRPC: who may play them, on which deals, how many, and who sees them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.server.api.arena import Arena, RemoteProgram, arena_with
from tests.server.harness import Outcome, bearer, connected, ended_match, issued_token, outcome_of

from happycity import Config, Deal
from happycity.records.record import loads
from happycity.records.replay import deal_of
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as pb
from happycity.wire.match import duration_message
from happycity.wire.messages import config_message
from happycity_runtime.tokens import Role
from happycity_tournament.games import PRACTICE_SEEDS

WAITING, RUNNING = match_pb2.MATCH_STATE_WAITING, match_pb2.MATCH_STATE_RUNNING


async def practice(arena: Arena, *bots: str, **fields: Any) -> pb.Match:
    config = config_message(Config(players=max(2, len(bots))))
    match: pb.Match = await arena.matches.CreatePracticeMatch(config=config, bots=bots, **fields)
    return match


async def practised(arena: Arena, bot: RemoteProgram, **fields: Any) -> pb.Match:
    match = await practice(arena, bot.name, bot.name, **fields)
    await bot.play_to_end()
    return await arena.finished(match.match_id)


@pytest.mark.level(2)
async def test_practice_is_played_and_stored_as_practice(arena: Arena) -> None:
    """A bot practises against itself with the default clocks; lists and lookups call the match practice."""
    match = await practised(arena, await arena.connect("anna"), seed=7)
    assert match.practice
    assert not match.tournament_id
    listed = await arena.matches.ListMatches()
    assert [each.practice for each in listed.matches] == [True]
    deal = Deal.shuffle(Config(players=2), seed=PRACTICE_SEEDS + 7)
    assert deal_of(await arena.record(match.match_id)) == deal


@pytest.mark.level(2)
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
    assert (await outcome_of(arena.create("anna", "ben", seed=PRACTICE_SEEDS))).fields == ("seed",)
    assert not (await arena.create("anna", "ben", seed=PRACTICE_SEEDS - 1)).practice


async def test_repeated_request_makes_one_practice_match(arena: Arena) -> None:
    await arena.connect("anna")
    first, second = [await practice(arena, "anna", "anna", request_id="one") for _ in range(2)]
    assert first.match_id == second.match_id


async def test_practice_has_the_time_that_was_asked_for(arena: Arena) -> None:
    """A decision of practice takes more than no time and at most ten minutes."""
    anna = await arena.connect("anna")
    for seconds in (0.0, -1.0, 600.1):
        wrong = practice(arena, "anna", "anna", decision_time=duration_message(seconds))
        assert (await outcome_of(wrong)).fields == ("decision_time",)
    await practice(arena, "anna", "anna", decision_time=duration_message(500.0))
    assert 400 < (await anna.decision()).clock.time_left_us / 1e6 <= 500


async def test_other_seats_are_refused(arena: Arena) -> None:
    """Without a house a bot may only play against itself, and it has to be there."""
    await arena.connect("anna")
    await arena.connect("ben")
    for bots, expected in (
        (("anna", "ben"), Outcome(reason="NOT_HOUSE_BOT", metadata={"bot": "ben", "house": ""})),
        (("anna",), Outcome(reason="INVALID_FIELD", fields=("bots",))),
        (("anna", "an na"), Outcome(reason="INVALID_FIELD", fields=("bots",))),
        (("emil", "emil"), Outcome(reason="BOTS_MISSING", metadata={"bots": "emil"})),
    ):
        outcome = await outcome_of(practice(arena, *bots))
        assert outcome.text.isprintable()
        assert (outcome.reason, outcome.metadata, outcome.fields) == (
            expected.reason,
            expected.metadata,
            expected.fields,
        )


@pytest.mark.level(2)
async def test_bot_has_few_practice_matches_open(tmp_path: Path) -> None:
    """More matches than a bot may have open are refused, with the limit, until one is over."""
    async with arena_with(tmp_path, practice_matches=2) as arena:
        anna = await arena.connect("anna")
        first, _ = [await practice(arena, "anna", "anna") for _ in range(2)]
        outcome = await outcome_of(practice(arena, "anna", "anna"))
        assert (outcome.reason, outcome.metadata) == ("TOO_MANY_OPEN", {"limit": "2"})
        assert (outcome.retry_seconds or 0) > 0
        await arena.connect("ben")
        await practice(arena, "ben", "ben")
        while first.match_id not in {over.match_id for over in anna.received.games_over}:
            await anna.play_to_end()
        await arena.finished(first.match_id)
        await practice(arena, "anna", "anna")


async def test_bot_has_so_many_practice_matches_an_hour(tmp_path: Path) -> None:
    """The quota of an hour may be used at once; then a match comes free as often as the quota says."""
    async with arena_with(tmp_path, practice_matches_per_hour=2) as arena:
        anna = await arena.connect("anna")
        for _ in range(2):
            await practised(arena, anna)
        outcome = await outcome_of(practice(arena, "anna", "anna"))
        assert outcome.reason == "RATE_LIMITED"
        assert outcome.retry_seconds == pytest.approx(1800, abs=60)
        assert "2 practice matches an hour" in outcome.text


@pytest.mark.level(2)
async def test_practice_waits_while_the_bot_plays_rated(arena: Arena) -> None:
    """A bot's practice begins when its other matches are over."""
    anna, ben = await arena.connect("anna"), await arena.connect("ben")
    match = await arena.create("anna", "ben")
    await anna.until(lambda received: received.games_started)
    waiting = await practice(arena, "anna", "anna")
    await anna.settle()
    assert (await arena.match(waiting.match_id)).state == WAITING
    await asyncio.gather(anna.play_to_end(), ben.play_to_end())
    await arena.finished(match.match_id)
    await anna.until(lambda received: len(received.games_started) == 3)
    assert (await arena.match(waiting.match_id)).state == RUNNING


@pytest.mark.level(2)
async def test_other_matches_come_before_practice_that_waits_longer(arena: Arena) -> None:
    """A bot that plays one game at once gets the match of a tournament first, whatever asked first."""
    anna, ben = await arena.connect("anna", max_games=1), await arena.connect("ben")
    await practice(arena, "anna", "anna")
    await anna.until(lambda received: len(received.games_started) == 2)
    later = await practice(arena, "anna", "anna")
    match = await arena.create("anna", "ben")
    await anna.play_to_end()
    await ben.until(lambda received: received.games_started)
    assert (await arena.match(match.match_id)).state == RUNNING
    assert (await arena.match(later.match_id)).state == WAITING


@pytest.mark.level(2)
async def test_token_practises_for_its_bot_alone(tmp_path: Path) -> None:
    """Nor does another bot's token show its running practice matches, and their records."""
    path = tmp_path / "tokens.json"
    roles = {"anna": Role.BOT, "ben": Role.BOT, "olga": Role.OBSERVER, "oscar": Role.ORGANISER}
    tokens = {name: bearer(issued_token(path, role, name)) for name, role in roles.items()}
    async with arena_with(tmp_path, tokens=path) as arena:
        anna, _ = [
            RemoteProgram(name, await connected(arena.channel, name, metadata=tokens[name]))
            for name in ("anna", "ben")
        ]
        for caller, bots, reason in (
            ("anna", ("anna", "ben"), "NOT_HOUSE_BOT"),
            ("anna", ("ben", "ben"), "INVALID_FIELD"),
            ("olga", ("anna", "anna"), "WRONG_ROLE"),
            ("oscar", ("anna", "anna"), "WRONG_ROLE"),
        ):
            refused = await outcome_of(practice(arena, *bots, metadata=tokens[caller]))
            assert refused.reason == reason, (caller, bots)
        match_id = (await practice(arena, "anna", "anna", metadata=tokens["anna"])).match_id
        for caller, metadata in tokens.items():
            watching = arena.matches.WatchMatch(metadata, match_id=match_id)
            expected = "WRONG_ROLE" if caller == "ben" else ""
            assert (await outcome_of(watching.read())).reason == expected
            watching.cancel()
        await anna.play_to_end()
        await ended_match(arena.matches, match_id, tokens["olga"])
        for caller, metadata in tokens.items():
            asked = arena.matches.GetMatchRecord(metadata, match_id=match_id)
            if caller == "ben":
                assert (await outcome_of(asked)).reason == "WRONG_ROLE"
            else:
                assert deal_of(loads((await asked).json)).seed >= PRACTICE_SEEDS
