"""Sandboxes as a server makes them: as root, and as any other user."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.server.harness import issued_token
from tests.waiting import LIMIT

from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity_runtime.tokens import Role
from happycity_tournament.hosted import sandbox
from happycity_tournament.hosted.sandbox import Sandbox
from happycity_tournament.hosted.submissions import HostedBot, Submissions, SubmissionState

ROOT = Path(__file__).parents[3]
FIRST = ROOT / "clients/python/examples/first.py"
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
_USER_ID = 1_999_999_999
_USER = ("setpriv", f"--reuid={_USER_ID}", f"--regid={_USER_ID}", "--clear-groups")


def why_not() -> str:
    """Return why this machine can't run bubblewrap; "" if it can."""
    if shutil.which("bwrap") is None:
        return "there is no bwrap; on Debian: python -m tools install sandbox"
    tried = subprocess.run(_TRY, capture_output=True, text=True, check=False)
    return tried.stderr.strip() and f"bwrap makes no namespaces here: {tried.stderr.strip()}"


_WHY_NOT = why_not()
needs_sandbox = pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT)
"""Marks tests that can't run without bubblewrap."""


def podman(folder: Path) -> tuple[str, str]:
    """Return the command of docs/hosted-bots.md up to the bot's files, as it runs here, and an image.

    That has a bot of the Go SDK and places for the programs of this machine. Skips if there can be none.
    """
    for program in ("podman", "go"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}; on Debian: python -m tools install podman")
    own = {**os.environ, "CGO_ENABLED": "0"}
    build = ("go", "build", "-trimpath", "-o", str(folder / "first"), "./examples/first")
    subprocess.run(build, cwd=ROOT / "clients/go", env=own, check=True)
    with tarfile.open(folder / "root.tar", "w") as tar:
        tar.add(folder / "first", "first")
        for name in ("usr", "run", "tmp", "proc", "dev", "sys", "etc", "bot"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(entry)
        for name in ("bin", "lib", "lib64"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{name}"
            tar.addfile(entry)
    # By its content: the next run of the tests finds it again.
    image = f"localhost/happycity-test:{hashlib.sha256((folder / 'first').read_bytes()).hexdigest()[:12]}"
    if subprocess.run(("podman", "image", "exists", image), check=False).returncode:
        make = ("podman", "import", "--quiet", "--change", 'CMD ["/first"]', str(folder / "root.tar"), image)
        subprocess.run(make, stdout=subprocess.PIPE, check=True)
    page = (ROOT / "docs/hosted-bots.md").read_text().replace("\\\n", "")
    found = re.search(r'--sandbox "(podman) (run .*?)--volume {folder}', page)
    assert found is not None
    said = ""
    for runtime in ("", "--runtime runc "):  # Debian's crun refuses controllers in both versions of cgroups
        command = f"{found[1]} {runtime}{found[2]}"
        cidfile = folder / "container"
        tried = command.format(socket="/dev/null", core=0, seccomp="unconfined", cidfile=cidfile)
        cidfile.unlink(missing_ok=True)
        done = subprocess.run([*shlex.split(tried), image], capture_output=True, text=True, check=False)
        if done.returncode < 125:  # what the bot itself ended with
            return command, image
        said = done.stderr
    pytest.skip(f"podman runs nothing on this machine: {said}")


def host(folder: Path, bot: str) -> Path:
    """Let a server in a folder play a bot that passed its trial; return the bot's file."""
    issued_token(folder / "tokens.json", Role.BOT, bot)  # without one, its bot would be withdrawn
    store = Submissions(folder / "bots")
    with closing(store.upload(HostedBot(name=bot, command="python bot.py"))) as upload:
        upload.take(pb.SubmissionPart(file=pb.HostedFile(path="bot.py")))
        upload.take(pb.SubmissionPart(content=FIRST.read_bytes()))
        kept = store.keep(upload, "Team 7", datetime.now(UTC))
    store.save(store.change(kept, state=SubmissionState.PLAYING))
    return store.place(kept) / "files" / "bot.py"


class Cell:
    """A sandbox with a bot's files; `run` runs a command in it."""

    def __init__(self, folder: Path, setting: str, *, as_user: bool) -> None:
        self.folder, self.files = folder, folder / "files"
        self.files.mkdir()
        self.socket = folder / "socket"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.socket))
        self.listener.listen()
        shutil.copy(Path(__file__).with_name("probes.py"), self.files)
        (folder / "run").mkdir()
        self._as_user = as_user
        self._words = shlex.split(setting)
        self.has_cgroup = setting != "bwrap"
        # The kernel ends one process that fills a cgroup; the launcher would sometimes end all before.
        self._sandbox = Sandbox(setting, folder, memory=2 * MEMORY if self.has_cgroup else MEMORY)

    def container_that_never_started(self) -> str:
        """Leave a container as a runtime does that is killed before it starts it; return its id."""
        runtime = [*itertools.takewhile(lambda word: word != "run", self._words)]
        image = self._words[-2]
        limits = [word for word in self._words if word.startswith(("nofile=", "nproc="))]
        options = ("--network", "none", *(f"--ulimit={limit}" for limit in limits))
        left = subprocess.check_output((*runtime, "create", *options, image, "/first"), text=True)
        subprocess.run((*runtime, "init", left.strip()), stdout=subprocess.DEVNULL, check=True)
        (self.folder / "run/container").write_text(left.strip())
        return left.strip()

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a command in the sandbox."""
        words = self._sandbox.command(HostedBot(name="", command=shlex.join(command)), self.folder, "run")
        if self._as_user:
            (self.folder / "run").chmod(0o777)
            for path in (self.socket, self.files, *self.files.iterdir()):
                os.chown(path, _USER_ID, _USER_ID)  # as of a server and its bot, which are the same user
            words = [*_USER, "/usr/bin/python3", *words[1:]]
        environment = {**os.environ, "HAPPYCITY_SERVER": f"unix:{self.socket}"}
        return subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def run(self, *command: str) -> str:
        """Run a command in the sandbox; return what it printed."""
        with self.start(*command) as process:
            printed, _ = process.communicate(timeout=LIMIT)
        return printed.decode(errors="replace")


_KINDS = ["root", "user"] if os.geteuid() == 0 else ["user"]


@pytest.fixture(scope="module", params=[*_KINDS, pytest.param("podman", marks=pytest.mark.level(3))])
def cell(request: pytest.FixtureRequest) -> Iterator[Cell]:
    """A sandbox of a server that runs as root, and as any other user, and a container of podman."""
    kind, setting = request.param, "bwrap"
    if kind != "podman" and (reason := why_not()):
        pytest.skip(reason)
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        Path(name).chmod(0o755)  # another user enters it
        as_user = kind == "user" and os.geteuid() == 0
        if as_user:  # who may not enter where this Python is
            patch.setattr(os, "geteuid", lambda: _USER_ID)
            patch.setattr(sys, "prefix", "/usr")
            patch.setattr(sys, "base_prefix", "/usr")
            patch.setattr(sandbox, "_SDK", ())
        if kind == "podman":
            files = "--volume {folder}:/bot:ro --workdir /bot --volume /usr:/usr:ro"
            command, image = podman(Path(name))
            setting = f"{command} {files} {image} {{command}}".replace("1g", f"{MEMORY}")
        made = Cell(Path(name), setting, as_user=as_user)
        with made.listener:
            yield made
