"""Names moves that there are not."""

from __future__ import annotations

from tests.misbehaviour.bots.raw import Stream, arguments


def main() -> None:
    """Play badly."""
    given = arguments()
    stream = Stream(given.address)
    stream.hello(given.name)
    for batch in stream.batches():
        for count, decision in enumerate(batch.decisions):
            stream.answer(decision, (len(decision.moves), 2**32 - 1)[count % 2])


if __name__ == "__main__":
    main()
