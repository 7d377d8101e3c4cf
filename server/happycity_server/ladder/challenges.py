"""Challenges: what authors ask of the ladder. `challenge_rules` says what they may ask for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import chain

import structlog

from happycity import ConfigError
from happycity.match import check_bot_name
from happycity_server.errors import ApiError, Reason, within
from happycity_server.ladder.challenge_rules import (
    DAY,
    HOUR,
    OPEN_STATES,
    ChallengeAnswer,
    Wish,
    answered,
    check_quotas,
    check_wish,
    comparison_deals,
    is_late,
)
from happycity_tournament.ladder.config import Board, LadderConfig
from happycity_tournament.ladder.entries import Challenge, ChallengeState, Deal, DealKind, Version
from happycity_tournament.storage import AsyncStore
from happycity_tournament.storage.challenges import ChallengeStore
from happycity_tournament.storage.ladder import LadderStore

MAX_OPEN_CHALLENGES = 1000
"""Challenges of all owners that are open or played at once: on an open server anybody may take any name."""
REPLAYED_DEALS = 500
"""The latest deals of a version on a board, of each kind, that are looked through for a comparison."""

_log = structlog.get_logger()


class Challenges:
    """Makes, answers and expires the challenges of a store."""

    def __init__(
        self,
        config: LadderConfig,
        store: AsyncStore,
        *,
        house: Callable[[], Collection[str]],
        clock: Callable[[], float],
    ) -> None:
        """Keep the challenges of a ladder.

        `house` returns the names of the bots of the house, and `clock` Unix time in seconds.
        """
        self._config = config
        self._store = store
        self._stored = ChallengeStore(store.store)
        self._ladder = LadderStore(store.store)
        self._house = house
        self._clock = clock

    async def create(self, wish: Wish, *, request_key: str | None = None) -> Challenge:
        """Make a challenge, or return the one that a request with this id, which names its caller, has made.

        Raises:
            ApiError: the wish can't be granted.
            StoreError: the challenge can't be stored.
        """
        # The thread that writes is for those that are granted: refusals, however many, delay no game.
        granted = await self._store.load(self._granted, wish, request_key)
        return granted if granted.id else await self._store.write(self._create, wish, request_key)

    async def answer(self, challenge_id: int, bot: str, answer: ChallengeAnswer) -> Challenge:
        """Let a bot accept, decline or withdraw a challenge; return the challenge.

        Raises:
            ApiError: no challenge has this id, it is over, or the bot can't answer it.
            StoreError: the answer can't be stored.
        """
        known, after = await self._store.read(self._answered, challenge_id, bot, answer)
        if after == known:
            return known
        return await self._store.write(self._answer, challenge_id, bot, answer)

    async def newest(
        self,
        limit: int,
        before_id: int | None,
        *,
        states: Collection[ChallengeState] | None,
        of_or_to: str | None,
    ) -> list[Challenge]:
        """Return challenges, newest first; see `ChallengeStore.newest`."""
        return await self._store.read(self._stored.newest, limit, before_id, states=states, of_or_to=of_or_to)

    async def deals_finished(self, challenge_ids: Collection[int]) -> dict[int, int]:
        """Return how many deals of challenges are finished."""
        counted = await self._store.read(self._stored.deals, challenge_ids)
        return {number: finished for number, (finished, _) in counted.items()}

    async def expire(self) -> None:
        """End the challenges that were not accepted in time, and forget those that came to nothing.

        Raises:
            StoreError: that can't be stored.
        """
        await self._store.write(self._expire)

    # In the thread that writes, nothing changes between what these read and what they write.

    def _create(self, wish: Wish, request_key: str | None) -> Challenge:
        granted = self._granted(wish, request_key)
        if granted.id:
            return granted
        stored = self._stored.add(granted, request_id=request_key)
        _log.info("challenge_made", challenge=stored.id, bot=wish.bot, kind=wish.kind.value, deals=wish.deals)
        return stored

    def _granted(self, wish: Wish, request_key: str | None) -> Challenge:
        """Return what a wish comes to: the challenge of the same request, or a new one with the id 0."""
        if request_key is not None and (known := self._stored.of_request(request_key)) is not None:
            return known
        now, quotas, house = self._clock(), self._config.quotas, self._house()
        board = board_named(self._config, wish.board)
        check_wish(wish, board, quotas)
        newest = self._newest_version(wish.bot, "bot")
        if newest.house:
            text = f"bot: {wish.bot!r} is a bot of the house, for which nobody asks"
            raise ApiError(Reason.INVALID_FIELD, text)
        for name in wish.opponents:
            self._newest_version(name, "opponents")
        bots = self._ladder.bots_of(newest.owner)
        own = self._stored.newest(None, bots=bots, created_after=now - DAY)
        own += [
            challenge
            for challenge in self._stored.newest(None, bots=bots, states=OPEN_STATES)
            if challenge.created_at <= now - DAY
        ]
        check_quotas(own, wish.deals, quotas, now)
        self._check_total()
        if wish.old_version_id is not None:
            self._check_comparison(wish, newest, board)
        waits = wish.kind is DealKind.CHALLENGE and any(name not in house for name in wish.opponents)
        return Challenge(
            id=0,  # the store gives it one
            bot=wish.bot,
            board=board.name,
            kind=wish.kind,
            opponents=wish.opponents,
            accepted=(),
            deals=wish.deals,
            old_version_id=wish.old_version_id,
            state=ChallengeState.OPEN if waits else ChallengeState.PLAYING,
            created_at=now,
            expires_at=now + quotas.challenge_hours * HOUR,
        )

    def _answered(self, challenge_id: int, bot: str, answer: ChallengeAnswer) -> tuple[Challenge, Challenge]:
        """Return a challenge before and after an answer."""
        known = self._stored.get(challenge_id)
        if known is None:
            raise not_in_ladder("challenge", str(challenge_id))
        now = self._clock()
        quotas = self._config.quotas
        return known, answered(known, bot, answer, house=self._house(), quotas=quotas, now=now)

    def _answer(self, challenge_id: int, bot: str, answer: ChallengeAnswer) -> Challenge:
        known, after = self._answered(challenge_id, bot, answer)
        _log.info("challenge_answered", challenge=known.id, bot=bot, state=after.state.value)
        return self._stored.change(
            known.id, after.state, accepted=list(after.accepted), expires_at=after.expires_at
        )

    def _expire(self) -> None:
        now = self._clock()
        for challenge in self._stored.newest(None, states=[ChallengeState.OPEN]):
            if is_late(challenge, now):
                self._stored.change(challenge.id, ChallengeState.EXPIRED)
        self._stored.forget(now - DAY)

    def _newest_version(self, bot: str, field: str) -> Version:
        """Return the newest version of a bot that a field of the request names."""
        with within(field):
            check_bot_name(bot)
        versions = self._ladder.versions_of(bot)
        if not versions:
            raise not_in_ladder("bot", bot)
        return versions[0]

    def _check_comparison(self, wish: Wish, newest: Version, board: Board) -> None:
        """Refuse to compare with a version that has too few deals for it."""
        old = wish.old_version_id
        assert old is not None
        known = self._ladder.versions([old]).get(old)
        if known is None or known.bot != wish.bot:
            raise not_in_ladder("version", str(old))
        if old == newest.id:
            text = f"old_version_id: {old} is the newest version of {wish.bot!r}; name an older one"
            raise ApiError(Reason.INVALID_FIELD, text)
        count = sum(1 for _ in self.deals_to_replay(board.name, old, newest.id))
        if wish.deals > count:
            raise ApiError(
                Reason.INVALID_FIELD,
                f"deals: {wish.deals} of version {old}, which has {count} on {board.name} that version "
                f"{newest.id} can replay: finished ones against present bots of the house alone; "
                "a version that is connected gets such deals by a challenge to bots of the house",
            )

    def deals_to_replay(self, board: str, old: int, new: int) -> Iterator[Deal]:
        """Yield the deals that a newer version of a bot can replay for an older one.

        Those that somebody asked for come first, then rated ones, of each kind the newest first. Of each
        version only the latest `REPLAYED_DEALS` deals of a kind on the board are looked at. Call it in a
        thread of the store.
        """
        kinds = DealKind.CHALLENGE, DealKind.COMPARISON, DealKind.RATED
        latest = partial(self._ladder.deals, REPLAYED_DEALS, board=board)
        own = chain.from_iterable(latest(version_id=old, kind=kind) for kind in kinds)
        again = latest(version_id=new, kind=DealKind.COMPARISON)
        house = {each.id for name in self._house() for each in self._ladder.versions_of(name)[:1]}
        return comparison_deals([*own, *again], old, new, house)

    def _check_total(self) -> None:
        """Refuse a challenge beyond those that the server keeps for all owners."""
        if self._stored.count(OPEN_STATES) >= MAX_OPEN_CHALLENGES:
            text = f"{MAX_OPEN_CHALLENGES} challenges are open, and no more are allowed; try again later"
            raise ApiError(Reason.TOO_MANY_OPEN, text, limit=str(MAX_OPEN_CHALLENGES))


def board_named(config: LadderConfig, name: str) -> Board:
    """Return a board of the ladder, the first one for "".

    Raises:
        ApiError: the ladder has no board of this name.
    """
    try:
        return config.board(name)
    except ConfigError as error:
        raise ApiError(Reason.NOT_IN_LADDER, str(error), what="board") from None


def not_in_ladder(what: str, name: str) -> ApiError:
    """Return the refusal of a name or an id that the ladder doesn't have."""
    return ApiError(Reason.NOT_IN_LADDER, f"{what}: {name[:64]!r} is not in this ladder", what=what)
