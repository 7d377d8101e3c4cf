"""Talks without end about games that there are not, and never reads a word until the test says so."""

from __future__ import annotations

import threading

from tests.misbehaviour.bots.raw import Stream, arguments, tell, wait_for_a_word

from happycity.v1 import play_service_pb2 as play

AHEAD = 100
"""Messages that wait to be sent at most: what the server doesn't take is kept here."""


def main() -> None:
    """Play badly."""
    given = arguments()
    stream = Stream(given.address)
    stream.hello(given.name)
    enough = threading.Event()

    def listen() -> None:
        wait_for_a_word()
        enough.set()

    threading.Thread(target=listen, daemon=True).start()
    request = play.PlayRequest(answers=[play.Answer(game_id=2**40 + count) for count in range(1000)])
    size, sent = request.ByteSize(), 0
    while not enough.is_set():
        if stream.waiting() < AHEAD:
            stream.send(request)
            sent += size
        else:
            enough.wait(0.001)
    tell("sent", bytes=sent)
    while stream.read() is not None:
        pass


if __name__ == "__main__":
    main()
