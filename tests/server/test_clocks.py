"""The arena's clock: what the server itself delays is charged to nobody."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest
import uvloop

from happycity import Config, Deal
from happycity.terms import FailurePolicy, TimeControl
from happycity.v1 import play_service_pb2 as play
from happycity_server.clocks import OVERLOAD_SECONDS, FairClock
from happycity_server.lobby import SWEEP_SECONDS, Lobby
from happycity_server.matches import MatchSpec
from happycity_server.streams import Stream

TICK = 0.05


class Raw:
    """A time that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def raw() -> Raw:
    return Raw()


@pytest.fixture
def clock(raw: Raw) -> FairClock:
    clock = FairClock(raw, tick_seconds=TICK)
    clock.tick()
    return clock


def test_time_runs_while_the_loop_does(raw: Raw, clock: FairClock) -> None:
    """As long as ticks come in time, the clock is the raw one."""
    began = clock()
    for _ in range(100):
        raw.now += TICK
        assert clock.tick() == pytest.approx(0.0)
    assert clock() - began == pytest.approx(100 * TICK)
    assert clock.lost_seconds == 0.0


def test_small_delays_count(raw: Raw, clock: FairClock) -> None:
    """A tick that is late by no more than the bound is told, and changes nothing."""
    began = clock()
    raw.now += TICK + OVERLOAD_SECONDS
    assert clock.tick() == pytest.approx(OVERLOAD_SECONDS)
    assert clock() - began == pytest.approx(TICK + OVERLOAD_SECONDS)


def test_what_exceeds_the_bound_never_happened(raw: Raw, clock: FairClock) -> None:
    """After a long delay the clock has run on by the bound only."""
    began = clock()
    raw.now += TICK + 60.0
    assert clock.tick() == pytest.approx(60.0)
    assert clock() - began == pytest.approx(TICK + OVERLOAD_SECONDS)
    assert clock.lost_seconds == pytest.approx(60.0 - OVERLOAD_SECONDS)
    raw.now += TICK
    assert clock.tick() == pytest.approx(0.0)
    assert clock() - began == pytest.approx(2 * TICK + OVERLOAD_SECONDS)


def test_delay_is_not_seen_before_it_is_known(raw: Raw, clock: FairClock) -> None:
    """Whoever asks between the delay and the tick that notices it gets no later time than afterwards."""
    raw.now += 60.0
    before = clock()
    clock.tick()
    assert clock() == pytest.approx(before)


def test_clock_never_goes_back(raw: Raw, clock: FairClock) -> None:
    """Whatever the delays and the moments of asking, time is steady."""
    last = clock()
    for step in (0.01, 0.2, 0.0, 3.0, 0.04, 0.3, 0.31, 10.0, 0.0, 0.05):
        raw.now += step
        for _ in range(2):
            assert clock() >= last
            last = clock()
            clock.tick()


# With real event loops -----------------------------------------------------------------------------------


class Bot:
    """A bot's end of a session, and a socket through which its answer comes as from the network."""

    def __init__(self, lobby: Lobby) -> None:
        self.lobby = lobby
        self.stream: Stream = lobby.new_stream()
        self.session = lobby.enter(play.Hello(name="anna", protocol_version=1), self.stream)
        self.told: list[play.PlayResponse] = []

    async def take(self) -> play.PlayResponse:
        response = play.PlayResponse.FromString(await self.stream.next_batch())
        self.told.append(response)
        return response

    async def answer_over(self, reader: asyncio.StreamReader) -> None:
        """Answer decision 1 when a byte comes in."""
        await reader.readexactly(1)
        answer = play.Answer(game_id=1, decision_id=1, move=1)
        self.session.receive(self.stream, play.PlayRequest(answers=[answer]), self.lobby.clock())


class SweptOnce(Lobby):
    """Doesn't sweep again after a delay, however long it takes to read an answer."""

    def sweep(self) -> None:
        super().sweep()
        if self.tally.overloads:
            self.stop_sweeping()


async def _blocked_loop(time_control: TimeControl, *, stuck: float) -> tuple[Lobby, Bot, float, list[str]]:
    """Let the loop be stuck while an answer lies in the socket; return think time and endings.

    Time passes meanwhile only, so the machine's own delays don't count.
    """
    raw = Raw()
    lobby = SweptOnce(FairClock(raw, tick_seconds=SWEEP_SECONDS))
    bot = Bot(lobby)
    spec = MatchSpec(
        deal=Deal.shuffle(Config(players=2), seed=1),
        bots=("anna", "ghost"),
        bot_seeds=(1, 2),
        time=time_control,
        policy=FailurePolicy(max_strikes=0),
    )
    lobby.start_sweeping()
    match = lobby.create(spec)
    answered = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await bot.answer_over(reader)
        answered.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())

    async def played() -> None:
        async with lobby.played(match):
            pass

    playing = asyncio.create_task(played())
    try:
        while match.open_seat != 0:  # noqa: ASYNC110 - a few turns of the loop
            await asyncio.sleep(0)
        await bot.take()  # the decision is flushed
        writer.write(b"!")
        await writer.drain()
        raw.now += stuck
        time.sleep(2 * SWEEP_SECONDS)  # noqa: ASYNC251 - what this is about
        await answered.wait()
        if match.open_seat == 0:
            await bot.take()
        return lobby, bot, match.referee.think_us[0] / 1e6, match.referee.endings
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
        writer.close()
        server.close()
        lobby.stop_sweeping()


LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = [asyncio.new_event_loop, uvloop.new_event_loop]


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=request.param) as running:
        yield running


def test_answer_in_the_socket_is_not_late_when_the_loop_was_stuck(runner: asyncio.Runner) -> None:
    """The loop is stuck for longer than the limit, and the bot that answered in time has no strike."""
    limit = TimeControl(decision_seconds=0.2, margin_seconds=0.0)
    lobby, bot, think, endings = runner.run(_blocked_loop(limit, stuck=1.0))
    assert endings[0] == "finished"
    assert think <= SWEEP_SECONDS + OVERLOAD_SECONDS + 1e-6
    assert lobby.tally.overloads == 1
    assert lobby.tally.overload_seconds == pytest.approx(1.0 - SWEEP_SECONDS - OVERLOAD_SECONDS)
    assert lobby.tally.take_worst_lag() == pytest.approx(1.0 - SWEEP_SECONDS)
    notices = [notice.kind for response in bot.told for notice in response.notices]
    assert play.NOTICE_KIND_TIMEOUT not in notices


def test_delay_of_the_server_is_told_to_bots_that_are_asked(runner: asyncio.Runner) -> None:
    """The bot's author learns of the delay, and that it costs nothing."""
    lobby, bot, _, _ = runner.run(_blocked_loop(TimeControl(), stuck=0.6))
    notices = [notice for response in bot.told for notice in response.notices]
    assert [notice.kind for notice in notices] == [play.NOTICE_KIND_SERVER_LATE]
    assert lobby.tally.overloads == 1
