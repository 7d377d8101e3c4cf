"""What programs may do to the machine: how they share it."""

import os
import subprocess
import sys

import pytest
from tests.waiting import LIMIT

from happycity.runtime.child import BOT_NICENESS, Child


@pytest.mark.parametrize(("own", "wanted"), [(0, BOT_NICENESS), (5, 5), (6, 6), (19, 19)])
async def test_a_bot_is_never_less_nice_than_who_starts_it(
    monkeypatch: pytest.MonkeyPatch, own: int, wanted: int
) -> None:
    """Only root may lower the number, and a run with `nice -n 6` belongs to an ordinary user."""

    def setpriority(which: int, who: int, priority: int) -> None:
        if priority < own:
            raise PermissionError(13, "Permission denied")
        asked.append(priority)

    asked: list[int] = []
    monkeypatch.setattr(os, "getpriority", lambda which, who: own)
    monkeypatch.setattr(os, "setpriority", setpriority)
    child = Child.start([sys.executable, "-c", "input()"], environment={}, stdin=subprocess.PIPE)
    child.yield_to_games()
    assert asked == [wanted]
    await child.stop(LIMIT)
    assert child.stdin is not None
    child.stdin.close()


@pytest.mark.parametrize("error", [ProcessLookupError, PermissionError])
async def test_a_priority_that_can_not_be_set_stops_no_run(
    monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    """The program has ended already, or runs as another user by now."""

    def setpriority(*_: int) -> None:
        raise error

    monkeypatch.setattr(os, "setpriority", setpriority)
    child = Child.start([sys.executable, "-c", "pass"], environment={})
    child.yield_to_games()
    await child.stop(LIMIT)
