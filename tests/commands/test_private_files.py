"""What a run or a server writes is for its owner alone, where the system lets others read new files."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from tests.commands.programs import tournament
from tests.server.harness import Service, bearer, issued_token
from tests.server.hosting.conftest import FIRST, why_not
from tests.server.hosting.test_hosting import BOT
from tests.server.server_process import server_process
from tests.tournament.games import single_game, with_records
from tests.waiting import LIMIT, PATIENT

from happycity_ladder.ladder_config import example
from happycity_runtime.tokens import Role
from happycity_tournament.storage.store import Store


@pytest.fixture(autouse=True)
def _usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Return what other users may read, write or enter of a folder, itself included."""
    found = [folder, *folder.rglob("*")]
    return [str(path) for path in found if stat.S_IMODE(path.lstat().st_mode) & 0o077]


@pytest.mark.level(0)
def test_a_store_is_private_with_its_log(tmp_path: Path) -> None:
    """Also in a folder that everybody may enter, where the file itself has to be."""
    with Store.create(f"sqlite:///{tmp_path}/new/games.sqlite") as store:
        store.add_games(with_records([single_game(1)]))
        names = {path.name for path in (tmp_path / "new").iterdir()}
        assert names == {"games.sqlite", "games.sqlite-wal", "games.sqlite-shm"}
        assert open_to_others(tmp_path / "new") == []


@pytest.mark.level(2)
def test_a_run_is_private() -> None:
    """With its logs, tokens and store, the records, and what its workers and bots write."""
    done = tournament(
        "run", "--rounds", "2", "--seats", "2", "--bots", "greedy,random", "--workers", "1", *PATIENT,
        "--bot", f"scribe={sys.executable} -m happycity bot scribe=random",
    )  # fmt: skip
    assert done.status == 0, done
    assert len(list(Path("runs").rglob("*"))) > 5
    assert open_to_others(Path("runs")) == []


@pytest.mark.level(3)
def test_a_server_is_private(tmp_path: Path) -> None:
    """With ladder, acts and hosted bots, whose own files are open to the user of their sandbox alone."""
    if reason := why_not():
        pytest.skip(reason)
    tokens, bots, ladder = (tmp_path / name for name in ("tokens.json", "bots", "ladder.toml"))
    carl, olga = issued_token(tokens, Role.BOT, "carl"), issued_token(tokens, Role.ORGANISER, "olga")
    ladder.write_text(example())
    ladder.chmod(0o600)
    flags = ("--tokens", tokens, "--hosted", bots, "--ladder", ladder, "--house", "greedy,planner")
    (program := tmp_path / "carl").mkdir(mode=0o700)
    (program / "bot.py").write_bytes(FIRST.read_bytes())
    (program / "bot.toml").write_text(BOT.format(command="python bot.py").replace("alice", "carl"))
    for file in program.iterdir():
        file.chmod(0o600)
    (tmp_path / "server.log").touch(0o600)
    tmp_path.chmod(0o700)
    with server_process(tmp_path, *map(str, flags)) as server:
        own = {"HAPPYCITY_SERVER": server.address, "HAPPYCITY_TOKEN": carl}
        command = [sys.executable, "-m", "happycity", "submit", str(program)]
        subprocess.run(command, env={**os.environ, **own}, check=True, timeout=LIMIT)
        with grpc.insecure_channel(server.address) as channel:
            renaming = {"owner": "carl", "new_owner": "Carl"}
            called = Service(channel, "happycity.ladder.v1beta1.LadderService")
            called.CreateAct(bearer(olga), rename_owner=renaming, text="asked")
        shown = open_to_others(tmp_path)
        assert (tmp_path / "games.sqlite-wal").exists()
    (digest,) = bots.glob("bot.carl/*")
    files = [digest / "files", digest / "files/bot.py"]
    assert set(map(Path, shown)) <= {*files, bots / "try/files"}
    assert open_to_others(bots)[0] != str(bots)
