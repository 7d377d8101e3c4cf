"""Bots as messages: those of one lobby, and one bot that is connected to several places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from happycity.tournament.v1beta1 import tournament_service_pb2
from happycity.v1 import bot_service_pb2
from happycity.wire.match import bot_info_message, duration_message
from happycity_server.play.lobby import Lobby
from happycity_server.play.session import Session
from happycity_tournament.running.codec import timestamp

WAITING_SECONDS = 1.0
"""Seconds after which watchers get that a decision waits."""

ConnectedBot = bot_service_pb2.ConnectedBot
BotActivity = tournament_service_pb2.BotActivity


class LobbyBots:
    """The bots of one lobby, as messages."""

    def __init__(self, lobby: Lobby, unix_clock: Callable[[], float]) -> None:
        self._lobby = lobby
        self._unix_clock = unix_clock
        self._waiting: dict[str, tuple[float, Timestamp]] = {}
        """By bot: since when its oldest decision waits, on the lobby's clock and in Unix time."""

    def names(self) -> Iterator[str]:
        """Yield the names of the bots that are connected, or were a moment ago."""
        return (name for name, session in self._lobby.sessions.items() if not session.gone)

    def session(self, name: str) -> Session | None:
        """Return what there is of a bot that didn't say goodbye."""
        session = self._lobby.sessions.get(name)
        return None if session is None or session.gone else session

    def bot(self, session: Session) -> ConnectedBot:
        """Write a bot as it is now."""
        waiting, trip = session.waiting_since, session.round_trip_us
        return ConnectedBot(
            name=session.name,
            info=bot_info_message(session.info),
            software=session.software or None,
            house=session.name in self._lobby.house,
            connected=session.outbox is not None,
            since=timestamp(session.since),
            games=session.games,
            max_games=session.max_games,
            answers=session.answers,
            strikes=session.strikes,
            decisions_waiting=len(waiting),
            waiting_for=duration_message(self._lobby.clock() - min(waiting)) if waiting else None,
            round_trip=None if trip is None else duration_message(trip / 1e6),
        )

    def activity(self, session: Session) -> BotActivity:
        """Write what a bot does; the message stays equal while nothing changes."""
        now = self._lobby.clock()
        waiting = [since for since in session.waiting_since if now - since >= WAITING_SECONDS]
        return BotActivity(
            bot=session.name,
            connected=session.outbox is not None,
            has_answered=session.answers > 0,
            strikes=session.strikes,
            waiting_since=self._unix(session.name, min(waiting), now) if waiting else None,
            games_waiting=len(waiting),
        )

    def _unix(self, bot: str, since: float, now: float) -> Timestamp:
        """Return a bot's moment on the lobby's clock in Unix time, each time the same for the same moment."""
        known = self._waiting.get(bot)
        if known is None or known[0] != since:
            known = self._waiting[bot] = since, timestamp(self._unix_clock() - (now - since))
        return known[1]


def merged_bot(states: Sequence[ConnectedBot]) -> ConnectedBot:
    """Return a bot that is connected to several places: its numbers are sums, its oldest decision counts."""
    if len(states) == 1:
        return states[0]
    here = [state for state in states if state.connected] or states
    merged = ConnectedBot()
    merged.CopyFrom(here[0])
    since = min if here[0].connected else max
    merged.since.CopyFrom(since((state.since for state in here), key=lambda moment: moment.ToNanoseconds()))
    for field in ("games", "answers", "strikes", "decisions_waiting"):
        setattr(merged, field, sum(getattr(state, field) for state in states))
    if all(state.HasField("max_games") for state in here):
        merged.max_games = sum(state.max_games for state in here)
    else:
        merged.ClearField("max_games")
    waiting = [state.waiting_for for state in states if state.HasField("waiting_for")]
    if waiting:
        merged.waiting_for.CopyFrom(max(waiting, key=lambda time: time.ToNanoseconds()))
    return merged


def merged_activity(bot: str, states: Iterable[BotActivity]) -> BotActivity:
    """Return what a bot does that is connected to several places, or to none."""
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
