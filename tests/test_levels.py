"""The levels of tests: which one a test has, what a run includes, and when a test is too expensive."""

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import pytest
from tests import levels
from tests.levels import Cost, Costs, Speed

AS_MEANT = Speed(1.0, 1.0)
"""The machine for which the limits are."""


def item(path: str, *marks: pytest.MarkDecorator, fixtures: tuple[str, ...] = (), **params: object) -> Any:
    """Return what pytest knows of a test with these marks, fixtures and parameters."""

    def named(name: str) -> list[pytest.Mark]:
        return [mark.mark for mark in marks if mark.name == name]

    return SimpleNamespace(
        path=levels.FOLDER / path,
        nodeid=path,
        fixturenames=fixtures,
        callspec=SimpleNamespace(params=params),
        user_properties=[],
        iter_markers=named,
        get_closest_marker=lambda name: next(iter(named(name)), None),
    )


def test_a_mark_wins_over_the_folder_and_fixtures_over_both() -> None:
    two, nightly = pytest.mark.level(2), pytest.mark.nightly
    for test, level in (
        (item("game/test_x.py"), 0),
        (item("server/api/test_x.py"), 1),
        (item("server/api/test_x.py", fixtures=("browser",)), 3),
        (item("tournament/storage/test_x.py", kind="postgresql"), 3),
        (item("docs/test_site.py"), 3),
        (item("game/test_x.py", two), 2),
        (item("game/test_x.py", pytest.mark.level(1), two), 2),
        (item("clients/test_x.py", pytest.mark.level(0)), 0),
        (item("web/test_x.py", two, fixtures=("browser",)), 3),
        (item("game/test_x.py", two, nightly), levels.NIGHTLY),
    ):
        assert levels.level_of(test) == level, test


@pytest.mark.parametrize(
    ("option", "named", "chosen"),
    [
        (None, [], [0, 1]),
        (None, ["tests/web/test_play.py"], [0, 1, 2, 3]),
        ("2", [], [2]),
        ("0-2", ["tests/web"], [0, 1, 2]),
    ],
)
def test_a_run_includes_levels(option: str | None, named: list[str], chosen: list[int]) -> None:
    config: Any = SimpleNamespace(
        getoption={"--levels": option}.__getitem__,
        args=named or ["tests"],
        invocation_params=SimpleNamespace(dir=levels.FOLDER.parent),
    )
    assert list(levels.chosen(config)) == chosen


def test_a_wrong_range_is_named() -> None:
    config: Any = SimpleNamespace(getoption={"--levels": "low"}.__getitem__)
    with pytest.raises(pytest.UsageError, match="--levels low: a level from 0 to 4, or two as in 0-2"):
        levels.chosen(config)


def run(hook: Generator[None, Any, Any]) -> None:
    """Go through a hook that wraps others, which do nothing."""
    next(hook)
    with pytest.raises(StopIteration):
        hook.send(None)


def cost(costs: Costs, test: Any, *, own: float, shared: float = 0.0) -> Cost:
    """Let a test and a fixture that it shares use CPU time; return what the test is charged."""
    fixture: Any = SimpleNamespace(scope="module", addfinalizer=lambda finalizer: None)
    run(costs.pytest_runtest_setup())
    making = costs.pytest_fixture_setup(fixture)
    next(making)
    spend(shared)
    with pytest.raises(StopIteration):
        making.send(None)
    spend(own)
    run(costs.pytest_runtest_teardown(test))
    return Cost(*test.user_properties[0][1])


def spend(seconds: float) -> None:
    end = levels.Used.now().own + seconds
    while levels.Used.now().own < end:
        pass


def test_what_others_use_too_is_not_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Speed, "now", lambda: AS_MEANT)
    charged = cost(Costs(listed=0, strict=True), item("game/test_x.py"), own=0.002, shared=0.05)
    assert 0.002 <= charged.seconds < 0.05


@pytest.mark.parametrize("speed", [1.0, 0.5])
def test_a_test_far_above_its_limit_fails(monkeypatch: pytest.MonkeyPatch, speed: float) -> None:
    """On a machine of half the speed the same work is allowed twice the time."""
    monkeypatch.setattr(levels, "LIMITS", {0: 0.002})
    monkeypatch.setattr(Speed, "now", lambda: Speed(speed, speed))
    work = 1 / speed
    above = cost(Costs(listed=0, strict=False), item("game/test_x.py"), own=0.003 * work)
    assert above.exceeds()
    assert above.seconds == pytest.approx(0.003, rel=0.5)
    with pytest.raises(pytest.fail.Exception, match=r"where level 0 has 0.002: make it cheaper"):
        cost(Costs(listed=0, strict=True), item("game/test_x.py"), own=0.007 * work)


def test_what_exceeds_its_level_is_reported() -> None:
    lines: list[str] = []
    costs = Costs(listed=1, strict=True)
    for name, level, seconds in (("a", 0, 0.1), ("b", 0, 0.05), ("c", 1, 0.7), ("d", 1, 0.6), ("e", 3, 60.0)):
        report: Any = SimpleNamespace(when="teardown", user_properties=[("cost", (name, level, seconds))])
        costs.pytest_runtest_logreport(report)
    reporter: Any = SimpleNamespace(write_line=lines.append)
    costs.pytest_terminal_summary(reporter)
    assert lines == [
        "level 0: 2 tests, 0 CPU seconds",
        "  0.10: a",
        "level 1: 2 tests, 1 CPU seconds",
        "  0.70, more than 0.5: c",
        "  0.60, more than 0.5: d",
        "level 3: 1 tests, 60 CPU seconds",
        "  60.00: e",
    ]


@pytest.mark.parametrize("busy", [Speed(0.1, 1.0), Speed(1.0, 0.1)])
def test_a_test_on_a_busy_machine_does_not_fail(monkeypatch: pytest.MonkeyPatch, busy: Speed) -> None:
    """What slows it down may be over when the loops are timed, but it also slowed down the tests before."""
    speeds = iter([busy, AS_MEANT])
    monkeypatch.setattr(levels, "LIMITS", {0: 0.002})
    monkeypatch.setattr(levels, "_SECONDS_BETWEEN_SPEEDS", 0.0)
    monkeypatch.setattr(Speed, "now", lambda: next(speeds))
    costs = Costs(listed=0, strict=True)
    cost(costs, item("game/test_x.py"), own=0.001)
    assert cost(costs, item("game/test_y.py"), own=0.01).exceeds(levels.MARGIN)


def test_what_a_run_says_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many tests, and how long by their levels; more processes than cores make nothing faster."""
    monkeypatch.setattr(levels, "additions_per_second", lambda: 20e6)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert levels.estimate(3_000, range(2), 2) == "3,000 tests of levels 0-1: about 2 min"
    assert levels.estimate(3_700, range(3), 3) == "3,700 tests of levels 0-2: about 6 min"
    assert levels.estimate(750, range(3, 4), 3) == "750 tests of levels 3-3: about 18 min"
    assert levels.estimate(60, range(4, 5), 3) == "60 tests of levels 4-4"
