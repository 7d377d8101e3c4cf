"""How much larger errors are where games were chosen by earlier results.

A bot that was unlucky in its first games seems clearly placed, so it gets fewer games, and the luck is never
averaged out: the likelihood of all games is what it would be anyway, but the estimates scatter more than
their errors say. How much more is found by a parametric bootstrap (Efron & Tibshirani 1993) that plays the
schedule too: the tournament is replayed many times between bots of known strength, and each replay's games
are chosen by its own results.

Replays are cheap, as estimates are linear in the scores of their games: theta + inverse information * score,
one step from the strengths that are known. Games are drawn by the Plackett-Luce model without ties and seat
effects, which matter little for a ratio of errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from happycity_tournament.config import Adaptive, Swiss, TournamentConfig
from happycity_tournament.ratings.columns import Floats, Ints
from happycity_tournament.ratings.fit import PRIOR_GAMES
from happycity_tournament.ratings.results import ErrorRatios
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT
from happycity_tournament.schedule.adaptive import opening_rounds, round_is_random
from happycity_tournament.schedule.doubt import doubtful_lineups
from happycity_tournament.schedule.field import Field
from happycity_tournament.schedule.random_rounds import RandomRoundsSchedule

_PAIRS_OF_REPLAYS = 1600
"""Replays times bots but one: the ratio of errors is then exact to 1 / sqrt(2 * 1600) = 2%."""
_FEWEST, _MOST = 20, 400
_MOST_ROUNDS = 120
"""A round of a longer tournament's replay stands for several."""
_EXCHANGE_CELLS = 4_000_000
"""Costs that may be looked at while the opponents of a round are exchanged: some hundredths of a second."""
_FEWEST_PASSES, _MOST_PASSES = 2, 5
_SETTLED = 1.05
"""A ratio that grew by less has settled; replays know it no better."""
NORMAL_QUANTILE = 1.959964
_ESTIMATE_DIGITS = 6
"""Of an Elo: rounding errors, which differ between processors, must not change who meets in a replay."""
_STRENGTH_DIGITS = 9
"""Of a logit, for the same reason."""
_SEED = 0x4861707079
"""Any constant: it makes the ratio the same in every run."""


class PlayedTournament(NamedTuple):
    """A tournament whose games were chosen by results, as far as it was played."""

    config: TournamentConfig
    rounds: int
    """Rounds of which games were played."""
    names: Sequence[str]
    """By which its bots are rated; two of them may have one."""


class Replayed(NamedTuple):
    """What the replays of tournaments say of the strengths of the bots, in logits."""

    information: Floats
    """[replay, bot, bot]."""
    scores: Floats
    """[replay, bot]: the sum of what was scored above expectation; its variance is the information."""


def chosen_by_results(config: TournamentConfig) -> bool:
    """Return whether a tournament's games depend on the results of those before them."""
    return isinstance(config.format, Adaptive | Swiss)


def first_choice(config: TournamentConfig) -> dict[tuple[int, int], frozenset[str]]:
    """Return the bots of the first (round, table) that this version's schedule gives after an opening.

    By these, games of an earlier version can be recognised; empty where versions don't differ.
    """
    chosen = config.format
    if not isinstance(chosen, Adaptive):
        return {}
    field = _field(config)
    number = opening_rounds(field, chosen.minimum_deals) + 1
    *_, lineups = RandomRoundsSchedule(field, rounds=number).lineups()
    return {(number, table): frozenset(lineup) for table, lineup in enumerate(lineups)}


def error_ratios(
    tournaments: Sequence[PlayedTournament],
    elos: Mapping[str, float],
    covariance: Floats,
    *,
    fixed_information: Floats | None = None,
) -> ErrorRatios:
    """Return by how much errors of the bots of these tournaments are too small; 1 if they are not.

    A ratio is the 95% quantile of the distances from the bots' mean, or of the differences between bots, each
    divided by its error, over all replays, in units of the normal distribution's: so many intervals hold.
    Those of differences grow more, as games were chosen for small differences.
    The strengths that are played with are the estimates drawn together, by as much as they scatter by chance
    (empirical Bayes; Efron & Morris 1973): estimates are spread wider than what they estimate, and how much
    errors grow depends on how close the bots are. How much is chance depends on the errors in turn, so the
    replays are played again with the errors that the last ones found until these grow hardly more: twice for
    most tournaments, three times where many bots that are close play few rounds.

    Args:
        tournaments: those whose games were chosen by results.
        elos: the ratings of all bots.
        covariance: of these ratings, in Elo.
        fixed_information: what all other games say of the strengths, per squared logit.
    """
    ratios = ErrorRatios()
    for number in range(1, _MOST_PASSES + 1):
        before = ratios.differences
        widened = ratios.differences**2 * covariance
        drawn = _drawn_together(np.array(list(elos.values())), widened) / ELO_PER_LOGIT
        strengths = drawn.round(_STRENGTH_DIGITS)
        ratios = _ratios_between(tournaments, dict(zip(elos, strengths, strict=True)), fixed_information)
        if number >= _FEWEST_PASSES and ratios.differences < _SETTLED * before:
            break
    return ratios


def _ratios_between(
    tournaments: Sequence[PlayedTournament], strengths: Mapping[str, float], fixed_information: Floats | None
) -> ErrorRatios:
    """Return the ratios of errors of bots of these strengths, in logits."""
    bots, known = list(strengths), np.array(list(strengths.values()))
    count = max(_FEWEST, min(_MOST, math.ceil(_PAIRS_OF_REPLAYS / max(1, len(bots) - 1))))
    rng = np.random.Generator(np.random.PCG64(_SEED))
    information = np.broadcast_to(np.eye(len(bots)) * PRIOR_GAMES / 4, (count, len(bots), len(bots))).copy()
    scores = np.zeros((count, len(bots)))
    if fixed_information is not None:
        information += fixed_information
        scores += rng.normal(size=scores.shape) @ _symmetric_root(fixed_information)
    chosen = np.zeros(len(bots), dtype=bool)
    for tournament in tournaments:
        index = np.array([bots.index(bot) for bot in tournament.names])
        replayed = replay(tournament, known[index], replays=count, rng=rng)
        rated_as = np.eye(len(bots))[index]  # two bots that are rated as one add up
        information += rated_as.T @ replayed.information @ rated_as
        scores += replayed.scores @ rated_as
        chosen[index] = True
    solved = np.linalg.solve(information, scores[:, :, None])[:, :, 0]
    offsets = solved[:, chosen]
    inverse = np.linalg.inv(information).astype(np.float64)
    errors = difference_errors(inverse)[:, chosen][:, :, chosen]
    first, second = np.triu_indices(offsets.shape[1], 1)
    between = (offsets[:, first] - offsets[:, second]) / errors[:, first, second]
    from_mean = np.eye(len(bots)) - 1 / len(bots)
    variances = np.einsum("ij,rjk,ik->ri", from_mean, inverse, from_mean)[:, chosen]
    distances = (solved @ from_mean)[:, chosen] / np.sqrt(variances)
    return ErrorRatios(*(max(1.0, _quantile(values) / NORMAL_QUANTILE) for values in (distances, between)))


def _symmetric_root(matrix: Floats) -> Floats:
    """Return the root of a covariance, by which independent normal numbers get it.

    It is the same on all machines, while vectors of equal eigenvalues differ between versions of LAPACK.
    """
    values, vectors = np.linalg.eigh(matrix)
    root: Floats = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root


def _quantile(values: Floats) -> float:
    """Return what 95% of the values are at most as far from 0 as."""
    return float(np.quantile(np.abs(values), 0.95))


def replay(
    tournament: PlayedTournament, strengths: Floats, *, replays: int, rng: np.random.Generator
) -> Replayed:
    """Play a tournament so often between bots of these strengths, in logits, in the order of its bots."""
    config, field = tournament.config, _field(tournament.config)
    player = _Replays(strengths, replays=replays, rng=rng)
    if isinstance(config.format, Adaptive):
        _replay_adaptive(player, field, config.format, rounds=tournament.rounds)
    elif isinstance(config.format, Swiss):
        _replay_swiss(player, field, config.format, rounds=tournament.rounds)
    return Replayed(player.information, player.scores)


def _field(config: TournamentConfig) -> Field:
    return Field(
        bots=config.bots,
        seats=config.game.players,
        seed=config.seed,
    )


def difference_errors(covariance: Floats) -> Floats:
    """Return the standard errors of all differences, [..., bot, bot], of a covariance of ratings."""
    variances = np.diagonal(covariance, axis1=-2, axis2=-1)
    squares = variances[..., :, None] + variances[..., None, :] - 2 * covariance
    errors: Floats = np.sqrt(np.maximum(squares, 0.0))
    return errors


def _drawn_together(elos: Floats, covariance: Floats) -> Floats:
    """Return the expected strengths if they are normal around their mean, with the variance that is left."""
    bots = len(elos)
    distances = elos - elos.mean()
    scatter = float(distances @ distances - np.trace(covariance)) / max(1, bots - 1)
    if scatter <= 0:
        return np.zeros(bots)
    spread = scatter * (np.eye(bots) - 1 / bots)
    drawn: Floats = spread @ np.linalg.solve(covariance + spread + np.full((bots, bots), 1 / bots), distances)
    return drawn


class _Replays:
    """The games of a tournament's replays."""

    def __init__(self, strengths: Floats, *, replays: int, rng: np.random.Generator) -> None:
        self.strengths = strengths
        self.bots = len(strengths)
        self.replays = replays
        self.rng = rng
        self.information = np.zeros((replays, self.bots, self.bots))
        self.scores = np.zeros((replays, self.bots))

    def play(self, lineups: Ints, *, games: int, weight: float) -> Floats:
        """Play so many games at each table, [replay, table, seat], each of which stands for `weight` games.

        Returns:
            What each bot scored against its opponents, 0 to 1, [replay, bot]; 1/2 where it didn't play.
        """
        seated = np.repeat(lineups, games, axis=1)
        keys = self.strengths[seated] + self.rng.gumbel(size=seated.shape)
        ranked = np.take_along_axis(seated, np.argsort(-keys, axis=2), axis=2)
        cells = ranked + (np.arange(self.replays) * self.bots)[:, None, None]
        odds, seats = np.exp(self.strengths)[ranked], ranked.shape[2]
        for place in range(seats - 1):  # who takes it is chosen from those who are left
            left, chances = cells[:, :, place:], odds[:, :, place:]
            chances = chances / chances.sum(axis=2, keepdims=True)
            surprise = -chances
            surprise[:, :, 0] += 1
            self.scores += math.sqrt(weight) * self._sums(left, surprise)
            spread = -chances[:, :, :, None] * chances[:, :, None, :]
            spread += chances[:, :, :, None] * np.eye(seats - place)
            pairs = left[:, :, :, None] * self.bots + ranked[:, :, None, place:]
            sums = np.bincount(pairs.ravel(), spread.ravel(), self.information.size)
            self.information += weight * sums.reshape(self.information.shape)
        points = np.broadcast_to(np.linspace(1, 0, seats), cells.shape)
        played = self._sums(cells, np.ones(cells.shape))
        shares: Floats = np.where(played > 0, self._sums(cells, points) / np.maximum(played, 1), 0.5)
        return shares

    def everywhere(self, lineups: Sequence[Sequence[int]]) -> Ints:
        """Return lineups that are the same in all replays."""
        same: Ints = np.broadcast_to(np.array(lineups), (self.replays, len(lineups), len(lineups[0])))
        return same

    def orders(self) -> Ints:
        """Return the bots in a random order for each replay."""
        return self.rng.random((self.replays, self.bots)).argsort(axis=1)

    def estimates(self) -> tuple[Floats, Floats]:
        """Return the ratings and the errors of their differences so far, in Elo."""
        covariance = np.linalg.inv(self.information + np.eye(self.bots) * PRIOR_GAMES / 4).astype(np.float64)
        offsets = (covariance @ self.scores[:, :, None])[:, :, 0]
        elos = ELO_PER_LOGIT * (self.strengths + offsets)
        errors = ELO_PER_LOGIT * difference_errors(covariance)
        return elos.round(_ESTIMATE_DIGITS), errors.round(_ESTIMATE_DIGITS)

    def _sums(self, cells: Ints, values: Floats) -> Floats:
        sums: Floats = np.bincount(cells.ravel(), values.ravel(), self.scores.size).astype(np.float64)
        return sums.reshape(self.scores.shape)


def _replay_adaptive(player: _Replays, field: Field, chosen: Adaptive, *, rounds: int) -> None:
    games = chosen.seat_orders.count(field.seats)
    opening = min(rounds, opening_rounds(field, chosen.minimum_deals))
    random_rounds = RandomRoundsSchedule(field, rounds=rounds).lineups()
    numbers = {bot: number for number, bot in enumerate(field.bots)}
    for first, last in ((1, opening), (opening + 1, rounds)):
        played, weight = _stand_ins(last - first + 1, most=_MOST_ROUNDS)
        for number in range(first, first + played):
            if round_is_random(number, opening=opening):
                drawn = [[numbers[bot] for bot in lineup] for lineup in next(random_rounds)]
                lineups = player.everywhere(drawn)
            else:
                elos, errors = player.estimates()
                lineups = doubtful_lineups(
                    elos,
                    errors,
                    player.orders(),
                    seats=field.seats,
                    tables=field.tables,
                    games_per_deal=games,
                )
            player.play(lineups, games=games, weight=weight)


def _replay_swiss(player: _Replays, field: Field, chosen: Swiss, *, rounds: int) -> None:
    """Replay a Swiss with the pairings of a local search, which takes a hundredth of the time."""
    games = chosen.seat_orders.count(field.seats)
    totals = np.zeros((player.replays, player.bots))
    meetings = np.zeros((player.replays, player.bots, player.bots))
    sat_out = np.zeros((player.replays, player.bots))
    each = np.arange(player.replays)[:, None]
    numbers = {bot: number for number, bot in enumerate(field.bots)}
    played, weight = _stand_ins(rounds, most=_MOST_ROUNDS)
    for _ in range(played):
        present = np.array([numbers[bot] for bot in field.bots])
        order = player.orders()
        order = order[np.isin(order, present)].reshape(player.replays, -1)
        byes = len(present) % field.seats
        if byes:
            last = np.lexsort((np.take_along_axis(totals, order, 1), np.take_along_axis(sat_out, order, 1)))
            sat_out[each, np.take_along_axis(order, last[:, :byes], 1)] += 1
            order = np.take_along_axis(order, np.sort(last[:, byes:], axis=1), 1)
        by_score = np.argsort(-np.take_along_axis(totals, order, 1), axis=1, kind="stable")
        lineups = _neighbours(np.take_along_axis(order, by_score, 1), totals, meetings, seats=field.seats)
        if field.seats == 2:
            lineups = _exchanged(lineups, totals, meetings)
        totals += player.play(lineups, games=games, weight=weight)
        for table in range(lineups.shape[1]):
            seated = lineups[:, table]
            meetings[each[:, :, None], seated[:, :, None], seated[:, None, :]] += 1


def _neighbours(ranked: Ints, totals: Floats, meetings: Floats, *, seats: int) -> Ints:
    """Return tables of bots that met least, among them those with the closest scores, the best bots first."""
    each, bots = np.arange(len(ranked)), ranked.shape[1]
    free = np.zeros(totals.shape, dtype=bool)
    np.put_along_axis(free, ranked, values=True, axis=1)
    again = 1 + bots * (totals.max() - totals.min() + 1) ** 2
    lineups = []
    for _ in range(bots // seats):
        is_free = np.take_along_axis(free, ranked, axis=1)
        member = ranked[each, is_free.argmax(axis=1)]
        lineup, costs = [member], np.zeros(totals.shape)
        free[each, member] = False
        while len(lineup) < seats:
            costs += again * meetings[each, member] ** 2 + (totals - totals[each, member][:, None]) ** 2
            member = np.where(free, costs, np.inf).argmin(axis=1)
            lineup.append(member)
            free[each, member] = False
        lineups.append(np.stack(lineup, axis=1))
    return np.stack(lineups, axis=1)


def _exchanged(lineups: Ints, totals: Floats, meetings: Floats) -> Ints:
    """Return tables of two after the exchanges of opponents that lower the cost most, one after the other.

    Without them the last tables of a round meet again and again, and errors seem to grow more than they do.
    """
    replays, tables = len(lineups), lineups.shape[1]
    each, bots = np.arange(replays), 2 * tables
    exchanges = min(bots, _EXCHANGE_CELLS // (replays * bots * bots))
    if not exchanges:
        return lineups
    order = np.concatenate([lineups[:, :, 0], lineups[:, :, 1]], axis=1)
    points = np.take_along_axis(totals, order, axis=1)
    met = meetings[each[:, None, None], order[:, :, None], order[:, None, :]]
    again = 1 + bots * (totals.max() - totals.min() + 1) ** 2
    costs = again * met**2 + (points[:, :, None] - points[:, None, :]) ** 2
    place = np.broadcast_to(np.arange(bots), (replays, bots)).copy()
    opposite = np.roll(np.arange(bots), tables)
    for _ in range(exchanges):
        current = costs[each[:, None, None], place[:, :, None], place[:, None, :]]
        paired = current[:, np.arange(bots), opposite]
        gains = paired[:, :, None] + paired[:, None, :] - current - current[:, opposite][:, :, opposite]
        gains[:, np.arange(bots), np.arange(bots)] = gains[:, np.arange(bots), opposite] = 0
        best = gains.reshape(replays, -1).argmax(axis=1)
        first, second = best // bots, best % bots
        better = np.flatnonzero(gains[each, first, second] > 0)
        if not len(better):
            break
        one, other = opposite[first[better]], second[better]
        place[better, one], place[better, other] = place[better, other], place[better, one]
    chosen = np.take_along_axis(order, place, axis=1)
    return np.stack([chosen[:, :tables], chosen[:, tables:]], axis=2)


def _stand_ins(rounds: int, *, most: int) -> tuple[int, float]:
    """Return how many rounds stand for all rounds, and for how many each of them."""
    played = math.ceil(rounds / max(1, math.ceil(rounds / most))) if rounds > 0 else 0
    return played, rounds / max(1, played)
