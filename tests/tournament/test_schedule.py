import itertools
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from happycity.errors import ConfigError
from happycity_tournament.results import Fixture
from happycity_tournament.schedule import fixtures, total_games


def names(count: int) -> list[str]:
    return [f"bot {number}" for number in range(count)]


@st.composite
def plans(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """Draw (bots, seats, rounds, seed)."""
    seats = draw(st.integers(2, 5))
    return draw(st.integers(seats, 12)), seats, draw(st.integers(1, 12)), draw(st.integers(0, 2**64 - 1))


def schedule(bots: int, seats: int, rounds: int, seed: int) -> list[Fixture]:
    return list(fixtures(bots=names(bots), seats=seats, rounds=rounds, seed=seed))


def meetings(bots: int, seats: int, rounds: int) -> list[int]:
    """Return for each pair of bots at how many tables they met."""
    met: Counter[tuple[str, ...]] = Counter()
    for fixture in schedule(bots, seats, rounds, 1):
        if fixture.rotation == 0:
            met.update(itertools.combinations(sorted(fixture.bots), 2))
    return [met[pair] for pair in itertools.combinations(sorted(names(bots)), 2)]


@given(plans())
def test_order_and_total(plan: tuple[int, int, int, int]) -> None:
    """Games come by round, table and rotation, without gaps, and as many as `total_games` says."""
    bots, seats, rounds, seed = plan
    positions = [fixture.position for fixture in schedule(bots, seats, rounds, seed)]
    tables = range(bots // seats)
    assert positions == list(itertools.product(range(1, rounds + 1), tables, range(seats)))
    assert len(positions) == total_games(bots=names(bots), seats=seats, rounds=rounds)


@given(plans())
def test_every_bot_takes_every_seat_of_its_deals(plan: tuple[int, int, int, int]) -> None:
    """The rotations of a table share one deal, and in them each of its bots takes each seat once."""
    by_deal = defaultdict(list)
    for fixture in schedule(*plan):
        by_deal[fixture.deal].append(fixture)
    seeds = set()
    for games in by_deal.values():
        company = sorted(games[0].bots)
        assert all(sorted(seat) == company for seat in zip(*(game.bots for game in games), strict=True))
        assert all(sorted(game.bots) == company for game in games)
        assert len({game.deal_seed for game in games}) == 1
        seeds.add(games[0].deal_seed)
    assert len(seeds) == len(by_deal)


@given(plans())
def test_nobody_sits_at_two_tables_of_a_round(plan: tuple[int, int, int, int]) -> None:
    """A bot plays at no more than one table of a round."""
    first_games = [fixture for fixture in schedule(*plan) if fixture.rotation == 0]
    seated = Counter((fixture.round, bot) for fixture in first_games for bot in fixture.bots)
    assert set(seated.values()) == {1}


@pytest.mark.parametrize(
    ("bots", "seats"), [(bots, seats) for seats in range(2, 6) for bots in range(seats, 13)]
)
def test_sitting_out_is_shared_evenly(bots: int, seats: int) -> None:
    """After every round, no bot has played more than one round more than any other."""
    played = dict.fromkeys(names(bots), 0)
    for _, games in itertools.groupby(schedule(bots, seats, 30, 7), key=lambda fixture: fixture.round):
        for bot in {bot for game in games for bot in game.bots}:
            played[bot] += 1
        assert max(played.values()) - min(played.values()) <= 1


@pytest.mark.parametrize(("bots", "seats"), [(3, 2), (7, 4), (8, 4), (9, 2), (12, 5), (21, 4)])
def test_everyone_meets_everyone_about_equally_often(bots: int, seats: int) -> None:
    """Over many rounds, no pair meets more than a few times more often than another."""
    met = meetings(bots, seats, rounds=200)
    assert max(met) - min(met) <= 5


@given(plans())
def test_the_seed_fixes_everything(plan: tuple[int, int, int, int]) -> None:
    """The same numbers give the same schedule."""
    assert schedule(*plan) == schedule(*plan)


def test_other_seeds_differ() -> None:
    """Another seed gives other deals, other seeds for the bots and other tables."""
    one, other = schedule(8, 4, 10, 1), schedule(8, 4, 10, 2)
    assert not {game.deal_seed for game in one} & {game.deal_seed for game in other}
    assert [game.bots for game in one] != [game.bots for game in other]
    seeds = [{seed for game in games for seed in game.bot_seeds} for games in (one, other)]
    assert not seeds[0] & seeds[1]


def test_more_rounds_keep_the_first_ones() -> None:
    """A longer tournament begins like a shorter one."""
    assert schedule(7, 3, 20, 5)[: 2 * 3 * 10] == schedule(7, 3, 10, 5)


def test_seeds_survive_json() -> None:
    """All seeds are below 2^53, and no two that should differ are equal."""
    games = schedule(9, 4, 50, 3)
    bot_seeds = [seed for game in games for seed in game.bot_seeds]
    assert len(set(bot_seeds)) == len(bot_seeds)
    deal_seeds = {game.deal_seed for game in games}
    assert not deal_seeds & set(bot_seeds)
    assert all(0 <= seed < 2**53 for seed in [*deal_seeds, *bot_seeds])
    assert max(bot_seeds) > 2**52


def test_seeds_stay_what_they_are() -> None:
    """The schedule of a seed is the same in every release: resumed tournaments depend on it."""
    first = schedule(4, 4, 1, 42)[0]
    assert first.deal_seed == 8583518602480413
    assert first.bots == ("bot 1", "bot 2", "bot 0", "bot 3")
    assert first.bot_seeds == (3265990782674756, 4969815653734427, 2455652797790180, 8826135475517836)


def test_a_long_tournament_starts_at_once() -> None:
    """Games are worked out when they are asked for, so a million rounds cost nothing at first."""
    games = fixtures(bots=names(8), seats=4, rounds=1_000_000, seed=1)
    assert next(games).position == (1, 0, 0)
    assert total_games(bots=names(8), seats=4, rounds=1_000_000) == 8_000_000


@pytest.mark.parametrize(
    ("bots", "seats", "rounds", "message"),
    [
        (names(3), 4, 1, "bots: 3 can't fill a table of 4 seats"),
        (names(9), 1, 1, "seats: 1 is not between 2 and 5"),
        (names(9), 6, 1, "seats: 6 is not between 2 and 5"),
        (names(4), 4, 0, "rounds: 0 is less than 1"),
        (["ann", "bob", "ann"], 2, 1, "bots: 'ann' is named more than once"),
    ],
)
def test_impossible_tournaments_are_refused(bots: list[str], seats: int, rounds: int, message: str) -> None:
    """What can't be scheduled is refused at once, in one line that names it."""
    with pytest.raises(ConfigError) as caught:
        fixtures(bots=bots, seats=seats, rounds=rounds, seed=1)
    assert str(caught.value) == message
    with pytest.raises(ConfigError):
        total_games(bots=bots, seats=seats, rounds=rounds)


def test_a_seed_out_of_range_is_refused() -> None:
    """The tournament's seed has 64 bits."""
    with pytest.raises(ConfigError, match="seed"):
        fixtures(bots=names(2), seats=2, rounds=1, seed=2**64)
