"""Reads everything, answers pings, and never makes a move."""

from __future__ import annotations

from tests.misbehaviour.bots.raw import Stream, arguments


def main() -> None:
    """Play badly."""
    given = arguments()
    stream = Stream(given.address, given.token)
    stream.hello(given.name)
    for _ in stream.batches():
        pass


if __name__ == "__main__":
    main()
