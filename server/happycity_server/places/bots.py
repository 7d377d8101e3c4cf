"""What bots do, at one place and at several."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from google.protobuf.timestamp_pb2 import Timestamp

from happycity.tournament.v1beta1.tournament_service_pb2 import BotActivity
from happycity_server.play.session import Session
from happycity_tournament.wire import timestamp

WAITING_SECONDS = 1.0
"""Seconds after which watchers get that a decision waits."""


def activity_message(session: Session, now: float, unix_clock: Callable[[], float]) -> BotActivity:
    """Write what a bot does at a moment of its lobby's clock; it stays equal while nothing changes."""
    waiting = [since for since in session.waiting_since if now - since >= WAITING_SECONDS]
    return BotActivity(
        bot=session.name,
        connected=session.outbox is not None,
        has_answered=session.answers > 0,
        strikes=session.strikes,
        waiting_since=_unix(session, min(waiting), now, unix_clock) if waiting else None,
        games_waiting=len(waiting),
    )


def _unix(session: Session, since: float, now: float, unix_clock: Callable[[], float]) -> Timestamp:
    """Return a moment of the lobby's clock in Unix time, each time the same for the same moment."""
    if session.shown_waiting is None or session.shown_waiting[0] != since:
        session.shown_waiting = since, timestamp(unix_clock() - (now - since))
    return session.shown_waiting[1]


def merged_activity(bot: str, states: Iterable[BotActivity]) -> BotActivity:
    """Return what a bot does that plays at several places, or at none."""
    merged = BotActivity(bot=bot)
    for state in states:
        merged.connected |= state.connected
        merged.has_answered |= state.has_answered
        merged.strikes += state.strikes
        merged.games_waiting += state.games_waiting
        if state.HasField("waiting_since") and (
            not merged.HasField("waiting_since")
            or state.waiting_since.ToNanoseconds() < merged.waiting_since.ToNanoseconds()
        ):
            merged.waiting_since.CopyFrom(state.waiting_since)
    return merged
