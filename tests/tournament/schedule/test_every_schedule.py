"""What holds for the schedules of all formats, and the configurations of which no schedule can be made."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.tournament.schedule.fields import names, numbers, play, random_order

from happycity import Config, ConfigError
from happycity_tournament.config import (
    Format,
    Gauntlet,
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


@pytest.mark.level(1)
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
    ],
)
def test_what_makes_no_schedule_is_refused(changed: TournamentConfig, message: str) -> None:
    """One line begins with the field that is wrong, and absurd numbers cost no time."""
    with pytest.raises(ConfigError) as caught:
        schedule_of(changed)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("chosen", "bots", "seats", "orders"),
    [
        (RandomRounds(rounds=1), 4, 4, "1 2 0 3, 2 0 3 1, 0 3 1 2"),
        (RoundRobin(), 6, 2, "3 2, 2 3"),
        (RoundRobin(), 13, 4, "7 5 11 10, 5 11 10 7"),
        (Gauntlet(challengers=("bot-3",)), 9, 4, "0 3 2 8, 3 2 8 0"),
        (Swiss(rounds=3, seat_orders=SeatOrders.SINGLE), 16, 2, "4 1, 0 2, 7 10"),
        (Swiss(rounds=3, seat_orders=SeatOrders.SINGLE), 16, 4, "8 4 13 5, 2 14 1 11, 7 9 10 6"),
    ],
)
def test_schedules_never_change(chosen: Format, bots: int, seats: int, orders: str) -> None:
    """A resumed tournament depends on getting the same games from the same results in every version."""
    stages = play(schedule_of(config(chosen, bots=bots, seats=seats, seed=42)))
    games = stages[-1] if chosen.kind == "swiss" else stages[0]
    first = games[: orders.count(",") + 1]
    assert ", ".join(numbers(game.bots) for game in first) == orders
    if chosen.kind == "random-rounds":
        assert first[0].deal_seed == 8583518602480413
        assert first[0].bot_seeds == (
            872038679484030, 2216509230766556, 1938109545971867, 1353428120608458,
        )  # fmt: skip


def test_a_longer_tournament_begins_like_a_shorter_one() -> None:
    """Games are worked out when they are asked for, so a million rounds or cycles cost nothing at first."""
    pairs: list[tuple[Format, Format]] = [
        (RandomRounds(rounds=10), RandomRounds(rounds=50_000)),
        (RoundRobin(cycles=1), RoundRobin(cycles=50_000)),
        (Gauntlet(challengers=("bot-0",)), Gauntlet(challengers=("bot-0",), cycles=50_000)),
    ]
    for short, long in pairs:
        begun, whole = (schedule_of(config(chosen, bots=7, seats=3)) for chosen in (short, long))
        games = list(itertools.chain.from_iterable(begun.stages()))
        first = list(itertools.islice(itertools.chain.from_iterable(whole.stages()), len(games)))
        assert first == games
        assert whole.total_games >= 5_000 * len(games)
