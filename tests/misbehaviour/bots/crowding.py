"""Opens many streams at once and says nothing on any."""

from __future__ import annotations

from tests.misbehaviour.bots.raw import Stream, arguments, tell

STREAMS = 100


def main() -> None:
    """Play badly."""
    given = arguments()
    streams = [Stream(given.address, given.token) for _ in range(STREAMS)]
    tell("open")
    for stream in streams:
        stream.read()
    tell("done")


if __name__ == "__main__":
    main()
