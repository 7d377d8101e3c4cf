"""Sends as fast as it can what makes work and no sense, and reads what comes back."""

from __future__ import annotations

import threading

from tests.misbehaviour.bots.raw import Stream, arguments, tell

from happycity.v1 import play_service_pb2 as play

AHEAD = 100
MESSAGES = 2000


def main() -> None:
    """Play badly."""
    given = arguments()
    stream = Stream(given.address)
    stream.hello(given.name)
    assert stream.read() is not None
    ended = threading.Event()
    freed = threading.Event()

    def read() -> None:
        while (response := stream.read()) is not None:
            stream.pong(response)
            freed.set()
            if response.heartbeat.nonce == MESSAGES:
                break
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    sent = 0
    for nonce in range(1, MESSAGES + 1):
        request = play.PlayRequest(
            answers=[play.Answer(game_id=nonce + count, move=nonce) for count in range(1000)],
            resigns=[play.Resign(game_id=2**40 + nonce, reason="x" * 40_000)],
            heartbeat=play.Heartbeat(nonce=nonce),
            pong=play.Heartbeat(nonce=nonce),
        )
        while stream.waiting() > AHEAD and not ended.is_set():
            freed.wait(0.01)
            freed.clear()
        sent += request.ByteSize()
        stream.send(request)
    ended.wait()
    tell("sent", bytes=sent)


if __name__ == "__main__":
    main()
