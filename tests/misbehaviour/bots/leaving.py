"""Plays a little, then dies in the middle of a decision, once and for all."""

from __future__ import annotations

import os

from tests.misbehaviour.bots.raw import Stream, arguments

ANSWERS = 5


def main() -> None:
    """Play badly."""
    given = arguments()
    stream = Stream(given.address)
    stream.hello(given.name)
    answers = 0
    for batch in stream.batches():
        for decision in batch.decisions:
            if answers == ANSWERS:
                os._exit(1)
            stream.answer(decision, 0)
            answers += 1


if __name__ == "__main__":
    main()
