"""Sends messages that are far too large, one on each of many streams."""

from __future__ import annotations

from tests.misbehaviour.bots.raw import Stream, arguments, tell

from happycity.v1 import play_service_pb2 as play

STREAMS = 40
BYTES = 5_000_000


def main() -> None:
    """Play badly."""
    given = arguments()
    request = play.PlayRequest(resigns=[play.Resign(reason="x" * BYTES)])
    for _ in range(STREAMS):
        stream = Stream(given.address)
        stream.hello(given.name)
        assert stream.read() is not None
        stream.send(request)
        for _ in stream.batches():
            pass
        stream.close()
    tell("sent", bytes=STREAMS * BYTES)


if __name__ == "__main__":
    main()
