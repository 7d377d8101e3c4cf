"""Answers with the last move, then again, and then with the first one; in later messages too."""

from __future__ import annotations

from tests.misbehaviour.bots.raw import Stream, arguments

from happycity.v1 import play_service_pb2 as play


def main() -> None:
    """Play badly."""
    given = arguments()
    stream = Stream(given.address)
    stream.hello(given.name)
    for batch in stream.batches():
        for decision in batch.decisions:
            moves = (len(decision.moves) - 1, len(decision.moves) - 1, 0)
            answers = [
                play.Answer(game_id=decision.game_id, decision_id=decision.decision_id, move=move)
                for move in moves
            ]
            stream.send(play.PlayRequest(answers=answers))
            stream.send(play.PlayRequest(answers=answers[1:]))


if __name__ == "__main__":
    main()
