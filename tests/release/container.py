"""Containers of the image as an engine runs them: its user, a read-only root, no rights, only its variables.

Made of the kernel's namespaces, as engines need rights that CI in a container may not have. The network
is the machine's own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.waiting import LIMIT

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "happycity-image"
IMAGE = "localhost/happycity"
_BUILDAH = (
    *("buildah", "--root", str(CACHE / "storage"), "--runroot", str(CACHE / "run")),
    *("--storage-driver", "overlay"),
)
_ENTER = Path(__file__).with_name("enter.sh")


@dataclass(frozen=True, kw_only=True)
class Image:
    """The image, with what its Dockerfile says of it."""

    root: Path
    """The folder where its files are mounted."""
    config: Mapping[str, Any]


@contextmanager
def mounted_image() -> Iterator[Image]:
    """Yield the image of the last `tools/release/build-image`."""
    inspected = json.loads(_buildah("inspect", "--type", "image", IMAGE))
    container = _buildah("from", IMAGE).strip()
    try:
        root = Path(_buildah("mount", container).strip())
        yield Image(root=root, config=inspected["Docker"]["config"])
    finally:
        _buildah("rm", container)


def _buildah(*arguments: str) -> str:
    return subprocess.run([*_BUILDAH, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


@dataclass(frozen=True, kw_only=True)
class Host:
    """Where containers of an image run that share a volume, secrets and variables."""

    image: Image
    volumes: Mapping[str, Path]
    """Folders of this machine, by their places in a container: in /run, or where the image has one."""
    environment: Mapping[str, str]

    def run(self, *arguments: str, entry: Sequence[str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(*arguments, entry=entry),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    @contextmanager
    def serving(self) -> Iterator[Container]:
        """Run the image's own command in a container while the context lasts, if it isn't stopped before."""
        with (
            tempfile.TemporaryFile("w+") as log,
            subprocess.Popen(
                self._command(*self.image.config["Cmd"]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            ) as process,
        ):
            assert process.stdout is not None
            try:
                line = process.stdout.readline()
                assert line, (log.seek(0), log.read())
                yield Container(process=process, image=self.image, addresses=json.loads(line))
            finally:
                process.kill()

    def healthy(self, address: str) -> bool:
        kind, *check = self.image.config["Healthcheck"]["Test"]
        assert kind == "CMD"
        host = replace(self, environment={**self.environment, "HAPPYCITY_SERVER": address})
        return host.run(entry=check).returncode == 0

    def _command(self, *arguments: str, entry: Sequence[str] | None = None) -> list[str]:
        config = self.image.config
        volumes = " ".join(f"{folder}:{place}" for place, folder in self.volumes.items())
        variables = [*config["Env"], *(f"{name}={value}" for name, value in self.environment.items())]
        return [
            *("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-e", str(_ENTER)),
            *(str(self.image.root), config["User"], volumes),
            *("env", "--ignore-environment", f"--chdir={config['WorkingDir']}", *variables),
            *(config["Entrypoint"] if entry is None else entry),
            *arguments,
        ]


@dataclass(frozen=True, kw_only=True)
class Container:
    process: subprocess.Popen[str]
    image: Image
    addresses: Mapping[str, str]
    """What the server printed: where it listens."""

    @property
    def pid(self) -> int:
        """The server's process, the first one in the container."""
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text())

    def status(self, field: str) -> list[str]:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(line for line in lines if line.startswith(f"{field}:")).split()[1:]

    def stop(self) -> int:
        """Send the image's stop signal; return the exit status."""
        os.kill(self.pid, getattr(signal, self.image.config["StopSignal"]))
        return self.process.wait(LIMIT)
