"""Swiss: bots of about equal scores meet, and few meet again."""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.tournament.schedule import fields

from happycity_tournament.config import SeatOrders
from happycity_tournament.games import Fixture
from happycity_tournament.schedule.swiss import SwissSchedule


def swiss(bots: int, seats: int, rounds: int, seed: int = 1) -> SwissSchedule:
    return SwissSchedule(fields.field(bots, seats, seed=seed, seat_orders=SeatOrders.SINGLE), rounds=rounds)


def repeats(stages: list[list[Fixture]]) -> int:
    return sum(count - 1 for count in fields.meetings(game for games in stages for game in games).values())


def sat_out(stages: list[list[Fixture]], bots: tuple[str, ...]) -> Counter[str]:
    playing = [{bot for game in games for bot in game.bots} for games in stages]
    return Counter({bot: sum(bot not in those for those in playing) for bot in bots})


def test_64_bots_meet_nobody_again_in_6_rounds() -> None:
    """A Swiss of two seats finds new opponents of equal score, and sorts the bots as a knockout would."""
    stages = fields.play(swiss(64, 2, rounds=6))
    assert repeats(stages) == 0
    won: Counter[str] = Counter()
    for games in stages:
        for game in games:
            assert won[game.bots[0]] == won[game.bots[1]]
            result = fields.strength_order(game)
            won[result.bots[result.places.index(1)]] += 1
    assert won["bot-0"] == 6
    assert Counter(won[bot] for bot in fields.names(64)) == {wins: math.comb(6, wins) for wins in range(7)}


@pytest.mark.parametrize("result_of", [fields.strength_order, fields.random_order])
@pytest.mark.parametrize(("bots", "seats", "rounds"), [(64, 4, 6), (63, 2, 6), (40, 5, 4)])
def test_nobody_meets_again_in_large_fields(
    bots: int, seats: int, rounds: int, result_of: fields.Play
) -> None:
    stages = fields.play(swiss(bots, seats, rounds), result_of)
    assert repeats(stages) == 0
    assert max(sat_out(stages, fields.names(bots)).values()) <= 1


def spread(tables: Sequence[Sequence[str]], scores: Mapping[str, Fraction]) -> Fraction:
    apart = [max(map(scores.__getitem__, table)) - min(map(scores.__getitem__, table)) for table in tables]
    return sum(apart, start=Fraction(0)) / len(apart)


@pytest.mark.parametrize(("seats", "closer"), [(2, 0.2), (3, 0.3), (4, 0.5), (5, 0.75)])
def test_bots_of_equal_scores_meet(seats: int, closer: float) -> None:
    """In later rounds, the scores at one table are closer than at tables drawn at random."""
    schedule = swiss(60, seats, rounds=5)
    scores = dict.fromkeys(fields.names(60), Fraction(0))
    for number, stage in enumerate(schedule.stages()):
        games = list(stage)
        mixed = random.Random(number).sample(fields.names(60), 60)
        drawn = [mixed[first : first + seats] for first in range(0, 60, seats)]
        assert spread([game.bots for game in games], scores) <= closer * spread(drawn, scores)
        for result in map(fields.strength_order, games):
            schedule.add(result)
            for bot, place in zip(result.bots, result.places, strict=True):
                scores[bot] += Fraction(seats - place, seats - 1)


@pytest.mark.level(1)
@few_examples
@given(st.integers(2, 5), st.integers(1, 9), st.integers(0, 2**32))
def test_byes_are_shared_evenly(seats: int, more: int, seed: int) -> None:
    bots = seats + more
    schedule = swiss(bots, seats, rounds=8, seed=seed)
    stages: list[list[Fixture]] = []
    for stage in schedule.stages():
        stages.append(list(stage))
        for game in stages[-1]:
            schedule.add(fields.random_order(game))
        byes = sat_out(stages, fields.names(bots))
        assert max(byes.values()) - min(byes.values()) <= 1
        assert len(stages[-1]) == bots // seats


def test_the_last_sits_out() -> None:
    first, second, *_ = fields.play(swiss(5, 2, rounds=2), fields.strength_order)
    had_a_bye = set(fields.names(5)) - {bot for game in first for bot in game.bots}
    losers = [max(game.bots) for game in first]
    (sits_out,) = set(fields.names(5)) - {bot for game in second for bot in game.bots}
    assert sits_out in losers
    assert sits_out not in had_a_bye


def test_small_fields_meet_again_as_late_as_possible() -> None:
    stages = fields.play(swiss(4, 2, rounds=6), fields.random_order)
    assert repeats(stages[:3]) == 0
    assert repeats(stages) == 6


def test_a_round_is_drawn_without_a_voided_game() -> None:
    """Bots whose games have no result count as if they had sat out."""
    schedule = swiss(6, 2, rounds=3)
    for stage in schedule.stages():
        games = list(stage)
        schedule.skip(games[0])
        for game in games[1:]:
            schedule.add(fields.strength_order(game))
        assert len(games) == 3
