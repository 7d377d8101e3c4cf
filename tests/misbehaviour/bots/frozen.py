"""Says hello and stops altogether, as a machine that hangs: its connection stays open."""

from __future__ import annotations

import os
import signal

from tests.misbehaviour.bots.raw import Stream, arguments


def main() -> None:
    """Play badly."""
    given = arguments()
    stream = Stream(given.address)
    stream.hello(given.name)
    for batch in stream.batches():
        if batch.games_started:
            os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == "__main__":
    main()
