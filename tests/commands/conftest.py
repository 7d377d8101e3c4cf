from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands.programs import Program, Start


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Give a function that starts a program, in its own folder; what still runs at the end is killed."""
    programs: list[Program] = []

    def start_one(module: str, *arguments: str, **options: Any) -> Program:
        program = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            **{"cwd": tmp_path, "stderr": subprocess.DEVNULL, **options},
        )  # fmt: skip
        programs.append(program)
        return program

    yield start_one
    for program in programs:
        program.kill()
        program.communicate()
