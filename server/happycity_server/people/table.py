"""A table at which people play: its plan, who sits where, where it stands, and what its people do and say."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum

from happycity import Config
from happycity_server.latest import LatestWrite
from happycity_server.people.person import Person
from happycity_server.play.match import Match

HOST = "me"
"""In a plan: the seat of the person who sets the table up."""
INVITED = "invite"
"""In a plan: a seat for somebody who gets an invitation."""
OPEN = "open"
"""In a plan: a seat for the first who comes, or for a bot of the house if nobody does in time."""
GREETINGS = ("hello", "luck", "nice", "thanks", "moment", "bye")
"""What people at a table may say to each other; pages have the words."""
MAX_GREETINGS = 8
"""The latest greetings of a table, which are stored nowhere."""


class TableState(Enum):
    """Where a table stands."""

    OPEN = "open"
    """It waits for its people."""
    PLAYING = "playing"
    """Its match waits or runs; also when the server stops, as the next one continues it."""
    OVER = "over"
    """Its match is finished. The store removes it in the transaction that keeps the game."""
    VOIDED = "voided"
    """Its match counts for nothing."""
    CLOSED = "closed"
    """It was given up before its match."""


_NEXT = {
    TableState.OPEN: (TableState.PLAYING, TableState.CLOSED),
    TableState.PLAYING: (TableState.OVER, TableState.VOIDED),
}


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What is to be played at a table."""

    config: Config
    seats: tuple[str, ...]
    """By seat: `HOST` once, `INVITED`, `OPEN`, or the name of a bot of the house."""
    decision_seconds: float | None
    """The limit of each decision; None: no clock."""
    seed: int
    """Of the deal, 0 to 2^53 - 1."""


class Activity(Enum):
    """What the others at a table wait for."""

    CHOOSES = "chooses"
    AWAY = "away"
    """The seat is kept."""
    REPLACED = "replaced"
    """Something chooses for the person until they are back."""


@dataclass(frozen=True, slots=True)
class SeatActivity:
    """What one seat of a game does."""

    seat: int
    activity: Activity
    due: float | None = None
    """When it has to be over, on the lobby's clock; None: without limit."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a person has said."""

    number: int
    """Counts those of the table, from 1."""
    seat: int
    words: str
    """One of `GREETINGS`."""


@dataclass(slots=True, eq=False, kw_only=True)
class Table:
    """A table, and who sits there so far."""

    table_id: str
    plan: TablePlan
    visitor: str
    """Who has set it up: a token's caller, or a browser as its seats' cookies tell."""
    is_guest: bool = False
    """Whether that was a guest, without a token."""
    address: str = ""
    """The caller who has set it up; "" after a restart, as it is not stored."""
    created_at: float
    """Unix time in seconds."""
    names: list[str | None]
    """By seat; None where an invitation waits to be taken."""
    people: dict[int, Person] = field(default_factory=dict)
    """By seat."""
    secrets: dict[str, int] = field(default_factory=dict)
    """Seats by the hashes of the secrets that prove them."""
    invitations: dict[str, int] = field(default_factory=dict)
    """Seats by the hashes of the tokens that take them."""
    match_id: int | None = None
    """The match, once everybody was there."""
    match: Match | None = None
    """The same while it is played."""
    state: TableState = TableState.OPEN
    greetings: deque[Greeting] = field(default_factory=lambda: deque(maxlen=MAX_GREETINGS))
    """The latest ones."""
    ended_at: float | None = None
    """When the match ended, or the table was given up, Unix time in seconds."""
    store: Callable[[Table], Awaitable[None]]
    """Stores it as it is."""
    writer: LatestWrite = field(init=False)
    """Has it stored, and nothing else does."""

    def __post_init__(self) -> None:
        """Store nothing yet."""
        self.writer = LatestWrite(lambda: self.store(self))

    @property
    def host(self) -> int:
        """The seat of the person who has set it up."""
        return self.plan.seats.index(HOST)

    @property
    def deputy(self) -> int:
        """The seat of the person who decides for the table: the host's, or while it is away another's."""
        seats = sorted(self.people, key=lambda seat: seat != self.host)
        return next((seat for seat in seats if self.people[seat].is_present), self.host)

    @property
    def open_seats(self) -> list[int]:
        """The seats that anybody may take."""
        return [
            seat for seat, name in enumerate(self.names) if name is None and self.plan.seats[seat] == OPEN
        ]

    @property
    def is_closed(self) -> bool:
        """Whether it was given up before its match."""
        return self.state is TableState.CLOSED

    @property
    def is_complete(self) -> bool:
        """Whether every seat is taken, and a page of each person is open."""
        return None not in self.names and all(person.is_present for person in self.people.values())

    def enter(self, state: TableState) -> None:
        """Note where it stands now."""
        assert state in _NEXT.get(self.state, ()), (self.state, state)
        self.state = state

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
        return self.table.ended_at is None and not self.person.has_left
