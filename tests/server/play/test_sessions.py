"""Bots that lose their connection, come back, are replaced or leave: their games stay whole."""

import random
from typing import Any

import pytest
from tests.server.play.arena import DEAL, Arena, LocalProgram

from happycity import Ending, FailurePolicy, Game
from happycity.compiled import is_compiled
from happycity.records.replay import replay
from happycity.text.catalogue import catalogue_digest
from happycity.v1 import game_pb2, match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import event_message
from happycity_server.play.match import Match, MatchState

FINISHED, RESIGNED, CRASHED = Ending.FINISHED, Ending.RESIGNED, Ending.CRASHED


async def playing(arena: Arena, **terms: Any) -> tuple[Match, LocalProgram, LocalProgram]:
    """Return a match that has just begun, and the programs of both bots."""
    anna, ben = arena.connect("anna"), arena.connect("ben")
    await anna.read()
    await ben.read()
    return await arena.match("anna", "ben", **terms), anna, ben


def endings(match: Match) -> list[Ending]:
    return list(match.referee.endings)


async def test_welcome_says_what_the_server_speaks(arena: Arena) -> None:
    """Every program gets a token of its own; a new one resumes no match."""
    programs = [arena.connect("anna"), arena.connect("ben")]
    for program in programs:
        welcome = (await program.read()).welcome
        assert welcome.catalogue_digest == catalogue_digest()
        assert not welcome.match_ids
        assert welcome.resume_token == program.resume_token
        assert len(welcome.resume_token) > 16
        assert welcome.server.startswith("happycity-server/")
    assert programs[0].resume_token != programs[1].resume_token


async def played(arena: Arena, *, losing: bool) -> tuple[Match, list[bytes]]:
    """Play a game; if `losing`, both bots lose their connections at each decision.

    Returns the match and all decisions.
    """
    match, *programs = await playing(arena)
    decisions = []
    while match.state is MatchState.RUNNING:
        seat = match.referee.game.seat
        if losing:
            await programs[seat].decision()
            for other in (0, 1):
                programs[other].lose()
                programs[other] = programs[other].again()
        decision = await programs[seat].decision()
        if losing:
            assert programs[seat].received.welcome.match_ids == [match.match_id]
            assert programs[seat].seats == [seat]
        decisions.append(decision.SerializeToString())
        await programs[seat].answer(decision, -1)
    assert match.state is MatchState.FINISHED
    return match, decisions


async def test_resumed_game_is_byte_by_byte_the_undisturbed_one() -> None:
    """Connections that break at every decision change nothing in the decisions and the record."""
    calm, expected = await played(Arena(), losing=False)
    disturbed, decisions = await played(Arena(), losing=True)
    assert decisions == expected
    assert disturbed.record() == calm.record()
    replay(disturbed.record())


async def test_events_up_to_answers_are_the_whole_game(arena: Arena) -> None:
    """Whatever gets lost on the way, the decisions that a bot answered have every event, and each once."""
    rng = random.Random(4)
    match, *programs = await playing(arena, policy=FailurePolicy(max_strikes=99, grace_seconds=60.0))
    received: list[list[game_pb2.Event]] = [[], []]
    while match.state is MatchState.RUNNING:
        seat = match.referee.game.seat
        if rng.random() < 0.3:  # the decision gets lost, and perhaps late before the bot is back
            programs[seat].lose()
            arena.wait(rng.choice((1.0, 12.0)))
            programs[seat] = programs[seat].again()
        if match.asked_at(seat) is not None:
            decision = await programs[seat].decision()
            received[seat].extend(decision.events)
            await programs[seat].answer(decision, -1)
    assert endings(match) == [FINISHED, FINISHED]
    assert arena.lobby.counters.strikes["timeout"] > 5
    game = Game(DEAL)
    events = list(game.events)
    for _, move in match.referee.moves:
        game.apply(move)
        events += game.events
    for of_bot in received:
        assert of_bot == list(map(event_message, events))[: len(of_bot)]
        assert len(of_bot) > len(events) / 2


@pytest.mark.skipif(is_compiled(), reason="a fault can't be put into compiled code")
async def test_match_that_fails_while_it_is_shown_again_is_voided(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the arena's own costs the match, in all of the bot's seats, and not the connection."""
    anna = arena.connect("anna")
    match, other = await arena.match("anna", "anna"), await arena.match("anna", "ghost")
    anna.lose()

    def fail(now: float) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(match.referee.open, "time_left_us", fail)
    again = anna.again()
    await again.read()
    (over,) = again.received.games_over
    assert (over.match_id, over.outcome.void_reason) == (match.match_id, match_pb2.VOID_REASON_SERVER_ERROR)
    assert [decision.match_id for decision in again.received.decisions] == [other.match_id]
    assert again.session.games == 1


@pytest.mark.parametrize(("crashed", "ending"), [(False, RESIGNED), (True, CRASHED)])
async def test_resignation_has_its_reason_in_result_record_and_log(
    arena: Arena, log: list[Any], *, crashed: bool, ending: Ending
) -> None:
    """The reason is one line of at most 200 characters everywhere; a repeated resignation changes nothing."""
    match, anna, _ = await playing(arena)
    said = "ValueError: 7\n  at\x1b[31m bot.py:3 " + "x" * 999
    await anna.say(resigns=[play.Resign(match_id=1, crashed=crashed, reason=said)])
    await anna.say(resigns=[play.Resign(match_id=1, reason="again")])
    match.forfeit(1, RESIGNED, arena.now)
    await anna.until(lambda received: received.games_over)
    (over,) = anna.received.games_over
    reason = over.outcome.result.seats[0].reason
    assert reason.startswith("ValueError: 7 at [31m bot.py:3 xxx")
    assert len(reason) == 200
    assert match.results[0].ending is ending
    assert (match.record()["endings"][0], match.record()["reasons"]) == (ending.value, [reason, ""])
    (line,) = [line for line in log if line["event"] == "bot_resigned"]
    assert (line["bot"], line["match"], line["seat"]) == ("anna", 1, 0)
    assert (line["crashed"], line["reason"]) == (crashed, reason)
    assert anna.notices == [play.NOTICE_KIND_FORFEIT]


async def test_bot_plays_several_seats_of_a_match(arena: Arena) -> None:
    """It gets a GameStarted for each seat, decisions that name their seat, and one GameOver for all."""
    anna, ben = arena.connect("anna"), arena.connect("ben")
    match = await arena.match("anna", "ben", "anna")
    answered = set()
    while match.state is MatchState.RUNNING:
        program = ben if match.referee.game.seat == 1 else anna
        decision = await program.decision()
        assert decision.view.seat == match.referee.game.seat
        answered.add(decision.view.seat)
        await program.answer(decision, -1)
    await anna.until(lambda received: received.games_over)
    assert answered == {0, 1, 2}
    assert (anna.seats, ben.seats) == ([0, 2], [1])
    assert [started.seed for started in anna.received.games_started] == [0, 2]
    assert len(anna.received.games_over) == 1
    assert endings(match) == [FINISHED] * 3
    assert not anna.notices
    assert anna.session.games == 0
