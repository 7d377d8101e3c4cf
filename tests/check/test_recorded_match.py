"""Recorded matches: the messages of a seat are those that a server sent when the match was played."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.game.rules.ledger import Ledger

from happycity import Config, Deal, Ending, Mode
from happycity.records.random_games import movers_rng, record_random_game
from happycity.wire.match import result_of
from happycity.wire.messages import event_of, view_of
from happycity_check.recorded_match import RecordedMatch

CONFIGS = st.builds(Config, players=st.integers(2, 5), mode=st.sampled_from(Mode))


@given(config=CONFIGS, seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_decisions_follow_from_the_record(config: Config, seed: int) -> None:
    """Each has its position, the recorded move among its moves, and all events since the seat's last one."""
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
    assert [seat.points for seat in result_of(over.result)] == record["outcome"]["points"]

    # What the bot is asked now, it may answer; the forfeits of others stay.
    record = record_random_game(Deal.shuffle(Config(players=2), seed=1), movers_rng(1))
    record["endings"] = [Ending.TIMEOUT.value, Ending.CRASHED.value]
    record["reasons"] = ["", "IndexError"]
    results = result_of(RecordedMatch(7, record, bots=["ann", "bob"], seat=1).over().result)
    assert [(seat.ending, seat.reason) for seat in results] == [(Ending.TIMEOUT, ""), (Ending.FINISHED, "")]
