"""Who is there for the ladder: versions of the connected bots, their waits, and pauses of those that fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import structlog

from happycity.match import is_person
from happycity.v1 import play_service_pb2 as play
from happycity_ladder.book import DealsBegun
from happycity_ladder.entries import ModerationAction, Version
from happycity_ladder.pairing import PATIENCE, Entrant
from happycity_server.ladder.served_book import ServedBook
from happycity_server.places.places import Places
from happycity_server.play.match import MatchState
from happycity_server.play.session import Session
from happycity_tournament.games import BotProfile

FORFEITED_IN_A_ROW = 3
"""Deals with a forfeit of a bot, one after the other, after which it pauses, as it spoils others' games."""
FIRST_PAUSE = 60.0
LONGEST_PAUSE = 3600.0
"""Seconds; each pause is twice as long as the one before, until the bot finishes a deal without a forfeit."""
RECONNECTED_SHARE = 1 / 6
"""Share of a pause that stays for a bot that connects again, which may be another program by then. It grows
too for one that a supervisor starts again and again."""

_DAY = 86400.0

_log = structlog.get_logger()


class WaitReason(Enum):
    """Why bots play no deal, in words for people."""

    SUSPENDED = "suspended by an organiser"
    PAUSED = "paused after forfeits in several deals in a row"
    QUOTA = "all rated games of the day begun"
    BUSY = "other matches come first, or too few games at once are taken"
    FULL = "as many deals are played as may be at once"
    OPPONENTS = "no opponents that are connected and have room"


class Wait(NamedTuple):
    """Why a bot plays no deal."""

    reason: WaitReason
    text: str
    """One line for people."""
    end: float | None = None
    """When that ends, if it is known."""


def day_of(now: float) -> float:
    """Return when the day (UTC) of a time began."""
    return now - now % _DAY


@dataclass(slots=True)
class _Bot:
    """A bot that is connected, plays a deal, or has failed lately."""

    version: Version | None = None
    """None while it is not connected."""
    said: tuple[BotProfile, str] | None = None
    """Its profile and owner, as they were stored."""
    deals: int = 0
    """Deals that it plays."""
    free_since: float | None = None
    """Since when it has the room that it has; None without any."""
    idle_since: float | None = None
    """Since when it has room, plays no deal, and may begin one for its own sake today."""
    forfeited: int = 0
    """Deals in a row with a forfeit."""
    forfeited_at: float = 0.0
    """When the last of them was over."""
    quota_said: tuple[int, float] | None = None
    """The version and the day whose quota it was sent a notice of."""
    pause_end: float = 0.0
    pause_end_reconnected: float = 0.0
    """When its pause ends, and when it does if the bot connects again."""

    def forget_forfeits(self) -> None:
        """Count the next deal with a forfeit as the first one."""
        self.forfeited, self.pause_end = 0, 0.0


class Presence:
    """The connected bots. All methods are called on the event loop; times are Unix seconds.

    Coroutines raise StoreError if the store can't be read, or written to.
    """

    def __init__(self, book: ServedBook, places: Places, *, owner_of: Callable[[str], str | None]) -> None:
        """Watch the bots of a server; `owner_of` returns who owns a bot."""
        self._book = book
        self._places, self._lobby = places, places.lobby
        self._owner_of = owner_of
        self._bots: dict[str, _Bot] = {}
        self.suspended: Mapping[str, ModerationAction] = {}
        """The bots that get no deals, each with the action that says why."""
        self.is_full = False
        """Whether no more deals may be played at once."""
        self._quotas_used: Mapping[str, int] = {}
        """Games of a day of the guests that have begun all that they may begin for their own sake."""
        places.events.arrived.append(self._note_arrival)

    @property
    def versions(self) -> dict[str, Version]:
        """The versions of the bots that were connected at the last `refresh`, by the bots' names."""
        return {name: bot.version for name, bot in self._bots.items() if bot.version is not None}

    @property
    def version_ids(self) -> frozenset[int]:
        """The ids of these versions."""
        return frozenset(version.id for version in self.versions.values())

    async def refresh(self) -> None:
        """See who is connected."""
        now, profiles = self._book.clock(), self._places.profiles()
        names = [name for name in self._places.connected() if not is_person(name)]
        gone = {
            name: version.id for name, version in self.versions.items() if not self._lobby.is_connected(name)
        }
        if gone:
            await self._book.write(self._book.note_disconnected, gone.values(), now)
            for name in gone:  # the store may have forgotten their versions
                bot = self._bots[name]
                bot.version = bot.said = bot.free_since = bot.idle_since = bot.quota_said = None
                self._drop_if_unknown(name)
        for name in names:
            bot = self._bots.get(name, _Bot())
            # A bot of the house has no token, and one whose token was revoked is about to leave.
            owner = self._owner_of(name) or (name if bot.version is None else bot.version.owner)
            profile, _ = said = profiles[name], owner
            if bot.version is None or bot.said != said:
                house, enter = name in self._lobby.house, self._book.enter_version
                version = await self._book.write(enter, name, profile, now, owner=owner, house=house)
                if bot.version is None or bot.version.id != version.id:
                    text = version.profile.info.version
                    _log.info("ladder_bot", bot=name, version=text, version_id=version.id, owner=owner)
                bot = self._bots.setdefault(name, bot)
                bot.version, bot.said = version, said

    async def note_present(self) -> None:
        """Store that the bots are still there."""
        await self._book.write(self._book.note_present, self.version_ids, self._book.clock())

    def rooms(self, *, limit: int) -> Counter[str]:
        """Return how many deals more each bot can begin, if up to `limit` deals may begin.

        A bot for which another match waits begins none: tournaments and practice come first. Where the guests
        that play no deal suffice for all that may begin, other guests begin none.
        """
        now, waiting, running = self._book.clock(), set[str](), Counter[str]()
        for match in self._places.newest_matches():
            if not match.spec.ladder_deal_id:
                if match.state is MatchState.WAITING:
                    waiting.update(match.bots)
                elif match.state is MatchState.RUNNING:
                    running.update(match.bots)
        rooms, guests = Counter[str](), list[str]()
        for name, version in self.versions.items():
            bot = self._bots[name]
            is_barred = name in waiting or name in self.suspended or bot.pause_end > now
            can_begin = self._lobby.is_connected(name) and not is_barred
            most = self._most_deals(name, version, running[name]) if can_begin else 0
            rooms[name] = max(0, most - bot.deals)
            wants_deals = rooms[name] > 0 and name not in self._quotas_used
            bot.free_since = (now if bot.free_since is None else bot.free_since) if rooms[name] else None
            is_idle = wants_deals and not bot.deals
            bot.idle_since = (now if bot.idle_since is None else bot.idle_since) if is_idle else None
            if wants_deals and not version.house:
                guests.append(name)
        idle = [name for name in guests if not self._bots[name].deals]
        if len(idle) >= limit * max(board.players for board in self._book.config.boards):
            for name in set(guests).difference(idle):
                rooms[name] = 0
        return rooms

    def entrants(
        self, rooms: Mapping[str, int], wanted: Callable[[str], Mapping[str, int]], begun: DealsBegun
    ) -> list[Entrant]:
        """Return the bots for the pairing.

        `wanted` returns how many rated deals were asked for, by board; `begun` has those of the day.
        """
        now = self._book.clock()
        return [
            Entrant(
                version=version.id,
                bot=name,
                owner=version.owner,
                house=version.house,
                room=rooms[name],
                waiting_since=now if (since := self._bots[name].free_since) is None else since,
                wanted=wanted(name),
                begun=begun.get(name, {}).get(version.id, {}),
                earlier_versions=len(begun.get(name, {}).keys() - {version.id}),
            )
            for name, version in self.versions.items()
        ]

    def set_quotas_used(self, games: Mapping[str, int]) -> None:
        """Note which guests have begun all deals of the day that they may begin for their own sake.

        `games` are those that their versions may begin in a day. Each guest gets a notice once.
        """
        self._quotas_used = games
        for name in games:
            bot = self._bots[name]
            bot.idle_since = None
            assert bot.version is not None
            said = (bot.version.id, day_of(self._book.clock()))
            wait = self.wait_of(name)
            if bot.quota_said != said and wait is not None and wait.reason is WaitReason.QUOTA:
                bot.quota_said = said
                self._lobby.send_notice(name, play.NOTICE_KIND_PAUSED, wait.text)

    def note_begin(self, name: str) -> None:
        """Note that a bot begins a deal."""
        bot = self._bots.setdefault(name, _Bot())
        bot.deals += 1
        bot.free_since, bot.idle_since = self._book.clock(), None

    def note_end(self, name: str, *, forfeited: bool | None) -> None:
        """Note that a bot plays a deal no longer.

        `forfeited` says whether it has forfeited a game of it, so that a guest may pause; None if the deal is
        not finished.
        """
        bot = self._bots[name]
        bot.deals -= 1
        if forfeited and name not in self._lobby.house:
            self._note_forfeit(name, bot)
        elif forfeited is False:
            bot.forget_forfeits()
        self._drop_if_unknown(name)

    def pause_end(self, name: str) -> float:
        """Return until when a bot pauses; a time that is past if it doesn't."""
        bot = self._bots.get(name)
        return 0.0 if bot is None else bot.pause_end

    def waits(self) -> dict[str, float]:
        """Return for how long each guest with room waits that plays no deal, in seconds."""
        now = self._book.clock()
        return {
            name: now - bot.idle_since
            for name, bot in self._bots.items()
            if bot.idle_since is not None and bot.version is not None and not bot.version.house
        }

    def wait_of(self, name: str) -> Wait | None:
        """Return why a bot plays no deal; None if it plays one, or is neither connected nor suspended."""
        action, bot, now = self.suspended.get(name), self._bots.get(name), self._book.clock()
        if action is not None:
            return Wait(WaitReason.SUSPENDED, f"an organiser has suspended {name}: {action.text}")
        if bot is None or bot.version is None or bot.deals:
            return None
        if bot.pause_end > now:
            text = f"{name} has forfeited games in several deals in a row"
            return Wait(WaitReason.PAUSED, text, bot.pause_end)
        if (games := self._quotas_used.get(name)) is not None:
            text = (
                f"{name} has begun its {games} rated games of the day (UTC), or "
                f"{100 * self._book.config.quotas.exact_share:g}% of them where its rating is exact; "
                f"under another text of its version it may begin {games // 2} today"
            )
            return Wait(WaitReason.QUOTA, text, day_of(now) + _DAY)
        reason = WaitReason.FULL if self.is_full else WaitReason.OPPONENTS
        if bot.free_since is None:
            reason = WaitReason.BUSY
        return Wait(reason, f"{name} waits: {reason.value}")

    def idle(self) -> list[tuple[WaitReason, list[float | None]]]:
        """Return why connected guests play no deal, the most frequent reason first, and when each wait ends.

        Bots that have waited for a moment only are left out.
        """
        found: dict[WaitReason, list[float | None]] = {}
        for name, version in self.versions.items():
            wait, since = self.wait_of(name), self._bots[name].free_since
            waits_long = since is None or self._book.clock() - since > PATIENCE
            if wait is not None and waits_long and not version.house:
                found.setdefault(wait.reason, []).append(wait.end)
        return sorted(found.items(), key=lambda entry: -len(entry[1]))

    def send_suspension(self, name: str) -> None:
        """Tell a bot that is suspended why."""
        if name in self.suspended and (wait := self.wait_of(name)) is not None:
            self._lobby.send_notice(name, play.NOTICE_KIND_PAUSED, wait.text)

    def longest_wait(self) -> float:
        """Return for how long a bot with room has waited for a game at most, in seconds.

        Bots don't wait as long as there are too few for a table.
        """
        sides = {
            (version.house, name if version.house else version.owner)
            for name, version in self.versions.items()
        }
        if len(sides) < min(board.players for board in self._book.config.boards):
            return 0.0
        return max(self.waits().values(), default=0.0)

    def _most_deals(self, name: str, version: Version, running: int) -> int:
        """Return how many deals a bot may play at once; `running` counts its games of other kinds."""
        limit = self._book.config.deals_at_once if version.house else self._book.config.deals_per_bot
        games = self._lobby.max_games(name)
        if games is None:
            return limit
        games -= running
        # With less room than a deal has games, these are played one after the other.
        players = max(board.players for board in self._book.config.boards)
        return min(limit, max(games // players, int(games > 0)))

    def _note_arrival(self, session: Session) -> None:
        """Shorten the pause of a bot that has connected again, or tell it that it is suspended."""
        self.send_suspension(session.name)
        bot = self._bots.get(session.name)
        if bot is not None:
            bot.pause_end = min(bot.pause_end, bot.pause_end_reconnected)

    def _note_forfeit(self, name: str, bot: _Bot) -> None:
        """Count a deal with a forfeit of a guest; let the guest pause if there are too many in a row."""
        now = bot.forfeited_at = self._book.clock()
        bot.forfeited += 1
        # Under any number of names bots may connect, fail and leave.
        for other, entry in list(self._bots.items()):
            if entry.forfeited and now - max(entry.forfeited_at, entry.pause_end) > LONGEST_PAUSE:
                entry.forget_forfeits()
                self._drop_if_unknown(other)
        if bot.forfeited < FORFEITED_IN_A_ROW or now < bot.pause_end:
            return
        pause = min(FIRST_PAUSE * 2.0 ** min(bot.forfeited - FORFEITED_IN_A_ROW, 10), LONGEST_PAUSE)
        bot.pause_end, bot.pause_end_reconnected = now + pause, now + pause * RECONNECTED_SHARE
        _log.warning("ladder_bot_pauses", bot=name, seconds=pause)
        text = (
            f"{name} has forfeited games in several deals of the ladder in a row; it gets no more for "
            f"{pause:g} s, or {pause * RECONNECTED_SHARE:g} s if it connects again"
        )
        self._lobby.send_notice(name, play.NOTICE_KIND_PAUSED, text)

    def _drop_if_unknown(self, name: str) -> None:
        """Forget a bot of which nothing is known that matters."""
        bot = self._bots[name]
        if bot.version is None and not bot.forfeited and not bot.deals:
            del self._bots[name]
