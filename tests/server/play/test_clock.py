"""The arena's clocks: delays of the server itself are charged to nobody."""

import asyncio
import time
from collections.abc import Callable

import pytest
import uvloop
from tests.server.harness import Clock
from tests.server.play.arena import Arena, LocalProgram

from happycity import Ending, FailurePolicy, TimeControl
from happycity.v1 import play_service_pb2 as play
from happycity_server.play.clock import OVERLOAD_SECONDS, TOLERANCE_SECONDS, FairClock, UnixClock
from happycity_server.play.lobby import LATE_NOTICE_SECONDS, SWEEP_SECONDS
from happycity_server.play.match import Match

TICK = 0.05


@pytest.fixture
def raw() -> Clock:
    return Clock()


@pytest.fixture
def clock(raw: Clock) -> FairClock:
    clock = FairClock(raw, tick_seconds=TICK)
    clock.tick()
    return clock


def test_time_runs_while_the_loop_does(raw: Clock, clock: FairClock) -> None:
    """As long as ticks come in time, the clock is the raw one."""
    began = clock()
    for _ in range(100):
        raw.now += TICK
        assert clock.tick() == pytest.approx(0.0)
    assert clock() - began == pytest.approx(100 * TICK)


@pytest.mark.parametrize("late", [0.005, 0.04, 0.2, OVERLOAD_SECONDS, 60.0])
def test_delay_counts_up_to_the_tolerance(raw: Clock, clock: FairClock, late: float) -> None:
    """What exceeds the tolerance of a delay is left out of the clock, which runs on as before."""
    began = clock()
    raw.now += TICK + late
    before_the_tick = clock()
    assert clock.tick() == pytest.approx(late)
    assert clock() == pytest.approx(before_the_tick)
    assert clock() - began == pytest.approx(TICK + min(late, TOLERANCE_SECONDS))
    raw.now += TICK
    assert clock.tick() == pytest.approx(0.0)
    assert clock() - began == pytest.approx(2 * TICK + min(late, TOLERANCE_SECONDS))


def test_clock_never_goes_back(raw: Clock, clock: FairClock) -> None:
    """Whatever the delays and the moments of reading, time is steady."""
    last = clock()
    for step in (0.01, 0.2, 0.0, 3.0, 0.04, 0.3, 0.31, 10.0, 0.0, 0.05):
        raw.now += step
        for _ in range(2):
            assert clock() >= last - 1e-9  # as floats are rounded
            last = clock()
            clock.tick()


def test_unix_time_does_not_jump() -> None:
    """The machine's clock counts once, at the start; afterwards the steady one does."""
    wall, steady = Clock(), Clock()
    wall.now = 1_700_000_000.0
    clock = UnixClock(wall, steady)
    wall.now += 86_400.0
    steady.now += 5.0
    assert clock() == 1_700_000_005.0


async def blocked_loop(arena: Arena, decision_seconds: float, *, stuck: float) -> tuple[Match, LocalProgram]:
    """Let the loop be stuck while the answer of the bot anna lies in a socket; return her match.

    The arena's time passes meanwhile only, so the machine's own delays don't count.
    """
    anna = arena.connect("anna")
    arena.lobby.start_sweeping()
    match = await arena.match(
        "anna",
        "ghost",
        time=TimeControl(decision_seconds=decision_seconds, margin_seconds=0.0),
        policy=FailurePolicy(max_strikes=0),
    )
    decision = await anna.decision()
    answered = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        arena.lobby.stop_sweeping()  # the test's own slowness is no delay
        anna.session.receive(anna.outbox, _answer(decision), arena.lobby.clock())
        answered.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"!")
    await writer.drain()
    arena.now += stuck
    time.sleep(2 * SWEEP_SECONDS)  # noqa: ASYNC251 - what this is about
    await answered.wait()
    writer.close()
    server.close()
    await anna.read()
    return match, anna


def _answer(decision: play.Decision) -> play.PlayRequest:
    answer = play.Answer(match_id=decision.match_id, decision_id=decision.decision_id, move=1)
    return play.PlayRequest(answers=[answer])


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_answer_in_the_socket_is_not_late_when_the_loop_was_stuck(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """The loop is stuck for longer than the limit, and the bot that answered in time has no strike.

    The delay is counted, and a notice says that it costs nothing.
    """

    async def scenario() -> None:
        arena = Arena()
        match, anna = await blocked_loop(arena, 0.2, stuck=1.0)
        counters = arena.lobby.counters
        assert match.referee.endings[0] is Ending.FINISHED
        assert match.referee.think_us[0] <= (SWEEP_SECONDS + TOLERANCE_SECONDS) * 1e6 + 1
        assert counters.overloads == 1
        assert counters.overload_seconds == pytest.approx(1.0 - SWEEP_SECONDS - TOLERANCE_SECONDS)
        assert counters.lag_seconds == pytest.approx(1.0 - SWEEP_SECONDS)
        assert anna.notices == [play.NOTICE_KIND_SERVER_LATE]

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(scenario())


async def test_bots_hear_of_delays_now_and_then() -> None:
    """A server that is late all the time doesn't send each bot a notice each time."""
    arena = Arena()
    anna = arena.connect("anna")
    await arena.match("anna", "ghost", time=TimeControl(no_clock=True))
    await anna.decision()
    for _ in range(20):
        arena.now += 2 * OVERLOAD_SECONDS
        arena.lobby.sweep()
    await anna.read()
    assert anna.notices == [play.NOTICE_KIND_SERVER_LATE]
    arena.wait(LATE_NOTICE_SECONDS)
    arena.now += 2 * OVERLOAD_SECONDS
    arena.lobby.sweep()
    await anna.read()
    assert anna.notices == 2 * [play.NOTICE_KIND_SERVER_LATE]
    assert arena.lobby.counters.overloads == 21
