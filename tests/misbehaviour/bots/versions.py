"""Speaks a version of the protocol that there is not yet."""

from __future__ import annotations

from tests.misbehaviour.bots.raw import Stream, arguments

from happycity.v1 import play_service_pb2 as play


def main() -> None:
    """Play badly."""
    given = arguments()
    stream = Stream(given.address)
    stream.send(play.PlayRequest(hello=play.Hello(name=given.name, protocol_version=99)))
    stream.read()


if __name__ == "__main__":
    main()
