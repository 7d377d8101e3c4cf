"""Dies when its first game starts."""

from __future__ import annotations

import os

from tests.misbehaviour.bots.raw import Stream, arguments


def main() -> None:
    """Play badly."""
    given = arguments()
    stream = Stream(given.address)
    stream.hello(given.name)
    for batch in stream.batches():
        if batch.games_started:
            os._exit(1)


if __name__ == "__main__":
    main()
