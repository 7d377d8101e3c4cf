"""The tables at which people play: invitations, open seats, the match, and how it survives a restart."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import structlog

from happycity import FailurePolicy, Mode, TimeControl, VoidReason
from happycity.errors import FieldError
from happycity.match import PERSON_MARK, check_person_name
from happycity.records.record import Json, config_json
from happycity.records.replay import config_of, deal_of
from happycity_runtime.tokens import new_secret
from happycity_server.access.gate import RateLimits
from happycity_server.access.roles import SEATED, principal
from happycity_server.errors import ApiError, Reason, invalid, too_many
from happycity_server.people.person import Person
from happycity_server.people.practice import Practice, single_match
from happycity_server.people.table import (
    GREETINGS,
    HOST,
    INVITED,
    OPEN,
    Activity,
    Greeting,
    SeatActivity,
    Table,
    TablePlace,
    TablePlan,
    TableState,
)
from happycity_server.play.lobby import Lobby
from happycity_server.play.match import Match
from happycity_tournament.games import practice_seed
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.packing import unpack

MAX_TABLES = 200
"""Tables that are kept at once."""
MAX_GUEST_TABLES = 150
"""How many of these may be those of guests, who have no token."""
OPEN_SECONDS = 60.0
"""How long a table waits for the people of its open seats, before bots get them."""
AWAY_SECONDS = 10.0
"""How long who has an open seat may be away by then."""
GREETING_SECONDS = 2.0
"""Time between two greetings of a person on the whole; some may come at once."""
SEAT_PREFIX, LINK_PREFIX = "hcs", "hcl"
"""What the secrets of seats begin with, and those of links to them."""
MAX_INVITATIONS = 8
"""Invitations to one seat; any of them takes it, once."""
WAITING_SECONDS = 3600.0
"""How long a table waits for its people; as long are invitations valid."""
KEPT_SECONDS = 3600.0
"""How long a table is kept when its game is over."""
CONNECT_SECONDS = 60.0
"""How long a match waits for bots of the house that are just being started."""
GRACE_SECONDS = 300.0
"""How long the seat of a person without an open page is kept, and a game waits for all after a restart."""
UNLIMITED_SECONDS = 86400.0
"""The limit of a decision at a table without a clock. A match that really had none would last forever if
all left it, and bots at its table would never count as gone."""

_FREE = (HOST, INVITED, OPEN)
_CONFUSABLES = str.maketrans("авекмнорстухіјѕαβεηικμορτυχ", "abekmhopctyxijsabehikmoptyx")
"""Letters of Cyrillic and Greek, and the Latin ones that look the same in one case or the other."""
_STORED = ("visitor", "is_guest", "created_at", "names", "secrets", "invitations", "match_id")
"""The fields of a table that are stored as they are, besides its plan."""
_log = structlog.get_logger()


class Tables:
    """Keeps the tables of people, and stores those that are not over, so that they survive a restart.

    Secrets are what browsers prove a seat by, and invitations what they get one by; of both only hashes are
    kept.
    """

    def __init__(
        self,
        lobby: Lobby,
        begin: Callable[[MatchSpec, int | None], Match],
        practice: Practice,
        store: AsyncStore,
        unix_clock: Callable[[], float],
    ) -> None:
        """Keep tables in a lobby; `begin` sets a match up, with an id if it has one, and has it played."""
        self._lobby = lobby
        self._begin_match = begin
        self._practice = practice
        self._store = store
        self._now = unix_clock
        self._greeting_rates = RateLimits(
            rate=1 / GREETING_SECONDS,
            burst=3,
            clock=lobby.clock,
            quota="a greeting in two seconds",
        )
        lobby.events.swept.append(self._fill_open_seats)
        self._tables: dict[str, Table] = {}  # oldest first

    @property
    def house(self) -> list[str]:
        """The bots of the house; the server keeps them connected."""
        return sorted(self._lobby.house)

    def waiting_seeds(self) -> set[int]:
        """Return the seeds of the deals that are played at tables once everybody is there."""
        waiting = (table for table in self._tables.values() if table.state is TableState.OPEN)
        return {practice_seed(table.plan.seed) for table in waiting}

    def place_of(self, secret: str) -> TablePlace | None:
        """Return the place that a secret proves; None if there is none, or not any longer."""
        self._forget()
        digest = _digest(secret)
        for table in self._tables.values():
            if (seat := table.secrets.get(digest)) is not None:
                return TablePlace(table, seat, table.people[seat])
        return None

    def person_by_secret(self, secret: str) -> str:
        """Return the name of the person whose secret it is; "" if it is nobody's."""
        place = self.place_of(secret)
        return "" if place is None else place.person.name

    def open_tables(self) -> list[Table]:
        """Return the tables with seats that anybody may take, oldest first; their hosts are there."""
        waiting = (table for table in self._tables.values() if table.state is TableState.OPEN)
        return [table for table in waiting if table.open_seats and table.people[table.host].is_present]

    def open_table(self, table_id: str) -> tuple[Table, int]:
        """Return a table and its first seat that anybody may take.

        Raises:
            ApiError: it has none, or not any longer.
        """
        table = self._tables.get(table_id)
        if table is None or table not in self.open_tables():
            raise ApiError(Reason.REVOKED, "this table has no open seat any more; choose another one")
        return table, table.open_seats[0]

    def seconds_left(self, due: float | None) -> float | None:
        """Return how many seconds there are until a time of the lobby's clock, at least 0; None if it is."""
        return None if due is None else max(0.0, due - self._lobby.clock())

    def seconds_open(self, table: Table) -> float:
        """Return how many seconds a table still waits for the people of its open seats."""
        return max(0.0, table.created_at + OPEN_SECONDS - self._now())

    def create(self, plan: TablePlan, name: str, *, earlier: str = "") -> tuple[Table, str]:
        """Set up a table for the admitted caller; return it and the secret of the host's seat.

        By `earlier`, the secret of an earlier seat of the same browser, limits count its tables together.

        Raises:
            ApiError: the caller may not, a bot is not of the house, or there are too many tables.
            ConfigError: the plan or the name can't be used.
        """
        caller = principal()
        caller.require(SEATED)
        self._check(plan, is_guest=caller.is_guest)
        name = self._free_name(name)
        visitor = self._charge(earlier)
        self._make_room(is_guest=caller.is_guest)
        table = Table(
            table_id=secrets.token_urlsafe(9),
            plan=plan,
            visitor=visitor,
            is_guest=caller.is_guest,
            address=caller.caller,
            created_at=self._now(),
            names=[None if seat in _FREE else seat for seat in plan.seats],
            store=self._store_latest,
        )
        _log.info("table_set_up", table=table.table_id, seats=list(plan.seats), caller=caller.caller)
        return table, self._seat(table, table.host, name)

    def take_seat(
        self, offered: tuple[Table, int], name: str, *, earlier: str | None = None
    ) -> tuple[Table, str]:
        """Take a seat that `open_table` or `invitation` has found; return its table, and its secret.

        With `earlier`, as of `create`, it counts as a table that the caller sets up; invited ones don't.

        Raises:
            ApiError: the caller may not, somebody is called so already, or too many seats were taken.
            ConfigError: the name can't be used.
        """
        table, seat = offered
        name = self._free_name(name)
        if earlier is not None:
            principal().require(SEATED)
            self._charge(earlier)
        secret = self._seat(table, seat, name)
        table.signal()
        return table, secret

    def _charge(self, earlier: str) -> str:
        """Count a table or seat of the admitted caller; return what its tables are counted by."""
        caller, place = principal(), self.place_of(earlier)
        if not caller.may_play:
            text = "an invitation is for one table; setting up another needs a token"
            raise ApiError(Reason.WRONG_ROLE, text)
        is_known = place is not None and place.seat == place.table.host
        visitor = place.table.visitor if place is not None and is_known else secrets.token_urlsafe(9)
        visitor = visitor if caller.token is None else caller.caller
        opened = [table for table in self._tables.values() if table.ended_at is None]
        self._practice.charge_table(
            visitor,
            caller.caller,
            own=sum(table.visitor == visitor for table in opened),
            of_address=sum(table.address == caller.caller for table in opened),
            is_guest=caller.is_guest,
        )
        return visitor

    def invite(self, place: TablePlace, seat: int) -> str:
        """Return a new token that takes a seat, once, for the first person who opens it.

        Raises:
            ApiError: the caller is not the host, or the seat is not free.
        """
        table = place.table
        if place.seat != table.host or table.is_closed:
            raise ApiError(Reason.WRONG_ROLE, "only the person who has set the table up invites")
        if not 0 <= seat < len(table.names) or table.names[seat] is not None:
            raise invalid("seat", f"{seat + 1} is not free")
        if list(table.invitations.values()).count(seat) >= MAX_INVITATIONS:
            raise too_many(MAX_INVITATIONS, f"links to seat {seat + 1}", advice="send one of them")
        clear, _ = new_secret(LINK_PREFIX)
        table.invitations[_digest(clear)] = seat
        table.writer.begin()
        return clear

    def invitation(self, clear: str) -> tuple[Table, int]:
        """Return the table and seat that an invitation is for.

        Raises:
            ApiError: it is unknown or expired, or the seat is taken.
        """
        self._forget()
        digest = _digest(clear)
        table = next((table for table in self._tables.values() if digest in table.invitations), None)
        if table is None or table.is_closed:
            text = "this invitation is unknown or no longer valid; ask for another link"
            raise ApiError(Reason.REVOKED, text)
        seat = table.invitations[digest]
        if table.names[seat] is not None:
            text = "this seat is taken already: a link is good for one person; ask for another link"
            raise ApiError(Reason.REVOKED, text)
        return table, seat

    def fill(self, place: TablePlace, seat: int, bot: str) -> None:
        """Give a free seat to a bot of the house; its invitations are no longer valid.

        Raises:
            ApiError: the caller is not the host, the seat is not free, or the house has no such bot.
        """
        table = place.table
        free = [number for number, name in enumerate(table.names) if name is None]
        if place.seat != table.host or seat not in free or bot not in self.house:
            text = f"seat {seat + 1}: only the host fills a free seat, by a bot of the house"
            raise ApiError(Reason.INVALID_FIELD, text)
        self._give_to_bot(table, seat, bot)
        self._begin_if_complete(table)
        table.signal()

    def _give_to_bot(self, table: Table, seat: int, bot: str) -> None:
        """Let a bot of the house have a seat of a table that waits."""
        seats = table.plan.seats
        table.plan = replace(table.plan, seats=(*seats[:seat], bot, *seats[seat + 1 :]))
        table.names[seat] = bot
        table.writer.begin()

    def _fill_open_seats(self) -> None:
        """Give the open seats to bots of the house for which nobody has come in time, or came and left."""
        for table in [*self._tables.values()]:
            if table.state is not TableState.OPEN or OPEN not in table.plan.seats or not self.house:
                continue
            if self.seconds_open(table) > 0:
                continue
            for seat, planned in enumerate(table.plan.seats):
                person = table.people.get(seat)
                since = self._lobby.clock() - AWAY_SECONDS
                if planned != OPEN or (person and (person.is_present or person.away_since > since)):
                    continue
                if person is not None:
                    person.leave()
                    del table.people[seat]
                    table.secrets = {one: its for one, its in table.secrets.items() if its != seat}
                bot = min(self.house, key=lambda bot: (table.names.count(bot), bot))
                self._give_to_bot(table, seat, bot)
            self._begin_if_complete(table)
            table.signal()

    def activities(self, table: Table) -> list[SeatActivity]:
        """Return what people wait for in a game: who is away, who is replaced, and who chooses."""
        match = table.match
        if match is None:
            return []
        found, open_decision = [], match.open_decision
        for seat, person in table.people.items():
            if person.stand_in:
                found.append(SeatActivity(seat, Activity.REPLACED))
            elif not person.is_present and not person.has_left:
                found.append(SeatActivity(seat, Activity.AWAY, person.away_since + GRACE_SECONDS))
        if open_decision is not None and open_decision.seat not in {one.seat for one in found}:
            due = None if table.plan.decision_seconds is None else open_decision.due
            found.append(SeatActivity(open_decision.seat, Activity.CHOOSES, due))
        return found

    def replace(self, place: TablePlace, seat: int) -> None:
        """Let something choose for a person who is away, until that person is back.

        Raises:
            ApiError: the caller doesn't decide for the table, or nobody is away in this seat.
        """
        table = place.table
        person, match = table.people.get(seat), table.match
        if place.seat != table.deputy or match is None:
            raise ApiError(Reason.WRONG_ROLE, "only the host lets a bot choose for a person who is away")
        if person is None or person.is_present or person.has_left:
            raise invalid("seat", f"nobody is away in seat {seat + 1}")
        person.replace()
        match.referee.stand_ins[seat] = person.stand_in
        table.writer.begin()
        table.signal()

    def greet(self, place: TablePlace, words: str) -> None:
        """Say something to the others at a table.

        Raises:
            ApiError: it is not one of `GREETINGS`, or one came just before.
        """
        if words not in GREETINGS:
            raise invalid("greet", f"{words[:20]!r} is not one of {', '.join(GREETINGS)}")
        greetings = place.table.greetings
        self._greeting_rates.take(f"{place.table.table_id} {place.seat}")
        number = 1 + (greetings[-1].number if greetings else 0)
        greetings.append(Greeting(number, place.seat, words))
        place.table.signal()

    @asynccontextmanager
    async def present(self, place: TablePlace) -> AsyncIterator[None]:
        """Note that a person's page is open while the context lasts; when all are there, the match begins."""
        async with place.person.present():
            if place.table.match is not None:
                place.table.match.referee.stand_ins.pop(place.seat, None)
            self._begin_if_complete(place.table)
            place.table.signal()
            try:
                yield
            finally:
                place.table.signal()

    def leave(self, place: TablePlace) -> None:
        """Let a person leave for good; without its host, a table that waits is given up."""
        table = place.table
        if table.state is not TableState.OPEN:
            place.person.leave()
        elif place.seat == table.host:
            self._close(table)

    def _check(self, plan: TablePlan, *, is_guest: bool) -> None:
        if is_guest and plan.config.mode is not Mode.FAMILY:
            raise FieldError("mode", "visitors play family games; expert games need a token")
        if len(plan.seats) != plan.config.players or plan.seats.count(HOST) != 1:
            raise FieldError("seats", f"one of the {plan.config.players} must be yours")
        for bot in plan.seats:
            if bot not in self._lobby.house and bot not in _FREE:
                known = ", ".join(sorted(self._lobby.house)) or "none"
                text = f"{bot[:64]!r} is not a bot of the house; there are: {known}"
                raise ApiError(Reason.NOT_HOUSE_BOT, text, bot=bot[:64], house=known)

    def _free_name(self, typed: str) -> str:
        """Return the name of a person, which no other person has at present, nor one that looks the same."""
        name = check_person_name(typed)
        tables = [table for table in self._tables.values() if table.ended_at is None]
        people = [person for table in tables for person in table.people.values()]
        taken = {one.name.casefold().translate(_CONFUSABLES) for one in people if not one.has_left}
        if name.casefold().translate(_CONFUSABLES) in taken:
            text = (
                f"somebody plays as {name[1:]} already; choose another name, or, if that is you, "
                "open the link to your seat, which its page shows"
            )
            raise ApiError(Reason.WRONG_NAME, text)
        return name

    def _seat(self, table: Table, seat: int, name: str) -> str:
        """Give a person a seat; return the secret that proves it."""
        table.names[seat] = name
        table.people[seat] = Person(name, self._lobby)
        secret, _ = new_secret(SEAT_PREFIX)
        table.secrets[_digest(secret)] = seat
        self._tables[table.table_id] = table
        table.writer.begin()
        return secret

    def _begin_if_complete(self, table: Table) -> None:
        if table.state is TableState.OPEN and table.is_complete:
            self._begin(table, seed=practice_seed(table.plan.seed))

    def _begin(self, table: Table, *, seed: int, past: Json | None = None) -> None:
        """Begin the match of a table, or let it continue where its record so far ends."""
        limit = table.plan.decision_seconds
        spec = single_match(
            "practice",
            table.plan.config,
            tuple(name for name in table.names if name is not None),
            seed=seed,
            time=TimeControl(
                connect_seconds=CONNECT_SECONDS if past is None else GRACE_SECONDS,
                decision_seconds=UNLIMITED_SECONDS if limit is None else limit,
            ),
            policy=FailurePolicy(grace_seconds=GRACE_SECONDS),
        )
        if past is not None:
            spec = replace(spec, deal=deal_of(past), past=past)
        match = table.match = self._begin_match(spec, table.match_id)
        table.match_id = match.match_id
        table.enter(TableState.PLAYING)
        for seat, person in table.people.items():
            person.has_left = match.is_forfeited(seat)
            if person.stand_in:
                match.referee.stand_ins[seat] = person.stand_in
        match.watchers.add(table.writer.begin)
        match.over.add_done_callback(lambda _: self._end_match(table, match))
        table.writer.begin()

    def _end_match(self, table: Table, match: Match) -> None:
        """Note that nothing is played at a table any longer, unless the next server continues its game."""
        if match.void_reason is not VoidReason.SHUTDOWN:
            table.match = None
            self._end(table, TableState.OVER if match.void_reason is None else TableState.VOIDED)

    def _end(self, table: Table, state: TableState) -> None:
        table.enter(state)
        table.ended_at = self._now()
        table.writer.begin()
        table.signal()

    def _close(self, table: Table) -> None:
        """Give up a table whose game has not begun."""
        for person in table.people.values():
            person.leave()
        self._end(table, TableState.CLOSED)

    def _forget(self) -> None:
        """Give up tables that have waited for too long, and forget those that are over for long."""
        now = self._now()
        for table in list(self._tables.values()):
            if table.state is TableState.OPEN and now - table.created_at > WAITING_SECONDS:
                self._close(table)
            if table.ended_at is not None and now - table.ended_at > KEPT_SECONDS:
                del self._tables[table.table_id]

    def _make_room(self, *, is_guest: bool) -> None:
        """Let one more table be set up; ApiError if as many are in use as may be.

        The oldest one that is over goes, else one of a guest that waits and at which nobody is.
        """
        most = MAX_GUEST_TABLES if is_guest else MAX_TABLES
        kept = [table for table in self._tables.values() if table.is_guest or not is_guest]
        if len(kept) < most:
            return
        ended = [table for table in kept if table.ended_at is not None]
        waiting = [table for table in kept if table.state is TableState.OPEN and table.is_guest]
        empty = [one for one in waiting if not any(person.is_present for person in one.people.values())]
        if not (ended or empty):
            raise too_many(most, "tables")
        table = (ended or empty)[0]
        if not ended:
            self._close(table)
        del self._tables[table.table_id]

    # What survives a restart

    async def restore(self) -> None:
        """Set up the tables of the store again, and let their games continue where they were stored last."""
        for table_id, state in (await self._store.read(self._store.store.tables)).items():
            try:
                self._restore(table_id, json.loads(unpack(state)))
            except Exception:  # noqa: BLE001 - one unreadable row must not keep the server from starting
                _log.exception("table_not_restored", table=table_id)
                await self._store.write(self._store.store.delete_table, table_id)

    async def close(self) -> None:
        """Stop all games, which the next server continues; return when they are stored."""
        tables = list(self._tables.values())
        for match in filter(None, [table.match for table in tables]):
            match.void(VoidReason.SHUTDOWN)
        for table in tables:
            await table.writer.wait()

    async def _store_latest(self, table: Table) -> None:
        """Store a table, or remove one at which nothing was finished."""
        store, is_finished = self._store.store, table.match is not None and bool(table.match.results)
        try:
            if table.state in (TableState.VOIDED, TableState.CLOSED):
                await self._store.write(store.delete_table, table.table_id)
            elif table.state is not TableState.OVER and not is_finished:
                await self._store.write(store.put_table, table.table_id, table.match_id, self._state(table))
        except StoreError as error:  # it goes on in memory
            _log.error("table_not_stored", table=table.table_id, problem=str(error))

    def _state(self, table: Table) -> Json:
        """Return what `_restore` needs of a table."""
        return {
            "config": config_json(table.plan.config),
            "seats": table.plan.seats,
            "decision_seconds": table.plan.decision_seconds,
            "seed": table.plan.seed,
            **{name: getattr(table, name) for name in _STORED},
            "replaced": [seat for seat, person in table.people.items() if person.stand_in],
            "record": None if table.match is None else table.match.record(),
        }

    def _restore(self, table_id: str, state: Json) -> None:
        plan = TablePlan(config_of(state), tuple(state["seats"]), state["decision_seconds"], state["seed"])
        own = {name: state[name] for name in _STORED}
        table = Table(table_id=table_id, plan=plan, store=self._store_latest, **own)
        for seat, name in enumerate(table.names):
            if name is not None and name.startswith(PERSON_MARK):
                table.people[seat] = Person(name, self._lobby)
        for seat in state["replaced"]:
            table.people[seat].replace()
        record = state["record"]
        if record is not None:
            self._begin(table, seed=record["deal"]["seed"], past=record)
        self._tables[table_id] = table
        _log.info("table_restored", table=table_id, match=table.match_id)


def _digest(clear: str) -> str:
    return hashlib.sha256(clear.encode()).hexdigest()
