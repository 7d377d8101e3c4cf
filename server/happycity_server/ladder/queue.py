"""Which deals of the ladder begin: interrupted ones, those of challenges, and those of the pairing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from happycity.rules.shuffling import shuffled
from happycity_ladder.beliefs import Beliefs
from happycity_ladder.book import DealsBegun
from happycity_ladder.entries import Challenge, DealKind, LadderDeal, NewDeal, Version
from happycity_ladder.pairing import PairingRound, next_pairing
from happycity_server.ladder.challenges import Challenges
from happycity_server.ladder.presence import Presence, day_of
from happycity_server.ladder.ratings import LadderRatings
from happycity_server.ladder.served_book import ServedBook

_log = structlog.get_logger()


InterruptedDeal = tuple[LadderDeal, tuple[str, ...], frozenset[int]]
"""A deal, the bots of its versions, and the rotations that are played."""


@dataclass(slots=True)
class _Playing:
    """A challenge that is being played."""

    challenge: Challenge
    left: int
    """Deals that have not begun."""
    replays: Sequence[LadderDeal] = ()
    """For a comparison: the deals that the version `replayed_by` can replay, at most `left` of them."""
    replayed_by: int = 0
    """0 before they are looked for."""


class DealQueue:
    """The deals that wait for their bots. All methods are called on the event loop; times are Unix seconds.

    Coroutines raise StoreError if the store can't be read, or written to.
    """

    def __init__(
        self, book: ServedBook, challenges: Challenges, ratings: LadderRatings, *, rng: random.Random
    ) -> None:
        """Begin without deals; `rng` is for chance."""
        self._book = book
        self._challenges = challenges
        self._ratings = ratings
        self._rng = rng
        self._pairing_due: float | None = None  # when the pairing may return more although nothing changes
        self._playing: list[_Playing] = []
        self._replayed: set[tuple[int, int]] = set()  # versions and seeds of replays that began meanwhile
        self._interrupted: dict[int, InterruptedDeal] = {}
        self._return_end: float | None = None  # until when these wait for their bots
        self._stale = False  # whether these have to be read again
        self._begun: DealsBegun = {}  # rated ones of the day
        self._day: float | None = None  # of which these are; None before they are read

    @property
    def next_times(self) -> Sequence[float | None]:
        """When there may be other deals to begin although nothing changes."""
        return self._pairing_due, self._return_end, self.next_expiry

    # Deals that a stop of the server, or a failure of the store, has interrupted

    def note_interrupted(self) -> None:
        """Note that open deals of the store are not being played any longer.

        Call it also after a failure, as what the store has then is not known.
        """
        self._stale = True
        self._day = None

    async def resume(self, present: Mapping[str, Version], playing: Collection[int]) -> list[InterruptedDeal]:
        """Return the interrupted deals that go on, as all their bots are there.

        Deals whose bots come as another version, or not in time, and those whose board is gone are dropped.
        `playing` has the ids of the deals that are being played.
        """
        if self._stale:
            await self.read_interrupted(playing)
        ready = []
        late = self._return_end is not None and self._book.clock() >= self._return_end
        for deal, bots, played in list(self._interrupted.values()):
            connected = {present[bot].id for bot in bots if bot in present}
            is_lost = not self._book.config.has_board(deal.board) or not connected <= set(deal.versions)
            if not is_lost and len(connected) == len(bots):
                ready.append((deal, bots, played))
            elif is_lost or late:
                await self.drop(deal.id, reason="its bots have not come back, or its board is gone")
        for deal, _, _ in ready:
            del self._interrupted[deal.id]
        if not self._interrupted:
            self._return_end = None
        return ready

    async def drop(self, deal_id: int, *, reason: str) -> None:
        """Give up a deal, an interrupted one or one that is being played."""
        _log.warning("ladder_deal_dropped", deal=deal_id, reason=reason)
        await self._book.write(self._book.drop_deal, deal_id, self._book.clock())
        self._interrupted.pop(deal_id, None)

    async def read_interrupted(self, playing: Collection[int] = ()) -> None:
        """Read the open deals of the store but for those that are being played; they wait from now on."""
        # A deal that ends or is interrupted while the store is read is not taken for one that waits.
        playing, self._stale = set(playing), False
        found = await self._book.read(self._book.open_deals)
        waiting = [entry for deal_id, entry in found.items() if deal_id not in playing]
        ids = {version for deal, _ in waiting for version in deal.versions}
        versions = await self._book.read(self._book.versions, ids)
        self._interrupted = {
            deal.id: (deal, tuple(versions[version].bot for version in deal.versions), played)
            for deal, played in waiting
        }
        self._return_end = self._book.clock() + self._book.config.return_seconds if waiting else None
        if waiting:
            _log.info("ladder_deals_return", deals=len(waiting), seconds=self._book.config.return_seconds)

    # New deals

    async def read_challenges(self) -> None:
        """Read which challenges are being played, and end those whose time is over."""
        self._playing = [_Playing(challenge, left) for challenge, left in await self._challenges.playing()]
        self._replayed.clear()

    @property
    def next_expiry(self) -> float | None:
        """When the first challenge that is being played is over; None without any."""
        return min((playing.challenge.expires_at for playing in self._playing), default=None)

    async def new_deals(self, presence: Presence, rooms: Counter[str], *, limit: int) -> list[NewDeal]:
        """Return up to `limit` new deals whose bots are there and have room, which they take."""
        now, versions = self._book.clock(), presence.versions
        new = await self.unrated_deals(versions, rooms, limit=limit)
        if (today := day_of(now)) != self._day:  # another one, or it isn't known what the store has
            self._begun, self._day = await self._book.read(self._book.rated_deals_begun, today), today
        entrants = presence.entrants(rooms, self.wanted, self._begun)
        self._pairing_due = next_pairing(entrants, now=now)

        def pair(beliefs: Mapping[str, Beliefs]) -> tuple[list[NewDeal], dict[str, int]]:
            pairing = PairingRound(self._book.config, entrants, beliefs, now=now, rng=self._rng)
            return pairing.deals(limit - len(new)), pairing.quotas_used()

        paired, quotas_used = await self._ratings.using(pair)
        presence.set_quotas_used(quotas_used)
        for deal in paired:
            for bot, version in zip(deal.bots, deal.versions, strict=True):
                self._begun.setdefault(bot, {}).setdefault(version, Counter())[deal.board] += 1
            challenge_id = None if deal.wanted_by is None else self.count_rated(deal.wanted_by, deal.board)
            new.append(replace(deal, challenge_id=challenge_id))
        return new

    def wanted(self, bot: str) -> dict[str, int]:
        """Return how many rated deals were asked for a bot, by board."""
        wanted = Counter[str]()
        for playing in self._rated(bot):
            wanted[playing.challenge.board] += playing.left
        return wanted

    def count_rated(self, bot: str, board: str) -> int | None:
        """Count a rated deal that begins for a bot; return its challenge, None if there is none."""
        for playing in self._rated(bot):
            if playing.challenge.board == board:
                playing.left -= 1
                return playing.challenge.id
        return None

    def _rated(self, bot: str) -> list[_Playing]:
        """Return the challenges that ask for more rated deals of a bot."""
        return [
            playing
            for playing in self._playing
            if (playing.challenge.bot, playing.challenge.kind) == (bot, DealKind.RATED) and playing.left > 0
        ]

    async def unrated_deals(
        self, present: Mapping[str, Version], rooms: Counter[str], *, limit: int
    ) -> list[NewDeal]:
        """Return up to `limit` deals of challenges to named bots, and of comparisons."""
        deals: list[NewDeal] = []
        for playing in self._playing:
            challenge = playing.challenge
            if playing.left <= 0 or rooms[challenge.bot] <= 0 or challenge.kind is DealKind.RATED:
                continue
            if challenge.kind is DealKind.CHALLENGE:
                found = self._named_deals(playing, present)
            else:
                found = await self._replays(playing, present)
            for deal in found:
                has_room = len(deals) < limit and all(rooms[bot] > 0 for bot in deal.bots)
                if has_room:
                    rooms.subtract(deal.bots)
                    playing.left -= 1
                    deals.append(deal)
                    if deal.deal_seed is not None:
                        self._replayed.add((present[challenge.bot].id, deal.deal_seed))
        return deals

    def _named_deals(self, playing: _Playing, present: Mapping[str, Version]) -> list[NewDeal]:
        """Return the deals of a challenge against bots that are named; none if one of them is away."""
        challenge = playing.challenge
        bots = (challenge.bot, *challenge.opponents)
        if not all(bot in present for bot in bots):
            return []
        orders = [shuffled(bots, self._rng) for _ in range(playing.left)]
        return [_asked(challenge, {present[bot].id: bot for bot in order}) for order in orders]

    async def _replays(self, playing: _Playing, present: Mapping[str, Version]) -> list[NewDeal]:
        """Return the deals of an older version that the present one can replay."""
        challenge, old = playing.challenge, playing.challenge.old_version_id
        assert old is not None
        new = present[challenge.bot].id
        if new == old:
            return []
        if playing.replayed_by != new:
            find = self._challenges.deals_to_replay
            deals = await self._book.read(find, challenge.board, old, new)
            playing.replays, playing.replayed_by = deals[: playing.left], new
        bots = {version.id: bot for bot, version in present.items()}
        lineups = [
            (deal, [new if version == old else version for version in deal.versions])
            for deal in playing.replays
        ]
        return [
            _asked(challenge, {version: bots[version] for version in versions}, deal.deal_seed)
            for deal, versions in lineups
            if (new, deal.deal_seed) not in self._replayed and bots.keys() >= set(versions)
        ]


def _asked(challenge: Challenge, bots: Mapping[int, str], deal_seed: int | None = None) -> NewDeal:
    """Return a deal of a challenge; `bots` are by version, in the order of the seats."""
    return NewDeal(
        board=challenge.board,
        kind=challenge.kind,
        versions=tuple(bots),
        bots=tuple(bots.values()),
        challenge_id=challenge.id,
        deal_seed=deal_seed,
    )
