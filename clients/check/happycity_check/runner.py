"""Goes through the steps with one bot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from happycity import HappyCityError
from happycity.errors import suggestion
from happycity_check.errors import SkippedError, UnexpectedError, WarningError
from happycity_check.report import format_finding
from happycity_check.scripted_server import ScriptedServer
from happycity_check.step import Finding, Status, Step
from happycity_check.steps import STEPS
from happycity_check.trial_bot import Options, TrialBot


class UnknownStepError(HappyCityError):
    """There is no step of that name."""


def steps_named(names: Sequence[str]) -> tuple[Step, ...]:
    """Return the steps of these names with all that they need, in order; all steps without a name.

    Raises:
        UnknownStepError: there is no such step.
    """
    if not names:
        return STEPS
    by_name = {step.name: step for step in STEPS}
    wanted: set[str] = set()
    missing = [*names]
    while missing:
        name = missing.pop()
        if name not in by_name:
            raise UnknownStepError(f"--only: there is no step {name!r}; {suggestion(name, by_name)}")
        wanted.add(name)
        missing += by_name[name].needs
    return tuple(step for step in STEPS if step.name in wanted)


async def _findings(bot: TrialBot, steps: Sequence[Step]) -> AsyncGenerator[Finding]:
    """Try the steps one after the other; one whose need isn't met is skipped."""
    met: set[str] = set()
    for step in steps:
        if unmet := [name for name in step.needs if name not in met]:
            yield Finding(step=step, status=Status.SKIPPED, seen=f"it needs {unmet[0]}", seconds=0.0)
            continue
        finding = await _try(step, bot)
        if finding.status is Status.FAILED:
            await bot.reset()
        else:
            met.add(step.name)
        yield finding


async def _try(step: Step, bot: TrialBot) -> Finding:
    clock = asyncio.get_running_loop().time
    began = clock()
    try:
        status, seen = Status.OK, await step.run(bot)
    except SkippedError as skipped:
        status, seen = Status.SKIPPED, str(skipped)
    except WarningError as warning:
        status, seen = Status.WARNING, str(warning)
    except UnexpectedError as error:
        status, seen = Status.FAILED, str(error) + await bot.exit_report(error)
    return Finding(step=step, status=status, seen=seen, seconds=clock() - began)


async def check(
    options: Options,
    steps: Sequence[Step] = STEPS,
    *,
    listen: str = "127.0.0.1:0",
    print_line: Callable[[str], object] = lambda _line: None,
) -> tuple[list[Finding], dict[str, object]]:
    """Check one bot, which connects to `listen`; return the finding of each step, and what was measured.

    Each finding is printed as soon as it is there.

    Raises:
        ChildError: the bot can't be started.
        ListenError: the address can't be listened on.
    """
    findings = []
    async with ScriptedServer.listening(listen) as server:
        bot = TrialBot(options, server, print_line=print_line)
        try:
            async with aclosing(_findings(bot, steps)) as trying:
                async for finding in trying:
                    findings.append(finding)
                    print_line(format_finding(finding))
        finally:
            await bot.reset()
    return findings, bot.measurements
