"""The conformance suite: the scenario bots of all SDKs pass it, and the bot on the bare stubs."""

import shlex
import sys
from pathlib import Path

import pytest
from tests.check.whole_bot import code
from tools.languages import SDKS, command, missing

from happycity_check.report import format_finding
from happycity_check.runner import check, steps_named
from happycity_check.step import Status
from happycity_check.trial_bot import Options

QUICK_START = "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
"""Java starts in half the time where it optimizes little; the suite starts a bot some fifty times."""
TIMEOUT = 30.0
"""Seconds for each thing that a bot has to do: several suites may run at once."""


@pytest.mark.parametrize("language", SDKS)
async def test_an_sdk_passes_every_step(language: str) -> None:
    """Its scenario bot keeps to the protocol, survives what goes wrong, and says what the other SDKs say."""
    bot = command(language, "scenario")
    if lacking := missing(bot):
        pytest.skip(f"there is no {lacking}; `make clients` builds what this machine has the tools for")
    options = Options(command=bot.replace("java ", QUICK_START, 1), timeout=TIMEOUT, sdk=True)
    findings, _ = await check(options, steps_named((), sdk=True))
    bad = [format_finding(finding) for finding in findings if finding.status is not Status.OK]
    assert not bad, "\n".join(bad)


async def test_the_bot_on_the_bare_stubs_passes_every_step_but_one(tmp_path: Path) -> None:
    """The bot of docs/protocol.md knows no TLS, of which a bot is only warned."""
    (tmp_path / "raw.py").write_text(code(), encoding="utf-8")
    bot = shlex.join([sys.executable, str(tmp_path / "raw.py")])
    findings, _ = await check(Options(command=bot, timeout=TIMEOUT), steps_named(()))
    bad = {finding.step.name: finding.status for finding in findings if finding.status is not Status.OK}
    assert bad == {"tls": Status.WARNING}
