"""Python without docstrings (`-OO`): texts that programs send or print don't depend on them."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import PATIENT

TEXTS = """
from happycity_bots.catalogue import BOTS, info_of
from happycity_check.steps import STEPS
assert not info_of.__doc__
for bot in BOTS.values():
    info_of(bot)
print(sum(bool(step.demand) for step in STEPS), len(STEPS))
"""


def test_reference_bots_and_steps_of_the_check_have_what_they_say() -> None:
    demanded, steps = optimised("-c", TEXTS).split()
    assert demanded == steps


@pytest.mark.parametrize("command", [("happycity", "serve"), ("happycity_tournament", "run")], ids=" ".join)
def test_help_says_why_it_is_short(command: tuple[str, str]) -> None:
    usage, text, *_ = optimised("-m", *command, "--help").split("\n\n")
    assert usage.startswith("Usage: ")
    assert text.strip() == "python -OO removes what is said here; -O doesn't."


def test_a_run_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the server and the bots that it starts have no docstrings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONOPTIMIZE", "2")
    words = ("run", "--rounds", "1", "--seats", "2", "--bots", "random,greedy", *PATIENT)
    assert "greedy" in optimised("-m", "happycity_tournament", *words)


def optimised(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-OO", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
