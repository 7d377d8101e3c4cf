"""Matches that bots are checked with, by a script or from a record, and the server that sends them."""

import asyncio
import random

import grpc
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.game.rules.ledger import Ledger
from tests.waiting import LIMIT

from happycity import Config, Deal, Ending, Mode, SeatResult, VoidReason
from happycity.records.random_games import movers_rng, record_random_game
from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire.decisions import DecisionEncoder
from happycity.wire.match import outcome_of
from happycity.wire.messages import event_of, view_of
from happycity_check.recorded_match import RecordedMatch
from happycity_check.scripted_match import ScriptedMatch
from happycity_check.scripted_server import ScriptedServer

CONFIGS = st.builds(Config, players=st.integers(3, 5), mode=st.sampled_from(Mode))
SEATS = st.sampled_from([(0,), (2,), (0, 2), (1, 2), (0, 1, 2)])


@given(config=CONFIGS, seed=st.integers(0, 10**6), seats=SEATS)
@settings(max_examples=25)
def test_decisions_are_those_of_a_server(config: Config, seed: int, seats: tuple[int, ...]) -> None:
    rng = random.Random(seed)
    match = ScriptedMatch(7, config, seed=seed, seats=seats, time_left=3.0)
    ledgers = {seat: Ledger(Deal.shuffle(config, seed=seed)) for seat in seats}
    encoder = DecisionEncoder(7, config)
    number = 0
    while not match.is_over:
        decision = match.decision()
        seat = decision.view.seat
        assert seat in seats
        assert decision.decision_id > number
        number = decision.decision_id
        events = [*map(event_of, decision.events)]
        ledgers[seat].enter(events)
        ledgers[seat].check(view_of(decision.view))
        part = encoder.decision(
            match.game, decision_id=number, events=[encoder.events(events)], time_left_us=3_000_000
        )
        assert play.PlayResponse.FromString(part) == play.PlayResponse(decisions=[decision])
        match.answer(rng.randrange(len(decision.moves)))


def test_each_seat_starts_with_its_own_seed() -> None:
    """One message a seat, which say who sits where."""
    match = ScriptedMatch(7, Config(players=4), seed=2**64 - 1, seats=(0, 2))
    first, second = match.started()
    assert (first.seat, second.seat) == (0, 2)
    assert first.seed == 2**64 - 1
    assert second.seed != first.seed
    assert list(first.bots) == list(second.bots) == ["bot", "other1", "bot", "other3"]


def results_of(over: play.GameOver) -> tuple[SeatResult, ...]:
    outcome = outcome_of(over.outcome)
    assert not isinstance(outcome, VoidReason)
    return outcome


def test_how_a_match_ends() -> None:
    # The result is that of the rules.
    match = ScriptedMatch(7, Config(), seed=1)
    while not match.is_over:
        match.answer(0)
    results = results_of(match.over())
    assert {result.ending for result in results} == {Ending.FINISHED}
    assert match.game.outcome is not None
    assert tuple(result.place for result in results) == match.game.outcome.ranks

    # They share the last place, and the reason says why.
    match = ScriptedMatch(7, Config(), seed=1, seats=(1, 3))
    results = results_of(match.over())
    assert [result.ending for result in results] == [Ending.FINISHED, Ending.TIMEOUT] * 2
    assert [result.place for result in results if result.forfeited] == [3, 3]
    assert [bool(result.reason) for result in results] == [result.forfeited for result in results]

    # Every reason of the contract can be sent.
    for reason in match_pb2.VoidReason.values()[1:]:
        over = ScriptedMatch(7, Config(), seed=1).voided(reason)
        assert over.outcome.WhichOneof("end") == "void_reason"
        assert isinstance(outcome_of(over.outcome), VoidReason)


@given(config=CONFIGS, seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_decisions_follow_from_the_record(config: Config, seed: int) -> None:
    deal = Deal.shuffle(config, seed=seed)
    record = record_random_game(deal, movers_rng(seed))
    seat = random.Random(seed).randrange(config.players)
    match = RecordedMatch(7, record, bots=["bot"] * config.players, seat=seat, bot_seed=2**63)
    ledger, last = Ledger(deal), 0
    for number, line in enumerate(record["moves"], start=1):
        if line["seat"] != seat:
            continue
        decision = match.decision(number, after=last)
        assert (decision.match_id, decision.decision_id, decision.view.seat) == (7, number, seat)
        assert not decision.clock.HasField("time_left_us")
        ledger.enter([*map(event_of, decision.events)])
        ledger.check(view_of(decision.view))
        last = number


def test_start_and_end_are_those_of_the_record() -> None:
    # The bot gets its seat, its seed and the bots' names, and at last the result.
    record = record_random_game(Deal.shuffle(Config(players=2), seed=1), movers_rng(1))
    match = RecordedMatch(7, record, bots=["ann", "bob"], seat=1, bot_seed=2**63)
    started, over = match.started(), match.over()
    assert (started.match_id, started.seat, started.seed) == (7, 1, 2**63)
    assert list(started.bots) == ["ann", "bob"]
    assert [seat.points for seat in results_of(over)] == record["outcome"]["points"]

    # What the bot is asked now, it may answer; the forfeits of others stay.
    record = record_random_game(Deal.shuffle(Config(players=2), seed=1), movers_rng(1))
    record["endings"] = [Ending.TIMEOUT.value, Ending.CRASHED.value]
    record["reasons"] = ["", "IndexError"]
    results = results_of(RecordedMatch(7, record, bots=["ann", "bob"], seat=1).over())
    assert [(seat.ending, seat.reason) for seat in results] == [(Ending.TIMEOUT, ""), (Ending.FINISHED, "")]


async def test_messages_that_are_sent_at_the_same_time_all_arrive() -> None:
    """A ping that is due while a batch is being written takes nothing away from it."""
    nonces = [*range(1, 101)]
    async with ScriptedServer.listening() as server, grpc.aio.insecure_channel(server.address) as channel:
        call = PlayServiceStub(channel).Play()
        stream = await server.accept(LIMIT)
        pings = [play.PlayResponse(ping=play.Ping(nonce=nonce)) for nonce in nonces]
        await asyncio.gather(*map(stream.send, pings))
        stream.end()
        assert [response.ping.nonce async for response in call] == nonces
