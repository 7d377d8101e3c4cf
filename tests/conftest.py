"""What tests of several folders share."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:  # tests of the rules do without databases
    from tests.tournament.storage.postgres import Cluster

# A slow machine is no error. The outcome of a run depends on the code alone, except that of `make fuzz`.
_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ordinary", _COMMON, derandomize=True, max_examples=50)
settings.register_profile("thorough", _COMMON, derandomize=True, max_examples=250)
settings.register_profile("new-examples", _COMMON, max_examples=1000, print_blob=True)

KINDS = ("sqlite", "postgresql")
"""The databases that a store may be in."""
FOLDER = Path(__file__).parent
THOROUGH = [
    FOLDER / name for name in ("clients", "docs/test_site.py", "envs", "llm", "mcp", "release", "training")
]
"""What `make test` leaves out as a whole, so that it needs neither their packages nor their time."""

# gRPC has one queue of events for all loops, and each test has a loop. An event for a loop that is closed by
# now is dropped, which asyncio logs; hundreds of these, with the values of all variables, stop a test for
# seconds.
logging.getLogger("asyncio").addFilter(lambda record: "PollerCompletionQueue" not in record.getMessage())


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the tests that take minutes."""
    parser.addoption(
        "--thorough",
        action="store_true",
        help="run the tests marked thorough too, and try five times as many examples everywhere",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Set signals, the number of examples and numpy's threads before any test module is imported."""
    # A shell that starts the tests in the background lets them, and all that they start, ignore SIGINT.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("thorough" if config.getoption("thorough") else "ordinary")
    # On a busy machine, threads that share small matrix products wait for each other longer than they work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A server of one module may log while another's test reads what a command prints, so not to `sys.stderr`.
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.__stderr__))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the folders of `make test-all` out of an ordinary run, unless one is named in the command."""
    if collection_path not in THOROUGH or config.getoption("thorough"):
        return None
    return None if any(path.is_relative_to(collection_path) for path in named(config)) else True


def named(config: pytest.Config) -> list[Path]:
    """Return the files and folders that the command names, or the folder of all tests."""
    return [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of processes for `-n auto`: tests wait for programs a third of the time."""
    cores = os.cpu_count() or 1
    return cores + cores // 2


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests marked thorough out of an ordinary run, and large programs out of one of all tests."""
    if config.getoption("thorough"):
        return
    all_tests = FOLDER in named(config)
    left_out = [
        item
        for item in items
        if item.get_closest_marker("thorough") or (all_tests and needs_large_program(item))
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def needs_large_program(item: pytest.Item) -> bool:
    """Return whether a test needs PostgreSQL or a browser.

    Each process of the tests would start its own, which takes a quarter of the CPU of all tests.
    """
    if not isinstance(item, pytest.Function):
        return False
    params = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return bool({"cluster", "browser"} & {*item.fixturenames}) or any(str(p) == "postgresql" for p in params)


def pytest_collection_finish() -> None:
    """Leave thousands of modules and tests out of all garbage collections to come."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Yield a PostgreSQL server, started once for all tests."""
    from tests.tournament.storage.postgres import postgresql  # noqa: PLC0415 - for tests of stores alone

    with postgresql() as started:
        yield started


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
