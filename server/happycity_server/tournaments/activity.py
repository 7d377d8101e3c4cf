"""What the bots of a tournament do at present, and what goes wrong, as its watchers get it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from google.protobuf.timestamp_pb2 import Timestamp

from happycity import Incident
from happycity.v1 import tournament_service_pb2 as pb
from happycity.wire import incident_message
from happycity_server.play.lobby import Lobby
from happycity_server.play.match import Match
from happycity_tournament.running.codec import timestamp

WAITING_SECONDS = 1.0
"""Seconds after which watchers get that a decision waits."""


class Activity:
    """The present activity of bots, as messages that stay equal while nothing changes."""

    def __init__(self, lobby: Lobby, unix_clock: Callable[[], float]) -> None:
        self._lobby = lobby
        self._unix_clock = unix_clock
        self._waiting: dict[str, tuple[float, Timestamp]] = {}
        """By bot: since when its oldest decision waits, on the lobby's clock and in Unix time."""

    def messages(self, bots: Iterable[str]) -> Iterator[pb.BotActivity]:
        """Yield what each bot does."""
        now = self._lobby.clock()
        for bot in bots:
            session = self._lobby.sessions.get(bot)
            if session is None or session.gone:
                yield pb.BotActivity(bot=bot)
                continue
            waiting = [since for since in session.waiting_since if now - since >= WAITING_SECONDS]
            yield pb.BotActivity(
                bot=bot,
                connected=session.outbox is not None,
                has_answered=session.answers > 0,
                strikes=session.strikes,
                waiting_since=self._unix(bot, min(waiting), now) if waiting else None,
                games_waiting=len(waiting),
            )

    def _unix(self, bot: str, since: float, now: float) -> Timestamp:
        """Return a bot's moment on the lobby's clock in Unix time, each time the same for the same moment."""
        known = self._waiting.get(bot)
        if known is None or known[0] != since:
            known = self._waiting[bot] = since, timestamp(self._unix_clock() - (now - since))
        return known[1]

    def incident(self, match: Match, incident: Incident) -> pb.MatchIncident:
        """Write what went wrong just now in a match."""
        return pb.MatchIncident(
            match_id=match.match_id,
            bot=match.spec.bots[incident.seat],
            time=timestamp(self._unix_clock()),
            round=match.referee.round_of(incident.decision_id),
            incident=incident_message(incident),
        )
