"""What the games of a tournament show beside its standings."""

from __future__ import annotations

import random

import pytest
from tests.tournament.games import finished, fixtures_of

from happycity import Config, Ending
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.running.figures import MAX_LOSSES, Figures, FiguresCounter, Loss
from happycity_tournament.running.standings import Standings

BOTS = ("ann", "bob", "cem", "dee", "eva", "fay")
SCHEDULE = fixtures_of(
    TournamentConfig(bots=BOTS, game=Config(players=3), format=RandomRounds(rounds=20), seed=1)
)


def _played(fixture: Fixture, match_id: int) -> FinishedGame:
    """Make a game in which chance favours the bots late in the alphabet; the weakest results are forfeits."""
    rng = random.Random(repr(fixture))
    points = [10 * BOTS.index(bot) + rng.randrange(60) for bot in fixture.bots]
    endings = [Ending.TIMEOUT if own < 5 else Ending.FINISHED for own in points]
    return finished(fixture, points=points, endings=endings, match_id=match_id)


GAMES = [_played(fixture, number) for number, fixture in enumerate(SCHEDULE, start=1)]


def _figures(games: list[FinishedGame]) -> Figures:
    counter = FiguresCounter(BOTS)
    for game in games:
        counter.add(game)
    return counter.figures()


def test_meetings_are_counted_by_pairs() -> None:
    """A meeting has the games of both bots, the share of better places, and the difference of the ratings."""
    figures = _figures(GAMES)
    meeting = next(entry for entry in figures.meetings("fay") if entry.opponent == "ann")
    together = [
        (places["fay"], places["ann"])
        for places in (dict(zip(game.bots, game.places, strict=True)) for game in GAMES)
        if {"fay", "ann"} <= places.keys()
    ]
    scores = [1.0 if own < other else 0.5 * (own == other) for own, other in together]
    assert meeting.games == len(together)
    assert meeting.score == pytest.approx(sum(scores) / len(scores))
    lines = Standings(bots=BOTS)
    for fixture, game in zip(SCHEDULE, GAMES, strict=True):
        lines.expect(fixture)
        lines.add(game)
    elos = {line.bot: line.elo for line in lines.lines()}
    assert meeting.difference is not None
    assert meeting.difference.elo == pytest.approx(elos["fay"] - elos["ann"])
    assert 10 < meeting.difference.low < meeting.difference.elo


def test_worst_losses_are_kept() -> None:
    """The losses of a bot are those by most points, worst first; games that it forfeited are none."""
    worst = sorted(
        (
            Loss(max(seat.points for seat in game.seats) - seat.points, game.match_id)
            for game in GAMES
            for bot, seat in zip(game.bots, game.seats, strict=True)
            if bot == "cem" and seat.place > 1 and not seat.forfeited
        ),
        reverse=True,
    )
    assert len(worst) > MAX_LOSSES
    assert _figures(GAMES).losses["cem"] == worst[:MAX_LOSSES]


@pytest.mark.thorough
def test_history_ends_with_the_present_rating() -> None:
    """The rating over time begins with the first game, and looking at it changes nothing."""
    counter = FiguresCounter(BOTS)
    for game in GAMES:
        counter.add(game)
        counter.figures()
    figures = counter.figures()
    samples = _figures(GAMES).samples
    assert [number for number, _ in figures.samples] == [number for number, _ in samples]
    for (_, looked), (_, once) in zip(figures.samples, samples, strict=True):
        assert looked == pytest.approx(once, abs=0.5)  # which no picture shows
    games, elo = figures.history("dee")[-1]
    assert games == len(GAMES)
    assert elo == pytest.approx({line.bot: line.elo for line in counter.ratings.ratings().lines}["dee"])


def test_without_games_there_is_nothing() -> None:
    """Before the first game nobody has met anybody."""
    figures = _figures([])
    assert list(figures.meetings("ann")) == []
    assert figures.history("ann") == []
    assert not figures.points["ann"]
    assert not figures.losses["ann"]
