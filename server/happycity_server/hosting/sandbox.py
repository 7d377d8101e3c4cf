"""How a hosted bot is confined: by bubblewrap, or by the template of the organiser's container runtime."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from happycity import ConfigError
from happycity.match import one_line
from happycity.runtime.child import ChildError, words_of
from happycity.runtime.files import replacing
from happycity_server.hosting import launcher, seccomp

BWRAP = "bwrap"
SOCKET = "/run/arena"
"""Where the arena's socket is in a sandbox."""
HOME = "/bot"
"""Where the bot's files are in a sandbox, read-only."""
TMP_BYTES = 64 * 1024 * 1024
PROCESSES = 128
"""Processes and threads of a bot."""
FILES = 512
"""Files that each process has open."""
CPU_SECONDS = 4 * 3600
"""CPU time of each process; the server starts a bot again that used it up."""
FIRST_UID = 2_000_000_000
"""Where a server runs as root, each bot has a user id of its own from here on."""
_NOBODY = 65534
_SDK = ("happycity", "happycity_client", "happycity_bots", "happycity_bridge", "happycity_entry")
_SYSTEM = ("/usr", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs", "/etc/java-17-openjdk")
_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Confined:
    """What is to run in a sandbox."""

    command: Sequence[str]
    files: Path
    """The folder of the bot's files."""
    address: str
    """Where the arena listens, `unix:PATH`."""
    image: str = ""
    slot: int = 0
    """A number that no other bot has at the same time."""

    @property
    def socket(self) -> str:
        """The file of the arena's socket."""
        return self.address.removeprefix("unix:")


class Sandbox:
    """Confines bots; see the fields of `Confined`, and docs/hosted-bots.md for what is guaranteed."""

    def __init__(self, setting: str, folder: Path, *, memory: int) -> None:
        """Prepare a sandbox; `setting` is "bwrap" or a template, `folder` is for its own files.

        Raises:
            ConfigError: the template lacks something, or the sandbox doesn't work on this machine.
        """
        self.memory = memory
        """The most bytes of memory that a bot may use."""
        self._template: list[str] | None = None
        self._filter = folder / "seccomp.bpf"
        if setting == BWRAP:
            with replacing(self._filter) as partial:
                partial.write_bytes(seccomp.program())
        else:
            self._template = _template(setting)
        self._try(folder)

    @property
    def takes_images(self) -> bool:
        """Whether it runs OCI images, which participants name; else folders of files."""
        return self._template is not None and any("{image}" in word for word in self._template)

    def command(self, confined: Confined) -> list[str]:
        """Return the command that runs something confined."""
        if self._template is None:
            return list(_bubblewrap(confined, self.memory, is_root=os.geteuid() == 0))
        values = {"{socket}": confined.socket, "{image}": confined.image, "{folder}": str(confined.files)}
        words: list[str] = []
        for word in self._template:
            if word == "{command}":
                words += confined.command
                continue
            for place, value in values.items():
                word = word.replace(place, value)  # noqa: PLW2901 - one place after the other
            words.append(word)
        return words

    def write_run(self, confined: Confined, folder: Path) -> tuple[str, ...]:
        """Write what the launcher needs to run something; return the launcher's command."""
        plan = {
            "command": self.command(confined),
            "environment": self.environment(),
            "filter": str(self._filter) if self._template is None else "",
            "memory": self.memory,
            "folder": str(folder),
            "socket": confined.socket,
        }
        folder.mkdir(parents=True, exist_ok=True)
        run_file = folder / "run.json"
        with replacing(run_file) as partial:
            partial.write_text(json.dumps(plan), encoding="utf-8")
        return (sys.executable, "-I", launcher.__file__, str(run_file))

    def environment(self) -> Mapping[str, str]:
        """Return the environment of a bot besides its name and token.

        A template runs with the server's own PATH and HOME, which the runtime needs, and passes on what it
        names itself.
        """
        own = {"HAPPYCITY_SERVER": f"unix:{SOCKET}", "LANG": "C.UTF-8"}
        if self._template is not None:
            kept = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST")
            return {**{name: os.environ[name] for name in kept if name in os.environ}, **own}
        path = (f"{sys.prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin")
        return {**own, "HOME": "/tmp", "PATH": ":".join(path), "PYTHONDONTWRITEBYTECODE": "1"}  # noqa: S108 - its own

    def _try(self, folder: Path) -> None:
        """Make sure that a program runs in the sandbox; ConfigError with what it says if not."""
        program = BWRAP if self._template is None else self._template[0]
        if shutil.which(program) is None:
            raise ConfigError(f"--sandbox: there is no program {program!r} on this machine; install it")
        if self._template is not None:
            return
        words = ("python3", "-c", "pass")
        tried = subprocess.run(  # noqa: S603 - the own launcher
            self.write_run(Confined(command=words, files=folder, address=str(self._filter)), folder / "try"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=60,
        )
        if tried.returncode:
            said = tried.stdout.decode(errors="replace").split("\n")
            text = next(filter(None, map(one_line, reversed(said))), f"status {tried.returncode}")
            raise ConfigError(f"--sandbox: {BWRAP} doesn't work on this machine: {text}")


def _template(setting: str) -> list[str]:
    """Read the setting of a template; ConfigError if it can't be one."""
    try:
        words = words_of(setting)
    except ChildError as error:
        raise ConfigError(f"--sandbox: {error}") from None
    has = {place: any(place in word for word in words) for place in ("{socket}", "{image}", "{folder}")}
    is_complete = {
        "{socket}": has["{socket}"],
        "{image} or {folder}": has["{image}"] or has["{folder}"],
        "{command}, as a word of its own": "{command}" in words or not has["{folder}"],
    }
    for missing in (what for what, given in is_complete.items() if not given):
        raise ConfigError(f"--sandbox: the template lacks {missing}; 'bwrap' needs none")
    return words


def _bubblewrap(confined: Confined, memory: int, *, is_root: bool) -> Iterator[str]:
    """Yield the command that runs something by bubblewrap.

    A server that is not root has a user namespace made, in which the bot is nobody. From root's the bot gets
    a user id of its own: it could do little with the one of root, but not nothing.
    """
    cores = sorted(os.sched_getaffinity(0))
    yield from ("taskset", "--cpu-list", str(cores[confined.slot % len(cores)]), BWRAP)
    yield from ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--hostname", "arena", "--new-session", "--die-with-parent", "--cap-drop", "ALL")
    if is_root:
        for capability in ("SETUID", "SETGID", "SETPCAP"):  # for setpriv below
            yield from ("--cap-add", f"CAP_{capability}")
    else:
        yield from ("--unshare-user", "--disable-userns", "--uid", str(_NOBODY), "--gid", str(_NOBODY))
    for path in _readable():
        # Bubblewrap makes missing parents for itself alone.
        for parent in [*reversed(path.parents)][1:]:
            yield from ("--dir", str(parent))
        yield from ("--ro-bind", str(path), str(path))
    for link in filter(os.path.islink, _LINKS):
        yield from ("--symlink", os.readlink(link), link)
    yield from ("--proc", "/proc", "--dev", "/dev")
    # A shared mapping of /dev/zero is memory that no limit counts.
    yield from ("--ro-bind", "/dev/null", "/dev/zero", "--remount-ro", "/dev")
    yield from ("--size", str(TMP_BYTES), "--perms", "1777", "--tmpfs", "/tmp")  # noqa: S108 - its own
    yield from ("--ro-bind", str(confined.files), HOME, "--chdir", HOME)
    yield from ("--dir", "/run", "--bind", confined.socket, SOCKET, "--remount-ro", "/")
    yield from ("--seccomp", str(launcher.FILTER_FD), "--")
    if is_root:
        uid = FIRST_UID + confined.slot
        yield from ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups")
        yield from ("--inh-caps=-all", "--bounding-set=-all")
    yield from ("prlimit", f"--data={memory}", f"--nproc={PROCESSES}", f"--nofile={FILES}", "--core=0")
    yield from (f"--cpu={CPU_SECONDS}", f"--fsize={TMP_BYTES}", "--msgqueue=0", "--memlock=65536", "--")
    yield from confined.command


def _readable() -> list[Path]:
    """Return what bots may read of this machine: the system's programs, this Python, and the SDK."""
    places = [*map(Path, _SYSTEM), Path(sys.base_prefix), Path(sys.prefix)]
    for name in _SDK:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            file = Path(spec.origin)
            places.append(file.parent if file.name == "__init__.py" else file)
    found: list[Path] = []
    for place in filter(Path.exists, places):
        if not any(place.is_relative_to(other) for other in found):
            found.append(place)
    return found
