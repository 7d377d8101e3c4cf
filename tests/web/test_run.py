"""`tournament run` with a link to its pages."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.waiting import LIMIT

_COMMAND = [
    *(sys.executable, "-m", "happycity_tournament", "run", "--seats", "2", "--rounds", "2000"),
    *("--bots", "random,greedy"),
]


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        _COMMAND, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=LIMIT)


def lines_until(process: subprocess.Popen[str], word: str) -> list[str]:
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if word in line:
            break
    return lines


@pytest.mark.level(3)
def test_run_prints_a_link_that_opens_its_tournament(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        link = lines_until(process, "watch: ")[-1].removeprefix("watch: ").strip()
        url, token = link.split("?token=")
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/tournaments/1", url)
        with httpx.Client(timeout=LIMIT) as visitor:
            assert visitor.get(url).status_code == 401
            assert visitor.get(link).status_code == 200
            assert "Tournament 1" in visitor.get(url).text
        assert token not in "".join(path.read_text() for path in tmp_path.rglob("*.log"))
