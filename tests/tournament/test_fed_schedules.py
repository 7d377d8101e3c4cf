"""Swiss, adaptive tournaments and duels: what is played depends on what was played."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from happycity.errors import ConfigError
from happycity_tournament.results import Fixture, GameResult
from happycity_tournament.schedule import (
    Adaptive,
    Duel,
    Estimates,
    Field,
    Orders,
    PlayedRound,
    RandomRounds,
    RoundRobin,
    Schedule,
    Swiss,
    block_score,
    round_pairings,
    sprt_fixtures,
    undecided_tables,
)
from happycity_tournament.schedule.duel import seatings
from happycity_tournament.sprt import Sprt, Verdict

Play = Callable[[Fixture], GameResult]


def names(count: int) -> tuple[str, ...]:
    return tuple(f"bot {number}" for number in range(count))


def field(bots: int, seats: int, *, seed: int = 1, orders: Orders = Orders.SINGLE) -> Field:
    return Field(bots=names(bots), seats=seats, seed=seed, orders=orders)


def ended(fixture: Fixture, places: list[int]) -> GameResult:
    """Make a result of which only the places matter."""
    blank = (0,) * len(places)
    return GameResult(
        fixture=fixture,
        points=blank,
        coins=blank,
        places=tuple(places),
        endings=("finished",) * len(places),
        decisions=0,
        seconds=0.0,
    )


def by_strength(fixture: Fixture) -> GameResult:
    """Let the bot with the lower number win."""
    order = sorted(fixture.bots, key=lambda bot: int(bot.split()[-1]))
    return ended(fixture, [1 + order.index(bot) for bot in fixture.bots])


def by_chance(fixture: Fixture) -> GameResult:
    """Draw the places, with ties, always the same for a game."""
    rng = random.Random(str(fixture.bot_seeds))
    drawn = [rng.randrange(4) for _ in fixture.bots]
    return ended(fixture, [1 + sum(other < mine for other in drawn) for mine in drawn])


def play(schedule: Schedule, result_of: Play = by_strength, *, shuffle: int = 0) -> list[list[Fixture]]:
    """Play a schedule to its end, each stage's results in an order of their own; return the stages."""
    stages = []
    for stage in schedule.stages():
        games = list(stage)
        for game in random.Random(shuffle).sample(games, len(games)):
            schedule.add(result_of(game))
        stages.append(games)
    return stages


def repeats(stages: list[list[Fixture]]) -> int:
    """Return how often two bots met again."""
    met: Counter[tuple[str, ...]] = Counter()
    for games in stages:
        for game in games:
            if game.rotation == 0:
                met.update(itertools.combinations(sorted(game.bots), 2))
    return sum(count - 1 for count in met.values())


def sat_out(stages: list[list[Fixture]], bots: tuple[str, ...]) -> Counter[str]:
    """Return how many stages each bot sat out."""
    playing = [{bot for game in games for bot in game.bots} for games in stages]
    return Counter({bot: sum(bot not in those for those in playing) for bot in bots})


# Every schedule ------------------------------------------------------------------------------------------


class Counting:
    """Estimates strengths from the number in the names, errors from games counted."""

    def __init__(self, bots: tuple[str, ...]) -> None:
        self.games = Counter(dict.fromkeys(bots, 0))
        self.positions: list[tuple[int, int, int]] = []

    def add(self, result: GameResult) -> None:
        self.games.update(result.fixture.bots)
        self.positions.append(result.fixture.position)

    def estimates(self) -> Estimates:
        return Estimates.independent(
            bots=list(self.games),
            elos=[-10.0 * int(bot.split()[-1]) for bot in self.games],
            errors=[300 / math.sqrt(games) if games else math.inf for games in self.games.values()],
        )


MAKERS: Mapping[str, Callable[[Field], Schedule]] = {
    "random rounds": lambda whole: RandomRounds(whole, rounds=4),
    "round robin": RoundRobin,
    "swiss": lambda whole: Swiss(whole, rounds=4),
    "adaptive": lambda whole: Adaptive(whole, minimum=2, deals=30, estimator=Counting(whole.bots)),
    "duel": lambda whole: Duel(
        candidate="bot 1",
        base="bot 2",
        seats=whole.seats,
        seed=whole.seed,
        sprt=Sprt(elo0=0, elo1=9, max_blocks=9),
    ),
}


@settings(max_examples=25)
@pytest.mark.parametrize("name", MAKERS)
@given(st.integers(2, 5), st.integers(0, 7), st.sampled_from(Orders), st.integers(0, 2**64 - 1))
def test_every_schedule(name: str, seats: int, more: int, orders: Orders, seed: int) -> None:
    """Totals are right, positions rise, and neither a second run nor the results' order changes a game."""
    if orders is Orders.ALL and seats > 3:
        orders = Orders.ROTATIONS
    whole = field(seats + more, seats, seed=seed, orders=orders)
    schedule = MAKERS[name](whole)
    stages = play(schedule, by_chance)
    games = [game for stage in stages for game in stage]
    positions = [game.position for game in games]
    assert positions == sorted(set(positions))
    assert len(games) == schedule.total_games
    assert play(MAKERS[name](whole), by_chance, shuffle=1) == stages


@pytest.mark.parametrize("name", MAKERS)
def test_results_of_an_earlier_day(name: str) -> None:
    """With all results added before the first stage, a schedule gives the games that it gave before."""
    whole = field(9, 4, orders=Orders.ROTATIONS)
    stages = play(MAKERS[name](whole), by_chance)
    resumed = MAKERS[name](whole)
    games = [game for stage in stages for game in stage]
    for game in games[: len(games) // 2]:
        resumed.add(by_chance(game))
    again = []
    for number, stage in enumerate(resumed.stages()):
        again.append(list(stage))
        for game in again[-1]:
            if game in games[len(games) // 2 :]:
                resumed.add(by_chance(game))
        if name != "duel":  # a duel that is resumed knows how far it had come
            assert again[-1] == stages[number]


@pytest.mark.parametrize(
    ("schedule", "last"),
    [
        (Swiss(field(16, 2, seed=42), rounds=3), ["1 2", "5 0", "7 6"]),
        (Swiss(field(16, 4, seed=42), rounds=3), ["12 13 3 6", "4 1 11 10", "8 14 5 0"]),
        (
            Adaptive(field(9, 3, seed=42), minimum=2, deals=12, estimator=Counting(names(9))),
            ["1 0 2", "7 6 8", "0 3 4"],
        ),
    ],
)
def test_schedules_stay_what_they_are(schedule: Schedule, last: list[str]) -> None:
    """A seed and results give the same games in every release: resumed tournaments depend on it."""
    games = play(schedule)[-1]
    assert [" ".join(game.bots).replace("bot ", "") for game in games[:3]] == last


# Swiss ---------------------------------------------------------------------------------------------------


def test_64_bots_don_t_meet_again_in_6_rounds() -> None:
    """A Swiss of two seats finds new opponents of equal score, and sorts the bots as a knockout would."""
    stages = play(Swiss(field(64, 2), rounds=6))
    assert repeats(stages) == 0
    won: Counter[str] = Counter()
    for games in stages:
        for game in games:
            assert won[game.bots[0]] == won[game.bots[1]]
            won[by_strength(game).fixture.bots[by_strength(game).places.index(1)]] += 1
    assert won["bot 0"] == 6
    assert Counter(won[bot] for bot in names(64)) == {wins: math.comb(6, wins) for wins in range(7)}


@pytest.mark.parametrize(
    ("bots", "seats", "rounds"), [(64, 3, 6), (64, 4, 6), (64, 5, 6), (63, 2, 6), (40, 4, 5)]
)
@pytest.mark.parametrize("result_of", [by_strength, by_chance])
def test_nobody_meets_again_in_large_fields(bots: int, seats: int, rounds: int, result_of: Play) -> None:
    """In a few rounds of a large field nobody meets again, and nobody sits out twice."""
    stages = play(Swiss(field(bots, seats), rounds=rounds), result_of)
    assert repeats(stages) == 0
    assert max(sat_out(stages, names(bots)).values()) <= 1


def spread(tables: Sequence[Sequence[str]], scores: Mapping[str, Fraction]) -> Fraction:
    """Return how far a table's scores lie apart, on average."""
    apart = [max(map(scores.__getitem__, table)) - min(map(scores.__getitem__, table)) for table in tables]
    return sum(apart, start=Fraction(0)) / len(apart)


@pytest.mark.parametrize(("seats", "closer"), [(2, 0.2), (3, 0.3), (4, 0.5), (5, 0.75)])
def test_equals_meet(seats: int, closer: float) -> None:
    """In later rounds, the bots at one table are of closer scores than chance would have them."""
    swiss = Swiss(field(60, seats), rounds=5)
    scores = dict.fromkeys(names(60), Fraction(0))
    for number, stage in enumerate(swiss.stages()):
        games = list(stage)
        mixed = random.Random(number).sample(names(60), 60)
        by_chance = [mixed[first : first + seats] for first in range(0, 60, seats)]
        assert spread([game.bots for game in games], scores) <= closer * spread(by_chance, scores)
        for result in map(by_strength, games):
            swiss.add(result)
            for bot, place in zip(result.fixture.bots, result.places, strict=True):
                scores[bot] += Fraction(seats - place, seats - 1)


@given(st.integers(2, 5), st.integers(1, 9), st.integers(0, 2**32))
@settings(max_examples=50)
def test_byes_are_shared_evenly(seats: int, more: int, seed: int) -> None:
    """Nobody sits out twice more than anybody else, and nobody again before everybody else has."""
    bots = seats + more
    swiss = Swiss(field(bots, seats, seed=seed), rounds=8)
    stages: list[list[Fixture]] = []
    for stage in swiss.stages():
        stages.append(list(stage))
        for game in stages[-1]:
            swiss.add(by_chance(game))
        byes = sat_out(stages, names(bots))
        assert max(byes.values()) - min(byes.values()) <= 1
        assert all(len(games) == bots // seats for games in stages)


def test_the_last_sits_out() -> None:
    """Among those who sat out least, the one with the lowest score has the bye."""
    history = [
        PlayedRound(
            tables=[["bot 0", "bot 1"], ["bot 2", "bot 3"]],
            scores={
                "bot 0": Fraction(1),
                "bot 1": Fraction(1, 4),
                "bot 2": Fraction(1),
                "bot 3": Fraction(0),
            },
        )
    ]
    tables = round_pairings(names(5), history, seats=2, rng=random.Random(1))
    assert sorted(map(sorted, tables)) == [["bot 0", "bot 2"], ["bot 1", "bot 4"]]


def test_small_fields_meet_again_as_late_as_possible() -> None:
    """Four bots have met in three rounds, then they meet once more, each of them."""
    stages = play(Swiss(field(4, 2), rounds=6), by_chance)
    assert repeats(stages[:3]) == 0
    assert repeats(stages) == 6


def test_voided_games_don_t_stop_a_swiss() -> None:
    """Bots whose games have no result count as if they had sat out."""
    swiss = Swiss(field(6, 2), rounds=3)
    for stage in swiss.stages():
        games = list(stage)
        swiss.skip(games[0])
        for game in games[1:]:
            swiss.add(by_strength(game))
        assert len(games) == 3


# Adaptive ------------------------------------------------------------------------------------------------


@given(st.integers(2, 5), st.integers(0, 8), st.integers(1, 6))
@settings(max_examples=40)
def test_everybody_plays_the_minimum(seats: int, more: int, minimum: int) -> None:
    """Whatever the estimates say, nobody plays fewer deals than the minimum."""
    whole = field(seats + more, seats)
    stages = play(Adaptive(whole, minimum=minimum, deals=100, estimator=Counting(whole.bots)))
    played = Counter(bot for games in stages for game in games for bot in game.bots)
    assert all(played[bot] >= minimum for bot in whole.bots)


def test_the_estimator_is_fed_in_order() -> None:
    """Results reach the estimator in the schedule's order, however they came."""
    whole = field(9, 4, orders=Orders.ROTATIONS)
    estimator = Counting(whole.bots)
    stages = play(Adaptive(whole, minimum=2, deals=20, estimator=estimator), shuffle=7)
    assert estimator.positions == [game.position for games in stages for game in games]


def test_games_go_where_the_doubt_is() -> None:
    """Two close bots play on, those that are clear of everybody don't."""
    estimates = Estimates.independent(bots=names(4), elos=[300, 10, 0, -300], errors=[20] * 4)
    tables = undecided_tables(estimates, seats=2, tables=20, games_per_deal=2, rng=random.Random(1))
    assert {frozenset(table) for table in tables} == {frozenset({"bot 1", "bot 2"})}


def test_equals_don_t_use_up_all_games() -> None:
    """Once two equal bots are known to be close, pairs of less certain bots come first."""
    estimates = Estimates.independent(bots=names(4), elos=[100, 100, 0, 15], errors=[4, 4, 30, 30])
    (first, *_) = undecided_tables(estimates, seats=2, tables=1, games_per_deal=2, rng=random.Random(1))
    assert set(first) == {"bot 2", "bot 3"}


def test_tables_of_a_round_count_on_each_other() -> None:
    """A pair that is about to play is less in doubt: the next tables go to others."""
    estimates = Estimates.independent(bots=names(8), elos=[0.0] * 8, errors=[100] * 8)
    tables = undecided_tables(estimates, seats=2, tables=4, games_per_deal=2, rng=random.Random(1))
    assert len({frozenset(table) for table in tables}) == 4


def test_the_unknown_comes_first() -> None:
    """A bot of which nothing is known plays at once."""
    estimates = Estimates.independent(bots=names(6), elos=[0.0] * 6, errors=[50] * 5 + [math.inf])
    (table,) = undecided_tables(estimates, seats=4, tables=1, games_per_deal=4, rng=random.Random(1))
    assert "bot 5" in table
    assert len(set(table)) == 4


def test_certainty_is_no_error() -> None:
    """Bots without any doubt can be scheduled too."""
    estimates = Estimates.independent(bots=names(4), elos=[0.0] * 4, errors=[0.0] * 4)
    assert len(undecided_tables(estimates, seats=3, tables=2, games_per_deal=3, rng=random.Random(1))) == 2


# Duel ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seats", "games"), [(2, 2), (3, 6), (4, 2), (5, 10)])
def test_seatings_are_balanced(seats: int, games: int) -> None:
    """Both bots have each seat equally often, alone and against each other seat."""
    block = seatings(seats)
    assert len(block) == len(set(block)) == games
    assert {tuple(not seat for seat in seating) for seating in block} == set(block)
    assert all(sum(seating[seat] for seating in block) == games / 2 for seat in range(seats))
    against = Counter(
        (mine, other)
        for seating in block
        for mine, other in itertools.permutations(range(seats), 2)
        if seating[mine] and not seating[other]
    )
    assert all(against[mine, other] == against[other, mine] for mine, other in against)


@pytest.mark.parametrize("seats", range(2, 6))
def test_names_at_a_table_are_distinct(seats: int) -> None:
    """Copies have names of their own, and a duel tells which must be connected."""
    games = list(sprt_fixtures(candidate="new", base="old", seats=seats, deals=3, seed=1))
    assert all(len(set(game.bots)) == seats for game in games)
    duel = Duel(candidate="new", base="old", seats=seats, seed=1, sprt=Sprt(elo0=0, elo1=9, max_blocks=3))
    assert {bot for game in games for bot in game.bots} == set(duel.bots)
    assert [game for stage in duel.stages() for game in stage] == games
    assert len({game.deal_seed for game in games}) == 3


def test_seatings_of_four() -> None:
    """At four seats the bots take turns round the table, in two games."""
    games = sprt_fixtures(candidate="new", base="old", seats=4, deals=1, seed=1)
    assert [game.bots for game in games] == [
        ("new", "old", "new+2", "old+2"),
        ("old", "new", "old+2", "new+2"),
    ]


def test_block_scores() -> None:
    """A block's score is the mean over pairs of the two bots' seats, a shared place counting half."""
    one, two = sprt_fixtures(candidate="new", base="old", seats=4, deals=1, seed=1)
    block = [ended(one, [1, 2, 3, 3]), ended(two, [1, 2, 3, 4])]
    assert block_score(block, candidate="new") == (2 + 0 + 0.5 + 1 + 0) / 8
    assert block_score(block, candidate="old") == 1 - block_score(block, candidate="new")
    with pytest.raises(ValueError, match="met nobody"):
        block_score([], candidate="new")


def test_a_seat_s_advantage_cancels() -> None:
    """If the seat alone decides, every block is even, for any number of seats."""
    for seats in range(2, 6):
        block = [
            ended(game, list(range(1, seats + 1)))
            for game in sprt_fixtures(candidate="new", base="old", seats=seats, deals=1, seed=1)
        ]
        assert block_score(block, candidate="new") == 0.5


def new_wins(fixture: Fixture) -> GameResult:
    return ended(fixture, [1 if bot.startswith("new") else 2 for bot in fixture.bots])


def test_a_duel_ends_when_the_test_does() -> None:
    """No block begins after the decision, and results that come late change nothing."""
    sprt = Sprt(elo0=0, elo1=100, max_blocks=1000)
    duel = Duel(candidate="new", base="old", seats=2, seed=1, sprt=sprt)
    late: list[Fixture] = []
    (stage,) = duel.stages()
    for game in stage:
        if len(late) < 4:
            late.append(game)
        else:
            while late:
                duel.add(new_wins(late.pop()))
            duel.add(new_wins(game))
    assert sprt.verdict is Verdict.H1
    assert sprt.state.blocks == 30
    assert game.round == 30
    for fixture in list(sprt_fixtures(candidate="new", base="old", seats=2, deals=31, seed=1))[-2:]:
        duel.add(new_wins(fixture))
    assert sprt.state.blocks == 30


@given(st.permutations(range(12)), st.sets(st.integers(0, 11), max_size=3))
def test_blocks_count_whole_and_in_order(order: list[int], voided: set[int]) -> None:
    """The test hears of whole blocks in the order of their deals, and not of those that lack a game."""
    fixtures = list(sprt_fixtures(candidate="new", base="old", seats=4, deals=6, seed=1))
    heard: list[float] = []

    class Listening(Sprt):
        def add(self, block_score: float) -> Verdict:
            heard.append(block_score)
            return Verdict.RUNNING

    duel = Duel(candidate="new", base="old", seats=4, seed=1, sprt=Listening(elo0=0, elo1=9, max_blocks=6))
    for number in order:
        if number in voided:
            duel.skip(fixtures[number])
        else:
            duel.add(by_places(fixtures[number]))
    whole = [pair for pair in range(6) if not {2 * pair, 2 * pair + 1} & voided]
    assert heard == [
        block_score([by_places(fixtures[2 * pair + game]) for game in (0, 1)], candidate="new")
        for pair in whole
    ]


def by_places(fixture: Fixture) -> GameResult:
    """Let the seats' places turn with the deal, so that blocks differ."""
    return ended(
        fixture, [1 + (seat * fixture.round + fixture.rotation) % 3 for seat in range(len(fixture.bots))]
    )


# Refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Swiss(field(4, 4), rounds=0), "rounds: 0 is less than 1"),
        (
            lambda: Adaptive(field(9, 4), minimum=0, deals=9, estimator=Counting(names(9))),
            "minimum: 0 is less than 1",
        ),
        (
            lambda: Adaptive(field(9, 4), minimum=4, deals=9, estimator=Counting(names(9))),
            "deals: 9 are fewer than the 10 that a minimum of 4 takes",
        ),
        (
            lambda: sprt_fixtures(candidate="a", base="a", seats=2, deals=1, seed=1),
            "bots: 'a' would be the name of both bots",
        ),
        (
            lambda: sprt_fixtures(candidate="a", base="a+2", seats=4, deals=1, seed=1),
            "bots: 'a+2' would be the name of both bots",
        ),
        (
            lambda: sprt_fixtures(candidate="a", base="b", seats=1, deals=1, seed=1),
            "seats: 1 is not between 2 and 5",
        ),
        (lambda: sprt_fixtures(candidate="a", base="b", seats=4, deals=0, seed=1), "deals: 0 is less than 1"),
    ],
)
def test_impossible_schedules_are_refused(make: Callable[[], object], message: str) -> None:
    """What can't be scheduled is refused at once, in one line that names it."""
    with pytest.raises(ConfigError) as caught:
        make()
    assert str(caught.value) == message
