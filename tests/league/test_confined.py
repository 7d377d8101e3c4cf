"""What an edit can't do: each way is tried, and works outside of its confinement."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.server.hosting.conftest import why_not

from happycity_league.config import AgentConfig
from happycity_league.confined import Confinement

pytestmark = [
    pytest.mark.level(3),
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "bubblewrap is there"),
]
FEW = AgentConfig(name="ann", project="-", seconds=30, memory_mb=1024, disk_mb=8, network=False)


@pytest.fixture
def confinement(tmp_path: Path) -> Confinement:
    """Return the confinement of one agent of two; its folder is the only one that it may write to."""
    league = tmp_path / "league"
    for name in ("agents/ann", "agents/bea", "history/ann.git", "bots"):
        (league / name).mkdir(parents=True)
    (league / "agents/bea/bot.py").write_text("secret of bea")
    (league / "commitment.json").write_text("secret seed")
    (league / "history/ann.git/config").write_text("history")
    folder = league / "agents/ann"
    (folder / "bot.py").write_text("mine")
    return Confinement(league, folder, league / "history/ann.git", FEW)


def run(confinement: Confinement, code: str, **limits: object) -> tuple[str, str]:
    """Run Python in a confinement; return why it failed, and what it printed."""
    log = confinement.league.parent / "log"
    command = (sys.executable, "-I", "-c", code)
    confinement = replace(confinement, limits=FEW.model_copy(update=limits))
    problem, _, _ = asyncio.run(confinement.run(command, log, {}))
    return problem, log.read_text()


def test_it_works_in_its_own_folder(confinement: Confinement) -> None:
    problem, printed = run(confinement, "open('new', 'w').write(open('bot.py').read()); print('done')")
    assert (problem, printed) == ("", "done\n")
    assert (confinement.folder / "new").read_text() == "mine"


@pytest.mark.parametrize(
    "code",
    [
        "open('../bea/bot.py').read()",
        "open('../bea/bot.py', 'w')",
        "open('../../commitment.json').read()",
        "open('../../league.json', 'w')",
        "open('../../new', 'w')",
        "open('../../history/ann.git/config', 'w')",
        "open('../../history/ann.git/hooks', 'w')",
        "import os; os.rename('../ann', '../bea')",
        "import os; os.symlink('/etc', '../link')",
        "open('/etc/new', 'w')",
        "import os; os.unlink('/etc/hostname')",
        "import os; os.mkdir('/sys/fs/cgroup/new')",
        "open('/proc/sys/kernel/core_pattern', 'r+')",
        "open('/proc/sysrq-trigger', 'w')",
        "import os; os.listdir('/run/user')",
        "import os; os.listdir('/proc/{pid}')",
        "import os; os.kill({pid}, 0)",
        "import socket; socket.create_connection(('127.0.0.1', {port}), 5)",
        "import socket; socket.socket(socket.AF_UNIX).connect({unix!r})",
    ],
)
def test_it_reaches_nothing_else(
    confinement: Confinement, tmp_path_factory: pytest.TempPathFactory, code: str
) -> None:
    """Others' folders, the store, the seed, its own history, this machine's processes and networks."""
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket(socket.AF_UNIX) as unix:
        path = str(tmp_path_factory.mktemp("run") / "socket")
        unix.bind(path)
        unix.listen()
        filled = code.format(pid=os.getpid(), port=listening.getsockname()[1], unix=path)
        problem, printed = run(confinement, filled)
    assert problem == "it ended with status 1", printed
    assert "Error" in printed
    assert (confinement.league / "agents/bea/bot.py").read_text() == "secret of bea"
    assert not (confinement.league / "new").exists()
    assert (confinement.history / "config").read_text() == "history"


@pytest.mark.parametrize(
    ("code", "limits", "problem"),
    [
        ("while True: pass", {"cpu_seconds": 0.5}, "it used more than 0.5 s of CPU time"),
        ("import time; time.sleep(1000)", {"seconds": 0.5}, "it took more than 0.5 s"),
        (
            "import time\na = b'x' * (150 << 20)\ntime.sleep(1000)",
            {"memory_mb": 100},
            "it ended with status 1",
        ),
        (
            "import os, time\nfor _ in range(4):\n    if not os.fork(): break\n"
            "a = b'x' * (80 << 20)\ntime.sleep(1000)",
            {"memory_mb": 200},
            "it used more than 200 MB of memory",
        ),
        (
            "import time\nfor n in range(99):\n    open(str(n), 'wb').write(b'x' * (1 << 20))\n"
            "time.sleep(1000)",
            {},
            "its folder has more than 8 MB",
        ),
        ("open('large', 'wb').write(b'x' * (9 << 20))", {}, "its folder has more than 8 MB"),
    ],
)
def test_a_limit_ends_it(confinement: Confinement, code: str, limits: dict[str, float], problem: str) -> None:
    assert run(confinement, code, **limits)[0] == problem


def test_nothing_outlives_it(confinement: Confinement) -> None:
    """A process in a session of its own, whose parent has ended, would write after the edit."""
    code = (
        "import os, time\nif not os.fork():\n    os.setsid()\n    if os.fork(): os._exit(0)\n"
        "    open('begun', 'w')\n    while True: open('alive', 'a').write('x')\n"
        "while not os.path.exists('begun'): pass\n"
    )
    assert run(confinement, code)[0] == ""
    size = (confinement.folder / "alive").stat().st_size
    assert not any(_has_folder(pid, confinement.folder) for pid in Path("/proc").glob("[0-9]*"))
    assert (confinement.folder / "alive").stat().st_size == size


def _has_folder(process: Path, folder: Path) -> bool:
    try:
        return (process / "cwd").resolve() == folder
    except OSError:
        return False


def test_it_has_what_the_organiser_allows(
    confinement: Confinement, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The network, and a folder outside of the project; for the league's own commands neither."""
    cache = tmp_path_factory.mktemp("cache")
    allowed = {"network": True, "writable": (str(cache),)}
    own = replace(confinement, writes_history=True)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        dial = f"import socket; socket.create_connection(('127.0.0.1', {listening.getsockname()[1]}), 5)"
        write = f"open({str(cache / 'new')!r}, 'w')"
        assert [run(confinement, code, **allowed)[0] for code in (dial, write)] == ["", ""]
        assert "" not in [run(own, code, **allowed)[0] for code in (dial, write)]
    assert (cache / "new").exists()
    assert run(own, "open('../../history/ann.git/new', 'w')")[0] == ""
