"""The stats of bots: every one of them follows from the same columns of the games that count."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tournament.cli.screens import standing
from tests.tournament.games import finished, fixtures_of, with_endings

from happycity import Config, Ending
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.games import FinishedGame
from happycity_tournament.standings.digest import digest
from happycity_tournament.standings.standings import ForfeitCount, Standing
from happycity_tournament.standings.stats import MAX_LOSSES, MAX_ROUND_SPANS, GameTable, Stats

BOTS = ("ann", "bob", "cem", "dee")


def league(*, seats: int, rounds: int) -> list[FinishedGame]:
    config = TournamentConfig(
        bots=BOTS, game=Config(players=seats), format=RandomRounds(rounds=rounds), seed=seats
    )
    rng, games = random.Random(seats), []
    for number, fixture in enumerate(fixtures_of(config), start=1):
        game = finished(fixture, points=[rng.randrange(6) for _ in fixture.bots], match_id=number)
        lost = number % 5 == 0
        late = [Ending.TIMEOUT if lost and bot == "dee" else Ending.FINISHED for bot in fixture.bots]
        games.append(with_endings(game, *late))
    return games


def stats_of(games: list[FinishedGame]) -> Stats:
    columns, rng = GameTable(BOTS), random.Random(1)
    results = [game.result for game in games]
    while results:
        number = rng.randrange(1, 9)
        columns.add(results[:number])
        results = results[number:]
    return columns.stats()


GAMES = [*league(seats=4, rounds=20), *league(seats=2, rounds=20)]
"""Games at tables of two sizes; the match ids of the second half begin at 1 again."""


@pytest.mark.parametrize("bot", BOTS)
def test_figures_are_those_of_the_games(bot: str) -> None:
    stats = stats_of(GAMES)
    own, seats, scores = stats.bots[bot], [], []
    for game in GAMES:
        for name, seat in zip(game.bots, game.seats, strict=True):
            if name == bot:
                seats.append((game, seat))
                others = [other.place for other in game.seats if other is not seat]
                beaten = [1.0 if seat.place < other else 0.5 * (seat.place == other) for other in others]
                scores.append(sum(beaten) / len(others))
    firsts = [game for game, seat in seats if seat.place == 1]
    alone = [game for game in firsts if game.places.count(1) == 1]
    assert (own.games, own.wins, own.shared) == (len(seats), len(alone), len(firsts) - len(alone))
    assert own.losses == len(seats) - len(firsts)
    assert own.score == pytest.approx(sum(scores) / len(scores))
    assert own.place_mean == pytest.approx(sum(seat.place for _, seat in seats) / len(seats))
    assert own.points_mean == pytest.approx(sum(seat.points for _, seat in seats) / len(seats))
    finished_ones = [(game, seat) for game, seat in seats if not seat.forfeited]
    most, fewest = stats.extremes(bot) or pytest.fail("no game")
    assert most.points == max(seat.points for _, seat in finished_ones)
    assert fewest.points == min(seat.points for _, seat in finished_ones)
    behind = sorted(
        ((max(game.points) - seat.points, game.match_id) for game, seat in finished_ones if seat.place > 1),
        reverse=True,
    )
    assert stats.losses(bot) == behind[:MAX_LOSSES]


def test_meetings_are_counted_by_pairs() -> None:
    stats = stats_of(GAMES)
    for bot in BOTS:
        for meeting in stats.meetings(bot):
            both = [game for game in GAMES if {bot, meeting.opponent} <= set(game.bots)]
            back = next(other for other in stats.meetings(meeting.opponent) if other.opponent == bot)
            assert meeting.games == back.games == len(both)
            assert meeting.score + back.score == pytest.approx(1)


@pytest.mark.parametrize("rounds", [1, 12, 13, 30])
def test_rounds_are_those_of_the_schedule(rounds: int) -> None:
    """All rounds are there, and each game counts in its own one."""
    games = league(seats=4, rounds=rounds)
    spans, end = stats_of(games).rounds, 0
    assert len(spans) <= MAX_ROUND_SPANS
    for span in spans:
        assert span.first == end + 1
        end = span.last
        own = stats_of([game for game in games if span.first <= game.round <= span.last]).bots
        for bot, (score, played) in span.scores.items():
            assert score == pytest.approx(own[bot].score)
            assert played == own[bot].games
    assert end == rounds
    loose = [replace(game, position=None) for game in games]
    assert stats_of(loose).rounds == []


def test_numbers_of_games_follow_their_order() -> None:
    """They say how many games there were of each table size, and when a bot played."""
    stats = stats_of(GAMES[70:90])
    assert stats.lengths(12) == {4: 10, 2: 2}
    first = next(number for number, game in enumerate(GAMES[70:90], start=1) if "ann" in game.bots)
    assert stats.span("ann")[0] == first
    assert len(stats) == 20


def test_without_games_there_is_nothing() -> None:
    stats = GameTable(BOTS).stats()
    own = stats.bots["ann"]
    assert (own.games, own.score, own.place_mean, own.points_mean) == (0, None, 0.0, 0.0)
    assert (stats.losses("ann"), stats.extremes("ann")) == ([], None)
    assert (list(stats.meetings("ann")), stats.span("ann")) == ([], (0, 0))


def test_the_history_has_one_scale() -> None:
    """All samples are distances from the mean of all bots, of those too that have not played yet."""
    history = stats_of([game for game in GAMES if "dee" not in game.bots or game.match_id > 40]).history
    assert [sum(elos) / len(BOTS) for _, elos in history.samples] == pytest.approx(
        [1500.0] * len(history.samples)
    )
    assert history.samples[-1][0] == history.of("ann")[-1][0]


LATE = ForfeitCount(Ending.TIMEOUT, "no answer within 1 s", 2, 14)


def failing(*counts: ForfeitCount, games: int = 9) -> Standing:
    forfeits = sum(count.games for count in counts)
    return standing(1, "mine", games=games, forfeits=forfeits, forfeit_counts=counts)


def test_each_way_to_fail_has_its_words() -> None:
    for ending, reason, words in [
        (Ending.CRASHED, "IndexError: tuple index out of range (crash.py:5)", "crashed in"),
        (Ending.TIMEOUT, "no answer within 10 s", "answered too late in"),
        (Ending.ILLEGAL, "answers that are no legal moves, such as 99", "gave illegal answers in"),
        (Ending.SILENT, "has never answered (2 decisions, 10 s each)", "was silent in"),
        (Ending.ABSENT, "", "was not connected in"),
        (Ending.DISCONNECTED, "away for 10 s", "was disconnected in"),
        (Ending.RESIGNED, "hopeless", "resigned in"),
        (Ending.OTHER, "", "forfeited (other)"),
    ]:
        why = f": {reason}" if reason else ""
        expected = f"mine {words} 9 of 9 games{why}, first in game 12"
        assert digest(failing(ForfeitCount(ending, reason, 9, 12))) == expected


def test_several_ways_to_fail_are_in_one_line() -> None:
    """The most frequent way comes first, with its reasons; few are shown, and the others are counted."""
    errors = [ForfeitCount(Ending.CRASHED, f"{'ABCDE'[n]}Error (mine.py:{n})", 1, 20 - n) for n in range(5)]
    assert digest(failing(LATE, *errors, games=30)) == (
        "mine crashed in 5 of 30 games: AError (mine.py:0) in 1, BError (mine.py:1) in 1, CError (mine.py:2) "
        "in 1, others in 2, first in game 16; answered too late in 2 games: no answer within 1 s, first in "
        "game 14"
    )


def test_disqualification_and_log_are_at_the_end() -> None:
    text = digest(failing(LATE, games=1), disqualified=True, log=Path("runs/x/bot-mine.log"))
    assert text.endswith(", first in game 14; disqualified after 1 game; log: runs/x/bot-mine.log")
