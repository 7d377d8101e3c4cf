"""Gauntlets: challengers against the rest of the field."""

import itertools
from collections import defaultdict

import pytest
from tests.tournament.schedule.fields import (
    SIZES,
    check_order,
    deals,
    field,
    meetings,
    names,
    numbers,
    seats_taken,
)

from happycity import ConfigError
from happycity_tournament.schedule.gauntlet import GauntletSchedule


@pytest.mark.parametrize("challengers", [1, 2])
def test_gauntlets_are_balanced(challengers: int) -> None:
    """Every challenger meets every opponent equally often, in every seat, and no other challenger."""
    for bots, seats in SIZES:
        if bots - challengers < seats - 1:
            continue
        own = names(challengers)
        schedule = GauntletSchedule(field(bots, seats), challengers=own, cycles=2)
        games = list(schedule)
        check_order(games, schedule.total_games)
        against = {pair: count for pair, count in meetings(games).items() if pair & set(own)}
        assert len(against) == challengers * (bots - challengers), (bots, seats)
        assert len(set(against.values())) == 1, (bots, seats)
        taken = seats_taken(games)
        assert len({taken[bot, seat] for bot in own for seat in range(seats)}) == 1, (bots, seats)


def test_challengers_meet_the_same_opponents() -> None:
    """Challengers can be compared by what they score against the same lineups."""
    lineups = defaultdict(list)
    for deal in deals(GauntletSchedule(field(9, 4), challengers=["bot-3", "bot-5"], cycles=1)):
        (challenger,) = {"bot-3", "bot-5"} & set(deal[0].bots)
        lineups[challenger].append(set(deal[0].bots) - {challenger})
    assert lineups["bot-3"] == lineups["bot-5"]


def test_gauntlets_never_change() -> None:
    """A resumed tournament depends on getting the same games in every version."""
    schedule = GauntletSchedule(field(9, 4, seed=42), challengers=["bot-3"], cycles=1)
    assert [numbers(game.bots) for game in itertools.islice(schedule, 2)] == ["0 3 2 8", "3 2 8 0"]


@pytest.mark.parametrize(
    ("challengers", "message"),
    [
        ([], "challengers: there are none"),
        (["eve"], "challengers: 'eve' is not one of the bots; there are: bot-0, bot-1, bot-2, bot-3"),
        (["bot-11"], "challengers: 'bot-11' is not one of the bots; did you mean bot-1?"),
        (
            ["x" * 10_000],
            f"challengers: '{'x' * 80}' is not one of the bots; there are: bot-0, bot-1, bot-2, bot-3",
        ),
        (["bot-1", "bot-1"], "challengers: 'bot-1' is named more than once"),
        (["bot-1", "bot-2"], "challengers: they leave 2 opponents, too few for a table of 4 seats"),
    ],
)
def test_challengers_that_do_not_fit_are_refused(challengers: list[str], message: str) -> None:
    """Unknown challengers, and too many of them, are refused in one short line."""
    with pytest.raises(ConfigError) as caught:
        GauntletSchedule(field(4, 4), challengers=challengers, cycles=1)
    assert str(caught.value) == message
