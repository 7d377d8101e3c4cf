"""The levels of the tests: how expensive each may be, and which of them a run includes.

| level | what | CPU seconds |
|---|---|---|
| 0 | pure: a function, a class, a text | 0.2 |
| 1 | served in the test's process, or a command called as a function | 0.5 |
| 2 | whole programs | 5 |
| 3 | a browser, other languages, an image, a sandbox, PostgreSQL, Ray, a learner | no limit |
| 4 | `nightly`: too expensive for each change | no limit |

A test's CPU time is that of its own process and of the programs that it started, with its own fixtures but
without those that it shares. Its unit is a loop of additions that is timed in the same process, so that it
doesn't depend on the machine: the limits are those of one that adds 20 million numbers a second.

A machine that others share can add as fast as ever while each read of memory takes a hundred times as long.
So whether a test fails for its cost is judged by the slower of two loops, of additions and of reads.
"""

from __future__ import annotations

import os
import random
import resource
import time
from collections import defaultdict, deque
from collections.abc import Generator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import pytest

FOLDER: Final = Path(__file__).parent
NIGHTLY: Final = 4
LIMITS: Final = {0: 0.2, 1: 0.5, 2: 5.0}
"""CPU seconds of a test, by its level."""
MARGIN: Final = 3
"""A test fails where it takes this many times its limit."""
_FOLDERS: Final = {
    "bridge": 1,
    "bridge/test_programs.py": 2,
    "check": 1,
    "clients": 3,
    "commands": 2,
    "docs/test_site.py": 3,
    "envs": 3,
    "envs/selfplay": 0,
    "game/runtime/test_kept_in_bounds.py": 2,
    "llm": 1,
    "mcp": 1,
    "misbehaviour": 1,
    "new_bot": 1,
    "readers": 3,
    "release": 3,
    "sdk": 1,
    "server": 1,
    "server/hosting/test_escapes.py": 3,
    "terminal": 1,
    "test_tests.py": 1,
    "tools": 1,
    "tournament/cli": 1,
    "tournament/client": 1,
    "training": 3,
    "viewer": 1,
    "web": 1,
}
"""The level of a folder's tests, or a file's, which have no mark; 0 elsewhere."""
_FIXTURES: Final = {"cluster": 3, "browser": 3, "engine": 3}
"""The level of tests with these fixtures, each of which starts a large program."""
_USUAL: Final = {0: (1_120, 0.03), 1: (1_920, 0.08), 2: (670, 0.8), 3: (750, 2.9)}
"""How many tests each level has, and CPU seconds of one with its browser, for the estimate."""
_ADDITIONS: Final = 20_000
_READS: Final = 2_000
_TABLE: Final = 50_000
"""Objects from which to read: some 10 MB, more than the cache of a core."""
_SPEEDS: Final = 200
_SECONDS_BETWEEN_SPEEDS: Final = 0.1
"""CPU time after which the speed of the process is measured again."""
_ADDITIONS_PER_SECOND: Final = 20e6
_READS_PER_SECOND: Final = 2e6
"""Reads in random order of that machine, where other programs have used the caches in between."""


def folder_level(path: Path) -> int:
    """Return the level of a folder or file of tests, where no mark says otherwise."""
    for folder in (path, *path.parents):
        if folder.is_relative_to(FOLDER) and (name := folder.relative_to(FOLDER).as_posix()) in _FOLDERS:
            return _FOLDERS[name]
    return 0


def level_of(item: pytest.Item) -> int:
    """Return a test's level: the highest of its marks, or its folder's; at least that of its fixtures."""
    if item.get_closest_marker("nightly"):
        return NIGHTLY
    marked = [int(mark.args[0]) for mark in item.iter_markers("level")]
    assert max(marked, default=0) < NIGHTLY, f"{item.nodeid}: the levels of marks are below {NIGHTLY}"
    names = {*getattr(item, "fixturenames", ())}
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    if any(isinstance(value, str) and value == "postgresql" for value in parameters):
        names.add("cluster")
    needed = (level for name, level in _FIXTURES.items() if name in names)
    return max([max(marked) if marked else folder_level(item.path), *needed])


def chosen(config: pytest.Config) -> range:
    """Return the levels that a run includes.

    Without `--levels`, those are 0 and 1, or all but the nightly tests of files and folders that are named.

    Raises:
        UsageError: `--levels` is neither a level nor two with a hyphen.
    """
    text = config.getoption("--levels")
    if text is None:
        named = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
        text = "0-1" if FOLDER in named else "0-3"
    first, _, last = text.partition("-")
    try:
        return range(int(first), int(last or first) + 1)
    except ValueError:
        raise pytest.UsageError(f"--levels {text}: a level from 0 to {NIGHTLY}, or two as in 0-2") from None


class Cost(NamedTuple):
    """What one test, or one fixture that several tests share, took."""

    name: str
    level: int
    seconds: float
    """CPU seconds of the machine that adds 20 million numbers a second."""

    def exceeds(self, times: float = 1) -> bool:
        return self.seconds > times * LIMITS.get(self.level, float("inf"))


class Speed(NamedTuple):
    """How fast this process is now, in units of the machine for which the limits are."""

    of_additions: float
    of_reads: float
    """Of objects that lie in memory in random order, and are in no cache."""

    @classmethod
    def now(cls) -> Self:
        """Measure it, for about a millisecond each."""
        return cls(additions_per_second() / _ADDITIONS_PER_SECOND, reads_per_second() / _READS_PER_SECOND)


def additions_per_second() -> float:
    """Measure the speed of a loop that needs no memory."""
    began = time.thread_time()
    total = 0
    for number in range(_ADDITIONS):
        total += number
    return _ADDITIONS / (time.thread_time() - began)


def reads_per_second() -> float:
    """Measure the speed of a loop that needs memory."""
    table = _table()
    table.rotate(_READS)  # so that they have not been read just before
    objects = list(islice(table, _READS))
    began = time.thread_time()
    total = 0
    for each in objects:
        total += each["number"]
    return _READS / (time.thread_time() - began)


@cache
def _table() -> deque[dict[str, int]]:
    """Return objects in another order than they lie in memory."""
    table = [{"number": number} for number in range(_TABLE)]
    random.Random(1).shuffle(table)
    return deque(table)


class Used(NamedTuple):
    """CPU time in seconds."""

    own: float
    programs: float
    """That of the processes which this one started and which ended."""

    @classmethod
    def now(cls) -> Self:
        used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return cls(*(each.ru_utime + each.ru_stime for each in used))

    def plus(self, other: Used, times: int = 1) -> Used:
        return Used(self.own + times * other.own, self.programs + times * other.programs)

    def minus(self, other: Used) -> Used:
        return self.plus(other, -1)


class Costs:
    """Measures tests, reports the expensive ones, and fails those far above their limit."""

    def __init__(self, *, listed: int, strict: bool) -> None:
        self._listed, self._strict = listed, strict
        self._shared = Used(0.0, 0.0)
        """What the current test has made or ended for others too."""
        self._depth = 0
        """How many shared fixtures, one inside the other, are being made or ended."""
        self._began = Used(0.0, 0.0)
        self._timed = 0.0
        """The CPU time of this process when its speed was measured last."""
        self._speeds: deque[Speed] = deque(maxlen=_SPEEDS)
        """Those of the last tests: a test is slowed down by other programs for longer than a loop shows."""
        self._costs: list[Cost] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None]:
        """Begin with a test."""
        self._shared, self._began = Used(0.0, 0.0), Used.now()
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """Charge no test with what others use too: neither its making nor its end."""
        if fixturedef.scope == "function":
            return (yield)
        fixturedef.addfinalizer(self._end_shared)  # the first to be added is the last to be called
        self._begin_shared()
        try:
            return (yield)
        finally:
            self._end_shared()
            fixturedef.addfinalizer(self._begin_shared)

    def _begin_shared(self) -> None:
        if not self._depth:
            self._shared = self._shared.minus(Used.now())
        self._depth += 1

    def _end_shared(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._shared = self._shared.plus(Used.now())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """End with a test; fail where it was far too expensive."""
        yield
        ended = Used.now()
        if not self._speeds or ended.own - self._timed > _SECONDS_BETWEEN_SPEEDS:
            self._speeds.append(Speed.now())
            self._timed = ended.own
        used = ended.minus(self._began).minus(self._shared)
        cost = Cost(item.nodeid, level_of(item), sum(used) * self._speeds[-1].of_additions)
        item.user_properties.append(("cost", tuple(cost)))
        # By the slowest of the last speeds, so that a busy machine lets no test fail; and without programs
        # where there should be none, as their ends may be noticed in a later test than they were started by.
        least_used = sum(used) if cost.level > 1 else used.own
        least = cost._replace(seconds=least_used * min(map(min, self._speeds)))
        if self._strict and least.exceeds(MARGIN):
            pytest.fail(
                f"{cost.seconds:.1f} CPU seconds, where level {cost.level} has {LIMITS[cost.level]:g}: "
                "make it cheaper, or give it another level (CONTRIBUTING.md, Tests)",
                pytrace=False,
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what tests took, those of other processes too."""
        if report.when == "teardown":
            costs: Any = [value for name, value in report.user_properties if name == "cost"]
            self._costs += [Cost(*cost) for cost in costs]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Report what each level took, and which tests exceed it."""
        by_level: dict[int, list[Cost]] = defaultdict(list)
        for cost in sorted(self._costs, key=lambda cost: -cost.seconds):
            by_level[cost.level].append(cost)
        for level, costs in sorted(by_level.items()):
            total = sum(cost.seconds for cost in costs)
            terminalreporter.write_line(f"level {level}: {len(costs):,} tests, {total:,.0f} CPU seconds")
            for cost in [cost for n, cost in enumerate(costs) if n < self._listed or cost.exceeds()]:
                above = f", more than {LIMITS[level]:g}" if cost.exceeds() else ""
                terminalreporter.write_line(f"  {cost.seconds:.2f}{above}: {cost.name}")


def estimate(tests: int, levels: range, processes: int) -> str:
    """Say how many tests there are, and about how long that takes on this machine; nightly ones vary."""
    said = f"{tests:,} tests of levels {levels[0]}-{levels[-1]}"
    if NIGHTLY in levels:
        return said
    usual = sum(_USUAL[level][0] for level in levels)
    seconds = tests * sum(_USUAL[level][0] * _USUAL[level][1] for level in levels) / usual
    seconds *= _ADDITIONS_PER_SECOND / additions_per_second() / min(processes, os.cpu_count() or 1)
    return f"{said}: about {max(1, round(seconds / 60))} min"
