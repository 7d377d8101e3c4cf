"""What authors may ask of the ladder by challenges, and how much. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from happycity.match import check_bot_name
from happycity_server.errors import ApiError, Reason, within
from happycity_tournament.ladder.config import Board, Quotas
from happycity_tournament.ladder.entries import Challenge, ChallengeState, Deal, DealKind, DealState

OPEN_STATES = frozenset({ChallengeState.OPEN, ChallengeState.PLAYING})
DAY, HOUR = 86400.0, 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What an author asks for."""

    bot: str
    """The author's bot."""
    board: str
    kind: DealKind
    opponents: tuple[str, ...] = ()
    """For `DealKind.CHALLENGE` the other bots at the table."""
    deals: int
    old_version_id: int | None = None
    """For `DealKind.COMPARISON`."""


def check_wish(wish: Wish, board: Board, quotas: Quotas) -> None:
    """Refuse what nobody can ask for, whatever the ladder's state.

    Raises:
        ApiError: a field is wrong; the text names it.
    """
    if not 1 <= wish.deals <= quotas.deals_per_challenge:
        most = quotas.deals_per_challenge
        raise ApiError(Reason.INVALID_FIELD, f"deals: {wish.deals} is not 1 to {most}")
    if (wish.kind is DealKind.COMPARISON) != (wish.old_version_id is not None):
        text = "old_version_id: a comparison needs it, and nothing else takes it"
        raise ApiError(Reason.INVALID_FIELD, text)
    if wish.kind is not DealKind.CHALLENGE:
        if wish.opponents:
            text = f"opponents: the ladder chooses those of {wish.kind.value} deals; leave them out"
            raise ApiError(Reason.INVALID_FIELD, text)
        return
    others = board.players - 1
    if len(wish.opponents) != others:
        text = (
            f"opponents: {len(wish.opponents)} bots; the board {board.name} has {others} seats beside yours"
        )
        raise ApiError(Reason.INVALID_FIELD, text)
    with within("opponents"):
        for name in wish.opponents:
            check_bot_name(name)
    if len({wish.bot, *wish.opponents}) <= others:
        raise ApiError(Reason.INVALID_FIELD, "opponents: each bot has one seat at the table")


def check_quotas(own: Iterable[Challenge], deals: int, quotas: Quotas, now: float) -> None:
    """Refuse an owner one more challenge, of so many deals.

    `own` has the owner's challenges of the last 24 hours, and all that are open; `now` is in Unix time.

    Raises:
        ApiError: too many are open, or too many deals were asked for.
    """
    own = list(own)
    if sum(_is_open(challenge, now) for challenge in own) >= quotas.open_challenges:
        raise ApiError(
            Reason.TOO_MANY_OPEN,
            f"{quotas.open_challenges} challenges of yours are open already, and no more are allowed; "
            "try again when one is over, or withdraw one",
            limit=str(quotas.open_challenges),
        )
    recent = sorted(
        (challenge for challenge in own if challenge.created_at > now - DAY),
        key=lambda challenge: challenge.created_at,
    )
    excess = sum(challenge.deals for challenge in recent) + deals - quotas.deals_per_day
    if excess <= 0:
        return
    retry = DAY
    for challenge in recent:
        excess -= challenge.deals
        if excess <= 0:
            retry = challenge.created_at + DAY - now
            break
    text = f"more than {quotas.deals_per_day} deals of challenges in 24 hours; try again later"
    raise ApiError(Reason.RATE_LIMITED, text, retry_seconds=retry)


class ChallengeAnswer(Enum):
    """What a bot may answer to a challenge."""

    ACCEPT = "accept"
    """By a bot that is named in it."""
    DECLINE = "decline"
    """Likewise."""
    WITHDRAW = "withdraw"
    """By the bot that made it."""


def answered(
    challenge: Challenge,
    bot: str,
    answer: ChallengeAnswer,
    *,
    house: Container[str],
    quotas: Quotas,
    now: float,
) -> Challenge:
    """Return a challenge after a bot's answer; the last one that accepts lets its deals begin.

    Raises:
        ApiError: the challenge is over, or this is not the bot's to answer.
    """
    withdraws = answer is ChallengeAnswer.WITHDRAW
    may = bot == challenge.bot if withdraws else bot in challenge.opponents and bot not in house
    if not may:
        raise _closed(f"challenge {challenge.id} is not one that {bot[:64]!r} can {answer.value}")
    if not _is_open(challenge, now):
        raise _closed(f"challenge {challenge.id} is over")
    if withdraws:
        return replace(challenge, state=ChallengeState.WITHDRAWN)
    if answer is ChallengeAnswer.DECLINE:
        return replace(challenge, state=ChallengeState.DECLINED)
    if bot in challenge.accepted:
        return challenge
    challenge = replace(challenge, accepted=(*challenge.accepted, bot))
    if _waits_for(challenge, house):
        return challenge
    return replace(challenge, state=ChallengeState.PLAYING, expires_at=now + quotas.challenge_hours * HOUR)


def comparison_deals(deals: Iterable[Deal], old: int, new: int, house: Container[int]) -> Iterator[Deal]:
    """Yield those of `deals` that a newer version of a bot can still replay for an older one.

    These are the older one's finished deals against versions of `house` alone, in the order of `deals`. Those
    that the newer one has replayed, or does at present, must be among `deals` too.
    """
    deals = list(deals)
    replayed = {deal.deal_seed for deal in deals if deal.kind is DealKind.COMPARISON and new in deal.versions}
    for deal in deals:
        others = [version for version in deal.versions if version != old]
        if (
            deal.state is DealState.FINISHED
            and len(others) == len(deal.versions) - 1
            and all(version in house for version in others)
            and deal.deal_seed not in replayed
        ):
            yield deal


def _waits_for(challenge: Challenge, house: Container[str]) -> list[str]:
    """Return the opponents that have not accepted; the house always plays."""
    return [bot for bot in challenge.opponents if bot not in challenge.accepted and bot not in house]


def _is_open(challenge: Challenge, now: float) -> bool:
    """Return whether a challenge is open, or its deals are played."""
    return challenge.state in OPEN_STATES and not is_late(challenge, now)


def is_late(challenge: Challenge, now: float) -> bool:
    """Return whether nobody can answer a challenge any longer."""
    return challenge.state is ChallengeState.OPEN and now >= challenge.expires_at


def _closed(text: str) -> ApiError:
    return ApiError(Reason.CHALLENGE_CLOSED, text)
