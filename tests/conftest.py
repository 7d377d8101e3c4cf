"""What tests of several folders share."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import levels
from tools.engine import lacking, load_engine

if TYPE_CHECKING:  # tests of the rules do without databases
    from tests.tournament.storage.postgres import Cluster

# A slow machine is no error. The outcome of a run depends on the code alone, except that of `make fuzz`.
_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ordinary", _COMMON, derandomize=True, max_examples=50)
settings.register_profile("nightly", _COMMON, derandomize=True, max_examples=500)
settings.register_profile("new-examples", _COMMON, max_examples=1000, print_blob=True)

pytest.register_assert_rewrite("tests.tables")

KINDS = ("sqlite", "postgresql")
"""The databases that a store may be in."""
# gRPC has one queue of events for all loops, and each test has a loop. An event for a loop that is closed by
# now is dropped, which asyncio logs; hundreds of these, with the values of all variables, stop a test for
# seconds.
logging.getLogger("asyncio").addFilter(lambda record: "PollerCompletionQueue" not in record.getMessage())


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the levels, see `tests/levels.py`."""
    group = parser.getgroup("levels")
    group.addoption(
        "--levels",
        metavar="N|N-M",
        help="run the tests of these levels; 0-1 is the default, or 0-3 of what is named",
    )
    group.addoption(
        "--costs", type=int, default=0, metavar="N", help="list the N most expensive tests of each level"
    )
    group.addoption(
        "--no-cost-limits",
        action="store_true",
        help="let no test fail for what it costs, only for what it finds",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Set signals, the number of examples and numpy's threads before any test module is imported."""
    # A shell that starts the tests in the background lets them, and all that they start, ignore SIGINT.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile(config.getoption("--hypothesis-profile") or "ordinary")
    # On a busy machine, threads that share small matrix products wait for each other longer than they work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A server of one module may log while another's test reads what a command prints, so not to `sys.stderr`.
    # Its own traceback, with the values of all variables, takes half a second.
    structlog.configure(
        processors=[
            *structlog.get_config()["processors"][:-1],
            structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
        ],
        logger_factory=lambda *_: structlog.PrintLogger(sys.__stderr__),
    )
    # Coverage and more examples cost time of their own.
    slow = config.getoption("--hypothesis-profile") or config.pluginmanager.hasplugin("_cov")
    strict = not slow and not config.getoption("--no-cost-limits")
    config.pluginmanager.register(levels.Costs(listed=config.getoption("--costs"), strict=strict))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do without the modules of folders above the levels of the run, and what they import."""
    return True if levels.folder_level(collection_path) > levels.chosen(config)[-1] else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Say first how many tests there are, and about how long they take."""
    config: pytest.Config = node.config
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter and node.gateway.id == "gw0":
        reporter.write_line(
            "\n" + levels.estimate(len(ids), levels.chosen(config), config.getoption("numprocesses"))
        )


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the number of processes for `-n auto`: tests of programs wait for them a third of the time."""
    cores = os.cpu_count() or 1
    return cores if levels.chosen(config)[-1] < 2 else cores + cores // 2


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of other levels."""
    run = levels.chosen(config)
    left_out = [item for item in items if levels.level_of(item) not in run]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if levels.level_of(item) in run]


@settings(_COMMON, max_examples=1, database=None)
@given(st.tuples(st.text(), st.integers(), st.floats()))
def _first_property(_: object) -> None:
    """Let Hypothesis make its tables: of Unicode, and of the constants in all modules that are loaded.

    They take some CPU seconds in a new checkout, with which the first property test would be charged.
    """


def pytest_collection_finish() -> None:
    """Leave thousands of modules and tests out of all garbage collections to come."""
    _first_property()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Yield a PostgreSQL server, started once for all tests."""
    from tests.tournament.storage.postgres import postgresql  # noqa: PLC0415 - for tests of stores alone

    with postgresql() as started:
        yield started


@pytest.fixture(scope="session")
def engine() -> ModuleType:
    """Return the native engine, built from this checkout."""
    if reason := lacking():
        pytest.skip(reason)
    return load_engine()


@pytest.fixture(params=KINDS)
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Return a function that returns the URL of a new, empty database; in each kind of database in turn."""
    if request.param == "sqlite":
        names = iter(range(1000))
        return lambda: f"sqlite:///{tmp_path}/databases/{next(names)}.sqlite"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.new_database


@pytest.fixture
def url(new_url: Callable[[], str]) -> str:
    """Return the URL of a new and empty database, in each kind of database in turn."""
    return new_url()
