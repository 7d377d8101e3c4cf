"""Goes through the steps with one bot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from happycity import ConfigError
from happycity.errors import suggestion
from happycity_check.errors import SkippedError, UnexpectedError, WarningError
from happycity_check.report import format_finding
from happycity_check.scripted_server import ScriptedServer
from happycity_check.step import CheckStep, Finding, Status
from happycity_check.steps import STEPS
from happycity_check.trial_bot import Options, TrialBot
from happycity_runtime.event_loop import end_tasks


def steps_named(names: Sequence[str], *, sdk: bool = False) -> tuple[CheckStep, ...]:
    """Return the steps of these names with all that they need, in order; all steps without a name.

    ConfigError if there is no such step, or it is for SDKs.
    """
    by_name = {step.name: step for step in STEPS if sdk or not step.sdk}
    missing = [*names] or [*by_name]
    wanted: set[str] = set()
    while missing:
        name = missing.pop()
        if name not in by_name:
            advice = (
                "it needs --sdk" if any(step.name == name for step in STEPS) else suggestion(name, by_name)
            )
            raise ConfigError(f"--only: there is no step {name!r}; {advice}")
        wanted.add(name)
        missing += by_name[name].needs
    return tuple(step for step in STEPS if step.name in wanted)


async def _try(step: CheckStep, bot: TrialBot) -> Finding:
    clock = asyncio.get_running_loop().time
    began = clock()
    try:
        status, seen = Status.OK, await step.run(bot)
    except SkippedError as skipped:
        status, seen = Status.SKIPPED, str(skipped)
    except WarningError as warning:
        status, seen = Status.FAILED if bot.options.sdk else Status.WARNING, str(warning)
    except UnexpectedError as error:
        status, seen = Status.FAILED, str(error)
        if not step.waits:  # else other steps use the bot now
            seen += await bot.exit_report(error)
            await bot.reset()
    return Finding(step=step, status=status, seen=seen, seconds=clock() - began)


async def check(
    options: Options,
    steps: Sequence[CheckStep] = STEPS,
    *,
    listen: str = "127.0.0.1:0",
    print_line: Callable[[str], object] = lambda _line: None,
) -> tuple[list[Finding], dict[str, object]]:
    """Check one bot, which connects to `listen`; return the finding of each step, and what was measured.

    Each finding is printed as soon as it is there.

    Raises:
        ChildError: the bot can't be started.
        ConfigError: the address can't be listened on.
    """
    findings: list[Finding] = []
    met: set[str] = set()
    with TemporaryDirectory(prefix="happycity-check-") as folder:
        async with ScriptedServer.listening(listen) as server:
            bot = TrialBot(options, server, Path(folder), print_line=print_line)
            # Those that wait for long begin with the first step.
            waiting = {step.name: asyncio.create_task(_try(step, bot)) for step in steps if step.waits}
            try:
                for step in sorted(steps, key=lambda step: step.waits):
                    unmet = [name for name in step.needs if name not in met]
                    if step.name in waiting:
                        finding = await waiting[step.name]
                    elif unmet:
                        seen = f"it needs {unmet[0]}"
                        finding = Finding(step=step, status=Status.SKIPPED, seen=seen, seconds=0.0)
                    else:
                        finding = await _try(step, bot)
                    if not unmet and finding.status is not Status.FAILED:
                        met.add(step.name)
                    findings.append(finding)
                    print_line(format_finding(finding))
            finally:
                await end_tasks(*waiting.values())
                await bot.reset()
    return findings, bot.measurements
