"""Challenges: what authors may ask for, who must accept, and what it may cost the ladder."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from happycity import BotInfo
from happycity_ladder.book import Book
from happycity_ladder.entries import Challenge, ChallengeState, DealKind, LadderDeal, NewDeal
from happycity_ladder.ladder_config import Board, LadderConfig, Quotas
from happycity_server.errors import ApiError
from happycity_server.ladder import challenges
from happycity_server.ladder.challenges import (
    OPEN_STATES,
    ChallengeAnswer,
    Challenges,
    against_house,
    check_quotas,
)
from happycity_server.ladder.served_book import ServedBook
from happycity_tournament.games import BotProfile
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.store import Store

HOUSE = ("planner", "random")
QUOTAS = Quotas(open_challenges=2, deals_per_challenge=8, deals_per_day=20, challenge_hours=1.0)
CONFIG = LadderConfig(boards=(Board(players=3), Board(players=2)), quotas=QUOTAS)
DAY = 86400.0
OPEN, PLAYING = ChallengeState.OPEN, ChallengeState.PLAYING
TO, AGAIN = DealKind.CHALLENGE, DealKind.COMPARISON
ACCEPT, DECLINE, WITHDRAW = get_args(ChallengeAnswer)


class Ladder:
    """Challenges in a store of its own, with a time that the test moves."""

    def __init__(self, store: AsyncStore) -> None:
        self.now = 1_000_000.0
        self.store = Book(store.store)
        self.challenges = Challenges(ServedBook(CONFIG, store, lambda: self.now), house=HOUSE)
        self.season = self.store.open_season(self.now)
        for name in HOUSE:
            self.enter(name, owner="house", house=True)
        for name in ("anna", "anton"):
            self.enter(name, owner="anna")
        for name in ("ben", "cleo"):
            self.enter(name)

    def enter(self, bot: str, version: str = "1", *, owner: str = "", house: bool = False) -> int:
        """Let a bot connect; return its version's id."""
        profile = BotProfile(BotInfo(version=version))
        return self.store.enter_version(bot, profile, self.now, owner=owner or bot, house=house).id

    async def ask(self, bot: str = "anna", kind: DealKind = DealKind.RATED, **fields: Any) -> Challenge:
        """Ask for a deal, or more."""
        key = fields.pop("request_key", None)
        wanted = Challenge(**{"bot": bot, "board": "", "kind": kind, "deals": 1, **fields})
        return await self.challenges.create(wanted, request_key=key)

    async def against(self, bot: str, *opponents: str, request_key: str | None = None) -> Challenge:
        return await self.ask(bot, DealKind.CHALLENGE, opponents=opponents, request_key=request_key)

    async def answer(self, number: int, bot: str, answer: ChallengeAnswer) -> Challenge:
        return await self.challenges.answer(number, bot, answer)

    def deal(self, *versions: int) -> LadderDeal:
        """Store a rated deal on the board of two seats, as if it had been played."""
        names = self.store.versions(versions)
        bots = tuple(names[each].bot for each in versions)
        new = NewDeal(board="2-family", kind=DealKind.RATED, versions=versions, bots=bots)
        (deal,) = self.store.begin_deals([new], self.now)
        return deal


@asynccontextmanager
async def ladder_in(folder: Path) -> AsyncIterator[Ladder]:
    store = Store.create(f"sqlite:///{folder}/games.sqlite")
    try:
        store.claim()
        async with AsyncStore(store) as opened:
            yield Ladder(opened)
    finally:
        store.close()


@pytest.fixture
async def ladder(tmp_path: Path) -> AsyncIterator[Ladder]:
    """Yield a ladder with bots of the house and of three owners."""
    async with ladder_in(tmp_path) as opened:
        yield opened


async def test_rated_deals_begin_without_anybody_s_consent(ladder: Ladder) -> None:
    """The ladder chooses the opponents of rated deals."""
    asked = await ladder.ask("anna", deals=8)
    assert (asked.state, asked.board, asked.opponents, asked.deals) == (PLAYING, "3-family", (), 8)
    assert asked.expires_at == ladder.now + 3600


async def test_named_bots_accept_but_the_house_always_plays(ladder: Ladder) -> None:
    """Deals against others begin when the last of them accepts, and have a time of their own then."""
    assert (await ladder.against("anna", *HOUSE)).state is PLAYING
    challenge = await ladder.against("ben", "anna", "cleo")
    answer = ladder.answer
    assert challenge.state is OPEN
    assert (await answer(challenge.id, "cleo", ACCEPT)).state is OPEN
    assert (await answer(challenge.id, "cleo", ACCEPT)).accepted == ("cleo",)
    ladder.now += 3599
    playing = await answer(challenge.id, "anna", ACCEPT)
    assert (playing.state, playing.accepted) == (PLAYING, ("cleo", "anna"))
    assert playing.expires_at == ladder.now + 3600


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"deals": 0}, "INVALID_FIELD", "deals: 0 is not 1 to 8"),
    ({"deals": 9}, "INVALID_FIELD", "deals: 9 is not"),
    ({"board": "5-expert"}, "NOT_IN_LADDER", "board: "),
    ({"bot": "zoe"}, "NOT_IN_LADDER", "bot: 'zoe'"),
    ({"bot": "planner"}, "INVALID_FIELD", "bot: 'planner'"),
    ({"opponents": ("ben", "cleo")}, "INVALID_FIELD", "opponents: the ladder chooses those of rated deals"),
    ({"kind": TO, "opponents": ("ben",)}, "INVALID_FIELD", "opponents: 1 bots; the board 3-family takes 2"),
    ({"kind": TO, "opponents": ("anna", "ben")}, "INVALID_FIELD", "opponents: each bot has one seat"),
    ({"kind": TO, "opponents": ("ben", "ben")}, "INVALID_FIELD", "opponents: each bot has one seat"),
    ({"kind": TO, "opponents": ("ben", "zoe")}, "NOT_IN_LADDER", "bot: 'zoe'"),
    ({"kind": AGAIN}, "INVALID_FIELD", "old_version_id: a comparison needs it"),
    ({"old_version_id": 1}, "INVALID_FIELD", "old_version_id: "),
    ({"kind": AGAIN, "old_version_id": 99}, "NOT_IN_LADDER", "version: '99'"),
]


async def test_wrong_challenges_are_refused(ladder: Ladder) -> None:
    """Each has its reason and names its field."""
    for fields, reason, text in WRONG:
        with pytest.raises(ApiError, match=text) as refused:
            await ladder.ask(**fields)
        assert refused.value.reason.name == reason


async def test_repeated_request_makes_one_challenge(ladder: Ladder) -> None:
    """The same id returns the same challenge, as it stands now."""
    first = await ladder.against("anna", *HOUSE, request_key="caller:1")
    await ladder.answer(first.id, "anna", WITHDRAW)
    again = await ladder.against("anna", *HOUSE, request_key="caller:1")
    assert again == replace(first, state=ChallengeState.WITHDRAWN)
    assert (await ladder.against("anna", *HOUSE, request_key="caller:2")).id != first.id


async def test_no_ends_a_challenge_for_good(ladder: Ladder) -> None:
    """The bot that made it withdraws it, any other one declines; later answers are refused."""
    for bot, no, state in (("ben", WITHDRAW, "withdrawn"), ("cleo", DECLINE, "declined")):
        number = (await ladder.against("ben", "anna", "cleo")).id
        assert (await ladder.answer(number, bot, no)).state.value == state
        with pytest.raises(ApiError, match=f"challenge {number} is over") as refused:
            await ladder.answer(number, "anna", ACCEPT)
        assert refused.value.reason.name == "CHALLENGE_CLOSED"


async def test_each_answer_is_for_its_bots(ladder: Ladder) -> None:
    """Named bots accept and decline, the bot that made a challenge withdraws it; no other bot has a say.

    The server's own bots always play, so no one answers for them.
    """
    guests, house = await ladder.against("ben", "anna", "cleo"), await ladder.against("ben", "anna", HOUSE[0])
    for challenge, answer, bots in (
        (guests, ACCEPT, ("anton", "ben")),
        (guests, DECLINE, ("anton", "ben")),
        (guests, WITHDRAW, ("anton", "anna", "cleo")),
        (house, ACCEPT, HOUSE[:1]),
        (house, DECLINE, HOUSE[:1]),
    ):
        for bot in bots:
            with pytest.raises(ApiError, match=f"is not one that '{bot}' can {answer}") as refused:
                await ladder.answer(challenge.id, bot, answer)
            assert refused.value.reason.name == "CHALLENGE_CLOSED"
    assert (await ladder.answer(guests.id, "anna", ACCEPT)).state is OPEN
    for answer in get_args(ChallengeAnswer):
        with pytest.raises(ApiError) as refused:
            await ladder.answer(99, "cleo", answer)
        assert refused.value.reason.name == "NOT_IN_LADDER"


async def test_unanswered_challenge_expires(ladder: Ladder) -> None:
    """At the end of its time nobody can accept it, also before anything has noticed."""
    challenge = await ladder.against("ben", "anna", "cleo")
    ladder.now = challenge.expires_at
    with pytest.raises(ApiError, match="is over"):
        await ladder.answer(challenge.id, "anna", ACCEPT)
    await ladder.challenges.playing()
    with pytest.raises(ApiError, match="is over"):
        await ladder.answer(challenge.id, "ben", WITHDRAW)
    for _ in range(QUOTAS.open_challenges):
        await ladder.against("ben", "anna", "cleo")  # its place is free again


async def test_challenges_that_came_to_nothing_are_forgotten(ladder: Ladder) -> None:
    """A day after their time; those of which a deal was played stay."""
    dropped, playing, played = [await ladder.ask(bot) for bot in ("anna", "ben", "cleo")]
    for made in (dropped, played):
        await ladder.answer(made.id, made.bot, WITHDRAW)
    deal = NewDeal(board="2-family", kind=DealKind.RATED, versions=(1, 2), bots=HOUSE)
    deals = [replace(deal, challenge_id=made.id) for made in (playing, played)]
    ladder.store.begin_deals(deals, ladder.now)
    for age, left in ((DAY, [played, playing, dropped]), (DAY + 3601, [played, playing])):
        ladder.now = dropped.created_at + age
        await ladder.challenges.playing()
        found = Book(ladder.store.store).challenges(9)
        assert [made.id for made in found] == [made.id for made in left]


async def test_quotas_are_an_owner_s_and_outlive_a_restart(tmp_path: Path) -> None:
    """All bots of an owner share them; another owner has his own."""
    async with ladder_in(tmp_path) as ladder:
        await ladder.ask("anna")
        await ladder.ask("anton")
    async with ladder_in(tmp_path) as ladder:
        with pytest.raises(ApiError, match="2 challenges of yours are open") as refused:
            await ladder.ask("anna")
        assert refused.value.reason.name == "TOO_MANY_OPEN"
        assert refused.value.details.metadata == {"limit": "2"}
        await ladder.ask("ben")


async def test_deals_of_a_day_are_bounded(ladder: Ladder) -> None:
    """Withdrawn challenges count, too; the refusal says when there is room again."""
    for deals in (8, 8):
        challenge = await ladder.ask("anna", deals=deals)
        await ladder.answer(challenge.id, "anna", WITHDRAW)
        ladder.now += 100
    await ladder.ask("anna", deals=4)
    with pytest.raises(ApiError, match="more than 20 deals") as refused:
        await ladder.ask("anton", deals=9 - 1)
    assert refused.value.reason.name == "RATE_LIMITED"
    assert refused.value.details.retry_seconds == DAY - 200
    ladder.now += DAY - 200
    await ladder.ask("anton", deals=8)


async def test_all_challenges_together_are_bounded(ladder: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who takes name after name on an open server can't fill the ladder."""
    monkeypatch.setattr(challenges, "MAX_OPEN_CHALLENGES", 3)
    for number in range(3):
        ladder.enter(f"sock-{number}")
        await ladder.ask(f"sock-{number}")
    with pytest.raises(ApiError, match="3 challenges are open") as refused:
        await ladder.ask("anna")
    assert refused.value.reason.name == "TOO_MANY_OPEN"


@pytest.mark.level(2)
@given(
    st.lists(
        st.tuples(st.floats(0, 3 * DAY), st.integers(1, 8), st.sampled_from(ChallengeState)), max_size=12
    ),
    st.integers(1, 8),
)
def test_after_the_wait_there_is_room(past: list[tuple[float, int, ChallengeState]], deals: int) -> None:
    """A refusal for today's deals holds exactly until the time that it names."""
    now, any_one = 3 * DAY, Challenge(bot="anna", board="2-family", kind=DealKind.RATED, deals=1)
    own = [
        replace(
            any_one,
            deals=asked,
            state=state if state not in OPEN_STATES else ChallengeState.FINISHED,
            created_at=at,
            expires_at=at + 3600,
        )
        for at, asked, state in past
    ]
    recent = sum(challenge.deals for challenge in own if challenge.created_at > now - DAY)
    try:
        check_quotas(own, deals, QUOTAS, now)
    except ApiError as refused:
        assert recent + deals > QUOTAS.deals_per_day
        wait = refused.details.retry_seconds
        assert wait is not None
        assert 0 < wait <= DAY
        check_quotas(own, deals, QUOTAS, now + wait + 1e-6)
    else:
        assert recent + deals <= QUOTAS.deals_per_day


def test_deals_against_the_house_alone_are_replayed() -> None:
    """Not those with guests, and not those that are not finished."""
    deal = LadderDeal(
        id=0,
        season_id=1,
        board="2-family",
        kind=DealKind.RATED,
        versions=(5, 1, 2),
        deal_seed=1,
        started_at=0.0,
        finished=1,
    )
    deals = [
        replace(deal, id=1),
        replace(deal, id=2, versions=(1, 5, 9), finished=2),  # with a guest
        replace(deal, id=3, finished=None),  # open
        replace(deal, id=4, finished=0),  # dropped
        replace(deal, id=5, versions=(2, 1, 5), finished=3),
    ]
    assert [deal.id for deal in against_house(deals, 5, {1, 2})] == [1, 5]


async def test_comparison_says_how_many_deals_there_are(ladder: Ladder) -> None:
    """Too few are refused with their number; so are the newest version and other bots' versions."""
    old = ladder.store.versions_of("anna")[0].id
    house = ladder.store.versions_of("planner")[0].id
    ladder.deal(old, house)
    new = ladder.enter("anna", "2", owner="anna")
    for version, text in (
        (old, rf"deals: 3 of version {old}, which has 0 on 2-family"),
        (new, "is the newest version"),
        (house, "is not in this ladder"),
    ):
        with pytest.raises(ApiError, match=text):
            await ladder.ask(kind=AGAIN, board="2-family", deals=3, old_version_id=version)
