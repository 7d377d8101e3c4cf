"""Opens many streams at once, and says nothing on those that are let in until the test says so."""

from __future__ import annotations

import threading

from tests.misbehaviour.bots.raw import Stream, arguments, tell, wait_for_a_word

from happycity.v1 import play_service_pb2 as play

STREAMS = 100
LET_IN = 20


def main() -> None:
    """Play badly."""
    given = arguments()
    streams = [Stream(given.address, given.token) for _ in range(STREAMS)]
    refused = threading.Semaphore(0)
    for stream in streams:
        stream.when_ended(refused.release)
    for _ in range(STREAMS - LET_IN):
        refused.acquire()
    tell("open")
    wait_for_a_word()
    for stream in streams:
        stream.send(play.PlayRequest())  # which is no hello
        stream.read()
    tell("done")


if __name__ == "__main__":
    main()
