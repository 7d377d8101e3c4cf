"""A bot's program that stops or dies in the middle of its first game, as its last argument says."""

import os
import signal
import sys
from queue import SimpleQueue

import grpc

from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub

ANSWERS = 5
"""So many decisions are answered before a bot dies `later`."""


def main(address: str, name: str, kind: str) -> None:
    outbox = SimpleQueue[play.PlayRequest]()
    outbox.put(play.PlayRequest(hello=play.Hello(name=name)))
    answered = 0
    for batch in PlayServiceStub(grpc.insecure_channel(address)).Play(iter(outbox.get, None)):
        if batch.games_started and kind == "freezes":
            os.kill(os.getpid(), signal.SIGSTOP)  # its connection stays open
        if batch.games_started and kind == "dies":
            os._exit(1)
        for decision in batch.decisions:
            if answered == ANSWERS:
                os._exit(1)
            answered += 1
            answer = play.Answer(match_id=decision.match_id, decision_id=decision.decision_id)
            outbox.put(play.PlayRequest(answers=[answer]))


if __name__ == "__main__":
    main(*sys.argv[1:])
