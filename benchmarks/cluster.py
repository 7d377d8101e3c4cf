"""`python -m benchmarks.cluster`: what Ray costs a run, on a real cluster of two nodes on this machine.

Starts the cluster, and plays on it until the workers on both nodes do. Prints the seconds to each
step, and the memory of Ray and of what the project runs on the nodes (proportional set size).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from benchmarks.__main__ import additions

ARGUMENTS = ("--bots", "random,greedy", "--rounds", "1000000", "--no-web", "--concurrency", "8")
KINDS = {
    "workers, and what starts them and their bots": r"happycity_server\.workers(\.node)?$",
    "reference bots, of two workers and the server": r"happycity_bots",
    "actors": r"ray::NodeActor",
    "the driver": r"ray_driver",
    "the run's session and server": r"happycity_tournament|happycity_server",
    "Ray's head and nodes": r"ray::|site-packages/ray/",
}


def memory(kinds: dict[str, str]) -> dict[str, tuple[int, float]]:
    """Return the number and the megabytes of the processes of each kind; the first that fits counts."""
    found: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            words = (process / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
            text = " ".join(word for word in words if not word.startswith("--"))
            kind = next((name for name, pattern in kinds.items() if re.search(pattern, text)), "")
            size = re.search(r"^Pss:\s+(\d+) kB", (process / "smaps_rollup").read_text(), re.MULTILINE)
            if kind and size is not None:
                number, megabytes = found[kind]
                found[kind] = number + 1, megabytes + int(size[1]) / 1024
    return found


def main() -> None:
    """Print times and memory."""
    print(f"plain Python: {additions():.1f} million additions/s")
    begin = time.perf_counter()

    def step(text: str) -> None:
        print(f"{time.perf_counter() - begin:6.1f} s  {text}")

    from ray.cluster_utils import Cluster  # noqa: PLC0415 - it is measured

    step("Ray is imported")
    cluster = Cluster()
    cluster.add_node(num_cpus=2, include_dashboard=False)
    step("the head runs")
    cluster.add_node(num_cpus=2, include_dashboard=False)
    step("the second node runs")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "happycity_tournament", "run", *ARGUMENTS, "--ray", cluster.address]
        begin = time.perf_counter()
        run = subprocess.Popen(
            command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        assert run.stderr is not None
        for line in run.stderr:
            if not re.search(r"games/s", line):
                step(line.rstrip())
            if "on the nodes play" in line:
                break
        for kind, (number, megabytes) in memory(KINDS).items():
            print(f"{megabytes:6.0f} MB in {number} processes: {kind}")
        begin = time.perf_counter()
        run.terminate()
        run.terminate()
        run.communicate()
        step("the run has ended")
    cluster.shutdown()


if __name__ == "__main__":
    main()
