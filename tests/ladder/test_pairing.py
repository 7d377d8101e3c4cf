"""Who plays whom in the ladder."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from happycity_ladder.beliefs import Beliefs, Joint
from happycity_ladder.entries import NewDeal
from happycity_ladder.ladder_config import Board, LadderConfig
from happycity_ladder.pairing import PATIENCE, Entrant, PairingRound, next_pairing

NOW = 1_000.0


class Known(Beliefs):
    """Beliefs with given ratings and errors, independent of each other."""

    def __init__(self, players: int, config: LadderConfig, known: Mapping[int, tuple[float, float]]) -> None:
        super().__init__(players, config)
        self._known_ratings = known

    def joint(self, versions: Sequence[int], at: float) -> Joint:
        """Return them; others are new bots."""
        pairs = np.array([self._known_ratings.get(version, (1500.0, 300.0)) for version in versions]).reshape(
            -1, 2
        )
        return Joint(pairs[:, 0], np.diag(pairs[:, 1] ** 2))


def guest(version: int, **changes: object) -> Entrant:
    """Return a guest with room for a deal since now."""
    fields: dict[str, object] = {
        "version": version,
        "bot": f"bot{version}",
        "owner": f"owner{version}",
        "house": False,
        "room": 1,
        "waiting_since": NOW,
    }
    return Entrant(**(fields | changes))  # type: ignore[arg-type]


def house(version: int, room: int = 5) -> Entrant:
    return guest(version, owner="house", house=True, room=room)


def lineups_of(
    entrants: Sequence[Entrant],
    *,
    boards: Sequence[Board] = (Board(players=4),),
    known: Mapping[int, tuple[float, float]] | None = None,
    seed: int = 1,
    limit: int = 100,
) -> list[NewDeal]:
    config = LadderConfig(boards=tuple(boards))
    beliefs = {board.name: Known(board.players, config, known or {}) for board in boards}
    return PairingRound(config, entrants, beliefs, now=NOW, rng=random.Random(seed)).deals(limit)


@settings(max_examples=40)
@given(
    owners=st.lists(st.integers(0, 6), max_size=14),
    rooms=st.lists(st.integers(0, 3), min_size=14, max_size=14),
    waits=st.lists(st.floats(0, 10), min_size=14, max_size=14),
    houses=st.integers(0, 4),
    limit=st.integers(0, 6),
    seed=st.integers(0, 100),
)
def test_every_lineup_is_allowed(
    owners: list[int], rooms: list[int], waits: list[float], houses: int, limit: int, seed: int
) -> None:
    """No bot has two seats or more deals than room, and all have other owners.

    Nothing is random.
    """
    boards = (Board(players=2), Board(players=3), Board(players=5))
    entrants = [
        guest(number + 1, owner=f"owner{owner}", room=rooms[number], waiting_since=NOW - waits[number])
        for number, owner in enumerate(owners)
    ] + [house(101 + number, room=2) for number in range(houses)]
    lineups = lineups_of(entrants, boards=boards, seed=seed, limit=limit)
    assert lineups == lineups_of(entrants, boards=boards, seed=seed, limit=limit)
    by_version = {entrant.version: entrant for entrant in entrants}
    players = {board.name: board.players for board in boards}
    assert len(lineups) <= limit
    for lineup in lineups:
        assert len(set(lineup.versions)) == players[lineup.board]
        guests = [by_version[version].owner for version in lineup.versions if not by_version[version].house]
        assert len(set(guests)) == len(guests) > 0
    deals = Counter(version for lineup in lineups for version in lineup.versions)
    assert all(count <= by_version[version].room for version, count in deals.items())


@settings(max_examples=30)
@given(waits=st.lists(st.floats(PATIENCE, 60), min_size=1, max_size=9), seed=st.integers(0, 50))
def test_who_has_waited_plays(waits: list[float], seed: int) -> None:
    entrants = [guest(number + 1, waiting_since=NOW - wait) for number, wait in enumerate(waits)]
    busy = [guest(number, room=0) for number in range(50, 90)]
    house_bots = [house(number, room=9) for number in (101, 102, 103)]
    lineups = lineups_of([*entrants, *busy, *house_bots], seed=seed)
    assert {entrant.version for entrant in entrants} <= {
        each for lineup in lineups for each in lineup.versions
    }


def test_the_longest_wait_comes_first() -> None:
    entrants = [guest(number, waiting_since=NOW - PATIENCE - number) for number in range(1, 41)]
    (lineup,) = lineups_of(entrants, limit=1)
    assert 40 in lineup.versions


def test_a_few_free_bots_wait_for_more() -> None:
    """Four bots that have just played don't play each other again at once while many others are busy."""
    free, busy = [guest(number) for number in range(4)], [guest(number, room=0) for number in range(10, 60)]
    assert lineups_of(free + busy) == []
    assert next_pairing(free + busy, now=NOW) == NOW + PATIENCE
    assert len(lineups_of(free)) == 1
    assert next_pairing([*busy, house(101)], now=NOW) is None


@settings(max_examples=20)
@given(since=st.floats(1.7e9, 1.9e9))
def test_the_next_call_makes_a_table(since: float) -> None:
    entrants = [guest(number, waiting_since=since) for number in range(4)]
    entrants += [guest(number, room=0) for number in range(10, 60)]
    config = LadderConfig()
    beliefs = {"4-family": Beliefs(4, config)}
    time = next_pairing(entrants, now=since)
    assert time is not None
    for now, tables in ((since, 0), (time, 1)):
        pairing = PairingRound(config, entrants, beliefs, now=now, rng=random.Random(1))
        assert len(pairing.deals(9)) == tables


def test_a_lone_guest_plays_the_house() -> None:
    assert len(lineups_of([guest(1), house(101), house(102), house(103)])) == 1
    assert lineups_of([guest(1), house(101), house(102)]) == []
    assert lineups_of([house(number) for number in range(101, 105)]) == []


def test_a_board_that_cannot_be_filled_is_left_out() -> None:
    """Two bots play at a table of two, however much heavier the table of five is."""
    boards = (Board(players=5, weight=1000), Board(players=2))
    assert [lineup.board for lineup in lineups_of([guest(1), guest(2)], boards=boards)] == ["2-family"]


def test_the_least_known_come_first() -> None:
    """New bots play before others, if nobody has waited for too long."""
    known = {number: (1500.0 + number, 10.0) for number in range(100)}
    known[57] = (1500.0, 300.0)
    for seed in range(5):
        (lineup,) = lineups_of([guest(number) for number in range(100)], known=known, seed=seed, limit=1)
        assert 57 in lineup.versions


def test_near_neighbours_meet_most_and_others_sometimes() -> None:
    """Among opponents most are near, the strongest meet nobody more often than the weakest do."""
    known = {number: (1000.0 + 10 * number, 15.0) for number in range(100)}
    distances, deals = [], Counter[int]()
    for seed in range(20):
        lineups = lineups_of([guest(number) for number in range(100)], known=known, seed=seed, limit=12)
        deals.update(version for lineup in lineups for version in lineup.versions)
        distances += [
            abs(10 * (a - b)) for lineup in lineups for a in lineup.versions for b in lineup.versions if a < b
        ]
    assert np.median(distances) < 120  # 290 by lot
    assert np.mean(np.array(distances) > 250) > 0.1
    strong, weak = (sum(deals[number] for number in numbers) for numbers in (range(67, 100), range(33)))
    assert 0.7 < strong / weak < 1.4


def test_boards_have_their_shares() -> None:
    boards = (Board(players=2, weight=3.0), Board(players=3, weight=1.0))
    counts: Counter[str] = Counter()
    for seed in range(12):
        entrants = [guest(number, room=3) for number in range(100)]
        counts.update(lineup.board for lineup in lineups_of(entrants, boards=boards, seed=seed, limit=60))
    assert 0.70 < counts["2-family"] / counts.total() < 0.80


@pytest.mark.parametrize(("error", "share"), [(40.0, 0.125), (60.0, 0.5)])
def test_the_house_is_at_some_tables(error: float, share: float) -> None:
    """At more of them where the ratings of guests are too uncertain for a rank."""
    entrants = [*(guest(number) for number in range(200)), *(house(number, room=99) for number in (301, 302))]
    known = dict.fromkeys(range(200), (1500.0, error))
    lineups = [
        lineup for seed in range(6) for lineup in lineups_of(entrants, known=known, seed=seed, limit=40)
    ]
    assert share / 2 < np.mean([max(each.versions) > 300 for each in lineups]) < share * 1.5


def test_each_version_of_a_day_begins_half_as_many_games_as_the_one_before() -> None:
    """So a changed bot plays the same day, and all its versions together less than twice a day's games."""
    quota = LadderConfig().quotas.games_per_day
    houses = [house(number) for number in (101, 102, 103)]
    for earlier, games in enumerate((quota, quota / 2, quota / 4)):
        deals = games // 4
        for begun, tables in ((deals - 1, 1), (deals, 0)):
            bot = guest(1, begun={"4-family": begun}, earlier_versions=earlier)
            assert len(lineups_of([bot, *houses])) == tables, (earlier, begun)


def test_what_owners_ask_for_comes_first() -> None:
    """The bot plays on the board that was asked for, as often; the deals say for whom they are."""
    boards = (Board(players=2, weight=1000.0), Board(players=3, weight=0.001))
    entrants = [guest(number, waiting_since=NOW - 50) for number in range(1, 20)]
    entrants.append(guest(20, room=3, wanted={"3-family": 2}))
    lineups = lineups_of(entrants, boards=boards)
    assert [lineup.wanted_by for lineup in lineups[:3]] == ["bot20", "bot20", None]
    assert [lineup.board for lineup in lineups[:2]] == ["3-family"] * 2
    assert all(lineup.wanted_by is None for lineup in lineups[2:])


def test_seats_are_in_a_random_order() -> None:
    """The bot for which a table is made up doesn't always have the first seat."""
    entrants = [guest(1, waiting_since=NOW - 60), *(guest(number) for number in range(2, 9))]
    seats = {lineups_of(entrants, seed=seed, limit=1)[0].versions.index(1) for seed in range(30)}
    assert seats == {0, 1, 2, 3}
