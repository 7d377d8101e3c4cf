"""Breaks its connection off in the middle of the first decision of each game, comes back and resumes."""

from __future__ import annotations

from tests.misbehaviour.bots.raw import Stream, arguments, tell


def main() -> None:
    """Play badly."""
    given = arguments()
    stream, token = Stream(given.address), ""
    stream.hello(given.name)
    left: set[int] = set()
    games: set[int] = set()
    while True:
        lost = False
        for batch in stream.batches():
            token = batch.welcome.resume_token or token
            games.update(started.game_id for started in batch.games_started)
            games.difference_update(over.game_id for over in batch.games_over)
            fresh = [decision for decision in batch.decisions if decision.game_id not in left]
            if fresh:
                left.update(decision.game_id for decision in fresh)
                lost = True
                break
            for decision in batch.decisions:
                stream.answer(decision, 0)
        if not lost:
            return
        tell("left", games=len(left))
        stream.close()
        stream = Stream(given.address)
        stream.hello(given.name, resume_token=token, games=sorted(games))


if __name__ == "__main__":
    main()
