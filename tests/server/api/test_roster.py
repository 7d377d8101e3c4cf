"""Bots that join and leave tournaments of a real server, over real gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.api.tournaments import Arena, arena_with, config, refusal
from tests.server.harness import met

from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.wire.match import duration_message
from happycity_tournament.games import Fixture
from happycity_tournament.storage import Store

BOTS = ("anna", "ben", "carl", "dora")
CYCLES = 3
SWISS: dict[str, Any] = {"swiss": pb.Swiss(rounds=8)}
ROUND_ROBIN: dict[str, Any] = {"round_robin": pb.RoundRobin(cycles=CYCLES)}
LONG: dict[str, Any] = {"round_robin": pb.RoundRobin(cycles=1000)}
"""A tournament that no test plays to its end."""


async def begun(arena: Arena, form: dict[str, Any], *, games: int = 1, **fields: Any) -> int:
    """Begin a tournament of the four; return its id once so many of its games are finished."""
    tournament_id = await arena.create(config(*BOTS, **{"concurrency": 4, **form, **fields}))
    await arena.watched(tournament_id, games=games)
    return tournament_id


def fixtures(folder: Path, tournament_id: int) -> list[Fixture]:
    """Return what was played, in the order of the schedule."""
    with Store.existing(f"sqlite:///{folder}/games.sqlite") as store:
        return [game.fixture for game in store.results(tournament_id)]


@pytest.mark.thorough
@pytest.mark.parametrize("form", [SWISS, ROUND_ROBIN], ids=["swiss", "round-robin"])
async def test_bots_join_and_leave_a_running_tournament(tmp_path: Path, form: dict[str, Any]) -> None:
    """Watchers see new totals and bots but no stop; played again with these rounds, it is the same."""
    async with arena_with(tmp_path, *BOTS, "late", "later") as arena:
        tournament_id = await begun(arena, form)
        watching = asyncio.create_task(arena.watched(tournament_id))
        before = await arena.get(tournament_id)
        added = await arena.add(tournament_id, "late", "later")
        withdrawn = await arena.withdraw(tournament_id, "ben")
        assert list(added.config.bots) == list(withdrawn.config.bots) == [*BOTS, "late", "later"]
        assert added.progress.games_total > before.progress.games_total
        assert withdrawn.progress.state == pb.TOURNAMENT_STATE_RUNNING
        changes = await watching
        states = [message.progress.state for message in changes.messages if message.HasField("progress")]
        assert states == [pb.TOURNAMENT_STATE_RUNNING] * (len(states) - 1) + [pb.TOURNAMENT_STATE_FINISHED]
        assert len(changes.messages[0].standings) == 4
        assert len(changes.standings) == 6
        assert changes.progress.games_finished == changes.progress.games_total

        rounds = {entry.bot: entry for entry in changes.tournament.participations}
        assert rounds["late"].first_round == rounds["later"].first_round > 1
        assert rounds["ben"].last_round >= rounds["late"].first_round - 1
        again = await arena.create(
            changes.tournament.config, participations=changes.tournament.participations
        )
        assert (await arena.watched(again)).standings == changes.standings
        assert fixtures(tmp_path, again) == fixtures(tmp_path, tournament_id)


@pytest.mark.thorough
async def test_a_bot_that_is_away_is_waited_for_while_the_others_play(tmp_path: Path) -> None:
    """It joins as soon as it is connected."""
    async with arena_with(tmp_path, *BOTS) as arena:
        tournament_id = await begun(arena, ROUND_ROBIN)
        adding = asyncio.create_task(arena.add(tournament_id, "late"))
        finished = (await arena.get(tournament_id)).progress.games_finished
        await arena.watched(tournament_id, games=finished + 1)
        assert not adding.done()
        arena.play("late")
        assert list((await adding).config.bots) == [*BOTS, "late"]
        changes = await arena.watched(tournament_id)
    assert {(line.games, line.forfeits) for line in changes.standings.values()} == {(2 * 4 * CYCLES, 0)}


@pytest.mark.thorough
async def test_a_resting_tournament_gets_its_bots_for_later(tmp_path: Path) -> None:
    """Nobody has to be there; when it continues, the newcomers play and the one that left doesn't."""
    async with arena_with(tmp_path, *BOTS) as arena:
        tournament_id = await begun(arena, SWISS)
        await arena.stop(tournament_id)
        await arena.watched(tournament_id)
        added = await arena.add(tournament_id, "late", "later")
        assert added.progress.state == pb.TOURNAMENT_STATE_STOPPED
        assert list(added.progress.missing_bots) == ["late", "later"]
        await arena.withdraw(tournament_id, "later")
        arena.play("late")
        await met(arena.channel, "late", "anna")
        await arena.resume(tournament_id)
        await arena.watched(tournament_id, games=added.progress.games_finished + 1)
    async with arena_with(tmp_path, resume_tournaments=False) as arena:
        added = await arena.add(tournament_id, "last")
        assert added.progress.state == pb.TOURNAMENT_STATE_INTERRUPTED
    async with arena_with(tmp_path, *BOTS, "late", "last") as arena:
        changes = await arena.watched(tournament_id)
    assert changes.progress.state == pb.TOURNAMENT_STATE_FINISHED
    games = {bot: line.games for bot, line in changes.standings.items()}
    assert games["later"] == 0 < games["last"] < games["late"] < games["anna"]


async def test_a_caller_that_leaves_holds_up_nobody(tmp_path: Path) -> None:
    """A call that is given up while it waits is completed or not, and the next one is served."""
    async with arena_with(tmp_path, *BOTS, "late", "later") as arena:
        await met(arena.channel, "late", "later")
        tournament_id = await begun(arena, LONG)
        request = pb.AddBotsRequest(tournament_id=tournament_id, bots=["late"])
        for seconds in (0.005, 0.02, 0.05):
            with suppress(grpc.aio.AioRpcError):  # most are too late, or were made before
                await arena.tournaments.AddBots(request, timeout=seconds)
        added = await arena.add(tournament_id, "later")
        assert "later" in added.config.bots
        await arena.watched(tournament_id, games=added.progress.games_finished + 1)


# Refusals ------------------------------------------------------------------------------------------------


async def test_a_change_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """Each refusal has a typed reason and names the field; the tournament plays on."""
    async with arena_with(tmp_path, *BOTS) as arena:
        running = await begun(arena, LONG)
        wrong: list[tuple[Awaitable[object], str, str]] = [
            (arena.add(running, "anna"), "bots", "'anna' takes part already"),
            (arena.add(running, "l/te"), "bots", "bot name 'l/te': use 1-64 letters"),
            (arena.add(running, "late", "late"), "bots", "'late' is named more than once"),
            (arena.add(running), "bots", "there are none"),
            (arena.add(running, *map(str, range(500))), "bots", "are more than 500"),
            (arena.withdraw(running, "zoe"), "bot", "'zoe' doesn't take part"),
            (arena.withdraw(running, ""), "bot", "'' doesn't take part"),
        ]
        for call, field, text in wrong:
            outcome = await refusal(call)
            assert (outcome.status, outcome.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
            assert outcome.fields == (field,)
            assert text in outcome.text
            assert outcome.text.startswith(f"{field}: ")
        assert (await arena.get(running)).progress.state == pb.TOURNAMENT_STATE_RUNNING


FIXED = (
    config(*BOTS, gauntlet=pb.Gauntlet(challengers=["anna"])),
    config(sprt=pb.Sprt(candidate="anna", base="ben", elo1=10.0)),
)


async def test_a_roster_that_is_closed_stays_so(tmp_path: Path) -> None:
    """Formats with fixed bots have no newcomers, and no tournament has any when it is finished."""
    async with arena_with(tmp_path, *BOTS) as arena:
        for fixed in [await arena.create(terms) for terms in FIXED]:
            for call in (arena.add(fixed, "late"), arena.withdraw(fixed, "anna")):
                outcome = await refusal(call)
                assert outcome.status is grpc.StatusCode.FAILED_PRECONDITION
                assert outcome.reason == "ROSTER_CLOSED"
                assert "has the same bots from beginning to end" in outcome.text
            await arena.stop(fixed)
        finished = await arena.create(config(*BOTS, rounds=1))
        await arena.watched(finished)
        outcome = await refusal(arena.add(finished, "late"))
        assert (outcome.reason, outcome.text) == ("ROSTER_CLOSED", f"tournament {finished} is finished")


async def test_a_bot_that_does_not_come_is_refused(tmp_path: Path) -> None:
    """A name that nobody has, such as a mistyped one, doesn't fill a tournament with forfeits."""
    async with arena_with(tmp_path, *BOTS) as arena:
        await met(arena.channel, *BOTS)
        impatient = {"connect_time": duration_message(0.1)}
        tournament_id = await begun(arena, LONG, time_control=impatient)
        outcome = await refusal(arena.add(tournament_id, "laet", "anan"))
        assert (outcome.status, outcome.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "BOTS_MISSING")
        assert outcome.metadata == {"bots": "laet,anan"}
        assert outcome.text == "laet, anan are not connected; connect first, then join"
        assert (await arena.get(tournament_id)).progress.state == pb.TOURNAMENT_STATE_RUNNING
