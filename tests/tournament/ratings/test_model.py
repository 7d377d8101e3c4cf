"""The Davidson-Luce model: its likelihood, and the parameters that maximise it."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from benchmarks.leagues import League, columns

from happycity_tournament.ratings.choices import choices_of, tie_orders
from happycity_tournament.ratings.columns import Floats, Games, TableColumns
from happycity_tournament.ratings.final import elos_of
from happycity_tournament.ratings.fit import MIN_SEAT_DEALS, Fit, fit
from happycity_tournament.ratings.model import Derivatives, Layout, derivatives
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT, MIN_DEALS

TIES = {2: 0.5, 3: 0.4, 4: 0.4, 5: 0.4}


def mixed_games(seed: int = 1, *, bots: int = 6, deals: int = 40) -> Games:
    """Play tables of two to five seats, with ties and seat effects."""
    league = League(
        np.linspace(-150, 150, bots).tolist(), seat_effects={2: [30, -30], 4: [40, 0, 0, -40]}, deltas=TIES
    )
    return league.games(dict.fromkeys((2, 3, 4, 5), deals), np.random.default_rng(seed))


def evaluate(games: Games, layout: Layout, parameters: Floats) -> Derivatives:
    return derivatives(choices_of(games), layout, parameters)


def log_likelihood(games: Games, layout: Layout, parameters: Floats) -> float:
    """Return the log-likelihood of games straight from the definition, place by place and set by set."""
    logs = parameters[layout.strengths]
    deltas = dict(zip(layout.tie_orders, parameters[layout.ties].tolist(), strict=True)) | {1: 0.0}
    total = 0.0
    for size, table in games.tables.items():
        for bots, places in zip(table.bots, table.places, strict=True):
            strengths = logs[bots] + parameters[layout.seats(size)]
            left = set(range(size))
            for place in sorted(set(places.tolist())):
                worth = {
                    chosen: deltas[order] + strengths[list(chosen)].mean()
                    for order in deltas
                    for chosen in combinations(sorted(left), order)
                }
                taken = tuple(seat for seat in sorted(left) if places[seat] == place)
                total += worth[taken] - float(np.logaddexp.reduce(list(worth.values())))
                left -= set(taken)
    return total


def elos(estimate: Fit) -> list[float]:
    values: list[float] = (ELO_PER_LOGIT * estimate.parameters[estimate.layout.strengths]).tolist()
    return values


def duel(wins: int, losses: int, ties: int) -> Games:
    """Play two bots in fewer deals than seat effects need."""
    results = [(1, 2)] * wins + [(2, 1)] * losses + [(1, 1)] * ties
    return columns([((0, 1), places, number % 20) for number, places in enumerate(results)], "ab")


def weak_orders(seats: int) -> list[tuple[int, ...]]:
    """List all rankings with ties: 3, 13, 75 and 541 for two to five seats."""
    return [
        places
        for places in product(range(1, seats + 1), repeat=seats)
        if all(place == 1 + sum(other < place for other in places) for place in places)
    ]


@pytest.mark.parametrize(("seats", "orders"), [(2, 3), (3, 13), (4, 75), (5, 541)])
def test_the_chances_of_all_rankings_sum_to_one(seats: int, orders: int) -> None:
    """Ties of every order included, something must happen."""
    layout = Layout(bots=seats, sizes=(seats,), tie_orders=tuple(range(2, seats + 1)))
    parameters = np.random.default_rng(seats).normal(size=layout.length)
    chances = [
        math.exp(log_likelihood(columns([(range(seats), places, 0)], "abcde"[:seats]), layout, parameters))
        for places in weak_orders(seats)
    ]
    assert len(chances) == orders
    assert sum(chances) == pytest.approx(1)


def test_a_ranking_of_three_by_hand() -> None:
    """First a, then b and c together: f(a) / all sets of three, times f(bc) / all sets of two."""
    a, b, c, delta2, delta3 = 2.0, 1.5, 0.7, 0.4, 0.3
    pairs = delta2 * (math.sqrt(a * b) + math.sqrt(a * c) + math.sqrt(b * c))
    first = a / (a + b + c + pairs + delta3 * (a * b * c) ** (1 / 3))
    second = delta2 * math.sqrt(b * c) / (b + c + delta2 * math.sqrt(b * c))
    layout = Layout(bots=3, sizes=(3,), tie_orders=(2, 3))
    parameters = np.log([a, b, c, 1, 1, 1, delta2, delta3])
    game = columns([((0, 1, 2), (1, 2, 2), 0)], "abc")
    assert log_likelihood(game, layout, parameters) == pytest.approx(math.log(first * second))


def test_derivatives_are_those_of_the_log_likelihood() -> None:
    """Gradient and information agree with finite differences, at every table size and with every tie."""
    games = mixed_games(deals=16)
    layout = Layout(bots=6, sizes=(2, 3, 4, 5), tie_orders=tie_orders(choices_of(games)))
    assert layout.tie_orders == (2, 3, 4, 5)
    parameters = np.random.default_rng(2).normal(size=layout.length) / 2
    at = evaluate(games, layout, parameters)
    for index, step in enumerate(1e-5 * np.eye(layout.length)):
        above, below = (log_likelihood(games, layout, parameters + sign * step) for sign in (1, -1))
        assert (above - below) / 2e-5 == pytest.approx(at.gradient[index], abs=1e-5)
        slopes = [evaluate(games, layout, parameters + sign * step).gradient for sign in (-1, 1)]
        assert (slopes[0] - slopes[1]) / 2e-5 == pytest.approx(at.information[index], abs=1e-5)


@pytest.mark.parametrize(("wins", "losses", "ties"), [(60, 20, 0), (60, 20, 50), (7, 31, 4), (1, 1, 30)])
def test_two_bots_are_davidsons_closed_form(wins: int, losses: int, ties: int) -> None:
    """The ratio of strengths is wins / losses, and delta is ties / sqrt(wins * losses) (Davidson 1970)."""
    estimate = fit(duel(wins, losses, ties), prior_games=0)
    a, b = elos(estimate)
    assert a - b == pytest.approx(400 * math.log10(wins / losses), abs=1e-3)
    deltas = np.exp(estimate.parameters[estimate.layout.ties])
    assert deltas == pytest.approx([ties / math.sqrt(wins * losses)] if ties else [])


def test_only_ties_leave_bots_equal() -> None:
    """However often all share a place, strengths are equal and delta is finite."""
    estimate = fit(columns([((0, 1, 2), (1, 1, 1), deal) for deal in range(100)], "abc"))
    assert elos(estimate) == pytest.approx([0, 0, 0], abs=1e-6)
    assert estimate.layout.tie_orders == (3,)
    assert 1 < estimate.parameters[estimate.layout.ties][0] < 20


@pytest.mark.parametrize("deals", [1, 1000, 100_000])
def test_perfect_scores_stay_finite(deals: int) -> None:
    """Bots that always win, come second or third, or lose have finite ratings, in this order."""
    games = TableColumns(
        bots=np.tile([0, 1, 2, 3], (deals, 1)),
        places=np.tile([1, 2, 3, 4], (deals, 1)),
        deals=np.arange(deals),
    )
    ratings = elos_of(fit(Games(("a", "b", "c", "d"), {4: games}))).tolist()
    assert all(math.isfinite(elo) for elo in ratings)
    assert ratings == sorted(ratings, reverse=True)
    assert ratings[0] - ratings[3] > 100


def test_no_prior_no_estimate_for_perfect_scores() -> None:
    """Without the prior, a bot that won too few deals to be set apart has no finite strength."""
    with pytest.raises(ArithmeticError):
        fit(duel(MIN_DEALS - 1, 0, 0), prior_games=0)


def test_no_games_leave_all_bots_equal() -> None:
    """Without any game every bot is at the mean."""
    assert elos(fit(Games(("a", "b"), {}))) == [0, 0]


def test_the_order_of_games_does_not_matter() -> None:
    """Shuffled games give the same parameters."""
    games = mixed_games()
    rng = np.random.default_rng(3)
    shuffled = {}
    for seats, table in games.tables.items():
        order = rng.permutation(len(table.deals))
        shuffled[seats] = TableColumns(table.bots[order], table.places[order], table.deals[order])
    assert fit(Games(games.bots, shuffled)).parameters == pytest.approx(fit(games).parameters, abs=1e-8)


def test_the_order_of_bots_does_not_matter() -> None:
    """Bots listed in another order have the same strengths."""
    games, order = mixed_games(), np.array([3, 0, 5, 1, 4, 2])
    renamed = {
        seats: TableColumns(order[table.bots], table.places, table.deals)
        for seats, table in games.tables.items()
    }
    assert np.array(elos(fit(Games(games.bots, renamed))))[order] == pytest.approx(elos(fit(games)), abs=1e-5)


def test_only_the_order_of_places_counts() -> None:
    """Places 1, 1, 3 and 1, 1, 2 are the same ranking."""
    rankings = [((0, 1, 2), (1, 1, 3), 0), ((2, 1, 0), (1, 2, 2), 1), ((1, 2, 0), (1, 3, 2), 2)]
    closer = [
        (seated, (1, 1, 2) if places == (1, 1, 3) else places, deal) for seated, places, deal in rankings
    ]
    assert elos(fit(columns(closer, "abc"))) == elos(fit(columns(rankings, "abc")))


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_known_strengths_are_found_again(seats: int) -> None:
    """Strengths, seats and ties of 10,000 games are found again, on one scale at every table size."""
    effects = np.linspace(40, -40, seats)
    league = League([-250, -80, -20, 50, 100, 200], seat_effects={seats: effects.tolist()}, deltas=TIES)
    estimate = fit(league.games({seats: 10_000 // seats}, np.random.default_rng(seats)))
    assert elos(estimate) == pytest.approx(list(league.elos), abs=16)
    found = ELO_PER_LOGIT * estimate.parameters[estimate.layout.seats(seats)]
    assert found == pytest.approx(effects, abs=12)
    deltas = np.exp(estimate.parameters[estimate.layout.ties])
    assert deltas == pytest.approx([TIES[order] for order in estimate.layout.tie_orders], rel=0.25)


def test_seats_that_bots_never_leave_have_no_effects() -> None:
    """Where each bot keeps its seat, a difference is the bots'; the seats of another size still count."""
    rng = np.random.default_rng(4)
    fixed = [((0, 1), (1, 2) if rng.random() < 0.75 else (2, 1), deal) for deal in range(400)]
    assert fit(columns(fixed, "abc")).seat_sizes == ()
    a, b, _ = elos(fit(columns(fixed, "abc"), prior_games=0.001))
    assert a - b == pytest.approx(400 * math.log10(3), abs=50)
    rotated = League([0, 0, 0]).games({3: 100}, rng).tables[3]
    both = Games(("a", "b", "c"), {**columns(fixed, "abc").tables, 3: rotated})
    assert 3 in fit(both).seat_sizes


def test_seats_have_no_effects_before_enough_deals() -> None:
    """From a certain number of deals on the seats of a table size count."""
    for deals in (MIN_SEAT_DEALS - 1, MIN_SEAT_DEALS):
        games = League([0, 0, 0], seat_effects={3: [100, 0, -100]}).games(
            {3: deals}, np.random.default_rng(5)
        )
        estimate = fit(games)
        assert estimate.seat_sizes == ((3,) if deals == MIN_SEAT_DEALS else ())
        assert estimate.parameters[estimate.layout.seats(3)].any() == (deals == MIN_SEAT_DEALS)


def test_columns_that_do_not_fit_are_refused() -> None:
    """A table whose rows have another length than its size, or a bot that isn't there, is an error."""
    bots, deals = np.array([[0, 1]]), np.array([0])
    with pytest.raises(ValueError, match="tables of 3 seats"):
        Games(("a", "b"), {3: TableColumns(bots, bots, deals)})
    with pytest.raises(ValueError, match="out of range"):
        Games(("a",), {2: TableColumns(bots, bots, deals)})
