"""Random rounds that end when the errors of the ratings are small enough."""

import itertools
from dataclasses import replace

import pytest
from tests.tournament.games import finished
from tests.tournament.schedule.fields import names, numbers, play, random_order, strength_order

from happycity import Config, ConfigError, Ending
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.ratings.columns import GamesBuilder
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.schedule import Schedule, schedule_of
from happycity_tournament.schedule.until_error import FIRST_LOOK, errors_of, next_look

CONFIG = TournamentConfig(
    bots=names(5), game=Config(players=2), format=RandomRounds(rounds=2000, until_error=40), seed=1
)
AT_ONCE = replace(CONFIG, format=RandomRounds(rounds=2000, until_error=10_000))


def rounds_of(schedule: Schedule) -> int:
    return [game.round for stage in play(schedule, random_order) for game in stage][-1]


def largest_error(config: TournamentConfig, games: list[Fixture]) -> float:
    builder = GamesBuilder(config.bots)
    for game in games:
        builder.extend([random_order(game)])
    return max(errors_of(estimate_of(builder.build()), anchor=config.anchor).values())


@pytest.mark.parametrize("anchor", [None, "bot-3"])
def test_it_ends_as_soon_as_the_final_ratings_are_exact_enough(anchor: str | None) -> None:
    config = replace(CONFIG, anchor=anchor)
    schedule = schedule_of(config)
    stages = play(schedule, random_order)
    looks = list(itertools.accumulate(stages))
    errors = [largest_error(config, games) for games in looks]
    assert len(errors) > 2
    assert errors[-1] <= 40 < min(errors[:-1])
    assert schedule.decided
    assert schedule.total_games == len(looks[-1])


def test_the_rounds_are_those_of_a_fixed_number() -> None:
    games = list(itertools.chain.from_iterable(play(schedule_of(CONFIG), random_order)))
    fixed = schedule_of(replace(CONFIG, format=RandomRounds(rounds=games[-1].round)))
    assert games == list(itertools.chain.from_iterable(play(fixed)))


def test_the_maximum_of_rounds_ends_it_too() -> None:
    schedule = schedule_of(replace(CONFIG, format=RandomRounds(rounds=50, until_error=1)))
    assert rounds_of(schedule) == 50
    assert not schedule.decided


def test_a_bot_that_wins_all_its_games_keeps_nobody_waiting() -> None:

    def first_wins(fixture: Fixture) -> FinishedGame:
        return strength_order(fixture) if "bot-0" in fixture.bots else random_order(fixture)

    schedule = schedule_of(CONFIG)
    play(schedule, first_wins)
    assert schedule.decided


def test_a_disqualified_bot_keeps_nobody_waiting() -> None:
    """Its later games are forfeited and not rated, so its error would stay as it is."""

    def crashing(fixture: Fixture) -> FinishedGame:
        endings = [
            Ending.CRASHED if numbers([bot]) == "4" and fixture.round > 4 else Ending.FINISHED
            for bot in fixture.bots
        ]
        points = [seat.points for seat in random_order(fixture).seats]
        return finished(fixture, points=points, endings=endings)

    schedule = schedule_of(CONFIG)
    play(schedule, crashing)
    assert schedule.decided


def test_few_rounds_are_never_enough() -> None:
    """The errors themselves are known too badly then."""
    assert rounds_of(schedule_of(AT_ONCE)) == FIRST_LOOK


def test_looks() -> None:
    """The next one is where errors are expected to be small enough, neither soon nor far away."""
    assert [next_look(80, excess) for excess in (1.001, 1.2, 3.0)] == [90, 116, 160]


@pytest.mark.parametrize("error", [0.0, -1.0, 1e6, float("nan")])
def test_what_no_rating_can_have_is_refused(error: float) -> None:
    with pytest.raises(ConfigError, match=r"^until_error: .* is not between 0\.1 and 100000"):
        RandomRounds(until_error=error)
