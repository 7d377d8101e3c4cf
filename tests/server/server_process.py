"""`happycity serve` as a process of its own, and what it costs."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from tests.waiting import LIMIT


@dataclass(frozen=True)
class ServerProcess:
    pid: int
    address: str
    metrics: str
    web: str = ""

    def loop_milliseconds(self) -> float:
        """Return the CPU time of the thread of the event loop so far."""
        text = Path(f"/proc/{self.pid}/task/{self.pid}/schedstat").read_text()
        return int(text.split()[0]) / 1e6

    def loop_wait_seconds(self) -> float:
        """Return how long the thread of the event loop has waited for a core so far."""
        text = Path(f"/proc/{self.pid}/task/{self.pid}/schedstat").read_text()
        return int(text.split()[1]) / 1e9

    def megabytes(self) -> float:
        """Return the memory that the process has at present, without the files that it maps.

        Their pages come and go with the needs of other processes.
        """
        status = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        kibibytes = {
            name: int(rest.split()[0])
            for name, _, rest in (line.partition(":") for line in status)
            if rest.endswith(" kB")
        }
        return (kibibytes["RssAnon"] + kibibytes["VmSwap"]) / 1024

    def metric(self, name: str) -> dict[str, float]:
        """Return the samples of a metric by the value of their label, "" without one."""
        with urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=LIMIT) as response:
            families = text_string_to_metric_families(response.read().decode())
        return {
            next(iter(sample.labels.values()), ""): sample.value
            for family in families
            for sample in family.samples
            if sample.name == name
        }


@asynccontextmanager
async def ended_server(
    folder: Path, *flags: str, by: signal.Signals = signal.SIGKILL
) -> AsyncIterator[dict[str, str]]:
    """Run a server on a store in a folder, and end it by a signal with the context; yields its addresses."""
    command = ["-m", "happycity", "serve", "--stop-with-stdin", "--open"]
    with (folder / "server.log").open("a") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *(*command, "--store", f"sqlite:///{folder}/games.sqlite", *flags),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
    assert process.stdout is not None
    try:
        yield json.loads(await process.stdout.readline())
    finally:
        process.send_signal(by)
        await process.wait()


@contextmanager
def gateway_process(server: ServerProcess, *flags: str, token: str = "") -> Iterator[ServerProcess]:
    """Run a gateway of a server while the context lasts."""
    command = [
        *(sys.executable, "-m", "happycity", "gateway", "--stop-with-stdin", "--join", server.address),
        *("--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", *flags),
    ]
    environment = {**os.environ, "HAPPYCITY_TOKEN": token}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        addresses = json.loads(process.stdout.readline())
        yield ServerProcess(process.pid, addresses["listening"], addresses["metrics"])
        process.stdin.close()
        assert process.wait(LIMIT) == 0


@contextmanager
def server_process(
    folder: Path, *flags: str, stderr: int | None = None, env: Mapping[str, str] | None = None
) -> Iterator[ServerProcess]:
    """Run a server on a store in a folder while the context lasts.

    Its log goes to the folder too, unless there is a file descriptor for it.
    """
    command = [
        *(sys.executable, "-m", "happycity", "serve", "--stop-with-stdin", "--grace", "0"),
        *("--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--log", "json"),
        *("--store", f"sqlite:///{folder}/games.sqlite", *flags),
    ]
    with (
        (folder / "server.log").open("a") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr or log, text=True, env=env
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        addresses = json.loads(process.stdout.readline())
        yield ServerProcess(
            process.pid, addresses["listening"], addresses["metrics"], addresses.get("web", "")
        )
        process.stdin.close()
        assert process.wait(LIMIT) == 0
