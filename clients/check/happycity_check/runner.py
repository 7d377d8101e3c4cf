"""Goes through the steps with one bot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from happycity import HappyCityError
from happycity_check.bench import Bench, Options
from happycity_check.dialogue import UnexpectedError
from happycity_check.peer import Peer
from happycity_check.step import Finding, SkippedError, Status, Step, WarningError
from happycity_check.steps import STEPS


class UnknownStepError(HappyCityError):
    """There is no step of that name."""


def chosen(names: Sequence[str]) -> tuple[Step, ...]:
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
            raise UnknownStepError(f"only: there is no step {name!r}; there are: {', '.join(by_name)}")
        wanted.add(name)
        missing += by_name[name].needs
    return tuple(step for step in STEPS if step.name in wanted)


async def findings(bench: Bench, steps: Sequence[Step]) -> AsyncGenerator[Finding]:
    """Try the steps one after the other; one whose need isn't met is skipped."""
    met: set[str] = set()
    for step in steps:
        if unmet := [name for name in step.needs if name not in met]:
            yield Finding(step=step, status=Status.SKIPPED, seen=f"it needs {unmet[0]}", seconds=0.0)
            continue
        finding = await _try(step, bench)
        if finding.status is Status.FAILED:
            await bench.start_over()
        else:
            met.add(step.name)
        yield finding


async def _try(step: Step, bench: Bench) -> Finding:
    clock = asyncio.get_running_loop().time
    began = clock()
    try:
        status, seen = Status.OK, await step.run(bench)
    except SkippedError as skipped:
        status, seen = Status.SKIPPED, str(skipped)
    except WarningError as warning:
        status, seen = Status.WARNING, str(warning)
    except UnexpectedError as error:
        status, seen = Status.FAILED, str(error) + await bench.obituary(error)
    return Finding(step=step, status=status, seen=seen, seconds=clock() - began)


async def check(
    options: Options,
    *,
    listen: str = "127.0.0.1:0",
    only: Sequence[str] = (),
    tell: Callable[[Finding], object] = lambda _finding: None,
    say: Callable[[str], object] = lambda _text: None,
) -> tuple[list[Finding], dict[str, object]]:
    """Check one bot; return what was found at each step, and what was measured.

    Args:
        options: what is checked, and how.
        listen: where the bot dials in, host:port.
        only: names of steps; none means all.
        tell: called with each finding as soon as it is there.
        say: called with lines for a person in between.

    Raises:
        CommandError: the bot can't be started.
        ListenError: the address can't be listened on.
        UnknownStepError: there is no such step.
    """
    steps = chosen(only)
    found = []
    async with Peer.listening(listen) as peer:
        bench = Bench(options, peer, say=say)
        try:
            async with aclosing(findings(bench, steps)) as trying:
                async for finding in trying:
                    found.append(finding)
                    tell(finding)
        finally:
            await bench.start_over()
    return found, bench.facts
