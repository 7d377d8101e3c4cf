"""The leaderboard of a board: who has a rank, in which order, and what counts for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from happycity import BotInfo
from happycity_ladder.entries import NO_TIE, Rating, Version
from happycity_ladder.ladder_config import LadderConfig
from happycity_ladder.leaderboard import Line, Score, is_provisional, leaderboard
from happycity_tournament.games import BotProfile

CONFIG = LadderConfig(provisional_error=50.0, inactive_days=14.0)
NOW = 100 * 86400.0


def version(number: int, bot: str, *, days_ago: float = 0.0) -> Version:
    """Return a version that was connected last some days ago."""
    return Version(
        id=number,
        bot=bot,
        profile=BotProfile(BotInfo(version=str(number))),
        owner=bot,
        house=False,
        first_at=0.0,
        last_at=NOW - days_ago * 86400.0,
    )


def rating(elo: float, error: float = 20.0, deals: int = 40) -> Rating:
    """Return a rating."""
    return Rating(elo=elo, error=error, deals=deals)


def shown(lines: list[Line]) -> list[tuple[int, str, int]]:
    """Return rank, bot and version of each line."""
    return [(line.rank, line.version.bot, line.version.id) for line in lines]


def test_order_is_ranked_provisional_inactive() -> None:
    """Each part is in the order of the lower ends; only the first one has ranks."""
    versions = [
        version(1, "anna"),
        version(2, "ben", days_ago=15),
        version(3, "cleo"),
        version(4, "dora"),
        version(5, "emil", days_ago=13),
        version(6, "fay", days_ago=90),
    ]
    ratings = {
        1: rating(1500),
        2: rating(1900, error=49.0),
        3: rating(1700, error=50.1),
        4: rating(1550, error=50.0),
        5: rating(1400, error=1.0),
        6: rating(1300, error=99.0),
    }
    lines = leaderboard(versions, ratings, {}, CONFIG, present=set(), at=NOW)
    assert shown(lines) == [
        (1, "anna", 1),
        (2, "dora", 4),
        (3, "emil", 5),
        (0, "cleo", 3),
        (0, "ben", 2),
        (0, "fay", 6),
    ]
    assert [line.inactive for line in lines] == [False] * 4 + [True] * 2
    assert [line.provisional for line in lines] == [False] * 3 + [True, False, True]


def test_nothing_but_wins_is_provisional() -> None:
    """However small its stated error, a rating that no wins and losses tie to the anchor has no rank."""
    untied = replace(rating(1900), gap=NO_TIE)
    (line,) = leaderboard([version(1, "anna")], {1: untied}, {}, CONFIG, present=set(), at=NOW)
    assert (line.rank, line.provisional) == (0, True)


@pytest.mark.parametrize(("gap", "error", "provisional"), [(300, 50, False), (600, 7, True), (600, 6, False)])
def test_a_wide_gap_asks_for_a_smaller_error(gap: float, error: float, *, provisional: bool) -> None:
    """Few results say how wide it is."""
    assert is_provisional(replace(rating(1500, error), gap=gap), CONFIG) is provisional


def test_present_bot_is_active() -> None:
    """Nobody who is connected is inactive, however long ago that began."""
    (line,) = leaderboard(
        [version(1, "anna", days_ago=99)], {1: rating(1500)}, {}, CONFIG, present={"anna"}, at=NOW
    )
    assert (line.rank, line.inactive) == (1, False)


def test_bot_is_shown_by_its_newest_version_that_has_played() -> None:
    """The rating is that version's; the counts are those of all versions in the season."""
    versions = [version(9, "anna"), version(2, "anna", days_ago=30), version(5, "anna", days_ago=20)]
    ratings = {2: rating(1400), 5: rating(1600), 9: rating(1600, deals=0)}
    scores = {2: Score(games=4, firsts=1), 5: Score(games=8, firsts=5, forfeits=1), 7: Score(games=100)}
    (line,) = leaderboard(versions, ratings, scores, CONFIG, present={"anna"}, at=NOW)
    assert (line.version.id, line.rating.elo) == (5, 1600)
    assert line.score == Score(games=12, firsts=6, forfeits=1)


def test_who_never_played_has_no_line() -> None:
    """Neither a version without a deal nor one without a rating is shown."""
    versions = [version(1, "anna"), version(2, "ben")]
    assert leaderboard(versions, {1: rating(1500, deals=0)}, {}, CONFIG, present=set(), at=NOW) == []


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.floats(500, 2500), st.floats(0, 100), st.floats(0, 30)),
        max_size=12,
    )
)
def test_every_bot_has_one_line_and_ranks_are_gapless(
    entries: list[tuple[str, float, float, float]],
) -> None:
    """Ranks run from 1, by the lower end."""
    versions = [version(number, bot, days_ago=days) for number, (bot, _, _, days) in enumerate(entries)]
    ratings = {number: rating(elo, error) for number, (_, elo, error, _) in enumerate(entries)}
    lines = leaderboard(versions, ratings, {}, CONFIG, present=set(), at=NOW)
    assert sorted(line.version.bot for line in lines) == sorted({bot for bot, *_ in entries})
    ranked = [line for line in lines if line.rank]
    assert [line.rank for line in lines] == [*range(1, len(ranked) + 1), *[0] * (len(lines) - len(ranked))]
    assert [line.rating.low for line in ranked] == sorted((line.rating.low for line in ranked), reverse=True)
