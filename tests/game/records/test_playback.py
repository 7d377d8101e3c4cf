"""A game to look at, from its record or from the messages of a watch."""

from dataclasses import replace

import pytest
from tests.game.records.test_records import PLAIN, SERVED
from tests.game.rules.test_golden import GAMES

from happycity import Game, HappyCityError, Incident, IncidentKind, Move, Phase, VoidReason
from happycity.errors import RecordError
from happycity.match import seat_results
from happycity.records.playback import Playback
from happycity.records.record import Json, incident_json
from happycity.records.replay import check_whole, choosers_of, deal_of, results_of
from happycity.v1 import match_service_pb2 as pb
from happycity.wire.match import outcome_message
from happycity.wire.watch import add_to_playback, end_message, step_message

LATE = Incident(4, PLAIN["moves"][3]["seat"], IncidentKind.TIMEOUT, "no answer in 10 s")
ABSENT = Incident(0, 1, IncidentKind.FORFEIT, "it never connected")
RECORD: Json = {**SERVED, "incidents": [incident_json(ABSENT), incident_json(LATE)]}


def watched(record: Json) -> Playback:
    """Return a game as a watcher of its match gets it from a server."""
    shown, playback = Playback.of_record(record), Playback()
    for decisions in range(len(shown.steps)):
        add_to_playback(playback, step_message(shown, decisions))
    add_to_playback(playback, end_message(shown, decisions=shown.decisions))
    return playback


@pytest.mark.parametrize("name", ["players_2", "expert_4"])
def test_each_decision_has_its_position_and_its_move(name: str) -> None:
    record = GAMES[name].record
    playback = Playback.of_record(record)
    game = Game(deal_of(record))
    assert len(playback.steps) == len(record["moves"]) + 1
    for number, (step, line) in enumerate(zip(playback.steps, record["moves"], strict=False), start=1):
        assert (step.decision_id, step.view, step.events) == (number, game.view(), game.events)
        assert step.options == tuple((move, game.coin_change(move)) for move in game.legal_moves)
        assert step.move is Move.parse(line["move"])
        game.apply(step.move)
    last = playback.steps[-1]
    assert (last.is_last, last.move, last.view.phase, last.events) == (True, None, Phase.OVER, game.events)
    assert game.outcome is not None
    assert playback.results == seat_results(game.outcome)


def test_a_decision_has_what_is_known_of_the_bot() -> None:
    """Think times, numbers and incidents stand at their decisions; what went wrong before at the first."""
    playback = Playback.of_record(RECORD, bots=["ann", "bob", "cem"], match_id=7)
    first, fourth = playback.steps[0], playback.steps[3]
    assert (first.think_seconds, first.metrics, first.incidents) == (5e-6, {"depth": 3}, (ABSENT,))
    assert (fourth.metrics, fourth.incidents) == ({"share": 0.5, "nodes": 1200}, (LATE,))
    assert playback.timed
    assert playback.results == results_of(RECORD)
    assert [playback.name(seat) for seat in (0, 2)] == ["ann", "cem"]


def test_a_move_has_who_chose_it_in_the_place_of_its_player() -> None:
    """A record names it at the move; watchers, viewers and the analysis have the same."""
    moves = [
        {**line, "by": "quick"} if number in (3, 4) else line for number, line in enumerate(PLAIN["moves"])
    ]
    record: Json = {**PLAIN, "moves": moves}
    assert choosers_of(record) == {4: "quick", 5: "quick"}
    assert choosers_of(PLAIN) == {}
    for playback in (Playback.of_record(record), watched(record)):
        chosen = [step.decision_id for step in playback.steps if step.chosen_by]
        assert (chosen, playback.steps[3].chosen_by) == ([4, 5], "quick")
    check_whole(record)
    for wrong in ("", 5, "two\nlines", "x" * 65, None):
        with pytest.raises(RecordError, match=r"^move 1: by: "):
            choosers_of({**PLAIN, "moves": [{**PLAIN["moves"][0], "by": wrong}]})


def test_what_has_no_time_or_name() -> None:
    # Records that no server wrote have neither times nor names.
    playback = Playback.of_record(PLAIN)
    assert not playback.timed
    assert {step.think_seconds for step in playback.steps} == {None}
    assert playback.name(1) == "seat 2"

    # The clock of a record has 0 where the fallback played alone.
    times = [0, *[5] * (len(PLAIN["moves"]) - 1)]
    playback = Playback.of_record({**RECORD, "clock": {"think_us": times, "round_trip_us": [0, 0, 0]}})
    assert [step.think_seconds for step in playback.steps[:2]] == [None, 5e-6]


@pytest.mark.parametrize("record", [GAMES["players_3"].record, GAMES["expert_5"].record, RECORD])
def test_a_watched_match_is_the_same_game(record: Json) -> None:
    """The messages of a watch make the record's playback, with the bots' numbers and incidents."""
    assert watched(record) == Playback.of_record(record)


def test_a_match_in_progress_ends_with_an_open_decision() -> None:
    record = GAMES["players_2"].record
    full, playback = Playback.of_record(record), Playback()
    for step in full.steps[:3]:
        playback.add_position(step.view, step.events)
        if step is not full.steps[2]:
            assert step.move is not None
            playback.answer(step.move)
    assert playback.steps == [*full.steps[:2], replace(full.steps[2], move=None)]


def test_messages_of_a_watch() -> None:
    # It has no result.
    playback = Playback()
    end = pb.MatchEnd(outcome=outcome_message(VoidReason.SHUTDOWN))
    add_to_playback(playback, pb.WatchMatchResponse(end=end))
    assert (playback.void_reason, playback.results) == (VoidReason.SHUTDOWN, ())

    # A card or move that this version doesn't know ends the watch by an error.
    step = pb.MatchStep()
    step.view.CopyFrom(pb.MatchStep().view)
    step.view.phase = 99  # type: ignore[assignment]  # that of a newer server
    with pytest.raises(HappyCityError):
        add_to_playback(Playback(), pb.WatchMatchResponse(step=step))
