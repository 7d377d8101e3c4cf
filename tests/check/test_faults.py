"""Each step finds the bot that it is for, and nobody else."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from happycity_check.report import format_finding
from happycity_check.runner import check
from happycity_check.step import Finding, Status
from happycity_check.steps import STEPS
from happycity_check.trial_bot import Options

BOT = Path(__file__).parent / "bots" / "raw_bot.py"
AT_ONCE = 6
TIMEOUT = 15.0

pytestmark = pytest.mark.timeout(900)  # the bots of all steps are checked for the first of these tests

# What each step says about the bot that does wrong just there.
FAULTS = {
    "hello": "the first message holds hello, pong",
    "name": "the name 'bond', where HAPPYCITY_NAME is 'check'",
    "token": "a call without authorization",
    "first-decision": "move 3 for decision 1 of match 1001, whose moves are 0 to 2",
    "whole-game": "no answer to decision",
    "many-games": "no answer to decision",
    "table-sizes": "its process ended with status 1; its last line: IndexError: seat 4",
    "expert": "its last line: KeyError: 'market'",
    "several-seats": "no answer to decision",
    "large-numbers": "an answer to decision 1 of match 9007199254740992, which was never sent",
    "repeated-decision": "two answers to decision",
    "notices": "its last line: RuntimeError: this is only a test",
    "unknown-fields": "its last line: ValueError: unknown field",
    "game-over": "a game that was over",
    "voided": "its last line: IndexError: list index out of range",
    "unknown-values": "its last line: ValueError: ",
    "ping": "no pong within",
    "ping-in-play": "no pong within",
    "reconnect": "the bot did not connect; its process ended with status 0",
    "resume-token": "the resume_token '', where the last welcome's is 'resume-",
    "resume-games": "hello.match_ids is [], where the matches [",
    "resume-seats": "no answer to decision",
    "resent-decision": "before the connection was lost, then move ",
    "forgotten-games": "hello.match_ids still had [",
    "deterministic": "deterministic: no",
    "speed": "its last line: MemoryError: too many games",
    "shutting-down": "try again; its process ended with status 1; its last line: the server is gone",
    "replaced": "it connected again",
    "clean-exit": "it ended without a goodbye after SIGTERM",
}


ORDINARY = {"first-decision", "resume-games"}
"""The faults that are always tried, of a move and of resuming; --thorough tries all.

Neither keeps the check waiting until its timeout.
"""


async def checked(fault: str) -> list[Finding]:
    command = f"{sys.executable} {BOT} {fault}"
    findings, _ = await check(Options(command=command, token="abc", timeout=TIMEOUT))
    return findings


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest) -> dict[str, list[Finding]]:
    """Check the bots of the tests that are run, some side by side: most of the time they wait.

    Those that are silent come first, since the check waits longest for them.
    """
    faults = [
        str(item.callspec.params["fault"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and "fault" in item.fixturenames
    ]
    faults.sort(key=lambda fault: not FAULTS[fault].startswith("no "))

    async def check_all() -> dict[str, list[Finding]]:
        turn = asyncio.Semaphore(AT_ONCE)

        async def one(fault: str) -> list[Finding]:
            async with turn:
                return await checked(fault)

        return dict(zip(faults, await asyncio.gather(*map(one, faults)), strict=True))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("happycity_check.steps.endings.QUIET_SECONDS", TIMEOUT)
        return asyncio.run(check_all())


def test_every_step_has_its_faulty_bot() -> None:
    """Nothing is demanded that no bot of these tests fails at."""
    assert {step.name for step in STEPS} == set(FAULTS)


@pytest.mark.parametrize(
    "fault",
    [name if name in ORDINARY else pytest.param(name, marks=pytest.mark.thorough) for name in FAULTS],
)
def test_a_faulty_bot_fails_at_its_step_alone(found: dict[str, list[Finding]], fault: str) -> None:
    """The step says what it saw; those that need it are skipped, and all others pass."""
    bad = Status.WARNING if fault == "deterministic" else Status.FAILED
    by_name = {finding.step.name: finding for finding in found[fault]}
    assert [name for name, finding in by_name.items() if finding.status in (Status.FAILED, bad)] == [fault]
    assert FAULTS[fault] in by_name[fault].seen
    skipped = {name for name, finding in by_name.items() if finding.status is Status.SKIPPED}
    assert skipped == dependents(fault)


def dependents(name: str) -> set[str]:
    """Return the steps that need a step, directly or not, unless that one only warns."""
    if name == "deterministic":
        return set()
    direct = {step.name for step in STEPS if name in step.needs}
    return direct.union(*map(dependents, direct))


def test_a_failure_tells_what_to_do(found: dict[str, list[Finding]]) -> None:
    """The report of a failed step has what was demanded, what was seen, and advice."""
    for fault, findings in found.items():
        (text,) = [format_finding(finding) for finding in findings if finding.step.name == fault]
        lines = text.splitlines()
        assert lines[0].split() == ["warning" if fault == "deterministic" else "FAILED", fault]
        assert [line.split(":")[0].strip() for line in lines if line[9] != " "][1:] == [
            "demanded",
            "seen",
            "to do",
        ]
        assert max(map(len, lines)) <= 110 or "://" in text


@pytest.mark.thorough
@pytest.mark.parametrize("bot", ["none", "staying"])
async def test_a_bot_that_keeps_to_the_protocol_passes(bot: str) -> None:
    """The raw bot without a fault passes every step, also if it doesn't end when its place is taken."""
    findings = await checked(bot)
    assert {finding.step.name for finding in findings if finding.status is not Status.OK} == set()
