"""The leaderboard of a board: who has a rank, in which order, and what counts for it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from happycity import BotInfo
from happycity_ladder.entries import UNANCHORED_GAP, Rating, Version
from happycity_ladder.ladder_config import LadderConfig
from happycity_ladder.leaderboard import Score, is_provisional, leaderboard, owners
from happycity_tournament.games import BotProfile

CONFIG = LadderConfig(provisional_error=50.0, inactive_days=14.0)
NOW = 100 * 86400.0


def version(number: int, bot: str, *, days_ago: float = 0.0) -> Version:
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
    return Rating(elo=elo, error=error, deals=deals)


def test_order_is_ranked_provisional_inactive() -> None:
    of = {  # elo, error, days since it was there last
        "anna": (1500, 20.0, 0),
        "ben": (1900, 49.0, 15),
        "cleo": (1700, 50.1, 0),
        "dora": (1550, 50.0, 0),
        "emil": (1400, 1.0, 13),
        "fay": (1300, 99.0, 90),
    }
    versions = [version(number, bot, days_ago=of[bot][2]) for number, bot in enumerate(of)]
    ratings = {number: rating(*of[bot][:2]) for number, bot in enumerate(of)}
    lines = leaderboard(versions, ratings, {}, CONFIG, present=set(), at=NOW)
    assert " ".join(f"{line.rank} {line.version.bot}" for line in lines) == (
        "1 anna 2 dora 3 emil 0 cleo 0 ben 0 fay"
    )
    assert [line.inactive for line in lines] == [False] * 4 + [True] * 2
    assert [line.provisional for line in lines] == [False] * 3 + [True, False, True]


def test_a_wide_gap_asks_for_a_smaller_error() -> None:
    """Few results say how wide it is; without wins and losses that tie it to the anchor none is enough."""
    for gap, error, provisional in [
        (300, 50, False),
        (600, 7, True),
        (600, 6, False),
        (UNANCHORED_GAP, 1, True),
    ]:
        assert is_provisional(replace(rating(1500, error), gap=gap), CONFIG) is provisional


def test_present_bot_is_active() -> None:
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
    versions = [version(1, "anna"), version(2, "ben")]
    assert leaderboard(versions, {1: rating(1500, deals=0)}, {}, CONFIG, present=set(), at=NOW) == []


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.floats(500, 2500), st.floats(0, 100), st.floats(0, 30)),
        max_size=12,
    )
)
def test_every_bot_has_one_line_and_ranks_are_gapless(entries: list[tuple[str, float, float, float]]) -> None:
    versions = [version(number, bot, days_ago=days) for number, (bot, _, _, days) in enumerate(entries)]
    ratings = {number: rating(elo, error) for number, (_, elo, error, _) in enumerate(entries)}
    lines = leaderboard(versions, ratings, {}, CONFIG, present=set(), at=NOW)
    assert sorted(line.version.bot for line in lines) == sorted({bot for bot, *_ in entries})
    ranked = [line for line in lines if line.rank]
    assert [line.rank for line in lines] == [*range(1, len(ranked) + 1), *[0] * (len(lines) - len(ranked))]
    assert [line.rating.low for line in ranked] == sorted((line.rating.low for line in ranked), reverse=True)


def test_an_owner_stands_by_the_best_of_its_bots() -> None:
    """Many bots are looked at with more care, so that they gain nothing; each bot of the house is alone."""
    owned = {"anna": "a", "ann2": "a", "ann3": "a", "ben": "b", "cleo": "c", "rock": "h", "sand": "h"}
    versions = [
        replace(version(number, bot), owner=owner, house=owner == "h")
        for number, (bot, owner) in enumerate(owned.items(), start=1)
    ]
    elos = {"anna": 1500, "ann2": 1505, "ann3": 1400, "ben": 1503, "cleo": 1900, "rock": 1600, "sand": 1000}
    ratings = {one.id: rating(elos[one.bot], error=60.0 if one.bot == "cleo" else 20.0) for one in versions}
    lines = leaderboard(versions, ratings, {}, CONFIG, present=set(owned), at=NOW)
    found = owners(lines)
    assert [(line.rank, line.best.version.bot, line.bots) for line in found] == [
        (1, "rock", 1),
        (2, "ben", 1),
        (3, "ann2", 3),
        (4, "sand", 1),
    ]
    assert found[1].low == pytest.approx(1503 - 1.96 * 20, abs=0.01)
    assert found[2].low == pytest.approx(1505 - 2.394 * 20, abs=0.01)
    assert owners([]) == []
