"""Who is there for the ladder: connected bots, their versions, and how many deals they have room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import structlog

from happycity.match import is_person
from happycity_server.ladder.pauses import Pauses
from happycity_server.places.places import Places
from happycity_server.play.match import MatchState
from happycity_tournament.games import BotProfile
from happycity_tournament.ladder.config import LadderConfig
from happycity_tournament.ladder.entries import Version
from happycity_tournament.storage import AsyncStore
from happycity_tournament.storage.ladder import LadderStore

_log = structlog.get_logger()


class Presence:
    """The connected bots. All methods are called on the event loop; times are Unix seconds."""

    def __init__(
        self,
        config: LadderConfig,
        places: Places,
        store: AsyncStore,
        clock: Callable[[], float],
        *,
        owner_of: Callable[[str], str],
    ) -> None:
        """Watch the bots of a server; `owner_of` returns who owns a bot."""
        self.versions: dict[str, Version] = {}
        """Those that are connected, by their bots' names, since the last `refresh`."""
        self.pauses = Pauses()
        self._config = config
        self._places, self._lobby = places, places.lobby
        self._store = store
        self._ladder = LadderStore(store.store)
        self._clock = clock
        self._owner_of = owner_of
        self._said: dict[str, tuple[BotProfile, str]] = {}  # profile and owner, when they were stored
        self._players = max(board.players for board in config.boards)
        self._free_since: dict[str, float] = {}
        self._idle_since: dict[str, float] = {}
        places.arrival_listeners.append(self._note_arrival)

    async def refresh(self) -> None:
        """See who is connected.

        Raises:
            StoreError: a version can't be stored.
        """
        now, profiles = self._clock(), self._places.profiles()
        bots = [bot for bot in self._places.connected() if not is_person(bot)]
        gone = [bot for bot in self.versions if not self._lobby.is_connected(bot)]
        if gone:
            ids = [self.versions[bot].id for bot in gone]
            await self._store.write(self._ladder.note_gone, ids, now)
            self._forget(gone)
        versions: dict[str, Version] = {}
        for bot in bots:
            said = profiles[bot], self._owner_of(bot)
            known = self.versions.get(bot)
            if known is None or self._said.get(bot) != said:
                profile, owner = said
                house = bot in self._lobby.house
                known = await self._store.write(
                    self._ladder.enter_version, bot, profile, now, owner=owner, house=house
                )
                if bot not in self.versions or self.versions[bot].id != known.id:
                    version = known.profile.info.version
                    _log.info("ladder_bot", bot=bot, version=version, version_id=known.id, owner=owner)
            versions[bot] = known
            self._said[bot] = said
        self.versions = versions

    async def note_present(self) -> None:
        """Store that the bots are still there.

        Raises:
            StoreError: that can't be stored.
        """
        ids = [version.id for version in self.versions.values()]
        await self._store.write(self._ladder.note_present, ids, self._clock())

    def rooms(self, deals: Mapping[str, int]) -> Counter[str]:
        """Return how many deals more each bot can begin; `deals` says how many it plays.

        A bot for which another match waits begins none: tournaments and practice come first.
        """
        now, waiting, running = self._clock(), set[str](), Counter[str]()
        for match in self._places.newest_matches():
            if not match.ladder_deal_id:
                if match.state is MatchState.WAITING:
                    waiting.update(match.bots)
                elif match.state is MatchState.RUNNING:
                    running.update(match.bots)
        rooms = Counter[str]()
        for bot, version in self.versions.items():
            left = not self._lobby.is_connected(bot)  # since the last refresh
            if left or bot in waiting or self.pauses.until(bot) > now:
                limit = 0
            else:
                limit = self._config.deals_at_once if version.house else self._config.deals_per_bot
                games = self._lobby.max_games(bot)
                if games is not None:
                    games -= running[bot]
                    # With less room than a deal has games, these are played one after the other.
                    limit = min(limit, max(games // self._players, int(games > 0)))
            rooms[bot] = max(0, limit - deals.get(bot, 0))
            self._note_room(bot, now, has_room=rooms[bot] > 0, idle=not deals.get(bot))
        return rooms

    def begin_deal(self, bot: str) -> None:
        """Note that a bot begins a deal."""
        self._free_since[bot] = self._clock()
        self._idle_since.pop(bot, None)

    def free_since(self, bot: str) -> float:
        """Return since when a bot has the room that it has."""
        return self._free_since.get(bot, self._clock())

    def waits(self) -> dict[str, float]:
        """Return for how long each guest with room waits that plays no deal, in seconds."""
        now = self._clock()
        return {bot: now - since for bot, since in self._idle_since.items() if not self.versions[bot].house}

    def _note_room(self, bot: str, now: float, *, has_room: bool, idle: bool) -> None:
        if has_room:
            self._free_since.setdefault(bot, now)
        else:
            self._free_since.pop(bot, None)
        if has_room and idle:
            self._idle_since.setdefault(bot, now)
        else:
            self._idle_since.pop(bot, None)

    def _forget(self, bots: Iterable[str]) -> None:
        """Forget bots that are gone: the store may have forgotten their versions."""
        tables: tuple[dict[str, Any], ...] = self.versions, self._said, self._free_since, self._idle_since
        for bot in bots:
            for table in tables:
                table.pop(bot, None)

    def _note_arrival(self, bot: str, profile: BotProfile) -> None:
        self.pauses.note_arrival(bot)
