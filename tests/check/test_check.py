"""The command `happycity check`, and the bots that must pass it."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.commands.programs import happycity
from tests.programs import run
from tests.waiting import LIMIT

from happycity_bots.catalogue import BOTS
from happycity_check.runner import check, steps_named
from happycity_check.step import CheckStep, Status
from happycity_check.steps import STEPS
from happycity_check.trial_bot import Options

QUICK = tuple(step for step in steps_named(()) if not step.waits)
"""The steps that are not known to wait for many seconds."""
PLAYED = steps_named(("table-sizes", "expert", "deterministic"))
HERE = Path(__file__).parent / "bots"
RAW_BOT = f"{sys.executable} {HERE / 'raw_bot.py'}"
HAPPYCITY = (sys.executable, "-m", "happycity")


@contextmanager
def listening(*steps: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the check of a bot that connects by itself; give its process and address."""
    arguments = [*HAPPYCITY, "check", "--listen", "127.0.0.1:0", "--timeout", str(LIMIT), *steps]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert "stop with Ctrl-C" in process.stdout.readline()
            yield process, process.stdout.readline().split()[-1]
        finally:
            process.kill()


@pytest.mark.level(3)
@pytest.mark.parametrize(("bot", "steps"), [(bot, PLAYED if bot != "random" else QUICK) for bot in BOTS])
async def test_the_reference_bots_pass_every_step(bot: str, steps: tuple[CheckStep, ...]) -> None:
    """They share what speaks the protocol, so one is asked everything, and the others play."""
    options = Options(command=f"{' '.join(HAPPYCITY)} bot check={bot}", token="abc", timeout=LIMIT)
    findings, facts = await check(options, steps)
    bad = [finding.step.name for finding in findings if finding.status is not Status.OK]
    assert bad == (["token-alone"] if bot == "random" else [])  # its name is in the command
    assert facts["deterministic"] is True


@pytest.mark.level(2)
def test_a_good_bot_ends_the_command_with_status_0() -> None:
    """Steps are shown as lines, beside which the result is printed as JSON."""
    steps = ("--only", "speed", "--only", "deterministic", "--only", "clean-exit")
    done = run("check", "--bot", f"{RAW_BOT} none", *steps, "--timeout", str(LIMIT), "--json")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ok +hello +hello from 'check', raw bot", done.stderr, flags=re.MULTILINE)
    assert done.stderr.splitlines()[-1].startswith("passed: ")
    result = json.loads(done.stdout)
    assert result["passed"] is True
    assert result["deterministic"] is True
    assert set(result["speed"]) == {"games_at_once", "decisions", "decisions_per_second", "think_ms"}
    assert {"name", "status", "demanded", "seen", "advice", "seconds"} == set(result["steps"][0])


@pytest.mark.level(2)
def test_a_bad_bot_ends_the_command_with_status_1() -> None:
    done = happycity(
        *("check", "--bot", f"{RAW_BOT} first-decision"),
        *("--only", "first-decision", "--only", "name", "--json", "--timeout", LIMIT),
    )
    assert done.status == 1
    result = json.loads(done.output)
    assert result["passed"] is False
    assert [(step["name"], step["status"]) for step in result["steps"]] == [
        ("hello", "ok"),
        ("name", "ok"),
        ("first-decision", "failed"),
    ]
    assert "FAILED   first-decision" in done.errors


def test_bad_input_costs_one_line_and_status_2() -> None:
    for arguments, expected in [
        ([], "give --bot COMMAND, --listen HOST:PORT, or both"),
        (["--bot", "'x"], "--bot: can't read the command"),
        (["--bot", "/no/such/bot"], "--bot: '/no/such/bot' can't be started: No such file or directory"),
        (["--bot", "x", "--only", "dance"], "--only: there is no step 'dance'; the nearest is notices"),
        (["--bot", "x", "--only", "crash"], "--only: there is no step 'crash'; it needs --sdk"),
        (["--listen", "somewhere"], "--listen: 'somewhere' is not host:port"),
        (["--listen", "203.0.113.1:50052"], "--listen: 203.0.113.1:50052 can't be listened on"),
    ]:
        done = happycity("check", *arguments)
        assert done.status == 2
        assert len(done.errors.splitlines()) == 1
        assert done.errors.startswith("error: ")
        assert expected in done.errors


def test_a_bot_that_does_not_start_is_reported_with_its_last_line() -> None:
    """A process that ends at once is not waited for."""
    done = happycity(
        "check", "--bot", f"{sys.executable} -c 'raise SystemExit(\"no brain\")'", "--only", "hello"
    )
    assert done.status == 1
    text = " ".join(done.output.split())
    assert "the bot did not connect; its process ended with status 1; its last line: no brain" in text


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("bot check=greedy", r"author 'the Happy City project', version '.+', language 'Python 3.+', desc"),
        ("bridge --author Ann --language C -- cat", "with author 'Ann', language 'C'$"),
        ("bridge -- cat", "ok +name +the name 'check'$"),
    ],
)
def test_bots_say_who_they_are(program: str, expected: str) -> None:
    bot = f"{shlex.join(HAPPYCITY)} {program}"
    done = happycity("check", "--bot", bot, "--only", "name", "--timeout", LIMIT)
    assert re.search(expected, done.output, flags=re.MULTILINE), done.output


@pytest.mark.level(2)
def test_a_bot_may_connect_by_itself() -> None:
    """With --listen the bot is anybody's process; only what needs it as a child is skipped."""
    with listening("--only", "reconnect", "--only", "clean-exit") as (process, address):
        bot = subprocess.Popen(
            [*HAPPYCITY, "bot", "mine=greedy", "--server", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        output, _ = process.communicate(timeout=LIMIT)
        bot.terminate()  # or it looks for the server for a minute
        bot.wait(LIMIT)
    assert process.returncode == 0, output
    assert "hello from 'mine'" in output
    assert "skipped  clean-exit" in output


@pytest.mark.level(2)
def test_ctrl_c_stops_the_check() -> None:
    """One line and status 130, whatever it waits for."""
    with listening() as (process, _):
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert output.splitlines()[-1] == "stopped"


@pytest.mark.level(2)
def test_ctrl_c_takes_the_bot_along() -> None:
    """A bot that was started is ended, here while it keeps the check waiting in the middle of a game."""
    arguments = [*HAPPYCITY, "check", "--bot", f"{RAW_BOT} whole-game", "--timeout", str(LIMIT)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        output = ""
        for line in process.stdout:
            output += line
            if "first-decision" in line:
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130
    bot = re.search(r"raw bot (\d+)", output)
    assert bot is not None
    with pytest.raises(ProcessLookupError):
        os.kill(int(bot[1]), 0)


def test_every_step_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text(encoding="utf-8")
    section = text.partition("## The steps\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+?) \|$", section, flags=re.MULTILINE)
    assert rows == [(step.name, step.demand) for step in STEPS if not step.sdk]
