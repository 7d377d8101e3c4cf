import shlex
import sys
from collections.abc import Callable
from functools import cache

import pytest
from tests.clients.programs import Reference, played
from tests.commands.programs import Records
from tools.languages import CLIENTS, LANGUAGES, command, missing

from happycity import Mode

PYTHON = {
    "greedy": ("--bots", "random,greedy"),
    "first": (
        "--bots",
        "random",
        "--bot",
        f"first={shlex.join([sys.executable, f'{CLIENTS}/python/examples/first.py'])}",
    ),
}
"""The duels that those of all languages must equal."""


SIDE_BY_SIDE = ("python", "go", "rust", "cpp")
"""The languages whose SDKs are built in folders of the tests' own, not in the checkout."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let `--dist loadgroup` test the languages side by side, except those that share a folder."""
    for item in items:
        in_group = item.get_closest_marker("xdist_group")
        if isinstance(item, pytest.Function) and "tests/clients" in item.nodeid and not in_group:
            params = item.callspec.params.values() if hasattr(item, "callspec") else ()
            group = next((language for language in SIDE_BY_SIDE if language in params), "in the checkout")
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(params=LANGUAGES)
def bot(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Return a function that returns the command of a language's example bot, for each language in turn."""

    def built(name: str) -> str:
        program = command(request.param, name)
        if lacking := missing(program):
            pytest.skip(f"there is no {lacking}; `make clients` builds what this machine has the tools for")
        return program

    return built


@pytest.fixture
def greedy(bot: Callable[[str], str]) -> str:
    return bot("greedy")


@pytest.fixture
def first(bot: Callable[[str], str]) -> str:
    return bot("first")


@pytest.fixture(scope="session")
def in_python(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """Return a function that returns the records of a Python bot's duel, which is played once."""

    @cache
    def reference(name: str, mode: Mode) -> Records:
        return played(PYTHON[name], mode=mode, folder=tmp_path_factory.mktemp("python"))

    return reference
