"""Bots that are connected and never answer: they are out early, and nobody else is."""

from __future__ import annotations

import pytest
from tests.server.play.arena import Arena, LocalProgram

from happycity import Ending, FailurePolicy, TimeControl
from happycity_server.play.match import Match, MatchState

FINISHED, SILENT, TIMEOUT = Ending.FINISHED, Ending.SILENT, Ending.TIMEOUT


async def both(arena: Arena) -> tuple[LocalProgram, LocalProgram]:
    """Connect anna and ben, who have read their welcomes."""
    anna, ben = arena.connect("anna"), arena.connect("ben")
    await anna.read()
    await ben.read()
    return anna, ben


def ending(match: Match, seat: int = 0) -> Ending:
    return match.referee.endings[seat]


async def test_silent_bot_forfeits_all_its_games_within_30_seconds(arena: Arena) -> None:
    """With default clocks a bot that never answers is out at its second late decision, everywhere."""
    await both(arena)
    first = await arena.match("anna", "ben")
    second = await arena.match("ben", "anna")
    arena.wait(19)
    assert ending(first) is FINISHED
    arena.wait(2)
    assert ending(first) is SILENT
    assert first.referee.reasons[0] == "has never answered (2 decisions, 10 s each; is its output buffered?)"
    assert SILENT in second.referee.endings


async def test_game_without_clock_waits_for_a_silent_bot(arena: Arena) -> None:
    """Where no clock runs, a bot may be silent for ever, whatever it forfeits in other games."""
    await both(arena)
    untimed = await arena.match("anna", "ben", time=TimeControl(no_clock=True))
    timed = await arena.match("anna", "ben")
    arena.wait(60)
    assert ending(timed) is SILENT
    assert (ending(untimed), untimed.state) == (FINISHED, MatchState.RUNNING)


@pytest.mark.parametrize("move", [0, 99])
async def test_late_and_illegal_answers_are_answers(arena: Arena, move: int) -> None:
    """A bot that has ever answered is merely late, until its strikes are used up."""
    anna, _ = await both(arena)
    match = await arena.match("anna", "ben", policy=FailurePolicy(max_strikes=1))
    decision = await anna.decision()
    arena.wait(11)
    await anna.answer(decision, move)
    arena.wait(11)
    assert ending(match) is TIMEOUT


async def test_silent_bot_without_strikes_is_late(arena: Arena) -> None:
    await both(arena)
    match = await arena.match("anna", "ben", policy=FailurePolicy(max_strikes=0))
    arena.wait(11)
    assert ending(match) is TIMEOUT


async def test_answers_to_unknown_matches_are_not_answers(arena: Arena) -> None:
    """A bot that sends only nonsense has never answered a decision."""
    anna, _ = await both(arena)
    match = await arena.match("anna", "ben")
    await anna.settle()
    arena.wait(21)
    assert ending(match) is SILENT


async def test_new_program_of_the_name_has_answered_nothing_yet(arena: Arena) -> None:
    """What an earlier program answered doesn't count for the one that takes its name over."""
    anna, _ = await both(arena)
    match = await arena.match("anna", "ben")
    await anna.answer(await anna.decision())
    again = arena.connect("anna")
    assert (again.session.answers, again.session.strikes) == (0, 0)
    arena.wait(21)
    assert ending(match) is SILENT


async def test_program_that_resumes_has_answered_before(arena: Arena) -> None:
    """A bot whose connection broke is no new program."""
    anna, _ = await both(arena)
    match = await arena.match("anna", "ben")
    await anna.answer(await anna.decision())
    anna.lose()
    anna.again()
    arena.wait(21)
    assert ending(match) is FINISHED


async def test_bot_that_is_away_is_not_silent(arena: Arena) -> None:
    """A bot whose connection is lost gets no decisions: its grace time says when it is out."""
    anna, _ = await both(arena)
    match = await arena.match("anna", "ben", policy=FailurePolicy(grace_seconds=60, max_strikes=9))
    anna.lose()
    arena.wait(30)
    assert ending(match) is FINISHED


async def test_program_that_warms_up_is_not_silent(arena: Arena) -> None:
    """With short clocks several decisions may pass before a program answers its first one."""
    await both(arena)
    fast = TimeControl(decision_seconds=0.5)
    match = await arena.match("anna", "ben", time=fast, policy=FailurePolicy(max_strikes=99))
    arena.wait(5)
    assert match.referee.endings.count(FINISHED) == 2
    arena.wait(5)
    assert SILENT in match.referee.endings
