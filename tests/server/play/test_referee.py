"""The referee: what it does step by step, in the games of `referee.txt`, and what holds for whole games.

`python -m tests.server.play.test_referee` makes the results again.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.tables import Table

from happycity import Config, Deal, Ending, FailurePolicy, Fallback, Game, TimeControl
from happycity.records.record import dumps, loads
from happycity.records.replay import incidents_of, replay
from happycity_server.play.referee import (
    Action,
    AskedDecision,
    GameFinished,
    MovePlayed,
    NoteKind,
    Notify,
    Referee,
)
from happycity_server.play.session import SILENT_SECONDS

DEAL = Deal.shuffle(Config(players=3), seed=5)


class Script:
    """A game that follows the lines of a script: what happens, and at its end the seconds of the clock."""

    def __init__(self) -> None:
        self._referee: Referee
        self._queued: AskedDecision | None = None

    def results(self, line: str) -> Iterator[str]:
        """Yield what the referee does at a step, and the deadline after it."""
        step, *words = line.split()
        yield from getattr(self, f"_{step}")(*words)
        yield f"deadline {self._referee.deadline}"

    def _game(self, *settings: str) -> Iterator[str]:
        """Begin another game; without settings, there is no margin, so that deadlines are easy to read."""
        values = {"margin_seconds": 0.0, "max_strikes": 3.0, "no_clock": 0.0, **numbers(settings)}
        policy = FailurePolicy(max_strikes=int(values.pop("max_strikes")))
        no_clock = bool(values.pop("no_clock"))
        self._referee = Referee(DEAL, TimeControl(no_clock=no_clock, **values), policy)
        yield from ()

    def _start(self, now: str) -> Iterator[str]:
        *actions, last = map(shown, self._referee.start(float(now)))
        yield from (*actions[:5], last)  # where nobody is there, a whole game comes between

    def _answer(self, seat: str, decision: str, move: str, *rest: str) -> Iterator[str]:
        """Answer a decision with the index of a move, perhaps with metrics."""
        *metrics, now = rest
        actions = self._referee.answer(int(seat), int(decision), int(move), float(now), numbers(metrics))
        yield from map(shown, actions)

    def _tick(self, now: str) -> Iterator[str]:
        yield from map(shown, self._referee.tick(float(now)))

    def _forfeit(self, seat: str, ending: str, *rest: str) -> Iterator[str]:
        """Forfeit a seat, perhaps with a reason; a tab and an end of line in it are written as in Python."""
        *reason, now = rest
        text = " ".join(reason).replace("\\t", "\t").replace("\\n", "\n")
        yield from map(
            shown, self._referee.forfeit(int(seat), Ending[ending.upper()], float(now), reason=text)
        )

    def _queue(self) -> Iterator[str]:
        """Hand the open decision to its bot's outbox."""
        self._queued = self._referee.open
        yield from ()

    def _sent(self, now: str) -> Iterator[str]:
        assert self._queued is not None
        self._queued.asked_at = float(now)
        yield from ()

    def _again(self, now: str) -> Iterator[str]:
        """Ask the open decision again, and say how much of its time is left."""
        asked = self._referee.open
        assert asked is not None
        yield shown(asked, float(now))
        yield f"time left {None if asked.due is None else asked.due - float(now)}"

    def _finish(self, now: str) -> Iterator[str]:
        """Play the last legal moves to the end, if it has not come; show the results, and the record."""
        referee, actions = self._referee, list[Action]()
        while referee.game.outcome is None:
            last = len(referee.game.legal_moves) - 1
            actions = referee.answer(referee.game.seat, referee.decision_id, last, float(now))
        yield from map(shown, actions[-1:])
        record = loads(dumps(referee.record()))
        replay(record)
        yield from (f"incident {incident}" for incident in incidents_of(record))
        yield from (f"{name} {record[name]}" for name in ("reasons", "metrics") if name in record)


def test_a_silent_bot_is_out_within_30_seconds_by_default() -> None:
    """The others answer at once. Its clocks alone count, not the time until it is connected."""
    referee, now, first_late = Referee(DEAL, TimeControl(), FailurePolicy()), 0.0, math.inf
    referee.start(now)
    while referee.endings[0] is not Ending.SILENT:
        if referee.game.seat:
            referee.answer(referee.game.seat, referee.decision_id, 0, now)
            continue
        assert referee.deadline is not None
        now = referee.deadline
        first_late = min(first_late, now)
        referee.tick(now, silent=now - first_late >= SILENT_SECONDS)
    assert now < 30


def shown(action: Action, now: float | None = None) -> str:
    match action:
        case MovePlayed():
            how = "answered" if action.answered else "not answered"
            return f"seat {action.seat} plays {action.move}, {how}, {len(action.events)} events"
        case AskedDecision():
            left_us = action.time_left_us(action.asked_at if now is None else now)
            times = (left_us, action.bank_left_us, action.last_think_us)
            return (
                f"seat {action.seat} is asked {action.decision_id}, time, bank and last think {micro(times)}"
            )
        case Notify():
            incident = "an incident" if action.incident else "no incident"
            noted = f"seat {action.seat} is notified of {action.kind.name} {action.decision_id}, {incident}"
            return f"{noted}: {action.text}"
        case GameFinished():
            return "; ".join(
                f"place {seat.place} {seat.ending.value} {seat.reason}".rstrip() for seat in action.seats
            )


def numbers(words: Iterable[str]) -> dict[str, float]:
    return {name: float(value) for name, value in (word.split("=") for word in words)}


def micro(times: Sequence[int | None]) -> str:
    """Return microseconds with their digits in groups, or - where there is no such time."""
    return " ".join("-" if time is None else f"{time:_}" for time in times)


TABLE = Table(Path(__file__).with_name("referee.txt"), Script().results)


def test_referee_does_what_is_kept() -> None:
    """Its moves, questions, notices, deadlines and records are those of the script."""
    TABLE.check(least=100)


def asked(actions: list[Action]) -> AskedDecision:
    """Return the question among actions: there is exactly one, at the end."""
    *others, ask = actions
    assert isinstance(ask, AskedDecision)
    assert not any(isinstance(action, AskedDecision) for action in others)
    return ask


def fields_of(action: Action) -> tuple[object, ...]:
    """Return the fields of a move that was played, or of a question, in the order of their declaration."""
    if isinstance(action, MovePlayed):
        return action.seat, action.move, action.events, action.answered
    assert isinstance(action, AskedDecision)
    times = action.time_left_us(action.asked_at), action.bank_left_us, action.last_think_us
    return action.seat, action.decision_id, *times


def play_to_end(referee: Referee, actions: list[Action], now: float = 0.0) -> list[Action]:
    """Answer every question with the last legal move; return all actions."""
    everything = list(actions)
    while not isinstance(actions[-1], GameFinished):
        ask = asked(actions)
        actions = referee.answer(ask.seat, ask.decision_id, len(referee.game.legal_moves) - 1, now)
        everything += actions
    return everything


def test_game_is_started_and_goes_on_with_the_answer() -> None:
    """Actions have the set-up or the move, what it brought about, and the next question; the clock runs."""
    referee, game = Referee(DEAL, TimeControl(margin_seconds=0.0), FailurePolicy()), Game(DEAL)
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


def test_round_of_each_decision() -> None:
    """A decision's round is the game's when it was asked; there is none without a decision."""
    referee = Referee(DEAL, TimeControl(decision_seconds=1.0), FailurePolicy())
    now, rounds = 0.0, [0]
    actions = referee.start(now)
    while not isinstance(actions[-1], GameFinished):
        rounds.append(referee.game.round)
        now += 0.5
        actions = referee.answer(referee.game.seat, referee.decision_id, 0, now)
    assert rounds[-1] > 1
    assert [referee.round_of(decision_id) for decision_id in range(len(rounds))] == rounds
    assert referee.round_of(len(rounds)) == 0


def test_think_times_are_recorded_by_decision() -> None:
    """The record has each decision's microseconds, and 0 where no bot was asked."""
    referee = Referee(DEAL, TimeControl(margin_seconds=0.0), FailurePolicy())
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
        referee = Referee(DEAL, TimeControl(), FailurePolicy(fallback=fallback))
        for seat in range(3):
            referee.forfeit(seat, Ending.ABSENT, 0.0)
        referee.start(0.0)
        return referee.record()

    record = record_of_absent_bots(Fallback.RANDOM)
    assert record_of_absent_bots(Fallback.RANDOM) == record
    assert record_of_absent_bots(Fallback.NEUTRAL)["moves"] != record["moves"]
    drawn = {line["move"] for line in record["moves"]}
    assert {"draw 1", "draw 2", "draw 3"} <= drawn


def test_metrics_beyond_the_limits_cost_a_notice_and_nothing_else() -> None:
    """Names and numbers that can't be kept are dropped, with one notice per seat and game and no strike."""
    referee = Referee(DEAL, TimeControl(margin_seconds=0.0), FailurePolicy())
    metrics = {**{f"m{number:02}": 1.0 for number in range(20)}, "no name": 1.0, "n" * 33: 1.0, "x": math.nan}
    actions, noticed = referee.start(0.0), []
    while not isinstance(actions[-1], GameFinished):
        ask = asked(actions)
        actions = referee.answer(ask.seat, ask.decision_id, 0, 0.0, metrics)
        noticed += [action for action in actions if isinstance(action, Notify)]
    assert {note.kind for note in noticed} == {NoteKind.METRICS_DROPPED}
    assert sorted(note.seat for note in noticed) == [0, 1, 2]
    assert "7 of 23 metrics are dropped" in noticed[0].text
    assert {seat.ending for seat in actions[-1].seats} == {Ending.FINISHED}
    for entry in referee.record()["metrics"]:
        assert list(entry["values"]) == [f"m{number:02}" for number in range(16)]


def test_game_continues_from_its_record_so_far() -> None:
    """A referee that is set up with it, at any decision, does and records what the first one would have."""
    policy = FailurePolicy(max_strikes=1)
    answers = [*[(0, 0, {"eval": 1.5}), (0, 1, {})] * 3, (0, 99, {}), *[(0, -1, {})] * 40]  # one is illegal

    def played(past: dict[str, Any] | None, rest: Sequence[Any]) -> Referee:
        referee = Referee(DEAL, TimeControl(), policy, past)
        referee.start(0.0)
        for _, move, metrics in rest:
            if referee.game.outcome is None:
                index = move % len(referee.game.legal_moves) if move < 9 else move
                referee.answer(referee.game.seat, referee.decision_id, index, 0.5, metrics)
        return referee

    for number in range(len(answers)):
        first = played(None, answers[:number])
        past = loads(dumps(first.record()))
        events = [
            fields_of(action)[2] for action in Referee(DEAL, TimeControl(), policy, past).start(0.0)[:-1]
        ]
        assert len(events) == number + 1
        again, whole = played(past, answers[number:]), played(None, answers)
        assert again.record() == {**whole.record(), "clock": again.record()["clock"]}
        assert again.decision_id == whole.decision_id
    played_on = Referee(DEAL, TimeControl(), policy, past)
    play_to_end(played_on, played_on.start(0.0)[-1:])
    replay(loads(dumps(played_on.record())))


def test_a_seat_is_forfeited_before_its_game_continues() -> None:
    """Also the one whose turn it is, though no clock runs yet: the fallback plays when the game goes on."""
    first = Referee(DEAL, TimeControl(bank_seconds=5.0), FailurePolicy())
    first.start(0.0)
    first.answer(0, 1, 0, 0.5)
    again = Referee(DEAL, TimeControl(bank_seconds=5.0), FailurePolicy(), loads(dumps(first.record())))
    seat = again.game.seat
    (notice,) = again.forfeit(seat, Ending.ABSENT, 9.0)
    assert isinstance(notice, Notify)
    assert asked(again.start(9.0)).seat != seat
    assert again.think_us[1:] == [0] * (len(again.moves) - 1)
    play_to_end(again, [again.open] if again.open else [])
    replay(loads(dumps(again.record())))


if __name__ == "__main__":
    Table(TABLE.path, Script().results).write()
