"""How the README of a new bot's project is followed; see `reader`."""

from __future__ import annotations

import re
import socket

from tests.texts.reader import Reader, command_lines

_SERVER = "127.0.0.1:50051"
_PRINTED = {"make check": r"^passed: \d+ ok", "make play": r"60 of 60 games"}
_BY_HAND = f"HAPPYCITY_SERVER={_SERVER}"
"""What shows that a command has done what the README says."""


def follow_readme(author: Reader, *, without: str = "") -> None:
    """Run all command lines of the README in the author's folder, perhaps but for one.

    The server is on a free port instead of the usual one. Lines of Docker are read by other tests.
    """
    text = (author.folder / "README.md").read_text(encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        server = f"127.0.0.1:{free.getsockname()[1]}"
    lines = [line.partition("#")[0].strip() for line in command_lines(text)]
    followed = []
    try:
        for line in lines:
            followed.append(line.split()[0])
            if line == "happycity serve":
                author.start(f"{line} --listen {server}", "listening")
            elif line.startswith("HAPPYCITY_SERVER="):
                author.start(line.replace(_SERVER, server), f"connected to {server}")
            elif line != without and not line.startswith("docker "):
                printed = author.run(line)
                assert re.search(_PRINTED.get(line, ""), printed, re.MULTILINE), printed
    finally:
        author.stop()
    assert followed == [*["make"] * 4, "happycity", _BY_HAND, "docker", "docker"]
