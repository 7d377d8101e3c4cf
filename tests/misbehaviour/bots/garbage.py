"""Sends to the server's port what is no gRPC, over many connections, and waits for each to be ended."""

from __future__ import annotations

import random
import socket
import struct

from tests.misbehaviour.bots.raw import arguments, tell

TIMES = 20
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def kinds(rng: random.Random) -> dict[str, bytes]:
    """Return what is sent, by its name."""
    frame = (2**24 - 1).to_bytes(3, "big") + bytes([0, 0]) + struct.pack(">I", 1)
    return {
        "noise": rng.randbytes(100_000),
        "http/1.1": b"GET / HTTP/1.1\r\nHost: arena\r\n\r\n" + b"x" * 1000,
        "zeros": bytes(100_000),
        "a preface and noise": PREFACE + rng.randbytes(100_000),
        "a frame of 16 MB": PREFACE + frame + bytes(100_000),
    }


def outlasts(address: str, data: bytes) -> bool:
    """Return whether a connection is still open after all that."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        try:
            connection.sendall(data)
            while connection.recv(65536):
                pass
        except TimeoutError:
            return True
        except OSError:
            pass  # reset by the server
    return False


def main() -> None:
    """Play badly."""
    given, rng = arguments(), random.Random(1)
    for _ in range(TIMES):
        for kind, data in kinds(rng).items():
            if outlasts(given.address, data):
                tell("outlasted", kind=kind)
    tell("done")


if __name__ == "__main__":
    main()
