"""Tables of people: who may sit down, invitations, limits, and what is forgotten."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress

import pytest
from tests.server.harness import Clock

from happycity import Config, ConfigError, Mode, VoidReason
from happycity.errors import FieldError
from happycity.match import check_bot_name, check_person_name
from happycity.records.replay import choosers_of
from happycity.v1 import game_pb2
from happycity.v1 import play_service_pb2 as play
from happycity_runtime.event_loop import first_of
from happycity_runtime.tokens import Role
from happycity_server.access.roles import Principal, PublicRole, principal_variable
from happycity_server.errors import ApiError, Reason
from happycity_server.people import tables as tables_module
from happycity_server.people.person import MAX_PAGES, STAND_IN
from happycity_server.people.practice import VISITORS, Practice
from happycity_server.people.table import (
    HOST,
    INVITED,
    OPEN,
    Activity,
    SeatActivity,
    TablePlace,
    TablePlan,
    TableState,
)
from happycity_server.people.tables import (
    AWAY_SECONDS,
    GRACE_SECONDS,
    GREETING_SECONDS,
    KEPT_SECONDS,
    MAX_INVITATIONS,
    OPEN_SECONDS,
    WAITING_SECONDS,
    Tables,
)
from happycity_server.play.clock import FairClock
from happycity_server.play.lobby import SWEEP_SECONDS, Lobby
from happycity_server.play.match import Match
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.store import Store


class Arena:
    """A lobby without bots, and tables whose matches are only set up."""

    def __init__(self, clock: Clock, store: AsyncStore) -> None:
        self.clock = clock
        self.begun: list[Match] = []
        self.lobby = Lobby(FairClock(clock, tick_seconds=SWEEP_SECONDS), lambda: 0.0, house=["greedy"])
        practice = Practice(self.lobby, open_per_bot=2, per_hour=100, guests_per_hour=2, clock=clock)
        self.tables = Tables(self.lobby, self.begin, practice, store, clock)

    def begin(self, spec: MatchSpec, match_id: int | None) -> Match:
        self.begun.append(self.lobby.create(spec, match_id))
        return self.begun[-1]

    def host(self, *seats: str, name: str = "Anna") -> TablePlace:
        """Set a table up; return the host's place."""
        return self.place(self.seated(*seats, name=name))

    def seated(self, *seats: str, name: str, earlier: str = "") -> str:
        """Set a table up; return the secret of the host's seat."""
        plan = TablePlan(Config(players=len(seats)), seats, decision_seconds=60.0, seed=1)
        return self.tables.create(plan, name, earlier=earlier)[1]

    def place(self, secret: str) -> TablePlace:
        place = self.tables.place_of(secret)
        assert place is not None
        return place


def called_by(caller: str, *roles: Role | PublicRole, person: str = "") -> None:
    principal_variable.set(Principal(caller, frozenset(roles), person=person))


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    async with AsyncStore(Store.create("sqlite://")) as store:
        yield store


@pytest.fixture
async def arena(clock: Clock, store: AsyncStore) -> AsyncIterator[Arena]:
    called_by("somebody", *Role)
    arena = Arena(clock, store)
    yield arena
    await arena.tables.close()


NAMES = ("Anna", "  Ганна  Ш. ", "O'Neil", "@Anna", "A+1", "\u3042\u308d \u611b\u30ed", "Zo\u00eb-M\u00e4x 2")
"""Names in one script; Japanese is written in three, and digits, marks and signs belong to none."""
MIXED = ("M\u0430x", "\u041c\u0430x", "Anna \u0428.", "\u03b1nna")
NO_NAMES = ("", " ", "@", "...", "a" * 25, "a<b", "a\u202eb\u202e<", "\x1b[31m", "👑")
"""What has no letter or digit, or what a terminal or page could take for something else."""


def test_names_of_people_are_no_names_of_bots() -> None:
    """People may write their names in any script; none of them can be taken for a bot that is waited for."""
    for typed in NAMES:
        name = check_person_name(typed)
        assert name.startswith("@")
        assert check_person_name(name) == name
        with pytest.raises(ConfigError):
            check_bot_name(name)
    for typed in MIXED:  # which may look like another name
        with pytest.raises(
            ConfigError, match=r"^name: .* has letters of .* and .*; use those of one script$"
        ):
            check_person_name(typed)
    for typed in NO_NAMES:
        with pytest.raises(ConfigError, match=r"^name: "):
            check_person_name(typed)


async def test_names_that_look_the_same_are_taken(arena: Arena) -> None:
    """A person can't be imitated by letters of another script."""
    anna = arena.host(HOST, INVITED, name="Max")
    token = arena.tables.invite(anna, 1)
    with pytest.raises(ApiError, match="choose another name"):
        arena.tables.take_seat(arena.tables.invitation(token), "\u041c\u0430\u0445")
    arena.tables.take_seat(arena.tables.invitation(token), "\u041c\u0430\u043a\u0441")


async def test_table_needs_a_token_of_its_own(arena: Arena) -> None:
    """Observers set up no tables, and an invitation is not worth a table of one's own."""
    for role, person in ((Role.OBSERVER, ""), (Role.BOT, "@Bob")):
        called_by("somebody", role, person=person)
        with pytest.raises(ApiError) as refused:
            arena.host(HOST, INVITED)
        assert refused.value.reason is Reason.WRONG_ROLE


async def test_match_begins_when_all_are_there(arena: Arena) -> None:
    """It waits for the seats that are free, and for people without a page."""
    anna = arena.host("greedy", HOST, INVITED)
    token = arena.tables.invite(anna, 2)
    async with arena.tables.present(anna):
        _, secret = arena.tables.take_seat(arena.tables.invitation(token), "Bob")
        assert not arena.begun
        async with arena.tables.present(arena.place(secret)):
            (match,) = arena.begun
    assert match.spec.bots == ("greedy", "@Anna", "@Bob")
    assert match.spec.practice


async def test_invitation_is_good_for_one_person(arena: Arena) -> None:
    """Of several links to a seat the first that is used takes it, and only the host makes them."""
    anna = arena.host(HOST, INVITED)
    first, second = arena.tables.invite(anna, 1), arena.tables.invite(anna, 1)
    _, secret = arena.tables.take_seat(arena.tables.invitation(second), "Bob")
    for token in (first, second, "unknown"):
        with pytest.raises(ApiError) as refused:
            arena.tables.take_seat(arena.tables.invitation(token), "Carl")
        assert refused.value.reason is Reason.REVOKED
    with pytest.raises(ApiError, match="only the person who has set the table up"):
        arena.tables.invite(arena.place(secret), 1)


async def test_invitations_are_few(arena: Arena) -> None:
    """A host makes a few links to a seat, and none to one that is taken."""
    anna = arena.host(HOST, INVITED)
    for _ in range(MAX_INVITATIONS):
        arena.tables.invite(anna, 1)
    for seat in (0, 1, 2, -1):
        with pytest.raises(ApiError):
            arena.tables.invite(anna, seat)


async def test_host_fills_a_free_seat_with_a_bot(arena: Arena) -> None:
    """A bot of the house takes a free seat, whose links then lead nowhere, also in the table's plan."""
    anna = arena.host(HOST, INVITED, INVITED)
    link = arena.tables.invite(anna, 1)
    bob = arena.place(arena.tables.take_seat(arena.tables.invitation(arena.tables.invite(anna, 2)), "Bob")[1])
    for place, seat, bot in (
        (bob, 1, "greedy"),
        (anna, 0, "greedy"),
        (anna, -2, "greedy"),
        (anna, 1, INVITED),
    ):
        with pytest.raises(ApiError, match="only the host fills a free seat"):
            arena.tables.fill(place, seat, bot)
    arena.tables.fill(anna, 1, "greedy")
    assert anna.table.plan.seats == (HOST, "greedy", INVITED)
    with pytest.raises(ApiError, match="taken already"):
        arena.tables.take_seat(arena.tables.invitation(link), "Carl")
    async with arena.tables.present(anna), arena.tables.present(bob):
        assert [match.spec.bots for match in arena.begun] == [("@Anna", "greedy", "@Bob")]


async def test_two_people_have_two_names(arena: Arena) -> None:
    """A name that somebody plays under is taken, in any case of letters, until that table is over."""
    anna = arena.host(HOST, INVITED)
    with pytest.raises(ApiError, match="somebody plays as ANNA already"):
        arena.host(HOST, INVITED, name="ANNA")
    arena.tables.leave(anna)
    assert anna.table.is_closed
    arena.host(HOST, INVITED, name="ANNA")


async def test_tables_of_a_visitor_are_few(arena: Arena) -> None:
    """Practice's limits hold for a browser, by its earlier seat; an address may have many visitors."""
    first = arena.seated(HOST, INVITED, name="A1")
    second = arena.seated(HOST, INVITED, name="A2", earlier=first)
    with pytest.raises(ApiError, match="2 tables of yours are open already"):
        arena.seated(HOST, INVITED, name="A3", earlier=second)
    for number in range(2 * VISITORS - 2):
        arena.seated(HOST, INVITED, name=f"B{number}")
    with pytest.raises(ApiError, match=f"{2 * VISITORS} tables of your address are open already"):
        arena.seated(HOST, INVITED, name="C")
    called_by("somebody else", *Role)
    arena.seated(HOST, INVITED, name="C")


async def test_tables_come_back_from_the_store(arena: Arena, clock: Clock, store: AsyncStore) -> None:
    """Seats, invitations and games that wait continue; what was given up or can't be read is removed."""
    secret = arena.seated(HOST, INVITED, "greedy", name="Anna")
    token = arena.tables.invite(arena.place(secret), 1)
    closed = arena.host(HOST, INVITED, name="Zoe")
    arena.tables.leave(closed)
    await arena.tables.close()
    for row in ({}, {"record": None, "seats": 5}):
        store.store.put_table(f"bad {row}", None, row)
    for begun in (False, True):
        other = Arena(clock, store)
        await other.tables.restore()
        assert list(store.store.tables()) == [other.place(secret).table.table_id]
        assert len(other.begun) == begun
        if not begun:
            _, guest = other.tables.take_seat(other.tables.invitation(token), "Bob")
            async with other.tables.present(other.place(secret)), other.tables.present(other.place(guest)):
                assert len(other.begun) == 1
            with pytest.raises(ApiError, match="is taken already"):
                other.tables.take_seat(other.tables.invitation(token), "Carl")
        await other.tables.close()
    assert other.begun[0].spec.bots == ("@Anna", "@Bob", "greedy")
    assert other.place(guest).person.name == "@Bob"


async def test_a_table_is_stored_until_its_match_ends(arena: Arena, store: AsyncStore) -> None:
    """A finished one is left to the transaction that keeps the game; a voided one is removed at once."""
    finished, voided = arena.host(HOST, "greedy").table, arena.host(HOST, "greedy", name="Ben").table
    for table in (finished, voided):
        async with arena.tables.present(TablePlace(table, 0, table.people[0])):
            assert table.state is TableState.PLAYING
        await table.writer.wait()
    played, broken = arena.begun
    played.start([None, None], 0.0)
    store.store.delete_table(finished.table_id)  # as that transaction does
    await table.store(finished)  # before any callback has run
    await finished.writer.wait()
    assert (finished.state, list(store.store.tables())) == (TableState.OVER, [voided.table_id])
    broken.void(VoidReason.SERVER_ERROR)
    await voided.writer.wait()
    await asyncio.sleep(0)
    await voided.writer.wait()
    assert (voided.state, list(store.store.tables())) == (TableState.VOIDED, [])
    with pytest.raises(AssertionError):
        voided.enter(TableState.PLAYING)


async def test_tables_are_forgotten(arena: Arena, clock: Clock) -> None:
    """One that waits for too long is given up with its invitations; its secret holds until it is removed."""
    plan = TablePlan(Config(players=2), (HOST, INVITED), decision_seconds=None, seed=1)
    table, secret = arena.tables.create(plan, "Anna")
    token = arena.tables.invite(arena.place(secret), 1)
    clock.now += WAITING_SECONDS + 1
    with pytest.raises(ApiError, match="no longer valid"):
        arena.tables.invitation(token)
    assert table.is_closed
    assert arena.tables.person_by_secret(secret) == "@Anna"
    clock.now += KEPT_SECONDS + 1
    assert arena.tables.person_by_secret(secret) == ""


async def test_pages_of_a_seat_are_few(arena: Arena) -> None:
    """One person can't open pages without end."""
    anna = arena.host(HOST, INVITED)
    pages = [arena.tables.present(anna) for _ in range(MAX_PAGES)]
    for page in pages:
        await page.__aenter__()
    with pytest.raises(ApiError, match="close some"):
        async with arena.tables.present(anna):
            pass
    for page in pages:
        await page.__aexit__(None, None, None)
    assert not anna.person.is_present


async def test_only_the_decision_that_waits_is_answered(arena: Arena) -> None:
    """A page may be late, and a stranger's message anything."""
    person = arena.host(HOST, INVITED).person
    person.decision = play.Decision(decision_id=2, moves=[game_pb2.Move(), game_pb2.Move()])
    person.answer(1, 0)
    for position in (-1, 2):
        with pytest.raises(ApiError, match="is not 0 to 1"):
            person.answer(2, position)
    assert person.decision is not None
    person.answer(2, 1)
    assert person.decision is None


async def test_guests_play_family_games(arena: Arena) -> None:
    """Without a token a game counts for the address; expert games, and more games, need one."""
    called_by("10.0.0.0", PublicRole.PUBLIC)
    with pytest.raises(ApiError) as refused:
        arena.host(HOST, "greedy")
    assert refused.value.reason is Reason.UNAUTHENTICATED
    called_by("10.0.0.0", PublicRole.PUBLIC, PublicRole.GUEST)
    expert = TablePlan(Config(players=2, mode=Mode.EXPERT), (HOST, "greedy"), decision_seconds=None, seed=1)
    with pytest.raises(FieldError, match="visitors play family games"):
        arena.tables.create(expert, "Anna")
    for name in ("A1", "A2"):
        assert arena.host(HOST, "greedy", name=name).table.is_guest
    with pytest.raises(ApiError, match="2 games an hour of visitors of your address"):
        arena.host(HOST, "greedy", name="A3")
    called_by("10.0.1.0", PublicRole.PUBLIC, PublicRole.GUEST)
    assert arena.host(HOST, "greedy", name="A3").table.is_guest
    called_by("token 1", Role.BOT, PublicRole.PUBLIC, PublicRole.GUEST)
    assert not arena.host(HOST, "greedy", name="A4").table.is_guest


async def test_guests_leave_room_for_others(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest's table at which nobody is makes room; guests don't take all places."""
    monkeypatch.setattr(tables_module, "MAX_TABLES", 3)
    monkeypatch.setattr(tables_module, "MAX_GUEST_TABLES", 2)
    async with AsyncExitStack() as pages:
        for number in range(4):
            called_by(f"10.0.{number}.0", PublicRole.PUBLIC, PublicRole.GUEST)
            place = arena.host(HOST, INVITED, name=f"A{number}")
            if number:
                await pages.enter_async_context(arena.tables.present(place))
            if number == 2:
                with pytest.raises(ApiError, match="2 tables are open already"):
                    arena.host(HOST, INVITED, name="B")
                break
        called_by("token 1", Role.BOT)
        arena.host(HOST, INVITED, name="C")
        with pytest.raises(ApiError, match="3 tables are open already"):
            arena.host(HOST, INVITED, name="D")


async def test_bots_take_open_seats_in_time(arena: Arena, clock: Clock) -> None:
    """Who comes first has the seat; after a minute a bot has it, also that of somebody who left."""
    anna = arena.host(HOST, OPEN, OPEN, OPEN)
    table = anna.table
    assert not arena.tables.open_tables()  # as its host is away
    async with arena.tables.present(anna):
        assert arena.tables.open_tables() == [table]
        called_by("somebody else", PublicRole.GUEST)
        taken = [
            arena.place(arena.tables.take_seat(arena.tables.open_table(table.table_id), name, earlier="")[1])
            for name in ("Bob", "Eve")
        ]
        assert [place.seat for place in taken] == [1, 2]
        async with arena.tables.present(taken[0]):
            clock.now += OPEN_SECONDS - 1
            arena.lobby.sweep()
            assert (table.state, table.open_seats) == (TableState.OPEN, [3])
            clock.now += 1
            arena.lobby.sweep()
            arena.lobby.sweep()  # the first one after a jump of time is put off
            assert table.names == ["@Anna", "@Bob", "greedy", "greedy"]
            assert table.state is TableState.PLAYING
    assert arena.tables.place_of("gone") is None
    with pytest.raises(ApiError, match="no open seat any more"):
        arena.tables.take_seat(arena.tables.open_table(table.table_id), "Ida", earlier="")
    assert AWAY_SECONDS < OPEN_SECONDS


async def test_open_seats_need_somebody_who_may_play(arena: Arena) -> None:
    """Neither the public of a server without guests, nor who has an invitation only, takes one."""
    anna = arena.host(HOST, OPEN)
    async with arena.tables.present(anna):
        for roles, person in (([PublicRole.PUBLIC], ""), ([Role.OBSERVER], ""), ([Role.BOT], "@Bob")):
            called_by("somebody", *roles, person=person)
            with pytest.raises(ApiError):
                arena.tables.take_seat(arena.tables.open_table(anna.table.table_id), "Eve", earlier="")
        assert anna.table.open_seats == [1]


class Played:
    """A running game of two people, of whom the second may leave."""

    def __init__(self, arena: Arena) -> None:
        self.tables, self.arena = arena.tables, arena
        self.anna = arena.host(HOST, INVITED)
        _, secret = arena.tables.take_seat(arena.tables.invitation(arena.tables.invite(self.anna, 1)), "Bob")
        self.bob = arena.place(secret)

    def start(self) -> Match:
        (match,) = self.arena.begun
        lobby = self.arena.lobby
        match.start([lobby.sessions["@Anna"], lobby.sessions["@Bob"]], lobby.clock())
        return match

    async def turn_of(self, place: TablePlace) -> None:
        """Let all answer until a person is asked."""
        people = [self.anna.person, self.bob.person]
        while place.person.decision is None:
            versions = [person.changes.version for person in people]
            for person in people:
                if person.decision is not None and person.is_present:
                    person.answer(person.decision.decision_id, 0)
            changes = [person.changes.next(seen) for person, seen in zip(people, versions, strict=True)]
            await first_of(*changes)


async def test_others_see_who_is_waited_for(arena: Arena, clock: Clock) -> None:
    """Who chooses and how long, who is away and how long the seat is kept."""
    played = Played(arena)
    async with arena.tables.present(played.anna):
        bob = arena.tables.present(played.bob)
        await bob.__aenter__()
        match, table = played.start(), played.anna.table
        await played.turn_of(played.bob)
        assert match.open_decision is not None
        due = match.open_decision.due
        assert arena.tables.activities(table) == [SeatActivity(1, Activity.CHOOSES, due)]
        version = played.anna.person.changes.version
        await bob.__aexit__(None, None, None)
        assert played.anna.person.changes.version > version, "pages hear of it at once"
        away = clock.now + GRACE_SECONDS
        (found,) = arena.tables.activities(table)
        assert (found.seat, found.activity) == (1, Activity.AWAY)
        assert found.due == pytest.approx(away)


async def test_a_policy_plays_for_who_is_away(arena: Arena, store: AsyncStore, clock: Clock) -> None:
    """The host has it choose until the person is back; records name it, after a restart too."""
    played = Played(arena)
    anna, bob, tables = played.anna, played.bob, arena.tables
    async with tables.present(anna):
        with pytest.raises(ApiError, match="only the host"):
            tables.replace(anna, 1)  # before the game
        page = tables.present(bob)
        await page.__aenter__()
        match = played.start()
        await played.turn_of(bob)
        first = match.referee.decision_id
        with pytest.raises(ApiError, match="nobody is away"):
            tables.replace(anna, 1)
        await page.__aexit__(None, None, None)
        for place, seat in ((bob, 0), (anna, 0), (anna, 2), (anna, -1)):
            with pytest.raises(ApiError):
                tables.replace(place, seat)
        tables.replace(anna, 1)
        await played.turn_of(anna)
        last = match.referee.decision_id - 1
        assert match.referee.choosers == dict.fromkeys(range(first, last + 1), STAND_IN)
        assert tables.activities(anna.table) == [
            SeatActivity(1, Activity.REPLACED),
            SeatActivity(0, Activity.CHOOSES, match.open_decision.due if match.open_decision else None),
        ]
        async with tables.present(bob):
            await played.turn_of(bob)
            assert bob.person.decision is not None
            bob.person.answer(bob.person.decision.decision_id, 0)
            assert len(match.referee.choosers) == last + 1 - first
        tables.replace(anna, 1)
    await tables.close()
    record = match.record()
    assert choosers_of(record) == match.referee.choosers
    assert [line.get("by") for line in record["moves"][first - 1 : last]] == [STAND_IN] * (last + 1 - first)
    other = Arena(clock, store)
    await other.tables.restore()
    (again,) = other.begun
    assert again.referee.choosers == match.referee.choosers
    assert again.referee.stand_ins == {1: STAND_IN}
    await other.tables.close()


async def test_while_the_host_is_away_another_person_decides(arena: Arena) -> None:
    played = Played(arena)
    async with arena.tables.present(played.bob):
        async with arena.tables.present(played.anna):
            played.start()
            assert played.anna.table.deputy == 0
        assert played.anna.table.deputy == 1
        arena.tables.replace(played.bob, 0)
        assert played.anna.person.stand_in == STAND_IN


async def test_greetings_are_ready_made_and_few(arena: Arena, clock: Clock) -> None:
    """Free text is refused, and so is too much; nothing of it is stored."""
    anna = arena.host(HOST, INVITED)
    for text in ("", "Hello", "<b>", "x" * 1000):
        with pytest.raises(ApiError, match="is not one of hello, "):
            arena.tables.greet(anna, text)
    for _ in range(3):
        arena.tables.greet(anna, "hello")
    with pytest.raises(ApiError) as refused:
        arena.tables.greet(anna, "luck")
    assert refused.value.reason is Reason.RATE_LIMITED
    for _ in range(20):
        clock.now += GREETING_SECONDS
        arena.lobby.clock.tick()
        with suppress(ApiError):
            arena.tables.greet(anna, "luck")
    assert len(anna.table.greetings) <= 8
    assert "luck" not in str(arena.tables._state(anna.table))
