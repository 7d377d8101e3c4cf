"""The deals of challenges: which of them can begin with the bots that are there."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from happycity.rules.shuffling import shuffled
from happycity_server.ladder.challenges import Challenges
from happycity_tournament.ladder.config import LadderConfig
from happycity_tournament.ladder.entries import (
    Challenge,
    ChallengeState,
    Deal,
    DealKind,
    NewDeal,
    Version,
)
from happycity_tournament.storage import AsyncStore
from happycity_tournament.storage.challenges import ChallengeStore


@dataclass(slots=True)
class _Playing:
    challenge: Challenge
    left: int
    """Deals that have not begun."""
    replays: Sequence[Deal] = ()
    """For a comparison: so many deals that the version `replayed_by` can replay."""
    replayed_by: int = 0
    """0 before they are looked for."""


class ChallengeDeals:
    """The challenges that are being played, and their deals that have not begun."""

    def __init__(
        self,
        config: LadderConfig,
        challenges: Challenges,
        store: AsyncStore,
        clock: Callable[[], float],
    ) -> None:
        self._config = config
        self._challenges = challenges
        self._store = store
        self._stored = ChallengeStore(store.store)
        self._clock = clock
        self._playing: list[_Playing] = []
        self._replayed: set[tuple[int, int]] = set()  # versions and seeds of replays that began meanwhile

    async def refresh(self) -> None:
        """Read which challenges are being played, and end those whose time is over or whose board is gone.

        Raises:
            StoreError: the store can't be read, or written to.
        """
        await self._challenges.expire()
        playing = await self._store.read(self._stored.newest, None, states=[ChallengeState.PLAYING])
        counts = await self._store.read(self._stored.deals, [challenge.id for challenge in playing])
        self._playing = []
        self._replayed.clear()
        for challenge in reversed(playing):
            finished, running = counts[challenge.id]
            left = challenge.deals - finished - running
            if challenge.expires_at > self._clock() and self._config.has_board(challenge.board):
                self._playing.append(_Playing(challenge, left))
            elif not running:
                await self._store.write(self._stored.change, challenge.id, ChallengeState.EXPIRED)

    @property
    def next_expiry(self) -> float | None:
        """When the first of them is over, Unix time; None without any."""
        return min((playing.challenge.expires_at for playing in self._playing), default=None)

    def wanted(self, bot: str) -> dict[str, int]:
        """Return how many rated deals were asked for a bot, by board."""
        wanted = Counter[str]()
        for playing in self._playing:
            challenge = playing.challenge
            if challenge.bot == bot and challenge.kind is DealKind.RATED and playing.left > 0:
                wanted[challenge.board] += playing.left
        return wanted

    def take_rated(self, bot: str, board: str) -> int | None:
        """Count a rated deal that begins for a bot; return its challenge, None if there is none."""
        for playing in self._playing:
            challenge = playing.challenge
            own = (challenge.bot, challenge.board, challenge.kind) == (bot, board, DealKind.RATED)
            if own and playing.left > 0:
                playing.left -= 1
                return challenge.id
        return None

    async def take_unrated(
        self, present: Mapping[str, Version], room: Counter[str], rng: random.Random, *, limit: int
    ) -> list[NewDeal]:
        """Return up to `limit` unrated deals whose bots are at one place and have room, which they take.

        Raises:
            StoreError: the store can't be read.
        """
        deals: list[NewDeal] = []
        for playing in self._playing:
            challenge = playing.challenge
            if playing.left <= 0 or room[challenge.bot] <= 0:
                continue
            if challenge.kind is DealKind.CHALLENGE:
                found = self._challenge(playing, present, rng)
            elif challenge.kind is DealKind.COMPARISON:
                found = await self._comparison(playing, present)
            else:
                continue
            for deal in found:
                if len(deals) < limit and all(room[bot] > 0 for bot in deal.bots):
                    room.subtract(deal.bots)
                    playing.left -= 1
                    deals.append(deal)
                    if deal.deal_seed is not None:
                        self._replayed.add((present[challenge.bot].id, deal.deal_seed))
        return deals

    def _challenge(
        self, playing: _Playing, present: Mapping[str, Version], rng: random.Random
    ) -> list[NewDeal]:
        """Return the deals of a challenge against bots that are named; none if one of them is away."""
        challenge = playing.challenge
        bots = (challenge.bot, *challenge.opponents)
        if not all(bot in present for bot in bots):
            return []
        orders = [tuple(shuffled(bots, rng)) for _ in range(playing.left)]
        return [
            NewDeal(
                board=challenge.board,
                kind=challenge.kind,
                versions=tuple(present[bot].id for bot in order),
                bots=order,
                challenge_id=challenge.id,
            )
            for order in orders
        ]

    async def _comparison(self, playing: _Playing, present: Mapping[str, Version]) -> list[NewDeal]:
        """Return the deals of an older version that the present one can replay."""
        challenge, old = playing.challenge, playing.challenge.old_version_id
        assert old is not None
        new = present[challenge.bot].id
        if new == old:
            return []
        if playing.replayed_by != new:
            find = self._challenges.deals_to_replay
            some = await self._store.read(lambda: list(islice(find(challenge.board, old, new), playing.left)))
            playing.replays, playing.replayed_by = some, new
        bots = {version.id: bot for bot, version in present.items()}
        bots[old] = challenge.bot
        return [
            NewDeal(
                board=challenge.board,
                kind=challenge.kind,
                versions=tuple(new if version == old else version for version in deal.versions),
                bots=tuple(bots[version] for version in deal.versions),
                challenge_id=challenge.id,
                deal_seed=deal.deal_seed,
            )
            for deal in playing.replays
            if (new, deal.deal_seed) not in self._replayed
            and all(version in bots for version in deal.versions)
        ]
