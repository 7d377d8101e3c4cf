"""Tests wait for events with the one limit: none sleeps, reads the clock or asks in a loop."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

FOLDER: Final = Path(__file__).parent
CLOCKS: Final = frozenset({"monotonic", "perf_counter", "time"})
"""Functions of the module `time` that tests don't call: what they bound by them depends on the machine."""
ALLOWED: Final = {
    "check/test_faults.py": "a silent bot is given up after a time, which no event shortens",
    "commands/bots/failing.py": "a bot that misbehaves on purpose",
    "commands/test_trouble.py": "it measures what visitors wait, and bounds nothing by it",
    "league/agents/rogue.py": "an agent that misbehaves on purpose",
    "league/test_league.py": "a command that plays a whole league lasts as many limits as this has parts",
    "server/api/test_public.py": "the ladder of its server tells nothing yet",
    "server/harness.py": "the clock of a server passes a sweep at a time, as the server's own loop does",
    "server/hosting/probes.py": "a bot that misbehaves on purpose",
    "server/hosting/test_escapes.py": "no event tells the end of a process that isn't a child",
    "server/hosting/test_hosting.py": "a server of its own tells nothing of its log and its files",
    "server/ladder/test_kills.py": "a server is killed at any moment, not at one that it tells",
    "server/places/test_protocol.py": "what a worker tells its server is no event for a client",
    "server/play/test_clock.py": "a loop that is stuck is its subject",
    "server/test_app.py": "the lobby closes a moment after health, and nothing tells of it",
    "server/test_metrics.py": "refusals are counted after their callers have got them; ages of files",
    "server/test_requests.py": "a call that may have no response for long; a tournament ends after its stop",
    "texts/terminal.py": "it records when a terminal shows something, and bounds nothing by it",
}
"""Files that do so, and why."""


def name_of(called: ast.expr) -> str:
    """Return what is called, such as `time.sleep`."""
    return ast.unparse(called)


def is_limit(value: ast.expr) -> bool:
    """Return whether a limit is the one of all tests, or none at all, or passed on by a function.

    A constant of another name is a limit of its own.
    """
    return all(map(_is_one_limit, ast.walk(value)))


def _is_one_limit(part: ast.AST) -> bool:
    if isinstance(part, ast.Name):
        return part.id in ("LIMIT", "MILLISECONDS") or not part.id.isupper()
    return not isinstance(part, ast.Constant) or not isinstance(part.value, (int, float))


OWN_LIMITS: Final = {
    "httpx.AsyncClient": "timeout",
    "httpx.Client": "timeout",
    "websockets.connect": "open_timeout",
}
"""Functions of libraries that have a limit of some seconds unless they get one, by the name of that."""


def is_tool(call: ast.Call) -> bool:
    """Return whether a call is one of an agent's tool, whose answer to that argument is tested."""
    return any(isinstance(value, ast.Constant) and value.value == "wait_for_turn" for value in call.args)


def offences_of_call(call: ast.Call) -> Iterator[str]:
    name = name_of(call.func)
    module, _, function = name.rpartition(".")
    if function == "sleep" and module in ("time", "asyncio"):
        if not (module == "asyncio" and call.args and ast.unparse(call.args[0]) == "0"):
            yield f"{name}: wait for an event"
    elif module == "time" and function in CLOCKS:
        yield f"{name}: compare two measurements of CPU time"
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    limits = [given[one] for one in ("timeout", "open_timeout") if one in given and not is_tool(call)]
    if OWN_LIMITS.get(name, "timeout") not in given and name in OWN_LIMITS:
        yield f"{name}: its own limit is some seconds; give it tests.waiting.LIMIT"
    if name in ("asyncio.timeout", "pytest.mark.timeout") or function == "settimeout":
        limits += [limit for limit in call.args[:1] if ast.unparse(limit) != "0"]  # none at all
    elif name == "asyncio.wait_for":
        limits += call.args[1:2]
    if not all(map(is_limit, limits)):
        yield f"{name}: the limit is tests.waiting.LIMIT"


def is_event(awaited: ast.expr) -> bool:
    """Return whether the next message of a stream, or the next thing in a queue, is awaited."""
    return isinstance(awaited, ast.Call) and name_of(awaited).endswith((".read()", ".get()"))


def asks(loop: ast.While) -> bool:
    """Return whether a loop does nothing but ask until the answer is another one."""
    parts = [*ast.walk(loop.test)]
    walruses = [part.value for part in parts if isinstance(part, ast.NamedExpr)]
    awaited = [part.value for part in (*parts, *walruses) if isinstance(part, ast.Await)]
    is_idle = all(isinstance(step, ast.Pass) for step in loop.body)
    return is_idle and not all(map(is_event, awaited))


def offences(source: str) -> list[str]:
    """Return what is wrong in a file, by line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            found += [f"{node.lineno}: {text}" for text in offences_of_call(node)]
        elif isinstance(node, ast.While) and asks(node):
            found.append(f"{node.lineno}: wait for an event instead of asking in a loop")
    return found


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("time.sleep(0)", 1),
        ("await asyncio.sleep(0.1)", 1),
        ("await asyncio.sleep(0)", 0),
        ("time.monotonic() + time.process_time()", 1),
        ("run(timeout=60)", 1),
        ("run(timeout=LIMIT)", 0),
        ("run(timeout=seconds)", 0),
        ("run(timeout=PATIENCE)", 1),
        ("agent.call('wait_for_turn', timeout=0)", 0),
        ("asyncio.timeout(2 * LIMIT)", 1),
        ("pytest.mark.timeout(600)", 1),
        ("pytest.mark.timeout(0)", 0),
        ("asyncio.wait_for(end, 3)", 1),
        ("connection.settimeout(1)", 1),
        ("httpx.AsyncClient(base_url=url)", 1),
        ("websockets.connect(url, open_timeout=LIMIT)", 0),
        ("websockets.connect(url, open_timeout=20)", 1),
        ("while not await arena.games():\n    pass", 1),
        ("while (found := await arena.games()) != 3:\n    pass", 1),
        ("while await call.read():\n    count += 1", 0),
        ("while await queue.get() != 3:\n    pass", 0),
    ],
)
def test_offences_are_found(source: str, count: int) -> None:
    assert len(offences(source)) == count


@pytest.mark.parametrize("folder", ["", *sorted(path.name for path in FOLDER.glob("[a-z]*/"))])
def test_tests_wait_for_events(folder: str) -> None:
    """Exceptions have their reasons, and are needed."""
    found = {}
    for path in FOLDER.glob(f"{folder}/**/*.py" if folder else "*.py"):
        if wrong := offences(path.read_text("utf-8")):
            found[path.relative_to(FOLDER).as_posix()] = wrong
    assert {name: wrong for name, wrong in found.items() if name not in ALLOWED} == {}
    assert {name for name in ALLOWED if name.rpartition("/")[0].partition("/")[0] == folder} <= found.keys()
