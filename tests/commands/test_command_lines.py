"""Both programs as they are installed: what is common to all commands, and Ctrl-C while they begin."""

import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from happycity.compiled import is_compiled
from happycity.rules.deals import DEALING, EDITION

BIN = Path(sys.executable).parent
EXIT_STOPPED = 130
CODE = "compiled" if is_compiled() else "pure Python"
VERSION = f"{version('happycity')} ({CODE}; rules {EDITION}, deals {DEALING})\n"


@pytest.mark.parametrize(
    ("line", "status", "expected"),
    [
        ("happycity -h", 0, "Run a server:\n  competition "),
        ("happycity --version", 0, VERSION),
        ("tournament --version", 0, VERSION),
        ("tournament games -h", 0, "-q, --quiet"),
        ("happycity tournament list", 0, "no runs"),
        ("happycity -h", 0, "--show-completion"),
        ("tournament -h", 0, "--install-completion"),
        ("happycity simulate -q --games 1 --no-records", 0, ""),
        ("happycity simulate --out no/file", 2, "error: no/file: No such file or directory"),
        ("tournament run --bots greedy, random", 2, "error: random: no argument is expected here; a value"),
        ("tournament compare", 2, "error: BEFORE: it is missing, and there are no two runs"),
    ],
)
def test_command_lines(tmp_path: Path, line: str, status: int, expected: str) -> None:
    program, *arguments = line.split()
    done = subprocess.run(
        [BIN / program, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"COLUMNS": "80"},
    )
    printed = done.stderr if status else done.stdout
    assert (done.returncode, expected in printed) == (status, True), done
    assert done.stderr.count("\n") == (1 if status else 0)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("happycity se", ["serve"]),
        ("tournament re", ["resume", "report"]),
        ("tournament run --see", ["--seed"]),
    ],
)
def test_shells_complete_commands_and_options(words: str, expected: list[str]) -> None:
    """As the functions ask that --install-completion gives to shells."""
    program, *others = words.split()
    environment = {
        f"_{program.upper()}_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(others)),
    }
    printed = subprocess.run([BIN / program], env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout.split() == expected


@pytest.mark.parametrize("when", ["happycity.errors", "happycity.rules.deals", "typer"])
@pytest.mark.parametrize("program", ["happycity status", "tournament list", "bot"])
def test_a_program_is_stopped_while_it_is_imported(tmp_path: Path, program: str, when: str) -> None:
    """It prints no traceback, wherever the signal finds it."""
    if program == "bot":
        when = when.replace("typer", "grpc")
        bot = tmp_path / "bot.py"
        bot.write_text("from happycity_client import Bot, run\nrun(Bot)")
        command = [str(bot)]
    else:
        name, argument = program.split()
        command = [str(BIN / name), argument]
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", *command], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as started:
        assert started.stderr is not None
        for line in started.stderr:
            if line.split("|")[-1].strip() == when:
                started.send_signal(signal.SIGINT)
                break
        rest = started.stderr.read()
    assert (started.returncode, "Traceback" in rest) == (EXIT_STOPPED, False), rest[-2000:]
