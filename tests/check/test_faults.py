"""Each step finds the bot that it is for, and no other one; each bot is a program.

`test_quick_faults.py` has those that a thread can play and that don't let the check wait.
"""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from happycity_check.report import format_finding
from happycity_check.runner import check, steps_named
from happycity_check.step import Finding, Status
from happycity_check.steps import STEPS
from happycity_check.trial_bot import Options

BOT = Path(__file__).parent / "bots" / "raw_bot.py"
AT_ONCE = 6
TIMEOUT = 15.0
"""Seconds after which the check gives up a bot that is silent, as some of these are."""

# What each step says about the bot that does wrong just there.
FAULTS = {
    "hello": "the first message holds hello, pong",
    "protocol-version": "protocol_version is 0, and not 1",
    "name": "the name 'bond', where HAPPYCITY_NAME is 'check'",
    "token": "a call without authorization",
    "token-alone": "the name 'bond': is it the one that the token is for?",
    "first-decision": "move 3 for decision 1 of match 1001, whose moves are 0 to 2",
    "whole-game": "no answer to decision",
    "many-games": "no answer to decision",
    "table-sizes": "its process ended with status 1; its last line: IndexError: seat 4",
    "expert": "its last line: KeyError: 'market'",
    "several-seats": "no answer to decision",
    "large-numbers": "an answer to decision 1 of match 9007199254740992, which was never sent",
    "one-message": "no answer to decision 1",
    "repeated-messages": "two answers to decision",
    "notices": "its last line: RuntimeError: this is only a test",
    "unknown-fields": "its last line: ValueError: unknown field",
    "game-over": "a game that was over",
    "voided": "its last line: IndexError: list index out of range",
    "unknown-values": "its last line: ValueError: ",
    "ping": "no pong within",
    "reconnect": "the resume_token '', where the last welcome's is 'resume-",
    "resent-decision": "before the connection was lost, then move ",
    "resumed-games": "no answer to decision",
    "resumed-seats": "no answer to decision",
    "interrupted": "it did not connect again to a server that closes the connection after 20 bytes",
    "retried": "it connected again after 0.",
    "deterministic": "deterministic: no",
    "speed": "its last line: MemoryError: too many games",
    "shutting-down": "try again; its process ended with status 1; its last line: the server is gone",
    "refused": "WRONG_NAME: an error is not to be seen",
    "ended": "REPLACED: it connected again",
    "unreachable": "nothing listens: an error is not to be seen",
    "proxy": "1 connection to the proxy: ",
    "clean-exit": "it ended without a goodbye after SIGTERM",
}
WARNINGS = ("token-alone", "deterministic", "proxy")
"""Steps that warn only."""
OF_ALL = "tls"
"""What all these bots are warned of."""
LONG = "silent"
"""The step that waits for 20 s, which is tried with one bot only."""


async def checked(fault: str, *names: str) -> list[Finding]:
    """Check a bot by the steps of these names and what they need, or by all."""
    command = f"{sys.executable} {BOT} {fault}"
    steps = [step for step in steps_named(names) if step.name != LONG]
    findings, _ = await check(Options(command=command, token="abc", timeout=TIMEOUT), steps)
    return findings


def near(fault: str) -> set[str]:
    """Return the steps that a fault might disturb: those of its step's module, and those that need it."""
    (module,) = (step.run.__module__ for step in STEPS if step.name == fault)
    own = {step.name for step in STEPS if step.run.__module__ == module}
    return (own | dependents(fault)) - {OF_ALL, LONG}


def test_every_step_has_its_faulty_bot() -> None:
    assert {step.name for step in STEPS if not step.sdk} == {*FAULTS, OF_ALL, LONG}


@pytest.mark.nightly
async def test_a_faulty_bot_fails_at_its_step_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are checked side by side, as they mostly wait: for silent ones longest, which come first."""
    monkeypatch.setattr("happycity_check.steps.endings.QUIET_SECONDS", TIMEOUT)
    turn = asyncio.Semaphore(AT_ONCE)

    async def found(fault: str) -> list[Finding]:
        async with turn:
            return await checked(fault, *near(fault))

    faults = sorted(FAULTS, key=lambda fault: not FAULTS[fault].startswith("no "))
    for fault, findings in zip(faults, await asyncio.gather(*map(found, faults)), strict=True):
        status = {finding.step.name: finding.status for finding in findings}
        bad = {name for name, status in status.items() if status in (Status.FAILED, Status.WARNING)}
        assert bad == {fault}
        assert status[fault] is (Status.WARNING if fault in WARNINGS else Status.FAILED)
        (failed,) = (finding for finding in findings if finding.step.name == fault)
        assert FAULTS[fault] in failed.seen
        skipped = {name for name, status in status.items() if status is Status.SKIPPED}
        assert skipped == dependents(fault) - {OF_ALL, LONG}
        report = format_finding(failed)
        assert [report.count(f"{part}:") for part in ("demanded", "seen", "to do")] == [1, 1, 1]


def dependents(name: str) -> set[str]:
    if name in WARNINGS:
        return set()
    direct = {step.name for step in STEPS if name in step.needs and not step.sdk}
    return direct.union(*map(dependents, direct))


@pytest.mark.level(2)
async def test_a_bot_that_stays_when_its_place_is_taken_passes() -> None:
    findings = await checked("staying", "ended")
    assert {finding.step.name for finding in findings if finding.status is not Status.OK} == set()


@pytest.mark.nightly
async def test_each_step_of_sdks_fails_for_another_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("happycity_check.trial_bot.START_SECONDS", 3.0)
    steps = [replace(step, needs=()) for step in STEPS if step.sdk]
    findings, _ = await check(Options(command=f"{sys.executable} {BOT} none", timeout=2.0, sdk=True), steps)
    assert [finding.step.name for finding in findings if finding.status is not Status.FAILED] == []
