"""Challenges: what authors may ask of the ladder and how much, who answers, and when a challenge is over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal

import structlog

from happycity import ConfigError
from happycity.match import check_bot_spelling
from happycity_ladder.book import Book
from happycity_ladder.entries import Challenge, ChallengeState, DealKind, DealState, LadderDeal, Version
from happycity_ladder.ladder_config import Board, LadderConfig, Quotas
from happycity_server.errors import ApiError, Reason, invalid, too_many, within
from happycity_server.ladder.served_book import ServedBook

MAX_OPEN_CHALLENGES = 1000
"""Challenges of all owners that are open or played at once: on an open server any name may be taken."""
COMPARED_DEALS = 500
"""The latest deals of a version, of each kind, that are looked through to compare it with another one."""
OPEN_STATES = frozenset({ChallengeState.OPEN, ChallengeState.PLAYING})
DAY, HOUR = 86400.0, 3600.0

ChallengeAnswer = Literal["accept", "decline", "withdraw"]
"""What a bot does that is named in a challenge, or, to withdraw it, the bot that made it."""

_log = structlog.get_logger()


@dataclass(eq=False, repr=False)
class Challenges:
    """The challenges of a ladder; coroutines raise StoreError if they can't be read, or written."""

    book: ServedBook
    house: Collection[str]
    """The names of the bots of the house."""
    on_change: Callable[[], None] = lambda: None
    """Called when a challenge was made or answered."""

    async def create(self, wanted: Challenge, *, request_key: str | None = None) -> Challenge:
        """Make a challenge, or return the one that a request with this key has made.

        Of `wanted`, state and times are ignored, and the board may be "", the first one. ApiError if it may
        not be asked for.
        """
        # The thread that writes is for those that are granted: refusals, however many, delay no game.
        challenge = await self.book.load(self._granted, wanted, request_key)
        if not challenge.id:
            challenge = await self.book.write(self._create, wanted, request_key)
            self.on_change()
        return challenge

    async def answer(self, challenge_id: int, bot: str, answer: ChallengeAnswer) -> Challenge:
        """Let a bot accept, decline or withdraw a challenge; return the challenge.

        ApiError if no challenge has this id, it is over, or the bot can't answer it.
        """
        answered = await self.book.write(self._answer, challenge_id, bot, answer)
        self.on_change()
        return answered

    async def playing(self) -> list[tuple[Challenge, int]]:
        """Return the challenges that are being played, oldest first, with the number of deals still to begin.

        Challenges whose time is over or whose board is gone end before that, unless a deal of them is being
        played. Those that ended without a deal are forgotten after a day.
        """
        now = self.book.clock()
        challenges = await self.book.read(self.book.challenges, None, states=OPEN_STATES)
        counts = await self.book.read(
            self.book.deals_of_challenges, [challenge.id for challenge in challenges]
        )
        playing, ended = [], []
        for challenge in reversed(challenges):
            finished, running = counts[challenge.id]
            if now < challenge.expires_at and self.book.config.has_board(challenge.board):
                if challenge.state is ChallengeState.PLAYING:
                    playing.append((challenge, challenge.deals - finished - running))
            elif not running:
                ended.append(challenge.id)
        await self.book.write(self._end, ended, now)
        return playing

    def deals_to_replay(self, board: str, old: int, new: int) -> list[LadderDeal]:
        """Return the deals that a newer version of a bot can still replay for an older one.

        These are the latest ones against present bots of the house. Call it in a thread of the store.
        """
        house = {each.id for name in self.house for each in self.book.versions_of(name)[:1]}
        own = against_house(latest_deals(self.book, old, board=board), old, house)
        again = self.book.deals(COMPARED_DEALS, version_id=new, kind=DealKind.COMPARISON, board=board)
        replayed = {deal.deal_seed for deal in again}
        return [deal for deal in own if deal.deal_seed not in replayed]

    # In the thread that writes, nothing changes between what these read and what they write.

    def _create(self, wanted: Challenge, request_key: str | None) -> Challenge:
        granted = self._granted(wanted, request_key)
        if granted.id:
            return granted
        made = self.book.add_challenge(granted, request_id=request_key)
        _log.info("challenge_made", challenge=made.id, bot=made.bot, kind=made.kind.value, deals=made.deals)
        return made

    def _granted(self, wanted: Challenge, request_key: str | None) -> Challenge:
        """Return the challenge of the same request, or the one to be stored, whose id is 0."""
        if request_key is not None and (known := self.book.challenge_of_request(request_key)) is not None:
            return known
        now, quotas = self.book.clock(), self.book.config.quotas
        board = board_named(self.book.config, wanted.board)
        check_challenge(wanted, board, quotas)
        newest = self._newest_version(wanted.bot)
        if newest.house:
            raise invalid("bot", f"{wanted.bot!r} is one of the server's own bots; name one of yours")
        for name in wanted.opponents:
            self._newest_version(name)
        bots = self.book.bots_of(newest.owner)
        recent = self.book.challenges(None, bots=bots, created_after=now - DAY)
        older = self.book.challenges(None, bots=bots, states=OPEN_STATES)
        own = {challenge.id: challenge for challenge in (*recent, *older)}
        check_quotas(own.values(), wanted.deals, quotas, now)
        if self.book.count_challenges(OPEN_STATES) >= MAX_OPEN_CHALLENGES:
            raise too_many(MAX_OPEN_CHALLENGES, "challenges")
        if wanted.old_version_id is not None:
            self._check_comparison(wanted, wanted.old_version_id, newest, board)
        asks_guests = not set(wanted.opponents) <= set(self.house)
        return replace(
            wanted,
            board=board.name,
            state=ChallengeState.OPEN if asks_guests else ChallengeState.PLAYING,
            created_at=now,
            expires_at=now + quotas.challenge_hours * HOUR,
        )

    def _answer(self, challenge_id: int, bot: str, answer: ChallengeAnswer) -> Challenge:
        """Change a challenge by an answer; the last one that accepts lets its deals begin."""
        known, now = self.book.challenge(challenge_id), self.book.clock()
        if known is None:
            raise not_in_ladder("challenge", str(challenge_id))
        withdraws = answer == "withdraw"
        may = bot == known.bot if withdraws else bot in known.opponents and bot not in self.house
        if not may:
            text = f"challenge {challenge_id} is not one that {bot[:64]!r} can {answer}"
            raise ApiError(Reason.CHALLENGE_CLOSED, text)
        if not _is_open(known, now):
            raise ApiError(Reason.CHALLENGE_CLOSED, f"challenge {challenge_id} is over")
        _log.info("challenge_answered", challenge=challenge_id, bot=bot, answer=answer)
        if withdraws:
            return self.book.change_challenge(challenge_id, ChallengeState.WITHDRAWN)
        if answer == "decline":
            return self.book.change_challenge(challenge_id, ChallengeState.DECLINED)
        if bot in known.accepted:
            return known
        accepted = [*known.accepted, bot]
        if set(known.opponents).difference(accepted, self.house):
            return self.book.change_challenge(challenge_id, ChallengeState.OPEN, accepted=accepted)
        end = now + self.book.config.quotas.challenge_hours * HOUR
        return self.book.change_challenge(
            challenge_id, ChallengeState.PLAYING, accepted=accepted, expires_at=end
        )

    def _end(self, challenge_ids: Iterable[int], now: float) -> None:
        for challenge_id in challenge_ids:
            self.book.change_challenge(challenge_id, ChallengeState.EXPIRED)
        self.book.forget_challenges(now - DAY)

    def _newest_version(self, bot: str) -> Version:
        versions = self.book.versions_of(bot)
        if not versions:
            raise not_in_ladder("bot", bot)
        return versions[0]

    def _check_comparison(self, wanted: Challenge, old: int, newest: Version, board: Board) -> None:
        """Refuse to compare with a version that has too few deals for it."""
        known = self.book.versions([old]).get(old)
        if known is None or known.bot != wanted.bot:
            raise not_in_ladder("version", str(old))
        if old == newest.id:
            raise invalid(
                "old_version_id", f"{old} is the newest version of {wanted.bot!r}; name an older one"
            )
        count = len(self.deals_to_replay(board.name, old, newest.id))
        if wanted.deals > count:
            raise invalid(
                "deals",
                f"{wanted.deals} of version {old}, which has {count} on {board.name} that version "
                f"{newest.id} can replay: finished ones against present bots of the house alone; "
                "a version that is connected gets such deals by a challenge to bots of the house",
            )


def check_challenge(wanted: Challenge, board: Board, quotas: Quotas) -> None:
    """Refuse a challenge that is wrong in any ladder with this board and these quotas.

    The ApiError or ConfigError names the field that is wrong.
    """
    with within("bot"):
        check_bot_spelling(wanted.bot)
    if not 1 <= wanted.deals <= quotas.deals_per_challenge:
        most = quotas.deals_per_challenge
        raise invalid("deals", f"{wanted.deals} is not 1 to {most}")
    if (wanted.kind is DealKind.COMPARISON) != (wanted.old_version_id is not None):
        raise invalid("old_version_id", "a comparison needs it, and nothing else takes it")
    if wanted.kind is not DealKind.CHALLENGE:
        if wanted.opponents:
            raise invalid(
                "opponents", f"the ladder chooses those of {wanted.kind.value} deals; leave them out"
            )
        return
    others = board.players - 1
    if len(wanted.opponents) != others:
        raise invalid("opponents", f"{len(wanted.opponents)} bots; the board {board.name} takes {others}")
    with within("opponents"):
        for name in wanted.opponents:
            check_bot_spelling(name)
    if len({wanted.bot, *wanted.opponents}) <= others:
        raise invalid("opponents", "each bot has one seat at the table")


def check_quotas(own: Collection[Challenge], deals: int, quotas: Quotas, now: float) -> None:
    """Refuse an owner one more challenge, of a number of deals.

    `own` has the owner's challenges of the last 24 hours, and all that are open; `now` is in Unix time.
    """
    if sum(_is_open(challenge, now) for challenge in own) >= quotas.open_challenges:
        advice = "try again when one is over, or withdraw one"
        raise too_many(quotas.open_challenges, "challenges of yours", advice=advice)
    recent = sorted(
        (challenge for challenge in own if challenge.created_at > now - DAY),
        key=lambda challenge: challenge.created_at,
    )
    excess = sum(challenge.deals for challenge in recent) + deals - quotas.deals_per_day
    if excess > 0:
        freed = accumulate(challenge.deals for challenge in recent)
        ages = (
            now - challenge.created_at
            for challenge, deals_freed in zip(recent, freed, strict=True)
            if deals_freed >= excess
        )
        text = f"more than {quotas.deals_per_day} deals of challenges in 24 hours; try again later"
        raise ApiError(Reason.RATE_LIMITED, text, retry_seconds=DAY - next(ages, 0.0))


def latest_deals(book: Book, version: int, **filters: Any) -> list[LadderDeal]:
    """Return the latest deals of a version, those of challenges first and rated ones last.

    Of each kind there are at most `COMPARED_DEALS`, newest first; `filters` are those of `Book.deals`.
    """
    kinds = DealKind.CHALLENGE, DealKind.COMPARISON, DealKind.RATED
    each = [book.deals(COMPARED_DEALS, version_id=version, kind=kind, **filters) for kind in kinds]
    return [deal for deals in each for deal in deals]


def against_house(deals: Iterable[LadderDeal], version: int, house: Container[int]) -> list[LadderDeal]:
    """Return the finished ones among the deals of a version in which all others are versions of the house."""
    return [
        deal
        for deal in deals
        if deal.state is DealState.FINISHED
        and all(other == version or other in house for other in deal.versions)
    ]


def board_named(config: LadderConfig, name: str) -> Board:
    """Return a board of the ladder, the first one for ""; ApiError if it has none of this name."""
    try:
        return config.board(name)
    except ConfigError as error:
        raise ApiError(Reason.NOT_IN_LADDER, str(error), what="board") from None


def not_in_ladder(what: str, name: str) -> ApiError:
    """Return the refusal of a name or an id that the ladder doesn't have."""
    return ApiError(Reason.NOT_IN_LADDER, f"{what}: {name[:64]!r} is not in this ladder", what=what)


def _is_open(challenge: Challenge, now: float) -> bool:
    """Return whether a challenge waits for answers and can still be answered, or its deals are played."""
    late = challenge.state is ChallengeState.OPEN and now >= challenge.expires_at
    return challenge.state in OPEN_STATES and not late
