"""Bots that are wrong in one thing each, in a thread of the test's process: the check finds just that."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from tests.check.bots import raw_bot
from tests.waiting import LIMIT

from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity_check import runner
from happycity_check.runner import steps_named
from happycity_check.scripted_server import ScriptedServer
from happycity_check.step import CheckStep, Finding, Status
from happycity_check.trial_bot import Options

TOKEN = "abc"
STEPS = steps_named(
    (
        *(
            "hello",
            "protocol-version",
            "name",
            "token",
            "first-decision",
            "large-numbers",
            "one-message",
            "repeated-messages",
        ),
        *("notices", "unknown-fields", "game-over", "voided", "unknown-values", "ping"),
        *("reconnect", "resent-decision"),
    )
)
"""Steps that neither play whole games nor wait for what doesn't come."""
FAULTS = {
    "hello": "the first message holds hello, pong",
    "protocol-version": "protocol_version is 0, and not 1",
    "token": "a call without authorization",
    "first-decision": "move 3 for decision 1 of match 1001, whose moves are 0 to 2",
    "large-numbers": "an answer to decision 1 of match 9007199254740992, which was never sent",
    "repeated-messages": "two answers to decision",
    "notices": "the bot ended its stream",
    "unknown-fields": "the bot ended its stream",
    "game-over": "a game that was over",
    "voided": "the bot ended its stream",
    "unknown-values": "the bot ended its stream",
    "reconnect": "the resume_token '', where the last welcome's is 'resume-",
    "resent-decision": "before the connection was lost, then move ",
}
"""What each step says about the bot that does wrong just there."""
PLAYING_FAULTS = {
    "table-sizes": "the bot ended its stream",
    "expert": "the bot ended its stream",
    "deterministic": "deterministic: no",
    "speed": "the bot ended its stream",
}
"""The same of steps that play whole games."""


class BotThread:
    """Plays with one bot after the other: a program that crashes is started again.

    A bot of `raw_bot.py` keeps its settings in the globals of its module, so there is one thread at a time.
    """

    def __init__(self, fault: str, patch: pytest.MonkeyPatch) -> None:
        self._bot_class = raw_bot.bot_class(fault)
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._call: Any = None
        program = raw_bot.program
        changed = {
            "NAME": "check",
            "HEADERS": [("authorization", f"Bearer {TOKEN}")],
            "PlayServiceStub": lambda channel: SimpleNamespace(Play=partial(self._called, channel)),
            "signal": SimpleNamespace(signal=lambda *_: None, SIGTERM=0),  # they are for the main thread
            "time": SimpleNamespace(monotonic=time.monotonic, sleep=self._ended.wait),
            # What bots change themselves, so that it is as before after the test.
            "SERVER": "",
            "choose": program.choose,
            "retry_delay": program.retry_delay,
        }
        for name, value in changed.items():
            patch.setattr(program, name, value)

    @asynccontextmanager
    async def playing(self, address: str) -> AsyncIterator[None]:
        """Play on a server, which the bot has left when the context ends."""
        raw_bot.program.SERVER = address
        thread = threading.Thread(target=self._play)
        thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._ended.set()
                if self._call is not None:
                    self._call.cancel()
            await asyncio.to_thread(thread.join, LIMIT)
            assert not thread.is_alive()
            for _ in range(
                10
            ):  # until the server has met connections that were given up while they were made
                await asyncio.sleep(0)

    def _called(self, channel: grpc.Channel, requests: Any, metadata: Any) -> Any:
        with self._lock:
            if self._ended.is_set():
                raise SystemExit
            self._call = PlayServiceStub(channel).Play(requests, metadata=metadata)
            return self._call

    def _play(self) -> None:
        while not self._ended.is_set():
            bot = self._bot_class()
            try:
                bot.run()
            except BaseException:  # noqa: BLE001 - whatever a bot is wrong in, it is started again
                bot.outbox.put(None)  # ends gRPC's thread that reads from it


async def found(
    fault: str, monkeypatch: pytest.MonkeyPatch, steps: Sequence[CheckStep] = STEPS
) -> dict[str, Finding]:
    """Check a bot by steps; return their findings by name."""
    bot = BotThread(fault, monkeypatch)

    @asynccontextmanager
    async def listening(listen: str) -> AsyncIterator[ScriptedServer]:
        async with ScriptedServer.listening(listen) as server, bot.playing(server.address):
            yield server

    monkeypatch.setattr(runner, "ScriptedServer", SimpleNamespace(listening=listening))
    findings, _ = await runner.check(Options(token=TOKEN, timeout=LIMIT), steps)
    return {finding.step.name: finding for finding in findings}


def dependents(name: str) -> set[str]:
    """Return the steps that can't be tried where one has failed."""
    direct = {step.name for step in STEPS if name in step.needs}
    return direct.union(*map(dependents, direct))


async def test_a_good_bot_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = await found("none", monkeypatch)
    assert {name: one.seen for name, one in findings.items() if one.status is not Status.OK} == {}
    assert findings.keys() >= FAULTS.keys()


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_faulty_bot_fails_at_its_step_alone(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = await found(fault, monkeypatch)
    failed = {name: one.seen for name, one in findings.items() if one.status is Status.FAILED}
    assert failed.keys() == {fault}
    assert FAULTS[fault] in failed[fault]
    skipped = {name for name, one in findings.items() if one.status is Status.SKIPPED}
    assert skipped == dependents(fault)


@pytest.mark.parametrize("fault", PLAYING_FAULTS)
async def test_a_bot_that_is_wrong_in_some_games_only_is_found(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = await found(fault, monkeypatch, steps_named((fault,)))
    bad = {name: one.seen for name, one in findings.items() if one.status is not Status.OK}
    assert bad.keys() == {fault}
    assert PLAYING_FAULTS[fault] in bad[fault]
