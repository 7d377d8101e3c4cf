"""What holds for the schedules of all formats, and the configurations of which no schedule can be made."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.tournament.schedule.fields import names, play, random_order

from happycity import Config, ConfigError
from happycity_tournament.config import (
    Format,
    Gauntlet,
    Participation,
    RandomRounds,
    RoundRobin,
    SeatOrders,
    SprtTest,
    Swiss,
    TournamentConfig,
)
from happycity_tournament.schedule import schedule_of

FORMATS: dict[str, Format] = {
    chosen.kind: chosen
    for chosen in (
        RandomRounds(rounds=4),
        RoundRobin(),
        Swiss(rounds=4),
        Gauntlet(challengers=("bot-0",)),
        SprtTest(candidate="bot-0", base="bot-1", elo1=9, max_blocks=9),
    )
} | {"until-error": RandomRounds(rounds=40, until_error=100)}


def config(chosen: Format, *, bots: int = 6, seats: int = 2, seed: int = 1) -> TournamentConfig:
    names_of = names(2 if isinstance(chosen, SprtTest) else bots)
    return TournamentConfig(bots=names_of, game=Config(players=seats), format=chosen, seed=seed)


@pytest.mark.parametrize("kind", FORMATS)
@few_examples
@given(st.integers(2, 5), st.integers(0, 7), st.sampled_from(SeatOrders), st.integers(0, 2**64 - 1))
def test_every_schedule(kind: str, seats: int, more: int, orders: SeatOrders, seed: int) -> None:
    """Totals are right, positions rise, and neither a second run nor the results' order changes a game."""
    chosen = FORMATS[kind]
    if not isinstance(chosen, SprtTest):
        few = orders is SeatOrders.ALL and (seats > 3 or kind == "until-error")
        chosen = replace(chosen, seat_orders=SeatOrders.ROTATIONS if few else orders)
    whole = config(chosen, bots=seats + more, seats=seats, seed=seed)
    schedule = schedule_of(whole)
    stages = play(schedule, random_order)
    positions = [game.position for stage in stages for game in stage]
    assert positions == sorted(set(positions))
    assert len(positions) == schedule.total_games
    assert play(schedule_of(whole), random_order, shuffle=1) == stages


@pytest.mark.parametrize("kind", FORMATS)
def test_results_may_be_added_before_the_first_stage(kind: str) -> None:
    """A schedule that gets the results of a tournament that was interrupted gives the same games again."""
    whole = config(FORMATS[kind], bots=9, seats=4)
    stages = play(schedule_of(whole), random_order)
    games = list(itertools.chain.from_iterable(stages))
    resumed = schedule_of(whole)
    for game in games[: len(games) // 2]:
        resumed.add(random_order(game))
    for number, stage in enumerate(resumed.stages()):
        again = list(stage)
        for game in again:
            if game in games[len(games) // 2 :]:
                resumed.add(random_order(game))
        if kind != "sprt":  # a test that is resumed begins with the games that are missing
            assert again == stages[number]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (config(RandomRounds(), bots=3, seats=4), "bots: 3 can't fill a table of 4 seats"),
        (config(Swiss(), bots=1), "bots: 1 can't fill a table of 2 seats"),
        (config(RoundRobin(), bots=22, seats=4), "bots: 22 are too many for a round robin of 4 seats"),
        (config(Gauntlet(challengers=("zoe",))), "challengers: 'zoe' is not one of the bots"),
        (config(RandomRounds(rounds=10_000_000)), "format: it has 60000000 games, more than 10000000"),
        (config(RoundRobin(cycles=10_000_000)), "format: it has 300000000 games, more than 10000000"),
        (config(Swiss(rounds=10_000_000)), "format: it has 60000000 games, more than 10000000"),
        (
            config(SprtTest(candidate="bot-0", base="bot-1", max_blocks=10_000_000), seats=5),
            "format: it has 100000000 games, more than 10000000",
        ),
        (
            replace(config(Swiss()), participations=(Participation(bot="zoe", first_round=2),)),
            "participations: 'zoe' is not one of the bots",
        ),
        (
            replace(
                config(Swiss()),
                participations=(
                    Participation(bot="bot-5", first_round=2),
                    Participation(bot="bot-5", last_round=2),
                ),
            ),
            "participations: 'bot-5' is there more than once",
        ),
        (
            replace(config(Swiss()), participations=(Participation(bot="bot-1", first_round=2),)),
            "participations: bots that join later have to be listed later",
        ),
        (
            replace(config(Swiss(), bots=2), participations=(Participation(bot="bot-1", last_round=4),)),
            "bots: from round 5 on 1 are left, too few for a table of 2 seats",
        ),
    ],
)
def test_what_makes_no_schedule_is_refused(changed: TournamentConfig, message: str) -> None:
    """One line begins with the field that is wrong, and absurd numbers cost no time."""
    with pytest.raises(ConfigError) as caught:
        schedule_of(changed)
    assert str(caught.value).startswith(message)
