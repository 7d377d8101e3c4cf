"""Who is there for the ladder, and which bots that fail pause, and for how long."""

from typing import cast

import pytest
from tests.ladder.test_book import profile

from happycity_ladder.book import Book
from happycity_ladder.ladder_config import LadderConfig
from happycity_ladder.pairing import PATIENCE
from happycity_server.ladder.presence import (
    FIRST_PAUSE,
    FORFEITED_IN_A_ROW,
    LONGEST_PAUSE,
    Presence,
    WaitReason,
)
from happycity_server.ladder.served_book import ServedBook
from happycity_server.places.places import Places
from happycity_server.play.counters import Counters
from happycity_server.play.events import Events
from happycity_server.play.limits import SessionLimits
from happycity_server.play.session import Session
from happycity_tournament.games import BotProfile
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.errors import StoreError


class There:
    """Places, and a lobby, where certain bots are connected, with a time that the test moves."""

    def __init__(self) -> None:
        self.bots: set[str] = set()
        self.house: set[str] = set()
        self.lobby = self
        self.events = Events()
        self.now = 50.0
        self.notices: list[str] = []

    def connected(self) -> list[str]:
        return sorted(self.bots)

    def is_connected(self, bot: str) -> bool:
        return bot in self.bots

    def profiles(self) -> dict[str, BotProfile]:
        return {bot: profile() for bot in self.bots}

    def send_notice(self, bot: str, kind: int, text: str) -> None:
        self.notices.append(bot)

    def arrive(self, bot: str) -> None:
        self.events.arrived(Session(bot, SessionLimits(), Counters()))


class Failing(There):
    def __init__(self, store: AsyncStore) -> None:
        super().__init__()
        ladder = ServedBook(LadderConfig(), store, lambda: self.now)
        self.presence = Presence(ladder, cast("Places", self), owner_of=lambda bot: bot)

    def forfeit(self, bot: str = "anna", *, at: float | None = None) -> float:
        """Let a bot forfeit a deal; return for how long it pauses then."""
        self.now = self.now if at is None else at
        self.presence.note_begin(bot)
        self.presence.note_end(bot, forfeited=True)
        return max(0.0, self.presence.pause_end(bot) - self.now)

    def finish(self, *, forfeited: bool | None = False) -> None:
        self.presence.note_begin("anna")
        self.presence.note_end("anna", forfeited=forfeited)

    def forfeit_in_a_row(self, deals: int) -> list[float]:
        """Let anna forfeit deals, each when the pause before is over; return the pauses after them."""
        return [self.forfeit(at=max(self.now, self.presence.pause_end("anna"))) for _ in range(deals)]


@pytest.fixture
def failing(store: AsyncStore) -> Failing:
    return Failing(store)


async def test_bot_that_was_forgotten_comes_back_while_the_store_fails(store: AsyncStore) -> None:
    """It gets another version: with the one that the store has deleted it could begin no deal."""
    there, fails = There(), True

    def owner_of(bot: str) -> str:
        if bot == "eva" and fails:
            raise StoreError(store.store.url, "is out of order")
        return bot

    ladder = ServedBook(LadderConfig(), store, lambda: there.now)
    presence = Presence(ladder, cast("Places", there), owner_of=owner_of)
    there.bots = {"dan"}
    await presence.refresh()
    there.bots = {"eva"}
    with pytest.raises(StoreError):
        await presence.refresh()
    there.bots, fails = {"dan", "eva"}, False
    await presence.refresh()
    stored = Book(store.store).versions()
    assert {stored[version.id].bot for version in presence.versions.values()} == {"dan", "eva"}


async def test_bot_whose_token_was_revoked_keeps_its_owner(store: AsyncStore) -> None:
    """Until it leaves: else a deletion of the owner would not find it."""
    there, owners = There(), {"anna": "Team 7"}
    ladder = ServedBook(LadderConfig(), store, lambda: there.now)
    presence = Presence(ladder, cast("Places", there), owner_of=owners.get)
    there.bots = {"anna"}
    await presence.refresh()
    owners.clear()
    await presence.refresh()
    stored = Book(store.store).versions()
    assert [version.owner for version in stored.values() if version.bot == "anna"] == ["Team 7"]


async def test_bots_that_left_are_forgotten(failing: Failing) -> None:
    """But for one that has just forfeited a deal, until it finishes another one."""
    failing.bots = {"anna", "ben"}
    await failing.presence.refresh()
    failing.forfeit("anna")
    failing.bots = set()
    await failing.presence.refresh()
    assert not failing.presence.versions
    assert list(failing.presence._bots) == ["anna"]
    failing.finish(forfeited=None)
    assert list(failing.presence._bots) == ["anna"]
    failing.finish()
    assert not failing.presence._bots


async def test_guest_is_told_once_that_its_games_of_the_day_are_begun(failing: Failing) -> None:
    """By a notice, and again for another version or when it connects again; the board counts such bots."""
    presence = failing.presence
    failing.bots = {"anna", "ben", "rock"}
    failing.house.add("rock")
    await presence.refresh()
    for bot in ("anna", "ben"):
        presence.note_begin(bot)
        presence.note_end(bot, forfeited=None)
    assert presence.idle() == []  # they have waited for a moment only
    failing.now += PATIENCE + 1
    for used in ({"anna": 600}, {"anna": 600, "ben": 300}, {}, {"anna": 600}):
        presence.set_quotas_used(used)
    assert failing.notices == ["anna", "ben"]
    assert presence.idle() == [(WaitReason.QUOTA, [86400.0]), (WaitReason.OPPONENTS, [None])]
    presence.is_full = True
    assert presence.idle() == [(WaitReason.QUOTA, [86400.0]), (WaitReason.FULL, [None])]
    wait = presence.wait_of("anna")
    assert wait is not None
    assert "its 600 rated games of the day" in wait.text
    failing.bots = {"ben", "rock"}
    await presence.refresh()
    failing.bots = {"anna", "ben", "rock"}
    await presence.refresh()
    presence.set_quotas_used({"anna": 600})
    assert failing.notices == ["anna", "ben", "anna"]


async def test_pauses_grow(failing: Failing) -> None:
    """Several forfeited deals in a row make a bot pause, and each further one for longer.

    Deals that began before a pause make it no longer, and bots of the house, which are wanted, never pause.
    """
    pauses = failing.forfeit_in_a_row(FORFEITED_IN_A_ROW + 10)
    assert not any(pauses[: FORFEITED_IN_A_ROW - 1])
    assert pauses[FORFEITED_IN_A_ROW - 1 :][:2] == [FIRST_PAUSE, 2 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE
    assert failing.notices == ["anna"] * 11
    assert failing.forfeit(at=failing.now + 1) == LONGEST_PAUSE - 1
    failing.finish()
    failing.house = {"anna"}
    assert not any(failing.forfeit_in_a_row(FORFEITED_IN_A_ROW + 1))


async def test_a_deal_without_a_forfeit_ends_the_row(failing: Failing) -> None:
    """Then it takes as many forfeited deals again."""
    failing.forfeit_in_a_row(FORFEITED_IN_A_ROW - 1)
    failing.finish()
    assert not any(failing.forfeit_in_a_row(FORFEITED_IN_A_ROW - 1))


async def test_a_bot_that_connects_again_plays_again(failing: Failing) -> None:
    """It soon does; one that is started again and again, as it crashes at once, pauses for longer, too."""
    failing.forfeit_in_a_row(FORFEITED_IN_A_ROW)
    for _ in range(2):
        failing.arrive("anna")
        assert failing.presence.pause_end("anna") == failing.now + FIRST_PAUSE / 6
    failing.forfeit(at=failing.now + FIRST_PAUSE / 6 + 1)
    assert failing.presence.pause_end("anna") == failing.now + 2 * FIRST_PAUSE
    failing.arrive("anna")
    assert failing.presence.pause_end("anna") == failing.now + 2 * FIRST_PAUSE / 6
    began = failing.now
    for _ in range(20):
        failing.forfeit(at=failing.presence.pause_end("anna"))
        failing.arrive("anna")
    assert failing.now - began > 10 * LONGEST_PAUSE / 6


async def test_bots_that_failed_long_ago_take_no_memory(failing: Failing) -> None:
    """However many names fail."""
    for number in range(3):
        for _ in range(FORFEITED_IN_A_ROW - number):
            failing.forfeit(f"bot-{number}", at=number * 1e6)
    assert len(failing.presence._bots) == 1
