"""Plays its own games well, and answers and resigns all others that there may be too."""

from __future__ import annotations

from tests.misbehaviour.bots.raw import Stream, arguments

from happycity.v1 import play_service_pb2 as play


def main() -> None:
    """Play badly."""
    given = arguments()
    stream = Stream(given.address)
    stream.hello(given.name)
    own: set[int] = set()
    for batch in stream.batches():
        own.update(started.game_id for started in batch.games_started)
        for decision in batch.decisions:
            others = [game for game in range(decision.game_id + 5) if game not in own]
            answers = [
                play.Answer(game_id=game, decision_id=decision.decision_id + ahead)
                for game in others
                for ahead in (0, 1, 2)
            ]
            resigns = [play.Resign(game_id=game, reason="not mine") for game in others]
            stream.send(play.PlayRequest(answers=answers, resigns=resigns))
            stream.answer(decision, 0)


if __name__ == "__main__":
    main()
