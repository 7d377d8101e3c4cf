"""The referee with a fake clock: whose time runs, what counts, what happens to a bot that errs."""

from __future__ import annotations

import math

import pytest

from happycity import Config, Deal
from happycity.records import dumps, loads, replay, without_measurements
from happycity.terms import FailurePolicy, Fallback, TimeControl
from happycity_server.referee import Ask, Effect, Finished, Note, NoteKind, Referee

DEAL = Deal.shuffle(Config(players=3), seed=5)


def new_referee(
    *, max_strikes: int = 3, fallback: Fallback = Fallback.NEUTRAL, margin_seconds: float = 0.0, **time: float
) -> Referee:
    """Return a referee without a margin, unless one is asked for: deadlines are then easy to read."""
    return Referee(
        DEAL,
        TimeControl(margin_seconds=margin_seconds, **time),  # type: ignore[arg-type]  # a test's short cut
        FailurePolicy(max_strikes=max_strikes, fallback=fallback),
    )


def asked(effects: list[Effect]) -> Ask:
    """Return the question among effects, of which there must be exactly one, at the end."""
    assert [isinstance(effect, Ask) for effect in effects].count(True) == 1
    ask = effects[-1]
    assert isinstance(ask, Ask)
    return ask


def notes(effects: list[Effect]) -> list[NoteKind]:
    return [effect.kind for effect in effects if isinstance(effect, Note)]


def play_to_end(referee: Referee, effects: list[Effect], now: float = 0.0) -> None:
    """Answer every question with the last legal move."""
    while not isinstance(effects[-1], Finished):
        ask = asked(effects)
        index = len(referee.game.legal_moves) - 1
        effects = referee.answer(ask.seat, ask.decision_id, index, now)


def test_first_question_goes_to_the_seat_to_decide() -> None:
    """A started game asks its first decision, number 1, and its clock runs."""
    referee = new_referee()
    assert referee.start(100.0) == [Ask(seat=0, decision_id=1)]
    assert referee.deadline == 110.0


def test_answer_is_applied_and_the_next_decision_asked() -> None:
    """A legal answer is played, its time measured, and decisions count up."""
    referee = new_referee()
    referee.start(0.0)
    move = referee.game.legal_moves[1]
    effects = referee.answer(0, 1, 1, 2.5)
    assert referee.recorder.moves == [(0, move)]
    assert asked(effects).decision_id == 2
    assert referee.think_seconds[0] == 2.5


def test_a_game_without_errors_finishes_and_its_record_replays() -> None:
    """All seats finish, places are the outcome's, and the record holds."""
    referee = new_referee()
    play_to_end(referee, referee.start(0.0))
    outcome = replay(loads(dumps(referee.record()))).outcome
    assert outcome is not None
    assert referee.endings == ["finished"] * 3
    assert referee.places == outcome.ranks
    assert referee.deadline is None


@pytest.mark.parametrize("index", [-1, 99])
def test_illegal_answer_costs_a_strike_and_the_neutral_move_is_played(index: int) -> None:
    """An index outside the legal moves is told to the bot and replaced."""
    referee = new_referee()
    referee.start(0.0)
    neutral = referee.game.legal_moves[0]
    effects = referee.answer(0, 1, index, 1.0)
    assert notes(effects) == [NoteKind.ILLEGAL_ANSWER]
    assert referee.recorder.moves == [(0, neutral)]
    assert referee.endings[0] == "finished"


def test_deadline_passes_only_when_its_time_has_come() -> None:
    """A tick before the deadline does nothing, one at it plays the neutral move with a strike."""
    referee = new_referee()
    referee.start(0.0)
    assert referee.tick(9.99) == []
    effects = referee.tick(10.0)
    assert notes(effects) == [NoteKind.TIMEOUT]
    assert asked(effects).decision_id == 2
    assert referee.deadline == 20.0


def test_no_clock_means_no_deadline() -> None:
    """Without a clock a decision never counts as late, whatever the bank says."""
    referee = new_referee(no_clock=True, bank_seconds=1.0)
    referee.start(0.0)
    referee.flushed(1, 5.0)
    assert referee.deadline is None
    assert referee.tick(1e9) == []


@pytest.mark.parametrize(("index", "ending"), [(None, "forfeit:timeout"), (99, "forfeit:illegal")])
def test_one_strike_too_many_forfeits_the_seat(index: int | None, ending: str) -> None:
    """The seat plays neutral moves to the end without being asked, and ranks last."""
    referee = new_referee(max_strikes=1)
    now = 0.0
    effects = referee.start(now)
    strikes = 0
    while not isinstance(effects[-1], Finished):
        ask = asked(effects)
        if ask.seat != 0:
            effects = referee.answer(ask.seat, ask.decision_id, 0, now)
            continue
        strikes += 1
        assert referee.deadline is not None
        if index is None:
            now = referee.deadline
            effects = referee.tick(now)
        else:
            effects = referee.answer(0, ask.decision_id, index, now)
    assert strikes == 2
    assert referee.endings == [ending, "finished", "finished"]
    assert referee.places[0] == 3
    replay(referee.record())


def test_repeated_answer_is_ignored_silently() -> None:
    """The same answer sent twice counts once and nobody is bothered."""
    referee = new_referee()
    referee.start(0.0)
    referee.answer(0, 1, 0, 1.0)
    played = len(referee.recorder.moves)
    assert referee.answer(0, 1, 0, 1.1) == []
    assert len(referee.recorder.moves) == played


def test_late_answer_earns_a_notice_and_changes_nothing() -> None:
    """An answer to a decision that the clock settled is too late."""
    referee = new_referee()
    referee.start(0.0)
    referee.tick(10.0)
    played = len(referee.recorder.moves)
    assert notes(referee.answer(0, 1, 1, 10.5)) == [NoteKind.LATE_ANSWER]
    assert len(referee.recorder.moves) == played


def test_answer_from_another_seat_does_not_count() -> None:
    """Only the seat that was asked may answer, and only what it was asked."""
    referee = new_referee()
    referee.start(0.0)
    assert notes(referee.answer(1, 1, 0, 1.0)) == [NoteKind.UNKNOWN_DECISION]
    assert notes(referee.answer(0, 2, 0, 1.0)) == [NoteKind.UNKNOWN_DECISION]
    assert referee.recorder.moves == []


def test_forfeit_at_its_own_decision_goes_on_at_once() -> None:
    """When the seat that is asked leaves, the next one is asked without waiting."""
    referee = new_referee()
    effects = referee.start(0.0)
    effects = referee.forfeit(0, "disconnected", 1.0)
    assert notes(effects) == [NoteKind.FORFEIT]
    assert asked(effects).seat == 1
    play_to_end(referee, effects)
    assert referee.endings[0] == "forfeit:disconnected"


def test_forfeit_of_another_seat_leaves_the_open_decision_alone() -> None:
    """The seat that thinks keeps its decision and its clock."""
    referee = new_referee()
    referee.start(0.0)
    effects = referee.forfeit(2, "resigned", 1.0)
    assert notes(effects) == [NoteKind.FORFEIT]
    assert referee.decision_id == 1
    assert referee.deadline == 10.0


def test_forfeit_counts_once() -> None:
    """A second reason to forfeit changes nothing."""
    referee = new_referee()
    referee.start(0.0)
    referee.forfeit(0, "resigned", 1.0)
    assert referee.forfeit(0, "disconnected", 2.0) == []
    assert referee.endings[0] == "forfeit:resigned"


def test_game_of_absent_bots_ends_by_itself() -> None:
    """With nobody there the game plays neutral moves to its end and all share the last place."""
    referee = new_referee()
    for seat in range(3):
        referee.forfeit(seat, "absent", 0.0)
    assert referee.start(0.0) == [Finished()]
    assert referee.places == (1, 1, 1)
    assert referee.endings == ["forfeit:absent"] * 3


def test_events_cover_the_whole_game_once() -> None:
    """What every move brought about is handed out, absent seats' moves included, and not twice."""
    referee = new_referee()
    referee.forfeit(1, "absent", 0.0)
    play_to_end(referee, referee.start(0.0))
    rounds = [event.amount for event in referee.take_events() if event.kind.name == "ROUND"]
    assert rounds == list(range(1, referee.game.round + 1))
    assert referee.take_events() == []


# Clocks --------------------------------------------------------------------------------------------------


def test_margin_is_part_of_the_deadline() -> None:
    """The answer may be late by the margin; the bot is told the limit without it."""
    referee = new_referee(margin_seconds=0.5)
    referee.start(0.0)
    assert referee.limit == 10.0
    assert referee.time_left(4.0) == 6.0
    assert referee.tick(10.4) == []
    assert notes(referee.tick(10.5)) == [NoteKind.TIMEOUT]


def test_clock_starts_when_the_decision_is_flushed() -> None:
    """Time in the server's outbox is nobody's; from the flush on it is the bot's."""
    referee = new_referee()
    referee.start(0.0)
    referee.flushed(1, 7.0)
    assert referee.deadline == 17.0
    referee.answer(0, 1, 0, 9.0)
    assert referee.think_seconds[0] == 2.0


def test_decision_that_is_never_flushed_is_late_all_the_same() -> None:
    """A bot that doesn't read its stream gains nothing by that."""
    referee = new_referee()
    referee.start(0.0)
    assert notes(referee.tick(10.0)) == [NoteKind.TIMEOUT]


def test_only_the_first_flush_of_the_open_decision_counts() -> None:
    """Sending a decision again starts no clock, nor does sending one that is settled."""
    referee = new_referee()
    referee.start(0.0)
    referee.flushed(1, 1.0)
    referee.flushed(1, 5.0)
    assert referee.deadline == 11.0
    referee.answer(0, 1, 0, 6.0)
    referee.flushed(1, 9.0)
    assert referee.deadline == 16.0


def test_bank_shrinks_by_what_was_thought_beyond_the_margin() -> None:
    """Quick answers are free; a slow one is charged; the increment comes before each decision."""
    referee = new_referee(bank_seconds=5.0, increment_seconds=1.0, margin_seconds=0.5)
    referee.start(0.0)
    assert referee.bank[0] == referee.limit == 6.0
    assert referee.deadline == 6.5
    referee.answer(0, 1, 0, 0.4)
    assert referee.game.seat == 0  # it is asked again, about what it drew
    assert referee.bank[0] == referee.limit == 7.0
    referee.answer(0, 2, 0, 3.4)
    assert referee.game.seat == 0  # and again, about what it buys
    assert referee.bank == [4.5 + 1.0, 5.0, 5.0]


def test_empty_bank_makes_a_decision_late() -> None:
    """The bank limits a decision where it holds less than the decision's own limit; each seat has one."""
    referee = new_referee(decision_seconds=4.0, bank_seconds=5.0)
    referee.start(0.0)
    assert referee.limit == 4.0
    referee.answer(0, 1, 0, 3.0)
    assert referee.game.seat == 0
    assert referee.limit == 2.0
    assert notes(referee.tick(5.0)) == [NoteKind.TIMEOUT]
    assert referee.bank == [0.0, 5.0, 5.0]
    assert referee.limit == (4.0 if referee.game.seat else 0.0)


def test_think_times_are_recorded_by_decision() -> None:
    """The record tells each decision's microseconds, and 0 where nobody was asked."""
    referee = new_referee()
    referee.start(0.0)
    referee.answer(0, 1, 0, 0.25)
    seat = referee.game.seat
    play_to_end(referee, referee.forfeit(seat, "resigned", 1.25), 1.25)
    times = referee.record(round_trip_us=[300, 0, 0])["clock"]
    assert times["round_trip_us"] == [300, 0, 0]
    assert times["think_us"][:2] == [250_000, 1_000_000]
    assert set(times["think_us"][2:]) == {0}
    assert len(times["think_us"]) == len(referee.recorder.moves)
    replay(loads(dumps(referee.record())))


# Fallbacks -----------------------------------------------------------------------------------------------


def test_random_fallback_is_the_same_for_the_same_decision() -> None:
    """Chance plays for a bot that doesn't choose, but no two games of one deal differ by it."""
    records = []
    for _ in range(2):
        referee = new_referee(fallback=Fallback.RANDOM)
        for seat in range(3):
            referee.forfeit(seat, "absent", 0.0)
        assert referee.start(0.0) == [Finished()]
        records.append(referee.record())
    assert records[0] == records[1]
    neutral = new_referee()
    for seat in range(3):
        neutral.forfeit(seat, "absent", 0.0)
    neutral.start(0.0)
    assert neutral.record()["moves"] != records[0]["moves"]


def test_strike_says_what_the_fallback_played() -> None:
    """The notice names the move that was played."""
    referee = new_referee(fallback=Fallback.RANDOM)
    referee.start(0.0)
    note = referee.answer(0, 1, 99, 1.0)[0]
    assert isinstance(note, Note)
    assert note.text.endswith(f"played {referee.recorder.moves[0][1]}")


# Metrics


def test_metrics_of_an_answer_are_recorded() -> None:
    """What a bot tells of a choice stands at the record's end, and is no part of the game."""
    referee = new_referee()
    referee.start(0.0)
    effects = referee.answer(0, 1, 1, 0.0, {"nodes": 1200.0, "depth": 3.0, "value": -0.5})
    assert notes(effects) == []
    play_to_end(referee, effects)
    record = referee.record()
    assert record["metrics"] == [{"decision": 1, "told": {"depth": 3, "nodes": 1200, "value": -0.5}}]
    assert list(record)[-2:] == ["clock", "metrics"]
    assert set(record) - set(without_measurements(record)) == {"clock", "metrics"}
    replay(loads(dumps(record)))


def test_metrics_beyond_the_limits_cost_a_notice_and_nothing_else() -> None:
    """Names and numbers that can't be kept are dropped; the seat is told once in a game, without a strike."""
    referee = new_referee()
    told = {**{f"m{number:02}": 1.0 for number in range(20)}, "no name": 1.0, "n" * 33: 1.0, "nan": math.nan}
    effects = referee.start(0.0)
    noticed = []
    while not isinstance(effects[-1], Finished):
        ask = asked(effects)
        effects = referee.answer(ask.seat, ask.decision_id, 0, 0.0, told)
        noticed += [effect for effect in effects if isinstance(effect, Note)]
    assert {note.kind for note in noticed} == {NoteKind.METRICS_DROPPED}
    assert sorted(note.seat for note in noticed) == sorted(range(len(referee.endings)))
    assert "7 of 23 metrics are not kept" in noticed[0].text
    assert set(referee.endings) == {"finished"}
    for entry in referee.record()["metrics"]:
        assert list(entry["told"]) == [f"m{number:02}" for number in range(16)]


def test_metrics_of_answers_that_do_not_count_are_not_kept() -> None:
    """Neither a second answer nor an illegal one leaves anything."""
    referee = new_referee()
    effects = referee.start(0.0)
    referee.answer(0, 1, 99, 0.0, {"depth": 1.0})
    referee.answer(0, 1, 0, 0.0, {"depth": 2.0})
    ask = Ask(referee.game.seat, referee.decision_id)
    effects = referee.answer(ask.seat, ask.decision_id, 0, 0.0)
    play_to_end(referee, effects)
    assert "metrics" not in referee.record()
