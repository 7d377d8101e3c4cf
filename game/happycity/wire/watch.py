"""A match that is watched: a `Playback` as messages of `WatchMatch`, and those as a `Playback`."""

from __future__ import annotations

from happycity.errors import HappyCityError
from happycity.match import VoidReason
from happycity.records.playback import Playback
from happycity.v1 import match_service_pb2 as pb
from happycity.wire.match import incident_message, incident_of, outcome_message, outcome_of
from happycity.wire.messages import event_message, event_of, move_message, move_of, view_message, view_of


def step_message(playback: Playback, decisions: int) -> pb.WatchMatchResponse:
    """Return the message that shows a game after a number of decisions, with the last of them."""
    reached = playback.steps[decisions]
    step = pb.MatchStep(
        decisions=decisions, view=view_message(reached.view), events=map(event_message, reached.events)
    )
    if decisions:
        decided = playback.steps[decisions - 1]
        assert decided.move is not None
        step.seat = decided.view.seat
        step.move.CopyFrom(move_message(decided.move, dict(decided.options)[decided.move]))
        if decided.think_seconds is not None:
            step.think_us = round(decided.think_seconds * 1e6)
        step.metrics.update(decided.metrics)
        step.incidents.extend(map(incident_message, decided.incidents))
        if decided.chosen_by:
            step.chosen_by = decided.chosen_by
    return pb.WatchMatchResponse(step=step)


def end_message(playback: Playback, *, decisions: int) -> pb.WatchMatchResponse:
    """Return the message that says how a match ended, after a number of decisions."""
    outcome = outcome_message(playback.void_reason or playback.results)
    return pb.WatchMatchResponse(end=pb.MatchEnd(decisions=decisions, outcome=outcome))


def add_to_playback(playback: Playback, message: pb.WatchMatchResponse) -> None:
    """Add what one message shows, of a watch from the beginning of its match.

    Raises:
        HappyCityError: the message can't be read, as one of a newer server.
    """
    if message.HasField("end"):
        outcome = outcome_of(message.end.outcome)
        if isinstance(outcome, VoidReason):
            playback.void_reason = outcome
        else:
            playback.finish(outcome)
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
            chosen_by=step.chosen_by,
        )
    playback.add_position(view_of(step.view), [event_of(event) for event in step.events])
    playback.add_incidents(map(incident_of, step.incidents))
