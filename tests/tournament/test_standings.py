import json
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from happycity.terms import FailurePolicy
from happycity_tournament.results import Fixture, GameResult
from happycity_tournament.schedule import fixtures
from happycity_tournament.standings import Standings

BOTS = ("ann", "bob", "cem", "dee", "eva", "fay", "gus")
SEATS = 3


def play(fixture: Fixture) -> GameResult:
    """Make a result in which chance favours the bots that come late in the alphabet."""
    rng = random.Random(repr(fixture))
    points = tuple(10 * BOTS.index(bot) + rng.randrange(60) for bot in fixture.bots)
    return GameResult(
        fixture=fixture,
        points=points,
        coins=(0,) * SEATS,
        places=tuple(1 + sum(other > own for other in points) for own in points),
        endings=tuple("forfeit:timeout" if own < 10 else "finished" for own in points),
        decisions=60,
        seconds=0.1,
    )


SCHEDULE = list(fixtures(bots=BOTS, seats=SEATS, rounds=20, seed=1))
RESULTS = [play(fixture) for fixture in SCHEDULE]


def begin(policy: FailurePolicy | None = None) -> Standings:
    """Return standings that expect the whole schedule."""
    table = Standings(bots=BOTS, policy=policy)
    for fixture in SCHEDULE:
        table.expect(fixture)
    return table


def standings(results: list[GameResult]) -> Standings:
    table = begin()
    for result in results:
        table.add(result)
    return table


def test_before_the_first_game_all_are_equal() -> None:
    """Without games every bot is first with 1500 and no interval."""
    lines = standings([]).lines()
    assert [line.bot for line in lines] == list(BOTS)
    assert {(line.rank, line.elo, line.elo_low, line.games, line.points_mean) for line in lines} == {
        (1, 1500.0, None, 0, 0.0)
    }


def test_columns_tell_what_happened() -> None:
    """Games, mean points, first places and forfeits are those of the bot's results."""
    by_bot = {line.bot: line for line in standings(RESULTS).lines()}
    for bot in BOTS:
        seats = [(result, result.fixture.bots.index(bot)) for result in RESULTS if bot in result.fixture.bots]
        line = by_bot[bot]
        assert line.games == len(seats)
        assert line.points_mean == pytest.approx(sum(r.points[seat] for r, seat in seats) / len(seats))
        assert line.firsts == sum(r.places[seat] == 1 for r, seat in seats)
        assert line.forfeits == sum(r.endings[seat] == "forfeit:timeout" for r, seat in seats)
    assert sum(line.forfeits for line in by_bot.values()) > 0


def test_best_first() -> None:
    """Lines come by falling rating, ranked from 1, each within its interval."""
    lines = standings(RESULTS).lines()
    assert [line.rank for line in lines] == list(range(1, len(BOTS) + 1))
    assert [line.elo for line in lines] == sorted((line.elo for line in lines), reverse=True)
    assert {line.bot for line in lines[:2]} <= set(BOTS[3:])
    for line in lines:
        assert line.elo_low is not None
        assert line.elo_high is not None
        assert line.elo_low < line.elo < line.elo_high


def test_equal_ratings_share_a_rank() -> None:
    """Bots with the same scores are equal, and the ranks after them stay empty."""
    table = Standings(bots=("ann", "bob", "cem", "dee"))
    for fixture in fixtures(bots=("ann", "bob", "cem", "dee"), seats=4, rounds=3, seed=1):
        table.expect(fixture)
        places = tuple({"ann": 4, "bob": 2, "cem": 2, "dee": 1}[bot] for bot in fixture.bots)
        blank = (0,) * 4
        table.add(
            GameResult(
                fixture=fixture,
                points=blank,
                coins=blank,
                places=places,
                endings=("finished",) * 4,
                decisions=0,
                seconds=0.0,
            )
        )
    assert [(line.rank, line.bot) for line in table.lines()] == [
        (1, "dee"),
        (2, "bob"),
        (2, "cem"),
        (4, "ann"),
    ]


@given(st.randoms(use_true_random=False), st.integers(0, len(RESULTS)))
def test_the_order_of_arrival_does_not_matter(rng: random.Random, count: int) -> None:
    """The first games of the schedule give the same standings in whatever order they end."""
    arrived = RESULTS[:count]
    rng.shuffle(arrived)
    table = standings(arrived)
    assert table.lines() == standings(RESULTS[:count]).lines()
    assert (table.games, table.held_back) == (count, 0)


def test_early_results_are_held_back() -> None:
    """A result counts in no column before those that the schedule has before it."""
    table = standings([*RESULTS[:5], *RESULTS[6:9]])
    assert (table.games, table.held_back) == (5, 3)
    assert table.lines() == standings(RESULTS[:5]).lines()
    table.add(RESULTS[5])
    assert (table.games, table.held_back) == (9, 0)
    assert table.lines() == standings(RESULTS[:9]).lines()


def test_results_wait_until_they_are_expected() -> None:
    """Whoever hands games out tells which one is next; an earlier day's results wait until then."""
    table = Standings(bots=BOTS)
    for result in RESULTS[:4]:
        table.add(result)
    assert (table.games, table.held_back) == (0, 4)
    for fixture in SCHEDULE[:3]:
        table.expect(fixture)
    assert (table.games, table.held_back) == (3, 1)
    assert table.lines() == standings(RESULTS[:3]).lines()


def test_later_rounds_than_the_last_one_do_not_count() -> None:
    """Where a test has decided, games that had begun by then are left out, whenever they end."""
    last = [result for result in RESULTS if result.fixture.round <= 5]
    table = begin()
    for result in RESULTS[:-1]:
        if result.fixture.round == 5:
            table.close(5)
        table.add(result)
    table.flush()
    table.add(RESULTS[-1])
    assert table.lines() == standings(last).lines()


def test_flush_counts_what_was_held_back() -> None:
    """A tournament that is stopped with gaps counts all that was played, and later fills count once."""
    played = [*RESULTS[:5], *RESULTS[6:9], *RESULTS[30:33]]
    table = standings(played[::-1])
    table.flush()
    table.flush()
    assert (table.games, table.held_back) == (11, 0)
    assert sum(line.games for line in table.lines()) == 11 * SEATS
    for result in [*RESULTS[33:], RESULTS[5], *RESULTS[9:30]]:
        table.add(result)
    assert table.games == len(RESULTS)
    complete = standings(RESULTS).lines()
    assert [(line.bot, line.elo, line.games) for line in table.lines()] == [
        (line.bot, line.elo, line.games) for line in complete
    ]


def test_skipped_games_hold_nothing_back() -> None:
    """A game that never has a result isn't waited for."""
    table = standings(RESULTS[:5])
    table.add(RESULTS[6])
    table.skip(RESULTS[5].fixture)
    assert (table.games, table.held_back) == (6, 0)


def test_no_game_counts_twice() -> None:
    """A second result of a game is refused, whether the first one counts already or waits."""
    table = standings([RESULTS[0], RESULTS[2]])
    for result in (RESULTS[0], RESULTS[2]):
        with pytest.raises(ValueError, match="is settled already"):
            table.add(result)
    table.flush()
    with pytest.raises(ValueError, match="round 1, table 0, rotation 2"):
        table.add(RESULTS[2])
    assert table.games == 2


def test_lines_are_json() -> None:
    """A line becomes a JSON object with every column; an interval that isn't there is null."""
    line = standings(RESULTS[:1]).lines()[0]
    assert json.loads(json.dumps(line.json())) == {
        "rank": 1,
        "bot": line.bot,
        "elo": line.elo,
        "elo_low": None,
        "elo_high": None,
        "games": 1,
        "points_mean": line.points_mean,
        "firsts": 1,
        "forfeits": 0,
        "forfeits_by_reason": {},
        "games_quarantined": 0,
    }


def forfeiting(policy: FailurePolicy, *, until: int) -> Standings:
    """Return standings of all results, of which ann forfeited every one before round `until`."""
    table = begin(policy)
    for result in RESULTS:
        fails = result.fixture.round < until
        endings = tuple(
            "forfeit:resigned" if bot == "ann" and fails else "finished" for bot in result.fixture.bots
        )
        table.add(replace(result, endings=endings))
    return table


def test_forfeits_are_told_by_reason() -> None:
    """Each reason that occurred is counted, and the sum is that of all forfeits."""
    reasons = ("timeout", "absent", "timeout")
    table = begin()
    for result, reason in zip(RESULTS, reasons, strict=False):
        table.add(replace(result, endings=(f"forfeit:{reason}", "finished", "finished")))
    told = {line.bot: (line.forfeits, line.forfeits_by_reason) for line in table.lines()}
    assert sum(forfeits for forfeits, _ in told.values()) == 3
    by_reason: Counter[str] = Counter()
    for forfeits, reasons_told in told.values():
        assert forfeits == sum(reasons_told.values())
        by_reason.update(reasons_told)
    assert by_reason == {"timeout": 2, "absent": 1}


def test_nobody_is_disqualified_by_default() -> None:
    """A bot may forfeit every game unless the policy says otherwise."""
    assert forfeiting(FailurePolicy(), until=100).disqualified == ()


def test_a_bot_that_forfeits_too_often_is_disqualified() -> None:
    """More than the share, after enough games: not for the share itself, and not before."""
    games = sum("ann" in result.fixture.bots for result in RESULTS)
    everything = FailurePolicy(disqualify_share=0.99, disqualify_games=games)
    assert forfeiting(everything, until=100).disqualified == ("ann",)
    assert forfeiting(replace(everything, disqualify_games=games + 1), until=100).disqualified == ()
    first = sum("ann" in result.fixture.bots for result in RESULTS if result.fixture.round < 11)
    exactly = FailurePolicy(disqualify_share=first / games, disqualify_games=games)
    assert forfeiting(exactly, until=11).disqualified == ()
    assert forfeiting(replace(exactly, disqualify_share=(first - 1) / games), until=11).disqualified == (
        "ann",
    )


def test_a_disqualified_bot_stays_so() -> None:
    """Nothing that a bot plays afterwards counts for it."""
    assert forfeiting(FailurePolicy(disqualify_share=0.5, disqualify_games=3), until=3).disqualified == (
        "ann",
    )
