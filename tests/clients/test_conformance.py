"""The conformance suite: the scenario bots of all SDKs pass it, and the bot on the bare stubs."""

import asyncio
import shlex
import sys
from pathlib import Path

import pytest
from tests.check.whole_bot import code
from tests.waiting import LIMIT
from tools.languages import SDKS, command, missing

from happycity_check.report import format_finding
from happycity_check.runner import check, steps_named
from happycity_check.step import Status
from happycity_check.trial_bot import Options

QUICK_START = "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
"""Java starts in half the time where it optimizes little; the suite starts a bot some fifty times."""


async def test_an_sdk_passes_every_step() -> None:
    """Its scenario bot keeps to the protocol, survives what goes wrong, and says what the other SDKs say.

    All languages are checked at once, as their bots wait most of the time. What is missing is named after
    all others have passed.
    """
    bots = {language: command(language, "scenario") for language in SDKS}
    lacking = {language: missing(bot) for language, bot in bots.items()}
    checked = await asyncio.gather(*(problems(bots[name]) for name in bots if not lacking[name]))
    assert not any(checked), "\n".join(line for lines in checked for line in lines)
    if left := [f"{language}: there is no {file}" for language, file in lacking.items() if file]:
        pytest.skip(f"`make clients` builds what this machine has the tools for; {'; '.join(left)}")


async def problems(bot: str) -> list[str]:
    """Check the scenario bot that a command starts; return what is wrong."""
    options = Options(command=bot.replace("java ", QUICK_START, 1), timeout=LIMIT, sdk=True)
    findings, _ = await check(options, steps_named((), sdk=True))
    return [f"{bot}: {format_finding(each)}" for each in findings if each.status is not Status.OK]


@pytest.mark.xdist_group("bare stubs")
async def test_the_bot_on_the_bare_stubs_passes_every_step_but_one(tmp_path: Path) -> None:
    """The bot of docs/protocol.md knows no TLS, of which a bot is only warned."""
    (tmp_path / "raw.py").write_text(code(), encoding="utf-8")
    bot = shlex.join([sys.executable, str(tmp_path / "raw.py")])
    findings, _ = await check(Options(command=bot, timeout=LIMIT), steps_named(()))
    bad = {finding.step.name: finding.status for finding in findings if finding.status is not Status.OK}
    assert bad == {"tls": Status.WARNING}
