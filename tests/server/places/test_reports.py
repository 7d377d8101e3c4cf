"""Reports of workers that can't be true: none of what they say counts."""

import asyncio
import copy
import json
import math
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from tests.server.harness import end_of, matches_at, serving, tournaments_at
from tests.server.places.test_protocol import work
from tests.server.test_workers import POLLED, begun, over

from happycity import Config, Deal, FailurePolicy, Mode, TimeControl
from happycity.errors import FieldError
from happycity.hosting.v1beta1.hosting_service_pb2 import Submission
from happycity.records.random_games import movers_rng, record_random_game
from happycity.records.replay import results_of
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.wire.match import result_message
from happycity.wire.messages import config_of
from happycity.worker.v1 import worker_service_pb2 as pb
from happycity_server.app import Clocks
from happycity_server.places.protocol import WorkCall
from happycity_server.places.reports import CLOCK_SECONDS, check_report, counters_of
from happycity_server.play.counters import Counters
from happycity_server.play.match import OpenMatch
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.storage.packing import pack, unpack

NOW = 1e9
DEAL = Deal.shuffle(Config(players=3, mode=Mode.EXPERT), seed=5)


def played(match_id: int, deal: Deal, now: float) -> pb.FinishedMatch:
    """Return a true report of a game of random movers."""
    record = record_random_game(deal, movers_rng(deal.seed))
    return pb.FinishedMatch(
        match_id=match_id,
        result=result_message(results_of(record)),
        decisions=len(record["moves"]),
        decisions_asked=len(record["moves"]),
        started_at=now - 1,
        finished_at=now,
        record=pack(lambda: record),
    )


def rewritten(change: Callable[[Any], object]) -> Callable[[pb.FinishedMatch], object]:
    """Return what changes the record of a game."""

    def forge(game: pb.FinishedMatch) -> None:
        record = json.loads(unpack(game.record))
        change(record)
        game.record = pack(json.dumps(record))

    return forge


def result_of_another_end(game: pb.FinishedMatch) -> None:
    """Say of a game, in its result alone, that its winner has resigned."""
    record = json.loads(unpack(game.record))
    record["endings"][record["outcome"]["ranks"].index(1)] = "forfeit:resigned"
    game.result.CopyFrom(result_message(results_of(record)))


OTHER = played(7, Deal.shuffle(DEAL.config, seed=6), NOW)
SMALLER = played(7, Deal.shuffle(Config(players=2), seed=5), NOW)
FORGERIES: dict[str, tuple[Callable[[pb.FinishedMatch], object], str]] = {
    **{
        f"{field} is {moment}": (
            lambda game, field=field, moment=moment: setattr(game, field, moment),  # type: ignore[misc]
            f"finished.{field}: ",
        )
        for field in ("started_at", "finished_at")
        for moment in (1e308, -1e308, math.nan, math.inf, -math.inf, 0.0, NOW + 2 * CLOCK_SECONDS)
    },
    "it ends before it begins": (lambda game: setattr(game, "started_at", NOW + 60), "ended before it began"),
    "points are too many": (lambda game: setattr(game.result.seats[0], "points", 10**6), "its result is not"),
    "a place is 77": (lambda game: setattr(game.result.seats[1], "place", 77), "its result is not"),
    "a seat is missing": (lambda game: game.result.seats.pop(), "its result is not"),
    "an ending is unknown": (lambda game: setattr(game.result.seats[1], "ending", 99), "its result is not"),
    "another end": (result_of_another_end, "its result is not"),
    "there is no record": (lambda game: setattr(game, "record", b""), "it is not a record"),
    "the record is garbage": (lambda game: setattr(game, "record", b"x" * 9), "incorrect header"),
    "the record is cut": (lambda game: setattr(game, "record", game.record[:-5]), "it is not a record"),
    "the record has an end": (lambda game: setattr(game, "record", game.record + b"x"), "it is not a record"),
    "the record is a bomb": (
        lambda game: setattr(game, "record", zlib.compress(bytes(2**25))),
        "it is not a record of at most",
    ),
    "the record is a list": (lambda game: setattr(game, "record", pack("[]")), "not a JSON object"),
    "the record is deep": (lambda game: setattr(game, "record", pack("[" * 10**5)), "not JSON"),
    "the game is another": (lambda game: game.CopyFrom(OTHER), "its deal is another one"),
    "the game is smaller": (lambda game: game.CopyFrom(SMALLER), "bots: expected 2 names"),
    "cards change": (rewritten(lambda record: record["deal"]["box"].reverse()), "match 7: "),
    "a move is missing": (rewritten(lambda record: record["moves"].pop()), "the moves end before the game"),
    "a move is illegal": (rewritten(lambda record: record["moves"][0].update(move="pass")), "move 1"),
    "the outcome changes": (rewritten(lambda record: record["outcome"]["points"].reverse()), "outcome"),
    "a key is unknown": (rewritten(lambda record: record.update(x=1)), "record: unknown key 'x'"),
    "the bots have names": (rewritten(lambda record: record.update(bots=["a", "b", "c"])), "only the server"),
    "decisions are more": (lambda game: setattr(game, "decisions", game.decisions + 1), "its decisions are"),
    "too many were asked": (lambda game: setattr(game, "decisions_asked", 10**6), "its decisions are"),
}


async def check(report: pb.WorkRequest, *, now: float = NOW) -> None:
    """Check a report of a worker that plays match 7, which was set up at `NOW`."""
    policy = FailurePolicy()
    spec = MatchSpec(deal=DEAL, bots=("a", "b", "c"), bot_seeds=(1, 2, 3), time=TimeControl(), policy=policy)
    check_report(report, {7: OpenMatch(7, spec, created_at=NOW)}, now)


@pytest.mark.level(0)
@pytest.mark.parametrize(("forge", "problem"), FORGERIES.values(), ids=FORGERIES)
async def test_a_game_that_is_not_one_by_the_rules_is_refused(
    forge: Callable[[pb.FinishedMatch], object], problem: str
) -> None:
    game = played(7, DEAL, NOW)
    await check(pb.WorkRequest(finished=[game]))
    forge(game)
    with pytest.raises(FieldError) as caught:
        await check(pb.WorkRequest(finished=[game]))
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 300
    game.match_id = 8  # which it doesn't play any longer
    await check(pb.WorkRequest(finished=[game]))


@pytest.mark.level(0)
async def test_a_game_may_take_as_long_as_it_likes() -> None:
    week = 7 * 86400
    game = played(7, DEAL, NOW + week)
    game.started_at = NOW + 1
    begun = pb.OpenMatch(match_id=7, started_at=NOW + 1)
    await check(pb.WorkRequest(matches=[begun], finished=[game]), now=NOW + week)


@pytest.mark.level(0)
async def test_what_else_is_reported_can_be_true() -> None:
    """All that is shown, added up or stored: moments, counts, and what hosted bots have used."""
    late = tournament_pb.MatchIncident()
    late.time.FromSeconds(2**35)
    activity = tournament_pb.BotActivity(bot="a")
    activity.waiting_since.FromSeconds(5)
    for report, problem in (
        (
            pb.WorkRequest(matches=[pb.OpenMatch(match_id=7, started_at=1e308)]),
            "matches.started_at: 1e+308 is",
        ),
        (
            pb.WorkRequest(matches=[pb.OpenMatch(match_id=7, started_at=math.nan)]),
            "matches.started_at: nan is",
        ),
        (pb.WorkRequest(incidents=[pb.Incident(incident=late)]), "incidents.time: "),
        (pb.WorkRequest(bots=pb.Bots(activity=[activity])), "bots.waiting_since: 5 is not from"),
        (pb.WorkRequest(used=[Submission(cpu_time=Duration(seconds=10**10))]), "used: "),
        (pb.WorkRequest(used=[Submission(cpu_time=Duration(seconds=-1))]), "used: "),
        (pb.WorkRequest(used=[Submission(peak_memory_bytes=-1)]), "used: "),
    ):
        with pytest.raises(FieldError, match=problem.replace("+", r"\+")):
            await check(report)
    assert counters_of(b"{}") == Counters()
    for text in ("", "[]", '{"lag_counts": [1]}', '{"decisions": -1}', '{"restarts": {"a": -5}}'):
        with pytest.raises(FieldError, match="counters"):
            counters_of(text.encode())


async def given(call: WorkCall, count: int) -> list[tuple[int, Deal]]:
    """Return the next games that a worker is to play, with their deals."""
    games: list[tuple[int, Deal]] = []
    while len(games) < count:
        response = await call.read()
        assert isinstance(response, pb.WorkResponse)
        config = config_of(response.chunk.config) if response.HasField("chunk") else Config(players=2)
        games += [(game.match_id, Deal.shuffle(config, seed=game.deal_seed)) for game in response.chunk.games]
    return games


async def test_games_of_a_faulty_worker_are_played_elsewhere(tmp_path: Path) -> None:
    """It plays no more under its name; nothing that it said is stored or shown, and nothing is voided."""
    async with serving(tmp_path, clocks=Clocks(wall=lambda: NOW), **POLLED) as (_, channel):
        bots = [tournament_pb.BotActivity(bot=name, connected=True) for name in ("anna", "ben")]
        workers = [await work(channel) for _ in range(2)]
        for call in workers:
            await call.read()
            await call.write(pb.WorkRequest(bots=pb.Bots(activity=bots)))
        tournament_id = await begun(channel, "anna", "ben", rounds=1, begin_incomplete=True)
        reports = [asyncio.ensure_future(given(call, 2)) for call in workers]
        (first,), _ = await asyncio.wait(reports, return_when=asyncio.FIRST_COMPLETED)
        faulty, sound = workers if first is reports[0] else workers[::-1]
        games = [played(match_id, deal, NOW) for match_id, deal in first.result()]
        wrong = copy.deepcopy(games)
        wrong[1].started_at = 1e308
        await faulty.write(pb.WorkRequest(finished=wrong))
        ended = await end_of(faulty)
        assert (ended.status, ended.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
        assert "finished.started_at: 1e+308 is not from " in ended.text
        again = await (reports[1] if first is reports[0] else reports[0])
        assert {deal for _, deal in again} == {deal for _, deal in first.result()}
        await sound.write(pb.WorkRequest(finished=[played(number, deal, NOW) for number, deal in again]))
        last = await over(channel, tournament_id)
        assert (last.progress.games_finished, last.progress.games_voided) == (2, 0)
        listed = (await matches_at(channel).ListMatches()).matches
        assert sorted(one.match_id for one in listed) == sorted(number for number, _ in again)
        await tournaments_at(channel).ListTournaments()
        refused = await end_of(await work(channel))
        assert "hello.name: rack has reported what can't be true" in refused.text
        sound.cancel()
