"""Which deals begin: interrupted ones whose bots are back, and those of challenges; and which end."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from tests.ladder.test_book import begun, challenge, play, profile

from happycity_ladder.book import Book
from happycity_ladder.entries import ChallengeState, DealKind, DealState, NewDeal, Version
from happycity_ladder.ladder_config import Board, LadderConfig
from happycity_server.ladder.challenges import Challenges
from happycity_server.ladder.queue import DealQueue
from happycity_server.ladder.ratings import LadderRatings
from happycity_server.ladder.served_book import ServedBook
from happycity_tournament.storage.async_store import AsyncStore

CONFIG = LadderConfig(boards=(Board(players=2),))


def queue_of(
    store: AsyncStore,
    clock: Callable[[], float] = lambda: 50.0,
    config: LadderConfig = CONFIG,
) -> DealQueue:
    ladder = ServedBook(config, store, clock)
    challenges, ratings = Challenges(ladder, house=["cem"]), LadderRatings(ladder)
    return DealQueue(ladder, challenges, ratings, rng=random.Random(1))


async def begin(queue: DealQueue, present: Mapping[str, Version], room: int = 9) -> list[NewDeal]:
    """Return the deals of challenges that begin with these bots, each with the same room."""
    await queue.read_challenges()
    return await queue.unrated_deals(present, Counter(dict.fromkeys(present, room)), limit=100)


def present(store: AsyncStore, *bots: str) -> dict[str, Version]:
    return {bot: Book(store.store).versions_of(bot)[0] for bot in bots}


async def test_deal_that_ends_while_the_store_is_read_is_not_played_again(store: AsyncStore) -> None:
    """A deal that is interrupted while the store is read is found the next time."""
    ladder = Book(store.store)
    first, second = begun(ladder, 1, 2), begun(ladder, 1, 2)
    present = {version.bot: version for version in ladder.versions().values()}
    queue, playing = queue_of(store), {first.id, second.id}
    queue.note_interrupted()
    taking = asyncio.create_task(queue.resume(present, playing))
    await asyncio.sleep(0)  # the store is being read now
    playing.clear()
    queue.note_interrupted()
    assert not await taking
    playing.add(first.id)
    assert [deal for deal, _, _ in await queue.resume(present, playing)] == [second]


async def test_deal_waits_until_its_bots_are_back(store: AsyncStore) -> None:
    """One whose bots don't come back in time ends."""
    ladder, now = Book(store.store), 50.0
    deal, late = begun(ladder, 1, 2), begun(ladder, 2, 3)
    versions = {version.bot: version for version in ladder.versions().values()}
    present = {bot: versions[bot] for bot in ("ann",)}
    queue = queue_of(store, lambda: now)
    await queue.read_interrupted()
    assert not await queue.resume(present, ())
    present["bob"] = versions["bob"]
    assert [found for found, _, _ in await queue.resume(present, ())] == [deal]
    now += CONFIG.return_seconds
    assert not await queue.resume(present, ())
    assert {one.id: one.state for one in ladder.deals(9)}[late.id] is DealState.DROPPED


async def test_deal_on_a_board_that_is_gone_is_dropped(store: AsyncStore) -> None:
    """Also when all its bots are back: nothing says what to play."""
    ladder = Book(store.store)
    begun(ladder, 1, 2, board="2-expert")
    present = {version.bot: version for version in ladder.versions().values()}
    queue = queue_of(store)
    await queue.read_interrupted()
    assert not await queue.resume(present, ())
    assert [one.state for one in ladder.deals(9)] == [DealState.DROPPED]


async def test_named_bots_meet_when_all_are_there(store: AsyncStore) -> None:
    """There are as many deals as were asked for and as the bots have room for."""
    made = Book(store.store).add_challenge(challenge(kind=DealKind.CHALLENGE, opponents=("bob",), deals=3))
    queue = queue_of(store)
    assert not await begin(queue, present(store, "ann"))
    both = present(store, "ann", "bob")
    found = await begin(queue, both, room=2)
    assert len(found) == 2
    for deal in found:
        assert (deal.kind, deal.challenge_id, set(deal.bots)) == (DealKind.CHALLENGE, made.id, {"ann", "bob"})
        assert deal.versions == tuple(both[bot].id for bot in deal.bots)
    room = Counter({"ann": 9, "bob": 9})
    assert not await queue.unrated_deals(both, room, limit=0)
    assert len(await queue.unrated_deals(both, room, limit=9)) == 1
    assert not await queue.unrated_deals(both, room, limit=9)


async def test_rated_deals_are_asked_for(store: AsyncStore) -> None:
    """The pairing learns how many are wanted; those that begin are counted."""
    made = Book(store.store).add_challenge(challenge(deals=2))
    queue = queue_of(store)
    await queue.read_challenges()
    assert queue.wanted("ann") == {"2-family": 2}
    assert not queue.wanted("bob")
    assert queue.count_rated("bob", "2-family") is None
    assert [queue.count_rated("ann", "2-family") for _ in range(3)] == [made.id, made.id, None]
    begun(Book(store.store), 1, 2, challenge_id=made.id)
    await queue.read_challenges()
    assert queue.wanted("ann") == {"2-family": 1}


async def test_a_newer_version_replays_an_older_one(store: AsyncStore) -> None:
    """It gets the older one's cards and seat, once, in those deals that were against the house alone."""
    ladder = Book(store.store)
    old, guests = begun(ladder, 3, 1), begun(ladder, 1, 2)
    play(ladder, old, 10)
    play(ladder, guests, 20)
    new = ladder.enter_version("ann", profile("2"), 30.0, owner="ann")
    made = Book(store.store).add_challenge(challenge(kind=DealKind.COMPARISON, deals=5, old_version_id=1))
    queue = queue_of(store)
    assert not await begin(queue, present(store, "ann"))  # the house is away
    (deal,) = await begin(queue, present(store, "ann", "cem"))
    assert deal == NewDeal(
        board="2-family",
        kind=DealKind.COMPARISON,
        versions=(3, new.id),
        bots=("cem", "ann"),
        challenge_id=made.id,
        deal_seed=old.deal_seed,
    )
    ladder.begin_deals([deal], 40.0)
    assert not await begin(queue, present(store, "ann", "cem"))


async def test_deals_that_were_asked_for_are_replayed(store: AsyncStore) -> None:
    """Two comparisons of a bot share them out; the store isn't searched again before anything changes."""
    ladder = Book(store.store)
    asked = [begun(ladder, 3, 1, kind=DealKind.CHALLENGE), begun(ladder, 1, 3, kind=DealKind.CHALLENGE)]
    for number, deal in enumerate(asked):
        play(ladder, deal, 10 * number + 1)
    ladder.enter_version("ann", profile("2"), 30.0, owner="ann")
    for _ in range(2):
        ladder.add_challenge(challenge(kind=DealKind.COMPARISON, deals=2, old_version_id=1))
    queue = queue_of(store)
    searched = []
    find = queue._challenges.deals_to_replay
    queue._challenges.deals_to_replay = lambda *fields: searched.append(fields) or find(*fields)  # type: ignore[method-assign, func-returns-value]
    found = await begin(queue, present(store, "ann", "cem"))
    assert Counter(deal.deal_seed for deal in found) == Counter(deal.deal_seed for deal in asked)
    for _ in range(3):
        assert not await queue.unrated_deals(present(store, "ann", "cem"), Counter(ann=9, cem=9), limit=9)
    assert len(searched) == 2


async def test_challenges_on_a_board_that_is_gone_end(store: AsyncStore) -> None:
    """The ladder's file may have lost a board since they were made."""
    stored = Book(store.store)
    made = stored.add_challenge(challenge(kind=DealKind.CHALLENGE, opponents=("bob",)))
    queue = queue_of(store, config=LadderConfig(boards=(Board(players=3),)))
    assert not await begin(queue, present(store, "ann", "bob"))
    assert stored.challenge(made.id) == replace(made, state=ChallengeState.EXPIRED)


async def test_challenges_expire(store: AsyncStore) -> None:
    """One whose time is over ends, but not before the deals that it plays."""
    stored = Book(store.store)
    made = stored.add_challenge(challenge(deals=2, expires_at=60.0))
    queue = queue_of(store)
    await queue.read_challenges()
    assert queue.next_expiry == 60.0
    deal = begun(stored, 1, 2, challenge_id=made.id)
    late = queue_of(store, lambda: 61.0)
    await late.read_challenges()
    assert not late.wanted("ann")
    assert stored.challenge(made.id) == made
    play(stored, deal, 10)
    await late.read_challenges()
    assert stored.challenge(made.id) == replace(made, state=ChallengeState.EXPIRED)
