"""Standings: the same after the same games, whatever the order in which they end."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.tournament.games import finished, fixtures_of, with_endings

from happycity import Config, Ending, FailurePolicy
from happycity_tournament.config import RandomRounds, SprtTest, TournamentConfig
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.ratings.disqualifications import Disqualifications
from happycity_tournament.standings.standings import MAX_REASONS, ForfeitCount, Standing, Standings

DEALS = 10
BOTS = ("ann", "bob", "cem", "dee", "eva", "fay", "gus")
SEATS = 3
CONFIG = TournamentConfig(bots=BOTS, game=Config(players=SEATS), format=RandomRounds(rounds=20), seed=1)
SCHEDULE = fixtures_of(CONFIG)


def played(fixture: Fixture, match_id: int) -> FinishedGame:
    """Make a game in which chance favours the bots late in the alphabet; the weakest results are forfeits."""
    rng = random.Random(repr(fixture))
    points = [10 * BOTS.index(bot) + rng.randrange(60) for bot in fixture.bots]
    endings = [Ending.TIMEOUT if own < 10 else Ending.FINISHED for own in points]
    return finished(fixture, points=points, endings=endings, match_id=match_id)


GAMES = [played(fixture, number) for number, fixture in enumerate(SCHEDULE, start=1)]


def standings(games: list[FinishedGame], policy: FailurePolicy | None = None) -> Standings:
    table = Standings(bots=BOTS, policy=policy)
    for fixture in SCHEDULE:
        table.expect(fixture)
    for game in games:
        table.add(game.result)
    return table


def by_bot(table: Standings) -> dict[str, Standing]:
    return {line.bot: line for line in table.lines()}


def test_before_the_first_game_all_are_equal() -> None:
    lines = standings([]).lines()
    assert [line.bot for line in lines] == list(BOTS)
    values = {(line.rank, line.elo, line.low, line.games, line.points_mean) for line in lines}
    assert values == {(1, 1500.0, None, 0, 0.0)}


def test_lines_come_best_first() -> None:
    lines = standings(GAMES).lines()
    assert [line.rank for line in lines] == list(range(1, len(BOTS) + 1))
    assert [line.elo for line in lines] == sorted((line.elo for line in lines), reverse=True)
    assert {line.bot for line in lines[:2]} <= set(BOTS[3:])
    for line in lines:
        assert line.low is not None
        assert line.high is not None
        assert line.low < line.elo < line.high


def test_equal_ratings_share_a_rank() -> None:
    places = {"ann": 4, "bob": 2, "cem": 2, "dee": 1}
    table = Standings(bots=BOTS[:4])
    config = TournamentConfig(bots=BOTS[:4], game=Config(players=4), format=RandomRounds(rounds=3), seed=1)
    for fixture in fixtures_of(config):
        table.expect(fixture)
        table.add(finished(fixture, places=[places[bot] for bot in fixture.bots]).result)
    assert " ".join(f"{line.rank} {line.bot}" for line in table.lines()) == "1 dee 2 bob 2 cem 4 ann"


def test_a_bot_in_several_seats_counts_each_of_them() -> None:
    test = SprtTest(candidate="new", base="old", max_blocks=DEALS)
    config = TournamentConfig(bots=("new", "old"), game=Config(players=4), format=test, seed=1)
    table = Standings(bots=config.bots)
    for fixture in fixtures_of(config):
        table.expect(fixture)
        points = [(10 if bot == "new" else 0) + seat for seat, bot in enumerate(fixture.bots)]
        game = finished(fixture, points=points)
        table.add(with_endings(game, *[Ending.FINISHED] * 3, Ending.TIMEOUT).result)
    new, old = table.lines()
    assert (new.bot, old.bot) == ("new", "old")
    assert new.games == old.games == 2 * 2 * DEALS
    assert new.points_mean == old.points_mean + 10 == 11.5
    assert (new.firsts, old.firsts) == (2 * DEALS, 0)
    assert new.forfeits == old.forfeits == DEALS
    assert new.elo > 1600
    assert new.elo + old.elo == pytest.approx(3000)
    assert new.low is not None
    assert new.low > 1500


@pytest.mark.level(1)
@few_examples
@given(st.randoms(use_true_random=False), st.integers(0, len(GAMES)))
def test_the_order_of_arrival_does_not_matter(rng: random.Random, count: int) -> None:
    arrived = GAMES[:count]
    rng.shuffle(arrived)
    table = standings(arrived)
    assert table.games == count
    assert table.lines() == standings(GAMES[:count]).lines()


def test_a_result_is_held_back_until_those_before_it_are_there() -> None:
    """It counts in no column before the games that the schedule has before it, unless they are skipped."""
    table = standings([*GAMES[:5], *GAMES[6:9]])
    assert table.games == 5
    assert table.lines() == standings(GAMES[:5]).lines()
    table.add(GAMES[5].result)
    assert table.games == 9
    assert table.lines() == standings(GAMES[:9]).lines()
    skipped = standings([*GAMES[:5], GAMES[6]])
    skipped.skip(GAMES[5].fixture)
    assert skipped.games == 6


def test_a_result_is_held_back_until_it_is_expected() -> None:
    """Stored results may be added before the schedule is known."""
    table = Standings(bots=BOTS)
    for game in GAMES[:4]:
        table.add(game.result)
    assert table.games == 0
    for fixture in SCHEDULE[:3]:
        table.expect(fixture)
    assert table.games == 3
    assert table.lines() == standings(GAMES[:3]).lines()


def test_flush_counts_what_is_held_back() -> None:
    """A tournament that is stopped with gaps counts all that was played, and later fills count once."""
    table = standings([*GAMES[:5], *GAMES[6:9], *GAMES[30:33]][::-1])
    table.count_held_back()
    table.count_held_back()
    assert table.games == 11
    assert sum(line.games for line in table.lines()) == 11 * SEATS
    for game in [*GAMES[33:], GAMES[5], *GAMES[9:30]]:
        table.add(game.result)
    assert table.games == len(GAMES)
    complete = standings(GAMES)
    for bot, line in by_bot(table).items():
        expected = by_bot(complete)[bot]
        assert (line.elo, line.games, line.forfeits) == (expected.elo, expected.games, expected.forfeits)


def test_no_game_counts_twice() -> None:
    table = standings([GAMES[0], GAMES[2]])
    for game in (GAMES[0], GAMES[2]):
        with pytest.raises(ValueError, match="is settled already"):
            table.add(game.result)
    table.count_held_back()
    with pytest.raises(ValueError, match="round 1, table 1, rotation 3"):
        table.add(GAMES[2].result)
    assert table.games == 2


def with_ending_of(bot: str, game: FinishedGame, ending: Ending, reason: str = "") -> FinishedGame:
    """Return a game that ended so for a bot, and regularly for the others."""
    return with_endings(
        game, *[ending if name == bot else Ending.FINISHED for name in game.bots], reason=reason
    )


def test_forfeits_are_counted_by_ending_and_reason() -> None:
    outcomes = [
        (Ending.TIMEOUT, "too late"),
        (Ending.CRASHED, "KeyError"),
        (Ending.FINISHED, ""),
        (Ending.CRASHED, "KeyError"),
        (Ending.CRASHED, "IndexError"),
        (Ending.ABSENT, ""),
        (Ending.CRASHED, "KeyError"),
    ]
    own = [game.match_id for game in GAMES if "ann" in game.bots][: len(outcomes)]
    of_ann = dict(zip(own, outcomes, strict=True))
    games = [with_ending_of("ann", game, *of_ann.get(game.match_id, (Ending.FINISHED, ""))) for game in GAMES]
    line = by_bot(standings(games))["ann"]
    assert line.forfeit_counts == (
        ForfeitCount(Ending.CRASHED, "KeyError", 3, own[1]),
        ForfeitCount(Ending.TIMEOUT, "too late", 1, own[0]),
        ForfeitCount(Ending.CRASHED, "IndexError", 1, own[4]),
        ForfeitCount(Ending.ABSENT, "", 1, own[5]),
    )
    assert line.forfeits == 6


def test_many_different_reasons_are_counted_together() -> None:
    """A bot that gives another reason in each game doesn't fill the memory: beyond ten they have none."""
    games = [with_endings(game, *[Ending.CRASHED] * SEATS, reason="error" * game.match_id) for game in GAMES]
    for line in standings(games).lines():
        assert len(line.forfeit_counts) == MAX_REASONS + 1
        rest = line.forfeit_counts[0]
        assert (rest.ending, rest.reason, rest.games) == (Ending.CRASHED, "", line.games - MAX_REASONS)
        assert line.forfeits == line.games


def test_reasons_that_differ_in_values_are_counted_together() -> None:
    """Numbers and quoted words don't matter, except the place in the bot's code; the first reason is kept."""
    own = [game for game in GAMES if "ann" in game.bots][:2]
    for *reasons, counted in [
        ("KeyError: 17 (mine.py:5)", "KeyError: 18 (mine.py:5)", 1),
        ("KeyError: 'bank' (mine.py:5)", "KeyError: 'igloo' (mine.py:5)", 1),
        ("KeyError: 17 (mine.py:5)", "KeyError: 17 (mine.py:6)", 2),
        ("answers that are no legal moves, such as 7", "answers that are no legal moves, such as -1", 1),
        ("away for 10 s", "the bot said goodbye", 2),
    ]:
        table = standings(
            [
                with_ending_of("ann", game, Ending.CRASHED, reason)
                for game, reason in zip(own, reasons, strict=True)
            ]
        )
        table.count_held_back()
        counts = by_bot(table)["ann"].forfeit_counts
        assert [count.reason for count in counts] == reasons[:counted]
        assert sum(count.games for count in counts) == 2


def failing(policy: FailurePolicy, *, until: int, ending: Ending = Ending.RESIGNED) -> tuple[str, ...]:
    games = [with_ending_of("ann", game, ending if game.round < until else Ending.FINISHED) for game in GAMES]
    return standings(games, policy).disqualified


def test_a_bot_that_fails_in_all_its_first_games_is_disqualified_by_default() -> None:
    """Twenty failures out of twenty are enough; one game less, or one that it plays, isn't."""
    own = [game for game in GAMES if "ann" in game.bots]
    assert FailurePolicy() == FailurePolicy(disqualify_share=1.0, disqualify_games=20)
    assert failing(FailurePolicy(), until=100) == ("ann",)
    assert failing(FailurePolicy(), until=own[19].round) == ()
    assert failing(FailurePolicy(disqualify_games=len(own) + 1), until=100) == ()


def test_a_silent_bot_is_disqualified_at_once() -> None:
    """One game in which a bot never answered is enough; no later game changes it. A share of 0 spares all."""
    assert failing(FailurePolicy(disqualify_games=10**9), until=2, ending=Ending.SILENT) == ("ann",)
    assert failing(FailurePolicy(disqualify_share=0.5, disqualify_games=3), until=3) == ("ann",)
    for ending in (Ending.RESIGNED, Ending.SILENT):
        assert failing(FailurePolicy(disqualify_share=0), until=100, ending=ending) == ()


def test_a_bot_that_forfeits_too_often_is_disqualified() -> None:
    """The share itself is enough, after enough games, and not before."""
    games = sum("ann" in game.bots for game in GAMES)
    first = sum("ann" in game.bots for game in GAMES if game.round < 11)
    exactly = FailurePolicy(disqualify_share=first / games, disqualify_games=games)
    assert failing(exactly, until=11) == ("ann",)
    assert failing(replace(exactly, disqualify_share=(first + 1) / games), until=11) == ()
    assert failing(replace(exactly, disqualify_games=games + 1), until=11) == ()


POLICY = FailurePolicy(disqualify_share=0.5, disqualify_games=4)
OWN = [game.match_id for game in GAMES if "eva" in game.bots]
LAST = OWN[POLICY.disqualify_games - 1]
"""The game by which eva is disqualified, who forfeits all of hers."""


def games_of_eva(finished_early: int = 0) -> list[FinishedGame]:
    """Return all games; eva forfeits hers after LAST, but for the first `finished_early` of them."""
    early = OWN[POLICY.disqualify_games :][:finished_early]
    return [
        with_ending_of(
            "eva",
            game,
            Ending.RESIGNED if game.match_id <= LAST or game.match_id in early else Ending.DISQUALIFIED,
        )
        for game in GAMES
    ]


RATED = [game for game in games_of_eva() if game.match_id <= LAST or game.match_id not in OWN]
UNRATED = len(GAMES) - len(RATED)


def flushed(games: list[FinishedGame], policy: FailurePolicy = POLICY) -> Standings:
    table = standings(games, policy)
    table.count_held_back()
    return table


def test_unrated_games_count_in_no_other_column() -> None:
    table = flushed(games_of_eva())
    assert (table.games, table.games_unrated, table.disqualified) == (len(GAMES), UNRATED, ("eva",))
    lines, without = by_bot(table), by_bot(flushed(RATED, FailurePolicy()))
    assert {bot: replace(line, games_unrated=0) for bot, line in lines.items()} == without
    assert lines["eva"].games == lines["eva"].forfeits == POLICY.disqualify_games
    assert lines["eva"].games_unrated == UNRATED
    assert sum(line.games_unrated for line in lines.values()) == SEATS * UNRATED


@pytest.mark.level(1)
@few_examples
@given(st.integers(0, len(OWN)), st.randoms(use_true_random=False))
def test_it_does_not_matter_what_ended_first(finished_early: int, rng: random.Random) -> None:
    arrived = games_of_eva(finished_early)
    rng.shuffle(arrived)
    assert flushed(arrived).lines() == flushed(games_of_eva()).lines()


def test_forfeits_are_rated_while_no_bot_is_disqualified() -> None:
    """Otherwise failing would pay; but a seat that was forfeited for a disqualified bot is never rated."""
    spared = Disqualifications(FailurePolicy(disqualify_share=0))
    assert all(spared.admit(with_ending_of("eva", game, Ending.RESIGNED)) for game in GAMES)
    assert spared.bots == ()
    admitted = [
        Disqualifications(FailurePolicy()).admit(with_endings(GAMES[0], *[ending] * SEATS))
        for ending in (Ending.DISQUALIFIED, Ending.RESIGNED)
    ]
    assert admitted == [False, True]
