"""All places where matches are played, seen as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import merge

from happycity import Incident
from happycity.tournament.v1beta1 import tournament_service_pb2
from happycity.v1 import bot_service_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import bot_info_of, incident_message
from happycity_server.places.bots import LobbyBots, merged_activity, merged_bot
from happycity_server.places.counters import total
from happycity_server.places.remote import RemoteMatch, RemotePlace
from happycity_server.play.arrivals import Arrivals
from happycity_server.play.counters import Counters
from happycity_server.play.lobby import Lobby
from happycity_server.play.match import Match
from happycity_server.play.session import Session
from happycity_tournament.games import BotProfile
from happycity_tournament.running.codec import timestamp

IncidentListener = Callable[[tournament_service_pb2.MatchIncident], None]


class OwnPlace:
    """This server's own lobby as a place."""

    ready = True

    def __init__(self, lobby: Lobby) -> None:
        self.lobby = lobby
        self.is_connected = lobby.is_connected

    def knows(self, bot: str) -> bool:
        """Return whether a bot is connected, or was a moment ago."""
        session = self.lobby.sessions.get(bot)
        return session is not None and not session.gone


class Places:
    """This server's own lobby and its workers."""

    def __init__(self, lobby: Lobby, unix_clock: Callable[[], float], *, workers: int = 0) -> None:
        self.lobby = lobby
        self.unix_clock = unix_clock
        self.own = OwnPlace(lobby)
        self.workers = [RemotePlace(number) for number in range(1, workers + 1)]
        self.arrivals = Arrivals(self.is_connected)
        self.arrival_listeners: list[Callable[[str, BotProfile], None]] = []
        """Are called with each bot that connects anywhere."""
        self.change_listeners: list[Callable[[], None]] = []
        """Are called when other bots are connected to a place, or a worker comes or goes."""
        self.match_over_listeners: list[Callable[[], None]] = []
        """Are called when a match is over, and its bots have more room."""
        self.incident_listeners: dict[int, IncidentListener] = {}
        """By tournament: who gets the strikes and forfeits of its matches."""
        self._own_bots = LobbyBots(lobby, unix_clock)
        lobby.on_arrival = self._note_own_arrival
        lobby.on_departure = lambda session: self._note_change()
        lobby.on_incident = self._note_own_incident
        lobby.on_match_over = self._note_match_over
        for worker in self.workers:
            worker.on_arrival = self._note_arrival
            worker.on_incident = self._pass_on
            worker.on_change = self._note_change
            worker.on_match_over = self._note_match_over

    @property
    def all(self) -> Sequence[OwnPlace | RemotePlace]:
        """This server's own place and those of its workers."""
        return (self.own, *self.workers)

    @property
    def _hosts(self) -> Sequence[Lobby | RemotePlace]:
        return (self.lobby, *self.workers)

    @property
    def house(self) -> Collection[str]:
        """The names of the server's own bots."""
        return self.lobby.house

    def is_connected(self, bot: str) -> bool:
        """Return whether a bot is connected anywhere."""
        return any(place.is_connected(bot) for place in self.all)

    def places_of(self, bot: str) -> frozenset[int]:
        """Return where a bot is connected: 0 for this server itself, and the numbers of workers."""
        return frozenset(number for number, place in enumerate(self.all) if place.is_connected(bot))

    def can_meet(self, bots: Collection[str]) -> bool:
        """Return whether bots are connected to a place that they have in common."""
        return any(all(place.is_connected(bot) for bot in bots) for place in self.all)

    def connected(self) -> list[str]:
        """Return the names of the bots that are connected anywhere."""
        return [name for name in self.bot_names() if self.is_connected(name)]

    def not_connected(self, bots: Iterable[str]) -> list[str]:
        """Return those of `bots` that are connected nowhere."""
        return [name for name in bots if not self.is_connected(name)]

    def max_games(self, bot: str) -> int | None:
        """Return how many games a connected bot is willing to play at once; None: any number."""
        session = self._own_bots.session(bot)
        limits = [session.max_games] if session is not None and session.outbox is not None else []
        for worker in self.workers:
            if worker.is_connected(bot):
                state = worker.bots[bot].bot
                limits.append(state.max_games if state.HasField("max_games") else None)
        return None if None in limits else sum(limit or 0 for limit in limits)

    def bot_names(self) -> Collection[str]:
        """Return the names of the bots that are connected, or were a moment ago."""
        names = dict.fromkeys(self._own_bots.names())
        for worker in self.workers:
            names |= dict.fromkeys(worker.bots)
        return names

    def bot(self, name: str) -> bot_service_pb2.ConnectedBot:
        """Write a bot, one of `bot_names`, as it is now."""
        session = self._own_bots.session(name)
        states = [] if session is None else [self._own_bots.bot(session)]
        states += [worker.bots[name].bot for worker in self.workers if name in worker.bots]
        return merged_bot(states)

    def activity(self, bots: Iterable[str]) -> Iterator[tournament_service_pb2.BotActivity]:
        """Yield what each bot does; the messages stay equal while nothing changes."""
        for name in bots:
            session = self._own_bots.session(name)
            states = [] if session is None else [self._own_bots.activity(session)]
            states += [worker.bots[name].activity for worker in self.workers if name in worker.bots]
            yield merged_activity(name, states)

    def profiles(self) -> dict[str, BotProfile]:
        """Return what the bots say of themselves."""
        profiles = {
            name: _profile(state.bot) for worker in self.workers for name, state in worker.bots.items()
        }
        return profiles | {
            name: BotProfile(session.info, session.software) for name, session in self.lobby.sessions.items()
        }

    def match(self, match_id: int) -> Match | RemoteMatch | None:
        """Return a match that waits, runs or is being stored; None if there is none with this id."""
        tables: list[Mapping[int, Match | RemoteMatch]] = [self.lobby.matches]
        tables += [worker.matches for worker in self.workers]
        return next((table[match_id] for table in tables if match_id in table), None)

    def newest_matches(self) -> Iterator[Match | RemoteMatch]:
        """Yield all matches that wait, run or are being stored, newest first."""
        # In each table they are in the order of their ids.
        tables: list[Iterator[Match | RemoteMatch]] = [reversed(self.lobby.matches.values())]
        tables.extend(reversed(worker.matches.values()) for worker in self.workers)
        return merge(*tables, key=lambda match: -match.match_id)

    def disqualify(self, bot: str, tournament_id: int, text: str) -> None:
        """Forfeit a bot's seats in the open matches of a tournament, and notify the bot."""
        for place in self._hosts:
            place.disqualify(bot, tournament_id, text)

    def send_notice(self, bot: str, kind: play.NoticeKind.ValueType, text: str) -> None:
        """Send a notice to a bot over each of its connections."""
        for place in self._hosts:
            place.send_notice(bot, kind, text)

    def drop_waiting(self, tournament_id: int) -> None:
        """Void the matches of a tournament that have not begun."""
        for place in self._hosts:
            place.drop_waiting(tournament_id)

    async def close(self, grace: float) -> None:
        """Start nothing more, wait `grace` seconds for running matches, and void the rest.

        Returns when finished matches are stored.
        """
        self.arrivals.close()
        closing = [asyncio.create_task(worker.close(grace)) for worker in self.workers]
        await self.lobby.close(grace)
        await asyncio.gather(*closing)

    def void_all(self) -> None:
        """Break off every match, because the server shuts down."""
        for place in self._hosts:
            place.void_all()

    @property
    def counters(self) -> Counters:
        """What is counted anywhere."""
        if not self.workers:
            return self.lobby.counters
        return total((self.lobby.counters, *(worker.counters for worker in self.workers)))

    @property
    def outbox_bytes(self) -> int:
        """Bytes that wait to be sent to bots."""
        outboxes = (session.outbox for session in self.lobby.sessions.values())
        own = sum(outbox.waiting_bytes for outbox in outboxes if outbox is not None)
        return own + sum(worker.outbox_bytes for worker in self.workers)

    def _note_change(self) -> None:
        for listener in self.change_listeners:
            listener()

    def _note_match_over(self) -> None:
        for listener in self.match_over_listeners:
            listener()

    def _note_own_arrival(self, session: Session) -> None:
        self._note(session.name, BotProfile(session.info, session.software))

    def _note_arrival(self, bot: bot_service_pb2.ConnectedBot) -> None:
        self._note(bot.name, _profile(bot))

    def _note(self, bot: str, profile: BotProfile) -> None:
        for listener in self.arrival_listeners:
            listener(bot, profile)
        self.arrivals.note(bot)
        self._note_change()

    def _note_own_incident(self, match: Match, incident: Incident) -> None:
        if match.tournament_id in self.incident_listeners:
            self._pass_on(match.tournament_id, incident_of_match(match, incident, self.unix_clock()))

    def _pass_on(self, tournament_id: int, incident: tournament_service_pb2.MatchIncident) -> None:
        listener = self.incident_listeners.get(tournament_id)
        if listener is not None:
            listener(incident)


def incident_of_match(
    match: Match, incident: Incident, moment: float
) -> tournament_service_pb2.MatchIncident:
    """Write what went wrong in a match at a moment, Unix time in seconds."""
    return tournament_service_pb2.MatchIncident(
        match_id=match.match_id,
        bot=match.bots[incident.seat],
        time=timestamp(moment),
        round=match.referee.round_of(incident.decision_id) or None,
        incident=incident_message(incident),
    )


def _profile(bot: bot_service_pb2.ConnectedBot) -> BotProfile:
    return BotProfile(bot_info_of(bot.info), bot.software)
