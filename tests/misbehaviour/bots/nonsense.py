"""Sends a message that is none of the contract, in the middle of a proper stream."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

import grpc
from tests.misbehaviour.bots.raw import arguments, channel, tell, tell_refusal

from happycity.v1 import play_service_pb2 as play


def main() -> None:
    """Play badly."""
    given = arguments()
    outbox = SimpleQueue[bytes | None]()
    outbox.put(play.PlayRequest(hello=play.Hello(name=given.name, protocol_version=1)).SerializeToString())
    # Without serialisers, messages are bytes.
    method: Any = channel(given.address).stream_stream("/happycity.v1.PlayService/Play")
    call = method(iter(outbox.get, None))
    try:
        next(call)
        tell("welcome", resumed=False)
        outbox.put(b"\xff" * 100)
        for _ in call:
            pass
    except grpc.RpcError as error:
        tell_refusal(error)


if __name__ == "__main__":
    main()
