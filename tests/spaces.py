"""Network name spaces, which only root makes: what runs in one is a machine of its own to the network."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def apart(name: str, *, here: str, there: str) -> Iterator[Sequence[str]]:
    """Make a network name space at the address `there`; yield the command that enters it.

    It reaches this machine at the address `here`. A name has at most ten characters.
    """
    outside, inside = f"{name}-out", f"{name}-in"

    def ip(line: str) -> None:
        subprocess.run(["ip", *line.split()], check=True, capture_output=True, text=True)

    ip(f"netns add {name}")
    try:
        ip(f"link add {outside} type veth peer name {inside} netns {name}")
        ip(f"address add {here} peer {there}/32 dev {outside}")  # the way to no other machine changes
        ip(f"link set {outside} up")
        for line in (
            f"address add {there} peer {here}/32 dev {inside}",
            f"link set {inside} up",
            "link set lo up",
        ):
            ip(f"-n {name} {line}")
        yield ["ip", "netns", "exec", name]
    finally:
        subprocess.run(["ip", "link", "delete", outside], check=False, capture_output=True)
        ip(f"netns delete {name}")
