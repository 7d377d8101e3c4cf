"""Sandboxes as a server makes them: as root, and as any other user."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.server.harness import issued_token

from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity.runtime.tokens import Role
from happycity_tournament.hosted import sandbox
from happycity_tournament.hosted.sandbox import Sandbox
from happycity_tournament.hosted.submissions import Submissions

FIRST = Path(__file__).parents[3] / "clients/python/examples/first.py"
MEMORY = 256 << 20
_TRY = (
    "bwrap",
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "true",
)
_USER = ("setpriv", "--reuid=1999999999", "--regid=1999999999", "--clear-groups")


def why_not() -> str:
    """Return why this machine can't run bubblewrap; "" if it can."""
    if shutil.which("bwrap") is None:
        return "there is no bwrap; on Debian: python -m tools install sandbox"
    tried = subprocess.run(_TRY, capture_output=True, text=True, check=False)
    return tried.stderr.strip() and f"bwrap makes no namespaces here: {tried.stderr.strip()}"


def host(folder: Path, bot: str) -> Path:
    """Let a server in a folder play a bot that passed its trial; return the bot's file."""
    issued_token(folder / "tokens.json", Role.BOT, bot)  # without one, its bot would be withdrawn
    store = Submissions(folder / "bots")
    with closing(store.upload(pb.HostedBot(name=bot, command="python bot.py"))) as upload:
        upload.take(pb.SubmitRequest(file=pb.HostedFile(path="bot.py")))
        upload.take(pb.SubmitRequest(content=FIRST.read_bytes()))
        kept = store.keep(upload, "Team 7", datetime.now(UTC))
    kept.state = pb.SUBMISSION_STATE_PLAYING
    store.save(kept)
    return store.place(kept) / "files" / "bot.py"


class Cell:
    """A sandbox with a bot's files; `run` runs a command in it."""

    def __init__(self, folder: Path, *, as_user: bool) -> None:
        self.folder, self.files = folder, folder / "files"
        self.files.mkdir()
        self.socket = folder / "socket"
        self.socket.touch()
        shutil.copy(Path(__file__).with_name("probes.py"), self.files)
        (folder / "run").mkdir()
        self._as_user = as_user
        self._sandbox = Sandbox("bwrap", folder, memory=MEMORY)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a command in the sandbox."""
        words = self._sandbox.command(pb.HostedBot(command=shlex.join(command)), self.folder, "run")
        if self._as_user:
            (self.folder / "run").chmod(0o777)
            words = [*_USER, "/usr/bin/python3", *words[1:]]
        environment = {**os.environ, "HAPPYCITY_SERVER": f"unix:{self.socket}"}
        return subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def run(self, *command: str) -> str:
        """Run a command in the sandbox; return what it printed."""
        with self.start(*command) as process:
            printed, _ = process.communicate(timeout=120)
        return printed.decode(errors="replace")


@pytest.fixture(scope="module", params=["root", "user"] if os.geteuid() == 0 else ["user"])
def cell(request: pytest.FixtureRequest) -> Iterator[Cell]:
    """A sandbox of a server that runs as root, and as any other user."""
    if reason := why_not():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        Path(name).chmod(0o755)  # another user enters it
        as_user = request.param == "user" and os.geteuid() == 0
        if as_user:  # who may not enter where this Python is
            patch.setattr(os, "geteuid", lambda: 1999999999)
            patch.setattr(sys, "prefix", "/usr")
            patch.setattr(sys, "base_prefix", "/usr")
            patch.setattr(sandbox, "_SDK", ())
        yield Cell(Path(name), as_user=as_user)
