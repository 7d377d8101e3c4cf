"""The referee with a fake clock: whose time runs, what counts, what happens to a bot that fails."""

from __future__ import annotations

import math
from typing import Any

import pytest

from happycity import (
    Config,
    Deal,
    Ending,
    FailurePolicy,
    Fallback,
    Game,
    Incident,
    IncidentKind,
    SeatResult,
    TimeControl,
)
from happycity.records.record import dumps, loads
from happycity.records.replay import incidents_of, replay
from happycity_server.play.clock import Sending
from happycity_server.play.referee import (
    Action,
    AskSeat,
    GameFinished,
    MovePlayed,
    NoteKind,
    Notify,
    Referee,
)

DEAL = Deal.shuffle(Config(players=3), seed=5)


def new_referee(
    *,
    max_strikes: int = 3,
    fallback: Fallback = Fallback.NEUTRAL,
    margin_seconds: float = 0.0,
    **time: Any,
) -> Referee:
    """Return a referee without a margin by default, so that deadlines are easy to read."""
    return Referee(
        DEAL,
        TimeControl(margin_seconds=margin_seconds, **time),
        FailurePolicy(max_strikes=max_strikes, fallback=fallback),
    )


def asked(actions: list[Action]) -> AskSeat:
    """Return the question among actions: there is exactly one, at the end."""
    *others, ask = actions
    assert isinstance(ask, AskSeat)
    assert not any(isinstance(action, AskSeat) for action in others)
    return ask


def fields_of(action: Action) -> tuple[object, ...]:
    """Return the fields of a move that was played, or of a question, in the order of their declaration."""
    if isinstance(action, MovePlayed):
        return action.seat, action.move, action.events, action.answered
    assert isinstance(action, AskSeat)
    times = action.time_left_us, action.bank_left_us, action.last_think_us
    return action.seat, action.decision_id, *times


def send(referee: Referee, now: float) -> None:
    """Send the open decision to its bot."""
    sending = Sending()
    referee.queued(sending)
    sending.time = now


def moves_played(actions: list[Action]) -> list[MovePlayed]:
    return [action for action in actions if isinstance(action, MovePlayed)]


def notes(actions: list[Action]) -> list[NoteKind]:
    return [action.kind for action in actions if isinstance(action, Notify)]


def play_to_end(referee: Referee, actions: list[Action], now: float = 0.0) -> list[Action]:
    """Answer every question with the last legal move; return all actions."""
    everything = list(actions)
    while not isinstance(actions[-1], GameFinished):
        ask = asked(actions)
        actions = referee.answer(ask.seat, ask.decision_id, len(referee.game.legal_moves) - 1, now)
        everything += actions
    return everything


def seats(actions: list[Action]) -> tuple[SeatResult, ...]:
    """Return the results with which a game has finished."""
    finished = actions[-1]
    assert isinstance(finished, GameFinished)
    return finished.seats


def test_game_is_started_and_goes_on_with_the_answer() -> None:
    """Actions have the set-up or the move, what it brought about, and the next question; the clock runs."""
    referee, game = new_referee(), Game(DEAL)
    set_up, ask = referee.start(100.0)
    assert fields_of(set_up) == (-1, None, game.events, False)
    assert fields_of(ask) == (0, 1, 10_000_000, None, None)
    assert referee.deadline == 110.0
    move = referee.game.legal_moves[1]
    played, ask = referee.answer(0, 1, 1, 102.5)
    game.apply(move)
    assert fields_of(played) == (0, move, game.events, True)
    assert fields_of(ask) == (0, 2, 10_000_000, None, 2_500_000)
    assert list(referee.moves) == [(0, move)]


def test_a_game_without_errors_finishes_and_its_record_replays() -> None:
    """All seats finish, places are the ranks of the rules, and the record holds, without incidents."""
    referee = new_referee()
    results = seats(play_to_end(referee, referee.start(0.0)))
    outcome = replay(loads(dumps(referee.record()))).outcome
    assert outcome is not None
    assert {(seat.ending, seat.reason) for seat in results} == {(Ending.FINISHED, "")}
    assert tuple(seat.place for seat in results) == tuple(seat.rank for seat in results) == outcome.ranks
    assert referee.deadline is None
    assert "incidents" not in referee.record()


@pytest.mark.parametrize("index", [-1, 3, 99])
def test_illegal_answer_costs_a_strike_and_the_neutral_move_is_played(index: int) -> None:
    """An index outside the legal moves is replaced by the first of them; a notice names what was played."""
    referee = new_referee()
    referee.start(0.0)
    assert len(referee.game.legal_moves) == 3
    neutral = referee.game.legal_moves[0]
    played, note, _ = referee.answer(0, 1, index, 1.0)
    assert isinstance(played, MovePlayed)
    assert fields_of(played) == (0, neutral, played.events, False)
    assert isinstance(note, Notify)
    assert (note.seat, note.kind, note.decision_id) == (0, NoteKind.ILLEGAL_ANSWER, 1)
    assert "strike 1, 3 are allowed" in note.text
    assert note.text.endswith(f"played {neutral}")
    assert referee.endings[0] is Ending.FINISHED


@pytest.mark.parametrize(
    ("late", "text"),
    [(0.25, "your answer came 0.25 s too late and was ignored"), (0.001, "your answer came 0.01 s too late")],
)
def test_late_answer_is_said_to_be_late_by_the_limit(late: float, text: str) -> None:
    """The notice counts from the limit that the bot knows, not from the end of the margin."""
    referee = new_referee(margin_seconds=0.02)
    referee.start(0.0)
    referee.tick(10.02)
    (note,) = referee.answer(0, 1, 1, 10.0 + late)
    assert isinstance(note, Notify)
    assert note.kind is NoteKind.LATE_ANSWER
    assert note.text.startswith(text)
    assert len(referee.moves) == 1


def test_second_answers_change_nothing() -> None:
    """The same answer sent again is ignored silently; one after an illegal one isn't late, and not kept."""
    referee = new_referee()
    referee.start(0.0)
    referee.answer(0, 1, 0, 1.0)
    assert referee.answer(0, 1, 0, 1.1) == []
    actions = referee.answer(0, 2, 999, 1.2, {"depth": 1.0})
    (note,) = referee.answer(0, 2, 0, 1.3, {"depth": 2.0})
    assert isinstance(note, Notify)
    assert note.text == "your answer was ignored: the decision was settled before it came"
    assert len(referee.moves) == 2
    play_to_end(referee, actions)
    assert "metrics" not in referee.record()


def test_round_of_each_decision() -> None:
    """A decision's round is the game's when it was asked; there is none without a decision."""
    referee = new_referee(decision_seconds=1.0)
    now, rounds = 0.0, [0]
    actions = referee.start(now)
    while not isinstance(actions[-1], GameFinished):
        rounds.append(referee.game.round)
        now += 0.5
        actions = referee.answer(referee.game.seat, referee.decision_id, 0, now)
    assert rounds[-1] > 1
    assert [referee.round_of(decision_id) for decision_id in range(len(rounds))] == rounds
    assert referee.round_of(len(rounds)) == 0


def test_only_the_seat_that_is_asked_may_answer() -> None:
    """Answers of another seat, and to a decision that has not been asked, change nothing."""
    referee = new_referee()
    referee.start(0.0)
    assert notes(referee.answer(1, 1, 0, 1.0)) == [NoteKind.UNKNOWN_DECISION]
    assert notes(referee.answer(0, 2, 0, 1.0)) == [NoteKind.UNKNOWN_DECISION]
    assert not referee.moves
    referee.answer(0, 1, 0, 1.0)
    assert notes(referee.answer(1, 1, 0, 1.0)) == [NoteKind.UNKNOWN_DECISION]


@pytest.mark.parametrize(
    ("index", "ending", "reason"),
    [
        (None, Ending.TIMEOUT, "no answer within 10 s"),
        (99, Ending.ILLEGAL, "answers that are no legal moves, such as 99"),
    ],
)
def test_one_strike_too_many_forfeits_the_seat(index: int | None, ending: Ending, reason: str) -> None:
    """The seat plays neutral moves to the end without being asked, ranks last, and the result says why."""
    referee = new_referee(max_strikes=1)
    now, strikes = 0.0, 0
    actions = referee.start(now)
    while not isinstance(actions[-1], GameFinished):
        ask = asked(actions)
        if ask.seat != 0:
            actions = referee.answer(ask.seat, ask.decision_id, 0, now)
            continue
        strikes += 1
        if index is None:
            assert referee.deadline is not None
            now = referee.deadline
            actions = referee.tick(now)
        else:
            actions = referee.answer(0, ask.decision_id, index, now)
    results = seats(actions)
    assert strikes == 2
    assert [seat.ending for seat in results] == [ending, Ending.FINISHED, Ending.FINISHED]
    assert (results[0].place, results[0].reason) == (3, reason)
    replay(referee.record())


def test_forfeit_at_its_own_decision_continues_at_once() -> None:
    """When the seat that is asked leaves, the fallback settles its decision and the next seat is asked."""
    referee = new_referee()
    referee.start(0.0)
    actions = referee.forfeit(0, Ending.DISCONNECTED, 1.0, reason="away\tfor 5 s\n" + "x" * 300)
    assert notes(actions) == [NoteKind.FORFEIT]
    assert {played.seat for played in moves_played(actions)} == {0}
    assert asked(actions).seat == 1
    first = seats(play_to_end(referee, actions))[0]
    assert first.ending is Ending.DISCONNECTED
    assert first.reason.startswith("away for 5 s xxx")
    assert len(first.reason) == 200


def test_forfeit_of_another_seat_leaves_the_open_decision_alone() -> None:
    """The seat that thinks keeps its decision and its clock."""
    referee = new_referee()
    referee.start(0.0)
    (note,) = referee.forfeit(2, Ending.RESIGNED, 1.0)
    text = "the seat is forfeited: resigned"
    incident = Incident(1, 2, IncidentKind.FORFEIT, text)
    assert note == Notify(2, NoteKind.FORFEIT, 1, text, incident)
    assert (referee.decision_id, referee.deadline) == (1, 10.0)


def test_forfeit_counts_once() -> None:
    """A second forfeit of a seat changes nothing, its reason included."""
    referee = new_referee()
    actions = referee.start(0.0)
    actions = referee.forfeit(0, Ending.CRASHED, 1.0, reason="ValueError: 7")
    assert referee.forfeit(0, Ending.DISCONNECTED, 2.0, reason="gone") == []
    first = seats(play_to_end(referee, actions))[0]
    assert (first.ending, first.reason) == (Ending.CRASHED, "ValueError: 7")
    assert referee.record()["reasons"] == ["ValueError: 7", "", ""]


def test_game_of_absent_bots_ends_by_itself() -> None:
    """Without bots the game plays neutral moves to its end, and all seats share the last place."""
    referee = new_referee()
    for seat in range(3):
        referee.forfeit(seat, Ending.ABSENT, 0.0)
    results = seats(referee.start(0.0))
    assert [(seat.place, seat.ending) for seat in results] == [(1, Ending.ABSENT)] * 3


def test_record_has_what_went_wrong() -> None:
    """Late and illegal answers and forfeits are kept with decision, seat and the text of the notice."""
    referee = new_referee(max_strikes=1)
    first = referee.game.neutral_move
    referee.start(0.0)
    referee.tick(10.0)
    second, last = referee.game.neutral_move, len(referee.game.legal_moves) - 1
    actions = referee.answer(0, 2, 77, 11.0)
    referee.forfeit(2, Ending.CRASHED, 12.0, reason="ValueError: 7 (mine.py:3)")
    play_to_end(referee, actions, 12.0)
    late = f"no answer within 10 s: strike 1, 1 are allowed; played {first}"
    illegal = f"answered 77, but the legal moves are 0 to {last}: strike 2, 1 are allowed; played {second}"
    out = "the seat is forfeited: illegal: answers that are no legal moves, such as 77"
    crashed = "the seat is forfeited: crashed: ValueError: 7 (mine.py:3)"
    assert incidents_of(loads(dumps(referee.record()))) == [
        Incident(1, 0, IncidentKind.TIMEOUT, late),
        Incident(2, 0, IncidentKind.ILLEGAL_ANSWER, illegal),
        Incident(2, 0, IncidentKind.FORFEIT, out),
        Incident(asked(actions).decision_id, 2, IncidentKind.FORFEIT, crashed),
    ]
    replay(referee.record())


def test_deadline_passes_only_when_its_time_has_come() -> None:
    """A tick before the deadline does nothing; one at the deadline plays the neutral move with a strike.

    Also if the decision was never sent: a bot gains no time by not reading its stream.
    """
    referee = new_referee()
    referee.start(0.0)
    assert referee.tick(9.99) == []
    actions = referee.tick(10.0)
    assert notes(actions) == [NoteKind.TIMEOUT]
    assert [played.answered for played in moves_played(actions)] == [False]
    assert asked(actions).decision_id == 2
    assert referee.deadline == 20.0


def test_no_clock_means_no_deadline() -> None:
    """Without a clock a decision is never late and has neither limit nor bank, even if there is a bank."""
    referee = new_referee(no_clock=True, bank_seconds=1.0)
    ask = asked(referee.start(0.0))
    assert (ask.time_left_us, ask.bank_left_us) == (None, None)
    send(referee, 5.0)
    assert referee.deadline is None
    assert referee.time_left(9.0) is None
    assert referee.tick(1e9) == []


def test_margin_is_part_of_the_deadline_only() -> None:
    """An answer may be late by the margin; the limit that the bot sees is without it."""
    referee = new_referee(margin_seconds=0.5)
    assert asked(referee.start(0.0)).time_left_us == 10_000_000
    assert referee.time_left(4.0) == 6.0
    assert referee.tick(10.4) == []
    assert notes(referee.tick(10.5)) == [NoteKind.TIMEOUT]


def test_clock_starts_when_the_decision_is_sent() -> None:
    """Time in the server's outbox is charged to nobody; from then on it is the bot's."""
    referee = new_referee()
    referee.start(0.0)
    send(referee, 7.0)
    assert referee.deadline == 17.0
    assert asked(referee.answer(0, 1, 0, 9.0)).last_think_us == 2_000_000


def test_sending_a_decision_that_is_settled_starts_no_clock() -> None:
    """A decision whose bot answered, or was late, before it was sent has no part in the next one's clock."""
    referee = new_referee()
    referee.start(0.0)
    sending = Sending()
    referee.queued(sending)
    referee.answer(0, 1, 0, 6.0)
    sending.time = 9.0
    assert referee.deadline == 16.0


def test_decision_that_is_asked_again_has_the_time_that_is_left() -> None:
    """A bot with a new connection sees what remains of its time, and its clock runs on."""
    referee = new_referee()
    referee.start(0.0)
    assert fields_of(referee.ask_again(4.0)) == (0, 1, 6_000_000, None, None)
    assert referee.deadline == 10.0


def test_bank_shrinks_by_what_was_thought_beyond_the_margin() -> None:
    """Quick answers are free, slow ones are charged, and the increment is added before each decision."""
    referee = new_referee(bank_seconds=5.0, increment_seconds=1.0, margin_seconds=0.5)
    ask = asked(referee.start(0.0))
    assert (ask.time_left_us, ask.bank_left_us) == (6_000_000, 6_000_000)
    assert referee.deadline == 6.5
    ask = asked(referee.answer(0, 1, 0, 0.4))
    assert fields_of(ask) == (0, 2, 7_000_000, 7_000_000, 400_000)
    ask = asked(referee.answer(0, 2, 0, 3.4))
    assert (ask.seat, ask.bank_left_us, ask.last_think_us) == (0, 4_500_000 + 1_000_000, 3_000_000)


def test_empty_bank_makes_a_decision_late() -> None:
    """A bank that holds less than the limit of a decision is the limit; each seat has a bank of its own.

    An empty bank is 0, which is not the same as no bank; it is never overdrawn, so an increment is whole.
    """
    referee = new_referee(decision_seconds=4.0, bank_seconds=5.0, max_strikes=99)
    assert asked(referee.start(0.0)).time_left_us == 4_000_000
    ask = asked(referee.answer(0, 1, 0, 3.0))
    assert (ask.seat, ask.time_left_us, ask.bank_left_us) == (0, 2_000_000, 2_000_000)
    actions = referee.tick(5.0)
    assert notes(actions) == [NoteKind.TIMEOUT]
    banks: dict[int, float | None] = {}
    while len(banks) < 3 or asked(actions).seat:
        ask = asked(actions)
        banks[ask.seat] = ask.bank_left_us
        actions = referee.answer(ask.seat, ask.decision_id, 0, 5.0)
    assert (banks[1], banks[2]) == (5_000_000, 5_000_000)
    assert (asked(actions).time_left_us, asked(actions).bank_left_us) == (0, 0)
    referee = new_referee(bank_seconds=1.0, increment_seconds=2.0, max_strikes=9)
    assert asked(referee.start(0.0)).bank_left_us == 3_000_000
    assert asked(referee.tick(8.0)).bank_left_us == 2_000_000


def test_think_times_are_recorded_by_decision() -> None:
    """The record has each decision's microseconds, and 0 where no bot was asked."""
    referee = new_referee()
    referee.start(0.0)
    referee.answer(0, 1, 0, 0.25)
    play_to_end(referee, referee.forfeit(referee.game.seat, Ending.RESIGNED, 1.25), 1.25)
    record = loads(dumps(referee.record(round_trip_us=[300, 0, 0])))
    times = record["clock"]
    assert times["round_trip_us"] == [300, 0, 0]
    assert times["think_us"] == list(referee.think_us)
    assert times["think_us"][:2] == [250_000, 1_000_000]
    assert set(times["think_us"][2:]) == {0}
    assert len(times["think_us"]) == len(record["moves"])
    replay(record)


def test_random_fallback_is_the_same_for_the_same_decision() -> None:
    """Random fallback moves are legal moves at random, but two games of one deal have the same."""

    def record_of_absent_bots(fallback: Fallback) -> dict[str, Any]:
        referee = new_referee(fallback=fallback)
        for seat in range(3):
            referee.forfeit(seat, Ending.ABSENT, 0.0)
        referee.start(0.0)
        return referee.record()

    record = record_of_absent_bots(Fallback.RANDOM)
    assert record_of_absent_bots(Fallback.RANDOM) == record
    assert record_of_absent_bots(Fallback.NEUTRAL)["moves"] != record["moves"]
    drawn = {line["move"] for line in record["moves"]}
    assert {"draw 1", "draw 2", "draw 3"} <= drawn


def test_metrics_of_an_answer_are_recorded() -> None:
    """The numbers that a bot attaches to a choice are in the record and do not affect the game."""
    referee = new_referee()
    referee.start(0.0)
    actions = referee.answer(0, 1, 1, 0.0, {"nodes": 1200.0, "depth": 3.0, "value": -0.5})
    assert notes(actions) == []
    play_to_end(referee, actions)
    record = loads(dumps(referee.record()))
    assert record["metrics"] == [{"decision": 1, "values": {"depth": 3, "nodes": 1200, "value": -0.5}}]
    replay(record)


def test_metrics_beyond_the_limits_cost_a_notice_and_nothing_else() -> None:
    """Names and numbers that can't be kept are dropped, with one notice per seat and game and no strike."""
    referee = new_referee()
    metrics = {**{f"m{number:02}": 1.0 for number in range(20)}, "no name": 1.0, "n" * 33: 1.0, "x": math.nan}
    actions, noticed = referee.start(0.0), []
    while not isinstance(actions[-1], GameFinished):
        ask = asked(actions)
        actions = referee.answer(ask.seat, ask.decision_id, 0, 0.0, metrics)
        noticed += [action for action in actions if isinstance(action, Notify)]
    assert {note.kind for note in noticed} == {NoteKind.METRICS_DROPPED}
    assert sorted(note.seat for note in noticed) == [0, 1, 2]
    assert "7 of 23 metrics are dropped" in noticed[0].text
    assert {seat.ending for seat in seats(actions)} == {Ending.FINISHED}
    for entry in referee.record()["metrics"]:
        assert list(entry["values"]) == [f"m{number:02}" for number in range(16)]
