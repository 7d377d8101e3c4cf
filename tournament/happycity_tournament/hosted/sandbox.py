"""How a submitted program is confined: by bubblewrap, or by the command of a container runtime."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from happycity.errors import ConfigError, FieldError
from happycity.match import one_line
from happycity_runtime.child import ChildError, split_command
from happycity_runtime.files import replacing
from happycity_tournament.hosted import launcher, seccomp
from happycity_tournament.hosted.submissions import HostedBot

BWRAP = "bwrap"
MEMORY_BYTES = 1 << 30
"""The most memory of a program, unless an organiser says otherwise."""
HOME = "/bot"
"""Where the bot's files are in a sandbox, read-only."""
TMP_BYTES = 64 * 1024 * 1024
PROCESSES = 128
"""Processes and threads of a bot."""
FILES = 256
"""Files that each process has open."""
CPU_SECONDS = 4 * 3600
"""CPU time of each process; the server starts a bot again that used it up."""
FIRST_UID = 2_000_000_000
"""Where a server runs as root, each bot has a user id of its own from here on."""
_SLOTS = 499
"""How far apart those are of processes that start bots; a prime, so that these begin with different cores."""
TRY_SECONDS = 60.0
"""How long a program that does nothing may take in the sandbox."""
_NO_IMAGE = "localhost/happycity-no-image"
_NOBODY = 65534
_PARTS = ("", "_runtime", "_evaluation", "_client", "_bots", "_bridge", "_entry")
_SDK = tuple(f"happycity{part}" for part in _PARTS)
_SYSTEM = ("/usr", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs", "/etc/java-17-openjdk")
_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")


class Sandbox:
    """Confines bots by a command with places to fill in; docs/hosted-bots.md says what is guaranteed."""

    def __init__(self, setting: str, folder: Path, *, memory: int) -> None:
        """Prepare a sandbox; `setting` is "bwrap" or a template, `folder` is for its own files.

        A bot may use `memory` bytes.

        Raises:
            ConfigError: the template lacks something, or the sandbox doesn't work on this machine.
            OSError: the folder can't be written to.
        """
        self._memory = memory
        self._commands = 0
        self._filter = folder / "seccomp.bpf" if setting == BWRAP else None
        self._profile = folder / "seccomp.json"
        template = _template(setting) if self._filter is None else []
        self._program = template[0] if template else BWRAP
        if shutil.which(self._program) is None:
            raise FieldError("sandbox", f"there is no program {self._program!r} on this machine; install it")
        self._words = template or [*_bubblewrap(memory)]
        with replacing(self._profile) as partial:
            partial.write_text(seccomp.profile())
        if self._filter is not None:
            with replacing(self._filter) as partial:
                partial.write_bytes(seccomp.program())
        (tried := folder / "try" / "files").mkdir(parents=True, exist_ok=True)
        tried.chmod(0o755)  # as those of bots
        self.check()

    def check(self) -> None:
        """Make sure that Python with the SDK runs in bubblewrap, and `true` in a container.

        Of images that participants name none is known: a runtime that works has not the one that is tried.
        ConfigError if what was tried failed; the text has what was said.
        """
        imports = "; ".join(f"import {name}" for name in filter(find_spec, _SDK))
        what, command = (sys.executable, f"python3 -c '{imports}'") if self._filter else ("true", "true")
        bot = HostedBot(name="", command=command, image=_NO_IMAGE)
        try:
            tried = subprocess.run(  # noqa: S603 - the own launcher
                self.command(bot, self._profile.with_name("try"), "run"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, "HAPPYCITY_SERVER": f"unix:{self._profile}"},
                check=False,
                timeout=TRY_SECONDS,
            )
        except subprocess.TimeoutExpired:
            text = f"it took more than {TRY_SECONDS:g} s"
        else:
            output = tried.stdout.decode(errors="replace")
            if not tried.returncode or (self.takes_images and _NO_IMAGE in output):
                return
            said = output.split("\n")
            text = next(filter(None, map(one_line, reversed(said))), f"status {tried.returncode}")
        raise FieldError("sandbox", f"{self._program} doesn't run {what} on this machine: {text}")

    @property
    def takes_images(self) -> bool:
        """Whether it runs OCI images, which participants name; else folders of files."""
        return any("{image}" in word for word in self._words)

    def command(self, bot: HostedBot, place: Path, kind: str) -> list[str]:
        """Return what runs a program in the sandbox, with the variables of a bot in its environment.

        `place` is the program's folder, and `kind` the one in it where the launcher stores output and usage.
        ChildError if the program's command can't be read.
        """
        self._commands += 1
        cores, number = sorted(os.sched_getaffinity(0)), os.getpid() * _SLOTS + self._commands
        values = {
            "{image}": bot.image,
            "{folder}": str(place / "files"),
            "{seccomp}": str(self._profile),
            "{cidfile}": str(place / kind / launcher.CONTAINER),
            "{core}": str(cores[number % len(cores)]),
            "{uid}": str(FIRST_UID + number),
        }
        command = split_command(bot.command) if bot.command or not bot.image else []
        words = [sys.executable, "-I", launcher.__file__, str(place / kind), str(self._memory)]
        words.append(str(self._filter or ""))
        for word in self._words:
            for name, value in values.items():
                word = word.replace(name, value)  # noqa: PLW2901 - one place after the other
            words += command if word == "{command}" else [word]
        return words


def _template(setting: str) -> list[str]:
    """Read the setting of a template; ConfigError if it can't be one."""
    try:
        words = split_command(setting)
    except ChildError as error:
        raise ConfigError(f"--sandbox: {error}") from None
    for place in ("{socket}", "{image}") if "{image}" in setting else ("{socket}", "{folder}", "{command}"):
        if place not in (words if place == "{command}" else setting):
            raise ConfigError(f"--sandbox: the template lacks {place}; 'bwrap' needs no template")
    return words


def _bubblewrap(memory: int) -> Iterator[str]:
    """Yield the template of bubblewrap.

    A server that is not root has a user namespace made, in which the bot is nobody. From root's the bot gets
    a user id of its own: it could do little with the one of root, but not nothing.
    """
    is_root = os.geteuid() == 0
    yield from ("taskset", "--cpu-list", "{core}", BWRAP)
    yield from ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--hostname", "arena", "--new-session", "--die-with-parent", "--cap-drop", "ALL")
    if is_root:
        for capability in ("SETUID", "SETGID", "SETPCAP"):  # for setpriv below
            yield from ("--cap-add", f"CAP_{capability}")
    else:
        yield from ("--unshare-user", "--disable-userns", "--uid", str(_NOBODY), "--gid", str(_NOBODY))
    # First, as they hide what is below them: this Python may be below /tmp.
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--size", str(TMP_BYTES), "--perms", "1777", "--tmpfs", "/tmp")  # noqa: S108 - its own
    for path in _readable():
        # Bubblewrap makes missing parents for itself alone.
        for parent in [*reversed(path.parents)][1:]:
            yield from ("--dir", str(parent))
        yield from ("--ro-bind", str(path), str(path))
    for link in filter(os.path.islink, _LINKS):
        yield from ("--symlink", os.readlink(link), link)
    # A shared mapping of /dev/zero is memory that no limit counts.
    yield from ("--ro-bind", "/dev/null", "/dev/zero", "--remount-ro", "/dev/pts", "--remount-ro", "/dev")
    yield from ("--ro-bind", "{folder}", HOME, "--chdir", HOME)
    yield from ("--dir", "/run", "--ro-bind", "{socket}", launcher.SOCKET, "--remount-ro", "/")
    for name in launcher.OF_RUNTIME:
        yield from ("--unsetenv", name)
    yield from ("--setenv", "PATH", f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME")
    yield from ("/tmp", "--setenv", "PYTHONDONTWRITEBYTECODE", "1")  # noqa: S108 - likewise
    yield from ("--seccomp", str(launcher.FILTER_FD), "--")
    if is_root:
        yield from ("setpriv", "--reuid={uid}", "--regid={uid}", "--clear-groups")
        yield from ("--inh-caps=-all", "--bounding-set=-all")
    yield from ("prlimit", f"--data={memory}", f"--nproc={PROCESSES}", f"--nofile={FILES}", "--core=0")
    yield from (f"--cpu={CPU_SECONDS}", f"--fsize={TMP_BYTES}", "--msgqueue=0", "--memlock=65536")
    yield from ("--sigpending=1024", "--")
    yield "{command}"


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
