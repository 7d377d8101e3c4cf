"""Challenges: what authors may ask for, who must accept, and what it may cost the ladder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from happycity import BotInfo
from happycity_ladder.challenge_store import ChallengeStore
from happycity_ladder.entries import Challenge, ChallengeState, Deal, DealKind, NewDeal
from happycity_ladder.ladder_config import Board, LadderConfig, Quotas
from happycity_ladder.ladder_store import LadderStore
from happycity_server.errors import ApiError
from happycity_server.ladder import challenges
from happycity_server.ladder.challenges import (
    OPEN_STATES,
    ChallengeAnswer,
    Challenges,
    against_house,
    check_quotas,
)
from happycity_tournament.games import BotProfile
from happycity_tournament.storage import AsyncStore, Store

HOUSE = ("planner", "random")
QUOTAS = Quotas(open_challenges=2, deals_per_challenge=8, deals_per_day=20, challenge_hours=1.0)
CONFIG = LadderConfig(boards=(Board(players=3), Board(players=2)), quotas=QUOTAS)
DAY = 86400.0
OPEN, PLAYING = ChallengeState.OPEN, ChallengeState.PLAYING
ACCEPT, DECLINE, WITHDRAW = ChallengeAnswer.ACCEPT, ChallengeAnswer.DECLINE, ChallengeAnswer.WITHDRAW


class Ladder:
    """Challenges in a store of its own, with a time that the test moves."""

    def __init__(self, store: AsyncStore) -> None:
        self.now = 1_000_000.0
        self.store = LadderStore(store.store)
        self.challenges = Challenges(CONFIG, store, lambda: self.now, house=HOUSE)
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

    async def rated(self, bot: str, *, deals: int = 1) -> Challenge:
        """Ask for rated deals."""
        return await self.challenges.create(Challenge(bot=bot, board="", kind=DealKind.RATED, deals=deals))

    async def against(self, bot: str, *opponents: str, request_key: str | None = None) -> Challenge:
        """Ask for deals against bots."""
        wanted = Challenge(bot=bot, board="", kind=DealKind.CHALLENGE, opponents=opponents, deals=1)
        return await self.challenges.create(wanted, request_key=request_key)

    def deal(self, *versions: int, kind: DealKind = DealKind.RATED, seed: int | None = None) -> Deal:
        """Store a deal on the board of two seats, as if it had been played."""
        names = self.store.versions(versions)
        new = NewDeal(
            board="2-family",
            kind=kind,
            versions=versions,
            bots=tuple(names[each].bot for each in versions),
            deal_seed=seed,
        )
        (deal,) = self.store.begin_deals(self.season.id, [new], self.now)
        return deal


@asynccontextmanager
async def ladder_in(folder: Path) -> AsyncIterator[Ladder]:
    """Give a ladder in a store."""
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


# What may be asked for -----------------------------------------------------------------------------------


async def test_rated_deals_begin_without_anybody_s_consent(ladder: Ladder) -> None:
    """The ladder chooses the opponents of rated deals."""
    challenge = await ladder.rated("anna", deals=8)
    assert (challenge.state, challenge.board, challenge.opponents, challenge.deals) == (
        PLAYING,
        "3-family",
        (),
        8,
    )
    assert challenge.expires_at == ladder.now + 3600


async def test_named_bots_accept_but_the_house_always_plays(ladder: Ladder) -> None:
    """Deals against others begin when the last of them accepts, and have a time of their own then."""
    assert (await ladder.against("anna", *HOUSE)).state is PLAYING
    challenge = await ladder.against("ben", "anna", "cleo")
    answer = ladder.challenges.answer
    assert challenge.state is OPEN
    assert (await answer(challenge.id, "cleo", ACCEPT)).state is OPEN
    assert (await answer(challenge.id, "cleo", ACCEPT)).accepted == ("cleo",)
    ladder.now += 3599
    playing = await answer(challenge.id, "anna", ACCEPT)
    assert (playing.state, playing.accepted) == (PLAYING, ("cleo", "anna"))
    assert playing.expires_at == ladder.now + 3600


WRONG = {
    "no deals": (
        Challenge(bot="anna", board="", kind=DealKind.RATED, deals=0),
        "INVALID_FIELD",
        "deals: 0 is not 1 to 8",
    ),
    "many deals": (
        Challenge(bot="anna", board="", kind=DealKind.RATED, deals=9),
        "INVALID_FIELD",
        "deals: 9 is not",
    ),
    "a board": (
        Challenge(bot="anna", board="5-expert", kind=DealKind.RATED, deals=1),
        "NOT_IN_LADDER",
        "board: ",
    ),
    "a stranger": (
        Challenge(bot="zoe", board="", kind=DealKind.RATED, deals=1),
        "NOT_IN_LADDER",
        "bot: 'zoe'",
    ),
    "the house": (
        Challenge(bot="planner", board="", kind=DealKind.RATED, deals=1),
        "INVALID_FIELD",
        "bot: 'planner'",
    ),
    "a friend": (
        Challenge(bot="anna", board="", kind=DealKind.RATED, opponents=("ben", "cleo"), deals=1),
        "INVALID_FIELD",
        "opponents: the ladder chooses those of rated deals",
    ),
    "few opponents": (
        Challenge(bot="anna", board="", kind=DealKind.CHALLENGE, opponents=("ben",), deals=1),
        "INVALID_FIELD",
        "opponents: 1 bots; the board 3-family takes 2",
    ),
    "itself": (
        Challenge(bot="anna", board="", kind=DealKind.CHALLENGE, opponents=("anna", "ben"), deals=1),
        "INVALID_FIELD",
        "opponents: each bot has one seat",
    ),
    "twice": (
        Challenge(bot="anna", board="", kind=DealKind.CHALLENGE, opponents=("ben", "ben"), deals=1),
        "INVALID_FIELD",
        "opponents: each bot has one seat",
    ),
    "unknown opponents": (
        Challenge(bot="anna", board="", kind=DealKind.CHALLENGE, opponents=("ben", "zoe"), deals=1),
        "NOT_IN_LADDER",
        "bot: 'zoe'",
    ),
    "no older version": (
        Challenge(bot="anna", board="", kind=DealKind.COMPARISON, deals=1),
        "INVALID_FIELD",
        "old_version_id: a comparison needs it",
    ),
    "needless version": (
        Challenge(bot="anna", board="", kind=DealKind.RATED, old_version_id=1, deals=1),
        "INVALID_FIELD",
        "old_version_id: ",
    ),
    "unknown version": (
        Challenge(bot="anna", board="", kind=DealKind.COMPARISON, old_version_id=99, deals=1),
        "NOT_IN_LADDER",
        "version: '99'",
    ),
}


@pytest.mark.parametrize("case", WRONG)
async def test_wrong_challenges_are_refused(ladder: Ladder, case: str) -> None:
    """Each has its reason and names its field."""
    wanted, reason, text = WRONG[case]
    with pytest.raises(ApiError, match=text) as refused:
        await ladder.challenges.create(wanted)
    assert refused.value.reason.name == reason


async def test_repeated_request_makes_one_challenge(ladder: Ladder) -> None:
    """The same id returns the same challenge, as it stands now."""
    first = await ladder.against("anna", *HOUSE, request_key="caller:1")
    await ladder.challenges.answer(first.id, "anna", WITHDRAW)
    again = await ladder.against("anna", *HOUSE, request_key="caller:1")
    assert again == replace(first, state=ChallengeState.WITHDRAWN)
    assert (await ladder.against("anna", *HOUSE, request_key="caller:2")).id != first.id


# Answers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bot", "answer", "state"),
    [("ben", WITHDRAW, ChallengeState.WITHDRAWN), ("cleo", DECLINE, ChallengeState.DECLINED)],
)
async def test_no_ends_a_challenge_for_good(
    ladder: Ladder, bot: str, answer: ChallengeAnswer, state: ChallengeState
) -> None:
    """The bot that made it withdraws it, any other one declines; later answers are refused."""
    challenge = await ladder.against("ben", "anna", "cleo")
    assert (await ladder.challenges.answer(challenge.id, bot, answer)).state is state
    with pytest.raises(ApiError, match="challenge 1 is over") as refused:
        await ladder.challenges.answer(challenge.id, "anna", ACCEPT)
    assert refused.value.reason.name == "CHALLENGE_CLOSED"


@pytest.mark.parametrize(
    ("answer", "bot"),
    [
        *((answer, bot) for answer in (ACCEPT, DECLINE) for bot in ("anton", "ben")),
        *((WITHDRAW, bot) for bot in ("anton", "anna", "cleo")),
    ],
)
async def test_each_answer_is_for_its_bots(ladder: Ladder, answer: ChallengeAnswer, bot: str) -> None:
    """Named bots accept and decline, the bot that made a challenge withdraws it; no other bot has a say."""
    challenge = await ladder.against("ben", "anna", "cleo")
    with pytest.raises(ApiError, match=f"is not one that '{bot}' can {answer.value}") as refused:
        await ladder.challenges.answer(challenge.id, bot, answer)
    assert refused.value.reason.name == "CHALLENGE_CLOSED"
    assert (await ladder.challenges.answer(challenge.id, "anna", ACCEPT)).state is OPEN


@pytest.mark.parametrize("answer", [ACCEPT, DECLINE])
async def test_server_s_own_bots_answer_nothing(ladder: Ladder, answer: ChallengeAnswer) -> None:
    """They always play, so no one answers for them."""
    challenge = await ladder.against("ben", "anna", HOUSE[0])
    with pytest.raises(ApiError) as refused:
        await ladder.challenges.answer(challenge.id, HOUSE[0], answer)
    assert refused.value.reason.name == "CHALLENGE_CLOSED"


@pytest.mark.parametrize("answer", ChallengeAnswer)
async def test_unknown_challenge_is_not_found(ladder: Ladder, answer: ChallengeAnswer) -> None:
    """Whatever is answered."""
    await ladder.against("ben", "anna", "cleo")
    with pytest.raises(ApiError) as refused:
        await ladder.challenges.answer(2, "cleo", answer)
    assert refused.value.reason.name == "NOT_IN_LADDER"


async def test_unanswered_challenge_expires(ladder: Ladder) -> None:
    """At the end of its time nobody can accept it, also before anything has noticed."""
    challenge = await ladder.against("ben", "anna", "cleo")
    ladder.now = challenge.expires_at
    with pytest.raises(ApiError, match="is over"):
        await ladder.challenges.answer(challenge.id, "anna", ACCEPT)
    await ladder.challenges.playing()
    with pytest.raises(ApiError, match="is over"):
        await ladder.challenges.answer(challenge.id, "ben", WITHDRAW)
    for _ in range(QUOTAS.open_challenges):
        await ladder.against("ben", "anna", "cleo")  # its place is free again


# Quotas --------------------------------------------------------------------------------------------------


async def test_challenges_that_came_to_nothing_are_forgotten(ladder: Ladder) -> None:
    """A day after their time; those of which a deal was played stay."""
    dropped, playing, played = [await ladder.rated(bot) for bot in ("anna", "ben", "cleo")]
    for made in (dropped, played):
        await ladder.challenges.answer(made.id, made.bot, WITHDRAW)
    for made in (playing, played):
        deal = NewDeal(
            board="2-family", kind=DealKind.RATED, versions=(1, 2), bots=HOUSE, challenge_id=made.id
        )
        ladder.store.begin_deals(ladder.season.id, [deal], ladder.now)
    for age, left in ((DAY, [played, playing, dropped]), (DAY + 3601, [played, playing])):
        ladder.now = dropped.created_at + age
        await ladder.challenges.playing()
        found = ChallengeStore(ladder.store.store).newest(9)
        assert [made.id for made in found] == [made.id for made in left]


async def test_quotas_are_an_owner_s_and_outlive_a_restart(tmp_path: Path) -> None:
    """All bots of an owner share them; another owner has his own."""
    async with ladder_in(tmp_path) as ladder:
        await ladder.rated("anna")
        await ladder.rated("anton")
    async with ladder_in(tmp_path) as ladder:
        with pytest.raises(ApiError, match="2 challenges of yours are open") as refused:
            await ladder.rated("anna")
        assert refused.value.reason.name == "TOO_MANY_OPEN"
        assert refused.value.details.metadata == {"limit": "2"}
        await ladder.rated("ben")


async def test_deals_of_a_day_are_bounded(ladder: Ladder) -> None:
    """Withdrawn challenges count, too; the refusal says when there is room again."""
    for deals in (8, 8):
        challenge = await ladder.rated("anna", deals=deals)
        await ladder.challenges.answer(challenge.id, "anna", WITHDRAW)
        ladder.now += 100
    await ladder.rated("anna", deals=4)
    with pytest.raises(ApiError, match="more than 20 deals") as refused:
        await ladder.rated("anton", deals=9 - 1)
    assert refused.value.reason.name == "RATE_LIMITED"
    assert refused.value.details.retry_seconds == DAY - 200
    ladder.now += DAY - 200
    await ladder.rated("anton", deals=8)


async def test_all_challenges_together_are_bounded(ladder: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who takes name after name on an open server can't fill the ladder."""
    monkeypatch.setattr(challenges, "MAX_OPEN_CHALLENGES", 3)
    for number in range(3):
        ladder.enter(f"sock-{number}")
        await ladder.rated(f"sock-{number}")
    with pytest.raises(ApiError, match="3 challenges are open") as refused:
        await ladder.rated("anna")
    assert refused.value.reason.name == "TOO_MANY_OPEN"


@given(
    st.lists(
        st.tuples(st.floats(0, 3 * DAY), st.integers(1, 8), st.sampled_from(ChallengeState)), max_size=12
    ),
    st.integers(1, 8),
)
def test_after_the_wait_there_is_room(past: list[tuple[float, int, ChallengeState]], deals: int) -> None:
    """A refusal for today's deals holds exactly until the time that it names."""
    now = 3 * DAY
    own = [
        Challenge(
            id=number,
            bot="anna",
            board="2-family",
            kind=DealKind.RATED,
            opponents=(),
            accepted=(),
            deals=asked,
            old_version_id=None,
            state=state if state not in OPEN_STATES else ChallengeState.FINISHED,
            created_at=at,
            expires_at=at + 3600,
        )
        for number, (at, asked, state) in enumerate(past)
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


# Comparisons ---------------------------------------------------------------------------------------------


def test_deals_against_the_house_alone_are_replayed() -> None:
    """Not those with guests, and not those that are not finished."""
    cases = [
        ((5, 1, 2), 1),
        ((1, 5, 9), 2),  # with a guest
        ((2, 5, 1), None),  # open
        ((2, 5, 1), 0),  # dropped
        ((2, 1, 5), 3),
    ]
    deals = [
        Deal(
            id=number,
            season_id=1,
            board="2-family",
            kind=DealKind.RATED,
            versions=versions,
            deal_seed=number,
            started_at=0.0,
            finished=finished,
        )
        for number, (versions, finished) in enumerate(cases, start=1)
    ]
    assert [deal.id for deal in against_house(deals, 5, {1, 2})] == [1, 5]


async def test_comparison_says_how_many_deals_there_are(ladder: Ladder) -> None:
    """Too few are refused with their number; so are the newest version and other bots' versions."""
    old = ladder.store.versions_of("anna")[0].id
    house = ladder.store.versions_of("planner")[0].id
    ladder.deal(old, house)
    new = ladder.enter("anna", "2", owner="anna")
    wanted = Challenge(bot="anna", board="2-family", kind=DealKind.COMPARISON, deals=3, old_version_id=old)
    with pytest.raises(ApiError, match=rf"deals: 3 of version {old}, which has 0 on 2-family") as refused:
        await ladder.challenges.create(wanted)
    assert refused.value.reason.name == "INVALID_FIELD"
    with pytest.raises(ApiError, match="is the newest version"):
        await ladder.challenges.create(replace(wanted, old_version_id=new))
    with pytest.raises(ApiError, match="is not in this ladder"):
        await ladder.challenges.create(replace(wanted, old_version_id=house))
