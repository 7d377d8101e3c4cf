"""Sessions without gRPC: bots that go and come back, that are silent, that don't read, that send too much."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest

from happycity import Config, Deal, Game
from happycity.records import replay
from happycity.terms import FailurePolicy, TimeControl
from happycity.v1 import game_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.wire import event_message
from happycity_server.clocks import FairClock
from happycity_server.lobby import SWEEP_SECONDS, Lobby
from happycity_server.matches import Match, MatchSpec, MatchState, VoidReason
from happycity_server.refusals import Reason, Refusal
from happycity_server.sessions import Session
from happycity_server.streams import SessionLimits, Stream

DEAL = Deal.shuffle(Config(players=2), seed=11)


class Arena:
    """A lobby on a time that the test moves."""

    def __init__(self, limits: SessionLimits | None = None) -> None:
        self.now = 1000.0
        self.lobby = Lobby(FairClock(lambda: self.now, tick_seconds=SWEEP_SECONDS), limits=limits)
        self.lobby.sweep()
        self._playing: list[asyncio.Task[None]] = []  # held until the loop ends

    def wait(self, seconds: float) -> None:
        """Let time pass, and the lobby notice what is due."""
        for _ in range(round(seconds / SWEEP_SECONDS)):
            self.now += SWEEP_SECONDS
            self.lobby.sweep()

    async def match(
        self,
        *bots: str,
        time: TimeControl | None = None,
        policy: FailurePolicy | None = None,
        disqualified: Sequence[str] = (),
    ) -> Match:
        """Set up a match and begin it as soon as that can be."""
        match = self.lobby.create(
            MatchSpec(
                deal=DEAL,
                bots=bots,
                bot_seeds=(1, 2),
                time=time if time is not None else TimeControl(),
                policy=policy if policy is not None else FailurePolicy(),
                disqualified=frozenset(disqualified),
            )
        )

        async def play_it() -> None:
            async with self.lobby.played(match):
                pass

        self._playing.append(asyncio.create_task(play_it()))
        await asyncio.sleep(0)  # let it be played
        return match


class Program:
    """A bot's program at one connection."""

    def __init__(self, arena: Arena, name: str, **hello: object) -> None:
        self.arena = arena
        self.stream: Stream = arena.lobby.new_stream()
        message = play.Hello(name=name, protocol_version=1, **hello)  # type: ignore[arg-type]  # a test's short cut
        self.session: Session = arena.lobby.enter(message, self.stream)
        self.token = self.session.token
        """As the welcome tells it, read or not."""
        self.told = play.PlayResponse()
        """All that was ever sent to it."""
        self._sending: asyncio.Task[bytes] | None = None

    @property
    def notices(self) -> list[int]:
        return [notice.kind for notice in self.told.notices]

    async def read(self) -> play.PlayResponse:
        """Take the next batch; the connection is ready for another one then."""
        if self._sending is None:
            self._sending = asyncio.create_task(self.stream.next_batch())
        response = play.PlayResponse.FromString(await self._sending)
        self.told.MergeFrom(response)
        self._sending = asyncio.create_task(self.stream.next_batch())
        await asyncio.sleep(0)
        return response

    async def decision(self) -> play.Decision:
        """Read on to the next decision."""
        while not (batch := await self.read()).decisions:
            pass
        return batch.decisions[-1]

    def say(self, **parts: object) -> None:
        """Send a batch."""
        self.session.receive(self.stream, play.PlayRequest(**parts), self.arena.now)  # type: ignore[arg-type]  # a test's short cut

    def answer(self, decision: play.Decision, move: int = 0) -> None:
        """Answer a decision."""
        answer = play.Answer(game_id=decision.game_id, decision_id=decision.decision_id, move=move)
        self.say(answers=[answer])

    def lose(self) -> None:
        """Let the connection break."""
        self.arena.lobby.exit(self.session, self.stream)

    def again(self, *, games: Sequence[int] = (1,)) -> Program:
        """Return the same program at a new connection."""
        return Program(self.arena, self.session.name, resume_token=self.token, games=games)


@pytest.fixture
def arena() -> Arena:
    return Arena()


def last_move(decision: play.Decision) -> int:
    return len(decision.moves) - 1


# Welcome -------------------------------------------------------------------------------------------------


async def test_welcome_tells_token_and_heartbeat(arena: Arena) -> None:
    """Every program gets a token of its own."""
    first, second = Program(arena, "anna"), Program(arena, "ben")
    for program in (first, second):
        await program.read()
        assert program.told.welcome.heartbeat_ms == 5000
        assert not program.told.welcome.resumed
        assert program.told.welcome.resume_token == program.token
        assert len(program.token) > 16
    assert first.token != second.token


@pytest.mark.parametrize("token", ["", "nonsense", "ünsinn"])
async def test_without_the_right_token_nothing_is_resumed(arena: Arena, token: str) -> None:
    """A token that isn't the session's, or none, makes a new program of the bot, with a token of its own."""
    first = Program(arena, "anna")
    await first.read()
    second = Program(arena, "anna", resume_token=token)
    await second.read()
    assert not second.told.welcome.resumed
    assert second.token != first.token
    third = second.again()
    await third.read()
    assert third.told.welcome.resumed
    assert third.token == second.token


# Resuming ------------------------------------------------------------------------------------------------


async def playing(arena: Arena, **terms: object) -> tuple[Match, Program, Program]:
    """Return a match that has just begun, and the programs of both bots."""
    anna, ben = Program(arena, "anna"), Program(arena, "ben")
    await anna.read()
    await ben.read()
    match = await arena.match("anna", "ben", **terms)  # type: ignore[arg-type]  # a test's short cut
    return match, anna, ben


async def played(arena: Arena, *, losing: bool) -> tuple[Match, list[bytes]]:
    """Play a game; if `losing`, both bots lose their connections at each decision. Return what was asked."""
    match, *programs = await playing(arena)
    decisions = []
    while match.state is MatchState.RUNNING:
        seat = match.open_seat
        if losing:
            await programs[seat].decision()
            for other in (0, 1):
                programs[other].lose()
                programs[other] = programs[other].again()
        decision = await programs[seat].decision()
        if losing:
            assert programs[seat].told.welcome.resumed
            assert not programs[seat].told.games_started
        decisions.append(decision.SerializeToString())
        programs[seat].answer(decision, last_move(decision))
    assert match.state is MatchState.FINISHED
    return match, decisions


async def test_resumed_game_is_byte_by_byte_the_undisturbed_one() -> None:
    """A connection that breaks at every decision changes nothing that a bot is asked."""
    calm, expected = await played(Arena(), losing=False)
    stormy, found = await played(Arena(), losing=True)
    assert found == expected
    assert stormy.record() == calm.record()
    replay(stormy.record())


async def test_events_of_answered_decisions_are_the_whole_game(arena: Arena) -> None:
    """Whatever gets lost on the way, what a bot was told up to its answers has every event, and once."""
    rng = random.Random(4)
    policy = FailurePolicy(max_strikes=99, grace_seconds=60.0)
    match, *programs = await playing(arena, policy=policy)
    heard: list[list[game_pb2.Event]] = [[], []]
    while match.state is MatchState.RUNNING:
        seat = match.open_seat
        if rng.random() < 0.3:  # it is lost on the way, and perhaps late before the bot is back
            programs[seat].lose()
            arena.wait(rng.choice((1.0, 12.0)))
            programs[seat] = programs[seat].again()
        if match.open_seat == seat:
            decision = await programs[seat].decision()
            heard[seat].extend(decision.events)
            programs[seat].answer(decision, last_move(decision))
    assert match.referee.endings == ["finished"] * 2
    assert arena.lobby.tally.strikes["timeout"] > 5
    game = Game(DEAL)
    events = list(game.events)
    for _, move in match.referee.recorder.moves:
        game.apply(move)
        events += game.events
    for told in heard:
        assert told == list(map(event_message, events))[: len(told)]
        assert len(told) > len(events) / 2


async def test_time_goes_on_while_a_bot_is_away(arena: Arena) -> None:
    """A decision that is sent again tells the time that is left of it, and being away restarts no clock."""
    match, anna, _ = await playing(arena)
    assert (await anna.decision()).clock.time_left_ms == 10_000
    anna.lose()
    arena.wait(4.0)
    again = anna.again()
    assert (await again.decision()).clock.time_left_ms == pytest.approx(6000, abs=2)
    arena.wait(6.2)
    await again.read()
    assert play.NOTICE_KIND_TIMEOUT in again.notices
    assert match.referee.think_us[0] == pytest.approx(10.02e6, abs=0.1e6)


async def test_bot_that_stays_away_forfeits_after_the_grace_time(arena: Arena) -> None:
    """The grace is the match's own; the bot that comes too late is told, and hears how the game ended."""
    match, anna, ben = await playing(arena, policy=FailurePolicy(grace_seconds=2.0))
    anna.lose()
    arena.wait(1.9)
    assert match.referee.endings == ["finished"] * 2
    arena.wait(0.3)
    assert match.referee.endings == ["forfeit:disconnected", "finished"]
    again = anna.again()
    await again.read()
    assert again.notices == [play.NOTICE_KIND_FORFEIT]
    assert not again.told.decisions
    while match.state is MatchState.RUNNING:
        ben.answer(await ben.decision())
    await again.read()
    assert [over.game_id for over in again.told.games_over] == [match.match_id]


async def test_each_game_has_its_own_grace(arena: Arena) -> None:
    """A bot that is away loses the game of the shorter grace and keeps the other."""
    anna, ben = Program(arena, "anna"), Program(arena, "ben")
    await anna.read()
    short = await arena.match("anna", "ben", policy=FailurePolicy(grace_seconds=1.0))
    long = await arena.match("anna", "ben", policy=FailurePolicy(grace_seconds=5.0))
    anna.lose()
    arena.wait(2.0)
    assert short.referee.endings[0] == "forfeit:disconnected"
    assert long.referee.endings[0] == "finished"
    await ben.read()


async def test_games_that_ended_meanwhile_are_told(arena: Arena) -> None:
    """A game that the bot believes to run ends for it with the result, or without one if it is unknown."""
    match, anna, _ben = await playing(arena)
    anna.lose()
    match.forfeit(0, "resigned", arena.now)
    match.forfeit(1, "resigned", arena.now)
    assert match.state is MatchState.FINISHED
    again = anna.again(games=(match.match_id, 77))
    await again.read()
    ended = {over.game_id: over for over in again.told.games_over}
    assert ended.keys() == {match.match_id, 77}
    assert len(ended[match.match_id].result.places) == 2
    assert not ended[77].HasField("result")
    assert ended[77].void_reason == play.VOID_REASON_UNKNOWN


async def test_only_so_many_ended_games_are_kept() -> None:
    """The oldest results are forgotten first."""
    arena = Arena(SessionLimits(ended_games=2))
    anna = Program(arena, "anna")
    await anna.read()
    ids = []
    for _ in range(3):
        match = await arena.match("anna", "ghost")
        match.forfeit(0, "resigned", arena.now)
        ids.append(match.match_id)
    anna.lose()
    again = anna.again(games=ids)
    await again.read()
    known = [over.HasField("result") for over in sorted(again.told.games_over, key=lambda over: over.game_id)]
    assert known == [False, True, True]


async def test_resumed_bot_that_never_heard_of_a_game_is_told_its_start(arena: Arena) -> None:
    """A GameStarted that got lost is sent again."""
    match, anna, _ = await playing(arena)
    anna.lose()
    again = anna.again(games=())
    batch = await again.read()
    assert batch.welcome.resumed
    assert [started.game_id for started in batch.games_started] == [match.match_id]
    assert [decision.decision_id for decision in batch.decisions] == [1]


async def test_bot_that_left_nothing_behind_is_forgotten(arena: Arena) -> None:
    """Without games a session ends when its time is over, and its token with it."""
    anna = Program(arena, "anna")
    await anna.read()
    anna.lose()
    arena.wait(9.0)
    assert "anna" in arena.lobby.sessions
    arena.wait(2.0)
    assert "anna" not in arena.lobby.sessions
    again = anna.again()
    await again.read()
    assert not again.told.welcome.resumed


# Taking over ---------------------------------------------------------------------------------------------


async def test_new_program_takes_the_games_over(arena: Arena) -> None:
    """Games begin anew for it: seat and seed as before, every event so far, the open decision; no forfeit."""
    match, anna, ben = await playing(arena)
    for _ in range(20):
        program = (anna, ben)[match.open_seat]
        decision = await program.decision()
        program.answer(decision, last_move(decision))
    started = anna.told.games_started[0]
    successor = Program(arena, "anna")
    assert anna.stream.cut_off.done()
    assert anna.stream.refusal is not None
    assert anna.stream.refusal.reason is Reason.REPLACED
    await successor.read()
    assert successor.told.games_started[0] == started
    while match.open_seat != 0:
        ben.answer(await ben.decision())
    if not successor.told.decisions:
        await successor.decision()
    events = successor.told.decisions[0].events
    assert (events[0].kind, events[0].amount) == (1, 1)  # round 1 begins
    assert len(events) > 20
    assert match.referee.endings == ["finished", "finished"]
    assert arena.lobby.tally.streams_taken_over == 1


async def test_older_stream_says_nothing_any_more(arena: Arena) -> None:
    """What the replaced program still sends is ignored, and its end is nobody's loss."""
    match, anna, _ = await playing(arena)
    decision = await anna.decision()
    successor = Program(arena, "anna")
    anna.answer(decision)
    anna.lose()
    assert match.referee.decision_id == 1
    assert successor.session.stream is successor.stream
    assert arena.lobby.tally.streams_lost == 0


async def test_forfeited_games_are_no_business_of_a_new_program(arena: Arena) -> None:
    """A game in which the seat is lost is not begun anew."""
    match, anna, _ = await playing(arena)
    match.forfeit(0, "resigned", arena.now)
    anna.lose()
    successor = Program(arena, "anna")
    batch = await successor.read()
    assert not batch.games_started
    assert successor.session.games == 0


# Leaving -------------------------------------------------------------------------------------------------


async def test_goodbye_gives_all_games_up_at_once(arena: Arena) -> None:
    """The bot's games go on without it, its stream ends in good order, and its name is free."""
    match, anna, _ = await playing(arena)
    await anna.read()
    anna.say(goodbye=play.Goodbye())
    assert match.referee.endings[0] == "forfeit:disconnected"
    assert arena.lobby.missing(["anna"]) == ["anna"]
    while await anna.stream.next_batch():
        pass
    assert anna.stream.refusal is None
    anna.lose()
    assert "anna" not in arena.lobby.sessions
    assert arena.lobby.tally.streams_lost == 0


async def test_bot_that_comes_back_after_its_goodbye_is_a_new_one(arena: Arena) -> None:
    """The token ends with the goodbye, even before the stream does."""
    anna = Program(arena, "anna")
    await anna.read()
    anna.say(goodbye=play.Goodbye())
    again = anna.again()
    anna.lose()
    await again.read()
    assert not again.told.welcome.resumed
    assert arena.lobby.missing(["anna"]) == []


# Matches and bots that are away --------------------------------------------------------------------------


async def test_match_waits_for_a_bot_that_is_away(arena: Arena) -> None:
    """It begins when the bot is back."""
    anna, ben = Program(arena, "anna"), Program(arena, "ben")
    await anna.read()
    await ben.read()
    anna.lose()
    match = await arena.match("anna", "ben")
    arena.wait(5.0)
    assert match.state.value == "waiting"
    anna.again(games=())
    assert match.state.value == "running"
    assert match.referee.endings == ["finished", "finished"]


async def test_match_begins_without_a_bot_whose_grace_is_over(arena: Arena) -> None:
    """The seat is forfeited as absent, and later matches don't wait once more."""
    anna, ben = Program(arena, "anna"), Program(arena, "ben")
    await ben.read()
    anna.lose()
    match = await arena.match("anna", "ben", policy=FailurePolicy(grace_seconds=30.0))
    arena.wait(29.0)
    assert match.state is MatchState.WAITING
    arena.wait(1.5)
    assert match.referee.endings == ["forfeit:absent", "finished"]
    next_match = await arena.match("anna", "ben")
    assert next_match.referee.endings == ["forfeit:absent", "finished"]


async def test_disqualified_bot_is_not_waited_for_and_not_asked(arena: Arena) -> None:
    """Its seat is forfeited from the start, whether it is there or not."""
    anna, ben = Program(arena, "anna", max_games=1), Program(arena, "ben")
    await anna.read()
    await arena.match("anna", "ben")
    await anna.read()
    ben.lose()
    match = await arena.match("anna", "ghost", disqualified=("anna", "ghost"))
    assert match.state is MatchState.FINISHED
    assert match.referee.endings == ["forfeit:disqualified"] * 2
    assert [started.game_id for started in anna.told.games_started] == [1]
    assert arena.lobby.tally.forfeits == {"disqualified": 2}


async def test_games_of_a_bot_are_capped_by_the_server() -> None:
    """However many games a bot wants, it gets no more at once than the server allows."""
    arena = Arena(SessionLimits(games=1))
    anna, ben = Program(arena, "anna"), Program(arena, "ben", max_games=5)
    first = await arena.match("anna", "ben")
    second = await arena.match("anna", "ben")
    assert second.state.value == "waiting"
    first.void(arena.now, VoidReason.STOPPED)
    for bot in (anna, ben):
        while not (batch := await bot.read()).games_over:
            pass
        # In one batch the next game's beginning would be read before the end of the last.
        assert [started.game_id for started in batch.games_started] in ([], [1])
    assert second.state.value == "running"
    assert (anna.session.games, ben.session.games) == (1, 1)


async def test_voided_game_says_why(arena: Arena) -> None:
    """The bots of a game that is broken off are told the reason."""
    match, anna, _ = await playing(arena)
    match.void(arena.now, VoidReason.SHUTDOWN)
    await anna.read()
    (over,) = anna.told.games_over
    assert not over.HasField("result")
    assert over.void_reason == play.VOID_REASON_SHUTDOWN
    assert match.summary()["void_reason"] == "shutdown"
    assert arena.lobby.tally.matches_voided == {"shutdown": 1}


# Signs of life -------------------------------------------------------------------------------------------


async def test_pong_measures_the_round_trip(arena: Arena) -> None:
    """The time from ping to pong is told with the next decision and kept in the record."""
    match, anna, _ = await playing(arena)
    decision = await anna.decision()
    assert decision.clock.round_trip_us == 0
    anna.say()  # the bot shows that it is done with the batch
    arena.wait(5.1)
    ping = (await anna.read()).ping
    arena.now += 0.03
    anna.say(pong=ping)
    anna.say(pong=play.Heartbeat(nonce=99))
    anna.answer(decision)
    assert (await anna.decision()).clock.round_trip_us == pytest.approx(30_000, abs=2)
    match.forfeit(0, "resigned", arena.now)
    match.forfeit(1, "resigned", arena.now)
    assert match.record()["clock"]["round_trip_us"] == [pytest.approx(30_000, abs=2), 0]


async def test_silent_bot_is_dropped(arena: Arena) -> None:
    """Without any sign of life for three pings' time the stream ends, and the bot may come back."""
    anna, ben = Program(arena, "anna"), Program(arena, "ben")
    await anna.read()
    arena.wait(14.0)
    ben.say()
    assert not anna.stream.cut_off.done()
    arena.wait(1.5)
    assert anna.stream.cut_off.done()
    assert anna.stream.refusal is not None
    assert anna.stream.refusal.reason is Reason.NO_HEARTBEAT
    assert not ben.stream.cut_off.done()
    anna.lose()
    again = anna.again()
    await again.read()
    assert again.told.welcome.resumed


async def test_bot_may_think_for_as_long_as_its_games_allow(arena: Arena) -> None:
    """A single-threaded bot that thinks within its limit answers no pings meanwhile, and that is fine."""
    _, anna, _ = await playing(arena, time=TimeControl(decision_seconds=30.0))
    arena.wait(44.0)
    assert not anna.stream.cut_off.done()
    arena.wait(2.0)
    assert anna.stream.cut_off.done()


async def test_bot_without_a_clock_may_be_silent_for_ever(arena: Arena) -> None:
    """A bot that sits in a debugger is not dropped."""
    _, anna, ben = await playing(arena, time=TimeControl(no_clock=True))
    arena.wait(60.0)
    assert not anna.stream.cut_off.done()
    assert not ben.stream.cut_off.done()


async def test_bot_may_leave_messages_unread_while_it_thinks(arena: Arena) -> None:
    """Thinking is no stalling, as long as there is room for what waits."""
    anna, _ = Program(arena, "anna"), Program(arena, "ben")
    await arena.match("anna", "ben", time=TimeControl(decision_seconds=20.0))
    await anna.stream.next_batch()
    arena.wait(19.0)
    assert not anna.stream.cut_off.done()
    arena.wait(2.0)
    assert anna.stream.refusal is not None
    assert anna.stream.refusal.reason is Reason.STALLED


async def test_server_without_measurementss_drops_nobody_for_silence() -> None:
    """With the server's own option idle bots are spared too."""
    arena = Arena(SessionLimits(no_clock=True))
    anna = Program(arena, "anna")
    arena.wait(60.0)
    assert not anna.stream.cut_off.done()


async def test_unread_pings_do_not_pile_up(arena: Arena) -> None:
    """Of several pings that wait, only the latest is sent."""
    anna = Program(arena, "anna")
    await anna.read()
    for _ in range(5):
        arena.wait(4.2)
        anna.say()
    await anna.read()
    assert anna.told.ping.nonce == 4


# Too much ------------------------------------------------------------------------------------------------


async def test_outbox_that_is_too_full_ends_the_stream() -> None:
    """A bot that reads nothing while much is sent to it is dropped."""
    arena = Arena(SessionLimits(outbox_bytes=2000, high_water_bytes=1000))
    anna = Program(arena, "anna")
    anna.stream.send(b"x" * 1500)
    assert anna.stream.congested
    arena.wait(SWEEP_SECONDS)
    assert not anna.stream.cut_off.done()
    anna.stream.send(b"x" * 1000)
    arena.wait(SWEEP_SECONDS)
    assert anna.stream.refusal is not None
    assert anna.stream.refusal.reason is Reason.STALLED


async def test_reader_is_let_go_on_when_the_outbox_is_sent() -> None:
    """Whoever waits for the outbox to be sent goes on then."""
    arena = Arena(SessionLimits(high_water_bytes=1000))
    anna = Program(arena, "anna")
    anna.stream.send(b"x" * 1500)
    waiting = asyncio.create_task(anna.stream.drained())
    await asyncio.sleep(0)
    assert not waiting.done()
    await anna.stream.next_batch()
    await waiting
    assert not anna.stream.congested
    assert arena.lobby.tally.outbox_high_water > 1500


async def test_write_that_does_not_end_ends_the_stream(arena: Arena) -> None:
    """A batch that the connection doesn't take for too long means that the bot has stopped reading."""
    anna = Program(arena, "anna")
    await anna.stream.next_batch()  # and it is being written from now on
    for _ in range(3):
        arena.wait(4.9)
        anna.say()
    assert not anna.stream.cut_off.done()
    arena.wait(0.5)
    assert anna.stream.refusal is not None
    assert anna.stream.refusal.reason is Reason.STALLED


async def test_flood_of_wrong_answers_needs_no_room(arena: Arena) -> None:
    """Of many remarks only some are told, and how many more there were."""
    anna = Program(arena, "anna")
    await anna.read()
    for _ in range(1000):
        anna.say(answers=[play.Answer(game_id=5)] * 100, heartbeat=play.Heartbeat(nonce=3))
    assert anna.stream.waiting_bytes < 20_000
    batch = await anna.read()
    assert len(batch.notices) == 101
    assert batch.notices[-1].text == "and 99900 more such remarks"
    assert batch.heartbeat.nonce == 3
    anna.say(answers=[play.Answer(game_id=5)])
    assert len((await anna.read()).notices) == 1


async def test_batch_that_is_too_large_is_refused() -> None:
    """More answers in one message than anybody needs would hold up the others."""
    arena = Arena(SessionLimits(batch=10))
    anna = Program(arena, "anna")
    with pytest.raises(Refusal) as caught:
        anna.say(answers=[play.Answer()] * 11)
    assert caught.value.reason is Reason.STALLED


async def test_second_hello_is_refused(arena: Arena) -> None:
    """A running stream has said who it is."""
    anna = Program(arena, "anna")
    with pytest.raises(Refusal) as caught:
        anna.say(hello=play.Hello(name="ben"))
    assert caught.value.reason is Reason.INVALID_FIELD


async def test_resigning_twice_counts_once(arena: Arena) -> None:
    """A repeated resignation changes nothing."""
    match, anna, _ = await playing(arena)
    for _ in range(2):
        anna.say(resigns=[play.Resign(game_id=match.match_id)])
    assert match.referee.endings[0] == "forfeit:resigned"
    await anna.read()
    assert anna.notices == [play.NOTICE_KIND_FORFEIT]


# The end -------------------------------------------------------------------------------------------------


async def test_closing_lobby_voids_what_runs_and_lets_nobody_in(arena: Arena) -> None:
    """Running matches are void after the grace time, bots are parted from, and no stream is welcomed."""
    match, anna, _ = await playing(arena)
    await arena.lobby.close(0.0)
    assert match.void_reason is VoidReason.SHUTDOWN
    while play.NOTICE_KIND_SHUTDOWN not in anna.notices:
        await anna.read()
    assert anna.stream.refusal is not None
    assert anna.stream.refusal.reason is Reason.SHUTTING_DOWN
    with pytest.raises(Refusal) as caught:
        Program(arena, "carl")
    assert caught.value.reason is Reason.SHUTTING_DOWN


async def test_bot_may_come_back_to_a_game_that_is_finished_before_the_end(arena: Arena) -> None:
    """While the server lets running games end, a lost stream can be resumed, but nobody new comes in."""
    match, anna, _ = await playing(arena)
    closing = asyncio.create_task(arena.lobby.close(30.0))
    await asyncio.sleep(0)
    anna.lose()
    with pytest.raises(Refusal):
        Program(arena, "carl")
    again = anna.again()
    assert (await again.decision()).decision_id == 1
    match.forfeit(0, "resigned", arena.now)
    match.forfeit(1, "resigned", arena.now)
    await closing
    assert match.state is MatchState.FINISHED
    with pytest.raises(Refusal):
        again.again()


async def test_tally_counts_what_happens(arena: Arena) -> None:
    """Matches, decisions, think times, strikes and streams are counted."""
    match, anna, ben = await playing(arena)
    decision = await anna.decision()
    arena.now += 0.003
    anna.answer(decision, move=99)
    match.forfeit(0, "resigned", arena.now)
    while match.state is MatchState.RUNNING:
        ben.answer(await ben.decision())
    tally = arena.lobby.tally
    assert (tally.matches_started, tally.matches_finished) == (1, 1)
    assert tally.decisions == len(match.referee.recorder.moves)
    assert sum(tally.think_counts) >= 1
    assert tally.think_us >= 2000
    assert tally.strikes == {"illegal_answer": 1}
    assert tally.forfeits == {"resigned": 1}
    assert (tally.streams_opened, tally.streams_resumed, tally.streams_lost) == (2, 0, 0)
    anna.lose()
    anna.again()
    assert (tally.streams_opened, tally.streams_resumed, tally.streams_lost) == (3, 1, 1)
