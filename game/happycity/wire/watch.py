"""A match that is watched: from the messages of `WatchMatch` to a `Playback`."""

from __future__ import annotations

from happycity.errors import HappyCityError
from happycity.records.playback import Playback
from happycity.v1 import match_service_pb2 as pb
from happycity.wire.match import incident_of, result_of, void_reason_of
from happycity.wire.messages import event_of, move_of, view_of


def add_to_playback(playback: Playback, message: pb.WatchMatchResponse) -> None:
    """Add what one message shows, of a watch from the beginning of its match.

    Raises:
        HappyCityError: the message can't be read, as one of a newer server.
    """
    if message.HasField("end"):
        if message.end.HasField("result"):
            playback.finish(result_of(message.end.result))
        else:
            playback.void_reason = void_reason_of(message.end.void_reason)
        return
    try:
        _add_step(playback, message.step)
    except LookupError as error:
        raise HappyCityError(
            f"the server shows a move or a card that this version doesn't know: {error}"
        ) from None


def _add_step(playback: Playback, step: pb.MatchStep) -> None:
    if step.HasField("move") and playback.steps:
        playback.answer(
            move_of(step.move),
            think_seconds=step.think_us / 1e6 if step.HasField("think_us") else None,
            metrics=step.metrics,
        )
    playback.add_position(view_of(step.view), [event_of(event) for event in step.events])
    playback.add_incidents(map(incident_of, step.incidents))
