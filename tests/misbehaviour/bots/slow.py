"""Answers each decision right, but only once it hears that its time is over."""

from __future__ import annotations

from tests.misbehaviour.bots.raw import Stream, arguments

from happycity.v1 import play_service_pb2 as play


def main() -> None:
    """Play badly."""
    given = arguments()
    stream = Stream(given.address)
    stream.hello(given.name)
    asked: dict[tuple[int, int], play.Decision] = {}
    for batch in stream.batches():
        for decision in batch.decisions:
            asked[decision.game_id, decision.decision_id] = decision
        for notice in batch.notices:
            if notice.kind == play.NOTICE_KIND_TIMEOUT:
                stream.answer(asked.pop((notice.game_id, notice.decision_id)), 0)


if __name__ == "__main__":
    main()
