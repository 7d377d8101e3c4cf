"""Tables at which people play: who sits where, invitations, and the match once everybody is there."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import structlog

from happycity import Config, ConfigError, FailurePolicy, TimeControl
from happycity.match import check_person_name
from happycity.runtime.tokens import Role
from happycity_server.access.roles import principal, require
from happycity_server.errors import ApiError, Reason, invalid, too_many
from happycity_server.people.person import Person
from happycity_server.people.practice import Practice, practice_match
from happycity_server.play.lobby import Lobby
from happycity_server.play.match import Match, MatchSpec

HOST = "me"
"""In a plan: the seat of the person who sets the table up."""
INVITED = "invite"
"""In a plan: a seat for somebody who gets an invitation."""

MAX_TABLES = 200
"""Tables that are kept at once."""
MAX_INVITATIONS = 8
"""Invitations to one seat; any of them takes it, once."""
WAITING_SECONDS = 3600.0
"""How long a table waits for its people; as long are invitations valid."""
KEPT_SECONDS = 3600.0
"""How long a table is kept when its game is over."""
CONNECT_SECONDS = 60.0
"""How long a match waits for bots of the house that are just being started."""
GRACE_SECONDS = 300.0
"""How long the seat of a person without an open page is kept."""
UNLIMITED_SECONDS = 86400.0
"""The limit of a decision at a table without a clock. A match that really had none would last for ever if
everybody forgot it, and bots at its table would never count as gone."""

_LOOKALIKES = str.maketrans("авекмнорстухіјѕαβεηικμορτυχ", "abekmhopctyxijsabehikmoptyx")
"""Letters of Cyrillic and Greek, and the Latin ones that look the same in one case or the other."""
_SETTERS = frozenset({Role.BOT, Role.ORGANISER})
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What is to be played at a table."""

    config: Config
    seats: tuple[str, ...]
    """By seat: `HOST` once, `INVITED`, or the name of a bot of the house."""
    decision_seconds: float | None
    """The limit of each decision; None: no clock."""


@dataclass(slots=True, eq=False)
class Table:
    """A table, and who sits there so far."""

    table_id: str
    plan: TablePlan
    caller: str
    """Who has set it up, as limits count callers."""
    host: int
    """The seat of the person who has set it up."""
    created_at: float
    names: list[str | None]
    """By seat; None where an invitation waits to be taken."""
    people: dict[int, Person] = field(default_factory=dict)
    """By seat."""
    invitations: dict[int, set[str]] = field(default_factory=dict)
    """By seat, the hashes of the invitations' tokens."""
    match_id: int | None = None
    """The match, once everybody was there."""
    over_at: float | None = None
    """When the match ended, or the table was given up."""
    is_closed: bool = False
    """Whether it was given up before its game."""

    def signal(self) -> None:
        """Let all pages of the table look again."""
        for person in self.people.values():
            person.changes.publish()


@dataclass(frozen=True, slots=True)
class TablePlace:
    """A person's place at a table."""

    table: Table
    seat: int
    person: Person

    @property
    def is_open(self) -> bool:
        """Whether the person still plays there, or waits for that."""
        return self.table.over_at is None and not self.person.has_left


class Tables:
    """Keeps the tables of people. They are in memory only: a restart ends them, with their matches.

    Secrets are what browsers prove a seat by, and invitations what they get one by; of both only hashes are
    kept.
    """

    def __init__(self, lobby: Lobby, begin: Callable[[MatchSpec], Match], practice: Practice) -> None:
        """Keep tables in a lobby; `begin` sets a match up and has it played."""
        self._lobby = lobby
        self._begin_match = begin
        self._practice = practice
        self._tables: dict[str, Table] = {}  # oldest first
        self._places: dict[str, TablePlace] = {}  # by the hash of the person's secret
        self._invitations: dict[str, tuple[Table, int]] = {}  # by the hash of the token

    @property
    def house(self) -> list[str]:
        """The bots of the house; the server keeps them connected."""
        return sorted(self._lobby.house)

    def place_of(self, secret: str) -> TablePlace | None:
        """Return the place that a secret proves; None if there is none, or not any longer."""
        self._forget()
        return self._places.get(_digest(secret))

    def person_of(self, secret: str) -> str:
        """Return the name of the person whose secret it is; "" if it is nobody's."""
        place = self.place_of(secret)
        return "" if place is None else place.person.name

    def create(self, plan: TablePlan, name: str) -> tuple[Table, str]:
        """Set up a table for the admitted caller; return it and the secret of the host's seat.

        Raises:
            ApiError: the caller may not, a bot is not of the house, or there are too many tables.
            ConfigError: the plan or the name can't be used.
        """
        require(_SETTERS)
        caller = principal()
        if caller.person:
            text = "an invitation is for one table; setting up another needs a token"
            raise ApiError(Reason.WRONG_ROLE, text)
        self._check(plan)
        name = self._free_name(name)
        self._forget()
        own = [table for table in self._tables.values() if table.caller == caller.caller]
        self._practice.charge_table(caller.caller, is_open=sum(table.over_at is None for table in own))
        self._make_room()
        table = Table(
            table_id=secrets.token_urlsafe(9),
            plan=plan,
            caller=caller.caller,
            host=plan.seats.index(HOST),
            created_at=self._lobby.clock(),
            names=[None if seat in (HOST, INVITED) else seat for seat in plan.seats],
        )
        self._tables[table.table_id] = table
        _log.info("table_set_up", table=table.table_id, seats=list(plan.seats), caller=caller.caller)
        return table, self._seat(table, table.host, name)

    def invite(self, place: TablePlace, seat: int) -> str:
        """Return a new token that takes a seat, once, for the first person who opens it.

        Raises:
            ApiError: the caller is not the host, or the seat is not free.
        """
        table = place.table
        if place.seat != table.host or table.is_closed:
            raise ApiError(Reason.WRONG_ROLE, "only the person who has set the table up invites")
        if not 0 <= seat < len(table.names) or table.names[seat] is not None:
            raise invalid(f"seat: {seat + 1} is not free")
        hashes = table.invitations.setdefault(seat, set())
        if len(hashes) >= MAX_INVITATIONS:
            raise too_many(MAX_INVITATIONS, f"links to seat {seat + 1}", advice="send one of them")
        clear = secrets.token_urlsafe(24)
        hashes.add(_digest(clear))
        self._invitations[_digest(clear)] = table, seat
        return clear

    def invitation(self, clear: str) -> tuple[Table, int]:
        """Return the table and seat that an invitation is for.

        Raises:
            ApiError: it is unknown or expired, or the seat is taken.
        """
        self._forget()
        table, seat = self._invitations.get(_digest(clear), (None, 0))
        if table is None or table.is_closed:
            text = "this invitation is unknown or no longer valid; ask for another link"
            raise ApiError(Reason.REVOKED, text)
        if table.names[seat] is not None:
            text = "this seat is taken already: a link is good for one person; ask for another link"
            raise ApiError(Reason.REVOKED, text)
        return table, seat

    def accept(self, clear: str, name: str) -> tuple[Table, str]:
        """Take the seat of an invitation; return the table and the secret of the seat.

        Raises:
            ApiError: as `invitation`, or somebody is called so already.
            ConfigError: the name can't be used.
        """
        table, seat = self.invitation(clear)
        secret = self._seat(table, seat, self._free_name(name))
        table.signal()
        return table, secret

    def fill(self, place: TablePlace, seat: int, bot: str) -> None:
        """Give a free seat to a bot of the house; its invitations are no longer valid.

        Raises:
            ApiError: the caller is not the host, the seat is not free, or the house has no such bot.
        """
        table = place.table
        free = [number for number, name in enumerate(table.names) if name is None]
        if place.seat != table.host or seat not in free or bot not in self.house:
            raise invalid(f"seat {seat + 1}: only the host fills a free seat, by a bot of the house")
        seats = table.plan.seats
        table.plan = replace(table.plan, seats=(*seats[:seat], bot, *seats[seat + 1 :]))
        table.names[seat] = bot
        self._begin_if_complete(table)
        table.signal()

    @asynccontextmanager
    async def present(self, place: TablePlace) -> AsyncIterator[None]:
        """Note that a person's page is open while the context lasts; when all are there, the match begins."""
        async with place.person.present():
            self._begin_if_complete(place.table)
            place.table.signal()
            try:
                yield
            finally:
                place.table.signal()

    def leave(self, place: TablePlace) -> None:
        """Let a person leave for good; without its host, a table that waits is given up."""
        table = place.table
        if table.match_id is not None:
            place.person.leave()
        elif place.seat == table.host:
            self._close(table)

    def _check(self, plan: TablePlan) -> None:
        if len(plan.seats) != plan.config.players or plan.seats.count(HOST) != 1:
            raise ConfigError(f"seats: one of the {plan.config.players} must be yours")
        for bot in plan.seats:
            if bot not in self._lobby.house and bot not in (HOST, INVITED):
                known = ", ".join(sorted(self._lobby.house)) or "none"
                text = f"{bot[:64]!r} is not a bot of the house; there are: {known}"
                raise ApiError(Reason.NOT_HOUSE_BOT, text, bot=bot[:64], house=known)

    def _free_name(self, typed: str) -> str:
        """Return the name of a person, which no other person has at present, nor one that looks the same."""
        name = check_person_name(typed)
        tables = [table for table in self._tables.values() if table.over_at is None]
        people = [person for table in tables for person in table.people.values()]
        taken = {person.name for person in people if not person.has_left}
        if _look(name) in map(_look, taken):
            raise ApiError(Reason.WRONG_NAME, f"somebody plays as {name[1:]} already; choose another name")
        return name

    def _seat(self, table: Table, seat: int, name: str) -> str:
        """Give a person a seat; return the secret that proves it."""
        table.names[seat] = name
        person = table.people[seat] = Person(name, self._lobby)
        secret = secrets.token_urlsafe(32)
        self._places[_digest(secret)] = TablePlace(table, seat, person)
        return secret

    def _begin_if_complete(self, table: Table) -> None:
        names = tuple(name for name in table.names if name is not None)
        all_present = all(person.is_present for person in table.people.values())
        if table.match_id is not None or table.is_closed or len(names) < len(table.names) or not all_present:
            return
        limit = table.plan.decision_seconds
        match = self._begin_match(
            practice_match(
                table.plan.config,
                names,
                seed=secrets.randbits(53),
                time=TimeControl(
                    connect_seconds=CONNECT_SECONDS,
                    decision_seconds=UNLIMITED_SECONDS if limit is None else limit,
                ),
                policy=FailurePolicy(grace_seconds=GRACE_SECONDS),
            )
        )
        table.match_id = match.match_id
        match.over.add_done_callback(lambda _: self._end(table))

    def _end(self, table: Table) -> None:
        """Note that nothing is played at a table any longer."""
        table.over_at = self._lobby.clock()
        table.signal()

    def _close(self, table: Table) -> None:
        """Give up a table whose game has not begun."""
        table.is_closed = True
        for person in table.people.values():
            person.leave()
        self._end(table)

    def _forget(self) -> None:
        """Give up tables that have waited for too long, and forget those that are over for long."""
        now = self._lobby.clock()
        for table in list(self._tables.values()):
            if table.match_id is None and not table.is_closed and now - table.created_at > WAITING_SECONDS:
                self._close(table)
            if table.over_at is not None and now - table.over_at > KEPT_SECONDS:
                self._remove(table)

    def _make_room(self) -> None:
        """Let one more table be set up; ApiError if as many are in use as may be."""
        if len(self._tables) < MAX_TABLES:
            return
        oldest = next((table for table in self._tables.values() if table.over_at is not None), None)
        if oldest is None:
            raise too_many(MAX_TABLES, "tables")
        self._remove(oldest)

    def _remove(self, table: Table) -> None:
        del self._tables[table.table_id]
        for digest in [digest for digest, place in self._places.items() if place.table is table]:
            del self._places[digest]
        for digest in set().union(*table.invitations.values()):
            del self._invitations[digest]


def _look(name: str) -> str:
    """Return what names that look alike have in common."""
    return name.casefold().translate(_LOOKALIKES)


def _digest(clear: str) -> str:
    return hashlib.sha256(clear.encode()).hexdigest()
