"""Sequential tests: two bots fill all seats, and whole blocks decide."""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tournament.games import finished

from happycity_tournament.config import SprtTest
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.ratings.sprt import Sprt, Verdict
from happycity_tournament.schedule import SprtSchedule
from happycity_tournament.schedule.sequential import block_score, seatings

LUCK = ((0.4, -0.3, 0.2, -0.3), (0.3, 0.0, -0.4, 0.1))
"""By game and seat, where the candidate has the seats 0 and 2, then 1 and 3: 0.6 and 0.1 places."""


def schedule(seats: int, *, elo1: float = 9, max_blocks: int = 9) -> SprtSchedule:
    test = SprtTest(candidate="new", base="old", elo1=elo1, max_blocks=max_blocks)
    return SprtSchedule(test, seats=seats, seed=1)


def fixtures(seats: int, blocks: int) -> list[Fixture]:
    return list(itertools.chain.from_iterable(schedule(seats, max_blocks=blocks).stages()))


def new_wins(fixture: Fixture) -> FinishedGame:
    return finished(fixture, places=[1 if bot == "new" else 2 for bot in fixture.bots])


@pytest.mark.parametrize(("seats", "games"), [(2, 2), (3, 6), (4, 2), (5, 10)])
def test_seatings_are_balanced(seats: int, games: int) -> None:
    block = seatings(seats)
    assert len(block) == len(set(block)) == games
    assert {tuple(not seat for seat in seating) for seating in block} == set(block)
    assert all(sum(seating[seat] for seating in block) == games / 2 for seat in range(seats))
    against = Counter(
        (mine, other)
        for seating in block
        for mine, other in itertools.permutations(range(seats), 2)
        if seating[mine] and not seating[other]
    )
    assert all(against[mine, other] == against[other, mine] for mine, other in against)


def test_each_bot_fills_several_seats_under_its_own_name() -> None:
    one, two, next_deal, _ = fixtures(4, blocks=2)
    assert one.bots == ("new", "old", "new", "old")
    assert two.bots == ("old", "new", "old", "new")
    assert one.deal_seed == two.deal_seed != next_deal.deal_seed
    assert (one.position, two.position, next_deal.position) == ((1, 0, 0), (1, 0, 1), (2, 0, 0))


def test_block_scores() -> None:
    one, two = fixtures(4, blocks=1)
    block = [finished(one, places=[1, 2, 3, 3]), finished(two, places=[1, 2, 3, 4])]
    assert block_score(block, candidate="new") == (2 + 0 + 0.5 + 1 + 0) / 8
    assert block_score(block, candidate="old") == 1 - block_score(block, candidate="new")
    lucky = [replace(one, recorded_luck=luck) for one, luck in zip(block, LUCK, strict=True)]
    assert block_score(lucky, candidate="new") == block_score(block, candidate="new") - 0.7 / 8
    with pytest.raises(ValueError, match="met nobody"):
        block_score([], candidate="new")


@pytest.mark.parametrize("seats", range(2, 6))
def test_the_advantage_of_a_seat_cancels(seats: int) -> None:
    block = [finished(game, places=range(1, seats + 1)) for game in fixtures(seats, blocks=1)]
    assert block_score(block, candidate="new") == 0.5


def test_a_schedule_ends_when_its_test_does() -> None:
    """No block begins after the decision, and results that come late change nothing."""
    played = schedule(2, elo1=100, max_blocks=1000)
    waiting: list[Fixture] = []
    for game in itertools.chain.from_iterable(played.stages()):
        waiting.append(game)
        if len(waiting) > 4:
            while waiting:
                played.add(new_wins(waiting.pop()))
    state = played.state
    assert (state.verdict, state.blocks) == (Verdict.H1, 30)
    assert played.last_round == game.round == 30
    for fixture in fixtures(2, blocks=31)[-2:]:
        played.add(new_wins(fixture))
    assert played.state == state


def test_few_games_are_of_no_use_when_a_test_has_decided() -> None:
    """Whatever is played at once, a stage is no longer than a quarter of the blocks before it, or 16."""
    lengths = [len(list(stage)) // 2 for stage in schedule(2, max_blocks=300).stages()]
    assert lengths[:3] == [30, 16, 16]
    assert sum(lengths) == 300
    assert all(
        length <= max(16, sum(lengths[:number]) / 4 + 1) for number, length in enumerate(lengths) if number
    )


def by_seat(fixture: Fixture) -> FinishedGame:
    """Let the places of the seats turn with the deal, so that blocks differ."""
    places = [1 + (seat * fixture.round + fixture.rotation) % 3 for seat in range(len(fixture.bots))]
    return finished(fixture, places=places)


@pytest.mark.level(1)
@given(st.permutations(range(12)), st.sets(st.integers(0, 11), max_size=3))
def test_blocks_count_whole_and_in_order(order: list[int], voided: set[int]) -> None:
    games, played = fixtures(4, blocks=6), schedule(4, max_blocks=6)
    for number in order:
        if number in voided:
            played.skip(games[number])
        else:
            played.add(by_seat(games[number]))
    expected = Sprt(SprtTest(candidate="new", base="old", elo1=9, max_blocks=6))
    for block in whole_blocks(games, voided):
        expected.add(block_score(list(map(by_seat, block)), candidate="new"))
    assert played.state == expected.state


def whole_blocks(games: list[Fixture], voided: set[int]) -> Iterator[list[Fixture]]:
    for first in range(0, len(games), 2):
        if not {first, first + 1} & voided:
            yield games[first : first + 2]
