"""Puts more answers into one message than anybody may."""

from __future__ import annotations

from tests.misbehaviour.bots.raw import Stream, arguments

from happycity.v1 import play_service_pb2 as play


def main() -> None:
    """Play badly."""
    given = arguments()
    stream = Stream(given.address)
    stream.hello(given.name)
    stream.send(play.PlayRequest(answers=[play.Answer() for _ in range(10_001)]))
    for _ in stream.batches():
        pass


if __name__ == "__main__":
    main()
