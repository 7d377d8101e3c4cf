"""Which deals of challenges begin, and which of them end."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from tests.tournament.storage.test_ladder import begun, challenge, play, profile

from happycity_server.ladder.challenge_deals import ChallengeDeals
from happycity_server.ladder.challenges import Challenges
from happycity_tournament.ladder.config import Board, LadderConfig
from happycity_tournament.ladder.entries import ChallengeState, DealKind, NewDeal, Version
from happycity_tournament.storage import AsyncStore
from happycity_tournament.storage.challenges import ChallengeStore
from happycity_tournament.storage.ladder import LadderStore

CONFIG = LadderConfig(boards=(Board(players=2),))


def deals_of(store: AsyncStore, now: float = 50.0, config: LadderConfig = CONFIG) -> ChallengeDeals:
    """Return the challenges of a store."""
    challenges = Challenges(config, store, house=lambda: ["cem"], clock=lambda: now)
    return ChallengeDeals(config, challenges, store, lambda: now)


async def begin(deals: ChallengeDeals, present: Mapping[str, Version], room: int = 9) -> list[NewDeal]:
    """Return the deals that begin with these bots, each with so much room."""
    await deals.refresh()
    return await take(deals, present, Counter(dict.fromkeys(present, room)))


async def take(
    deals: ChallengeDeals, present: Mapping[str, Version], room: Counter[str], *, limit: int = 100
) -> list[NewDeal]:
    """Return the deals that begin with these bots, without a look at the store."""
    return await deals.take_unrated(present, room, random.Random(1), limit=limit)


def present(store: AsyncStore, *bots: str) -> dict[str, Version]:
    """Return the newest versions of bots."""
    return {bot: LadderStore(store.store).versions_of(bot)[0] for bot in bots}


async def test_named_bots_meet_when_all_are_there(store: AsyncStore) -> None:
    """There are as many deals as were asked for and as the bots have room for."""
    made = ChallengeStore(store.store).add(challenge(kind=DealKind.CHALLENGE, opponents=("bob",), deals=3))
    deals = deals_of(store)
    assert not await begin(deals, present(store, "ann"))
    both = present(store, "ann", "bob")
    found = await begin(deals, both, room=2)
    assert len(found) == 2
    for deal in found:
        assert (deal.kind, deal.challenge_id, set(deal.bots)) == (DealKind.CHALLENGE, made.id, {"ann", "bob"})
        assert deal.versions == tuple(both[bot].id for bot in deal.bots)
    room = Counter({"ann": 9, "bob": 9})
    assert not await take(deals, both, room, limit=0)
    assert len(await take(deals, both, room)) == 1
    assert not await take(deals, both, room)


async def test_rated_deals_are_asked_for(store: AsyncStore) -> None:
    """The pairing learns how many are wanted; those that begin are counted."""
    made = ChallengeStore(store.store).add(challenge(deals=2))
    deals = deals_of(store)
    await deals.refresh()
    assert deals.wanted("ann") == {"2-family": 2}
    assert not deals.wanted("bob")
    assert deals.take_rated("bob", "2-family") is None
    assert [deals.take_rated("ann", "2-family") for _ in range(3)] == [made.id, made.id, None]
    begun(LadderStore(store.store), 1, 2, challenge_id=made.id)
    await deals.refresh()
    assert deals.wanted("ann") == {"2-family": 1}


async def test_a_newer_version_replays_an_older_one(store: AsyncStore) -> None:
    """It gets the older one's cards and seat, once, in those deals that were against the house alone."""
    ladder = LadderStore(store.store)
    old, guests = begun(ladder, 3, 1), begun(ladder, 1, 2)
    play(ladder, old, 10)
    play(ladder, guests, 20)
    new = ladder.enter_version("ann", profile("2"), 30.0, owner="ann")
    made = ChallengeStore(store.store).add(challenge(kind=DealKind.COMPARISON, deals=5, old_version_id=1))
    deals = deals_of(store)
    assert not await begin(deals, present(store, "ann"))  # the house is away
    (deal,) = await begin(deals, present(store, "ann", "cem"))
    assert deal == NewDeal(
        board="2-family",
        kind=DealKind.COMPARISON,
        versions=(3, new.id),
        bots=("cem", "ann"),
        challenge_id=made.id,
        deal_seed=old.deal_seed,
    )
    ladder.begin_deals(1, [deal], 40.0)
    assert not await begin(deals, present(store, "ann", "cem"))


async def test_deals_that_were_asked_for_are_replayed(store: AsyncStore) -> None:
    """Two comparisons of a bot share them out; the store isn't searched again before anything changes."""
    ladder, stored = LadderStore(store.store), ChallengeStore(store.store)
    asked = [begun(ladder, 3, 1, kind=DealKind.CHALLENGE), begun(ladder, 1, 3, kind=DealKind.CHALLENGE)]
    for number, deal in enumerate(asked):
        play(ladder, deal, 10 * number + 1)
    ladder.enter_version("ann", profile("2"), 30.0, owner="ann")
    for _ in range(2):
        stored.add(challenge(kind=DealKind.COMPARISON, deals=2, old_version_id=1))
    deals = deals_of(store)
    searched = []
    find = deals._challenges.deals_to_replay
    deals._challenges.deals_to_replay = lambda *fields: searched.append(fields) or find(*fields)  # type: ignore[method-assign, func-returns-value]
    found = await begin(deals, present(store, "ann", "cem"))
    assert Counter(deal.deal_seed for deal in found) == Counter(deal.deal_seed for deal in asked)
    for _ in range(3):
        assert not await take(deals, present(store, "ann", "cem"), Counter(ann=9, cem=9))
    assert len(searched) == 2


async def test_challenges_on_a_board_that_is_gone_end(store: AsyncStore) -> None:
    """The ladder's file may have lost a board since they were made."""
    stored = ChallengeStore(store.store)
    made = stored.add(challenge(kind=DealKind.CHALLENGE, opponents=("bob",)))
    deals = deals_of(store, config=LadderConfig(boards=(Board(players=3),)))
    assert not await begin(deals, present(store, "ann", "bob"))
    assert stored.get(made.id) == replace(made, state=ChallengeState.EXPIRED)


async def test_challenges_expire(store: AsyncStore) -> None:
    """One whose time is over ends, but not before the deals that it plays."""
    stored, ladder = ChallengeStore(store.store), LadderStore(store.store)
    made = stored.add(challenge(deals=2, expires_at=60.0))
    deals = deals_of(store)
    await deals.refresh()
    assert deals.next_expiry == 60.0
    deal = begun(ladder, 1, 2, challenge_id=made.id)
    late = deals_of(store, now=61.0)
    await late.refresh()
    assert not late.wanted("ann")
    assert stored.get(made.id) == made
    play(ladder, deal, 10)
    await late.refresh()
    assert stored.get(made.id) == replace(made, state=ChallengeState.EXPIRED)
