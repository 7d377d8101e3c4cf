"""`python -m benchmarks.schedules`: whether intervals hold where games are chosen by earlier results.

Every tournament is drawn game by game between bots of known strength (Plackett-Luce). Many are played side by
side; the estimates by which an adaptive one chooses its games are those of the full likelihood.

With `--order` it measures what the final order costs where other shares of an adaptive tournament's rounds
are random.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.ratings import half_width
from happycity import Config
from happycity_tournament.config import Adaptive, RandomRounds, Swiss, TournamentConfig
from happycity_tournament.ratings.columns import Floats, Games, Ints, TableColumns
from happycity_tournament.ratings.final import rate
from happycity_tournament.ratings.fit import PRIOR_GAMES
from happycity_tournament.ratings.results import FIXED_SCHEDULE, ErrorRatios, Ratings
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT
from happycity_tournament.schedule.adaptive import opening_rounds, round_is_random
from happycity_tournament.schedule.doubt import doubtful_lineups
from happycity_tournament.schedule.field import Field
from happycity_tournament.schedule.random_rounds import RandomRoundsSchedule
from happycity_tournament.schedule.replays import PlayedTournament, difference_errors, error_ratios
from happycity_tournament.schedule.swiss import PlayedRound, round_pairings

ChosenByChance = Callable[[int], bool]
"""Says of a round after the minimum, counted from 1, whether chance chooses who meets."""


def by_chance_as_played(number: int) -> bool:
    """Return what adaptive tournaments do."""
    return round_is_random(number, opening=0)


SHARES: dict[str, ChosenByChance] = {
    "none": lambda _: False,
    "1/3": lambda number: number % 3 == 1,
    "as played": by_chance_as_played,
    "1/2": lambda number: number % 2 == 1,
    "all": lambda _: True,
}
"""Shares of random rounds after the minimum that are compared; two fifths are played."""
MOST_STEPS, LONGEST_STEP, EXACT = 20, 1.0, 0.001
"""Of Newton's method, in logits; longer steps would run off where a bot won its few games."""
SIDE_BY_SIDE = 200
"""Tournaments that are played side by side where many are: they share the draws of the random rounds."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """A format, and the bots that play it."""

    elos: Sequence[float]
    seats: int
    format: Adaptive | Swiss | RandomRounds

    @property
    def name(self) -> str:
        """The design in words."""
        chosen, reach = self.format, max(self.elos) - min(self.elos)
        strengths = "equal" if reach == 0 else f"range {reach:g}"
        minimum = f", minimum {chosen.minimum_deals}" if isinstance(chosen, Adaptive) else ""
        return (
            f"{chosen.kind}, {len(self.elos)} bots, {strengths}, {self.seats} seats, "
            f"{chosen.rounds} rounds{minimum}"
        )

    @property
    def config(self) -> TournamentConfig:
        """The tournament."""
        bots = tuple(f"bot{number}" for number in range(len(self.elos)))
        return TournamentConfig(bots=bots, game=Config(players=self.seats), format=self.format, seed=1)


def designs() -> list[Design]:
    """Return those of the independent check, and some between them."""
    made = []
    for seats in (2, 4):
        for reach in (0, 100, 200, 600):
            for rounds, minimum in ((100, 20), (40, 10), (40, 2)):
                chosen = Adaptive(rounds=rounds, minimum_deals=minimum)
                made.append(Design(elos=np.linspace(0, reach, 8).tolist(), seats=seats, format=chosen))
        for reach in (0, 200, 600):
            elos = np.linspace(0, reach, 16).tolist()
            made.append(Design(elos=elos, seats=seats, format=Swiss(rounds=12)))
        equal = np.zeros(8).tolist()
        made.append(Design(elos=equal, seats=seats, format=RandomRounds(rounds=100)))
    for reach in (0, 600):
        elos = np.linspace(0, reach, 64).tolist()
        made.append(Design(elos=elos, seats=2, format=Swiss(rounds=12)))
    return made


class Tournaments:
    """Many tournaments of a design, played side by side."""

    def __init__(
        self, design: Design, *, count: int, seed: int, by_chance: ChosenByChance = by_chance_as_played
    ) -> None:
        self.design = design
        self.by_chance = by_chance
        self.rng = np.random.default_rng(seed)
        self.theta = np.array(design.elos) / ELO_PER_LOGIT
        self.count = count
        self.estimate = np.zeros((count, len(self.theta)))
        self.rounds: list[Ints] = []
        """The ranked bots of each round, [tournament, game, place]."""
        self.field = Field(bots=design.config.bots, seats=design.seats, seed=seed)

    def play(self) -> None:
        """Play all rounds."""
        chosen, field = self.design.format, self.field
        random_rounds = RandomRoundsSchedule(field, rounds=chosen.rounds).lineups()
        opening = opening_rounds(field, chosen.minimum_deals) if isinstance(chosen, Adaptive) else 0
        history: list[list[PlayedRound]] = [[] for _ in range(self.count)]
        for number in range(1, chosen.rounds + 1):
            if isinstance(chosen, Swiss):
                self._play(self._paired(number, history))
                self._remember(history)
            elif isinstance(chosen, RandomRounds) or number <= opening or self.by_chance(number - opening):
                drawn = [[int(bot[3:]) for bot in lineup] for lineup in next(random_rounds)]
                self._play(np.broadcast_to(np.array(drawn), (self.count, *np.shape(drawn))))
            else:
                elos, errors = self.estimates()
                order = self.rng.random(elos.shape).argsort(axis=1)
                self._play(
                    doubtful_lineups(
                        elos,
                        errors,
                        order,
                        seats=field.seats,
                        tables=field.tables,
                        games_per_deal=field.seats,
                    )
                )

    def games(self, number: int) -> Games:
        """Return the games of one of the tournaments."""
        ranked = np.concatenate([each[number] for each in self.rounds])
        places = np.broadcast_to(np.arange(1, self.design.seats + 1), ranked.shape)
        deals = np.repeat(np.arange(len(ranked) // self.field.seats), self.field.seats)
        # Everybody has each seat equally often.
        shifts = np.tile(np.arange(self.field.seats), len(deals) // self.field.seats)
        columns = (np.arange(self.design.seats) + shifts[:, None]) % self.design.seats
        by_bot = np.argsort(ranked, axis=1)
        seated = np.take_along_axis(by_bot, columns, axis=1)
        table = TableColumns(
            np.take_along_axis(ranked, seated, axis=1), np.take_along_axis(places, seated, axis=1), deals
        )
        return Games(self.design.config.bots, {self.design.seats: table})

    def _play(self, lineups: Ints) -> None:
        seated = np.repeat(lineups, self.field.seats, axis=1)
        keys = self.theta[seated] + self.rng.gumbel(size=seated.shape)
        self.rounds.append(np.take_along_axis(seated, np.argsort(-keys, axis=2), axis=2))

    def _paired(self, number: int, history: list[list[PlayedRound]]) -> Ints:
        rng = random.Random(f"{self.field.seed} {number}")
        drawn = [round_pairings(self.field.bots, past, seats=self.field.seats, rng=rng) for past in history]
        return np.array([[[int(bot[3:]) for bot in table] for table in tables] for tables in drawn])

    def _remember(self, history: list[list[PlayedRound]]) -> None:
        seats, bots = self.field.seats, self.field.bots
        for past, ranked in zip(history, self.rounds[-1].tolist(), strict=True):
            scores = dict.fromkeys(bots, Fraction(0))
            for game in ranked:
                for place, bot in enumerate(game):
                    scores[bots[bot]] += Fraction(seats - 1 - place, (seats - 1) * seats)
            tables = [[bots[bot] for bot in ranked[game]] for game in range(0, len(ranked), seats)]
            past.append(PlayedRound(tables=tables, scores=scores))

    def estimates(self) -> tuple[Floats, Floats]:
        """Return the most likely strengths, and the errors of their differences, in Elo."""
        ranked = np.concatenate(self.rounds, axis=1)
        for _ in range(MOST_STEPS):
            gradient, information = self._derivatives(ranked)
            step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
            self.estimate += step.clip(-LONGEST_STEP, LONGEST_STEP)
            if np.abs(step).max() < EXACT:
                break
        inverse = np.linalg.inv(information).astype(np.float64)
        return ELO_PER_LOGIT * self.estimate, ELO_PER_LOGIT * difference_errors(inverse)

    def _derivatives(self, ranked: Ints) -> tuple[Floats, Floats]:
        count, bots = self.estimate.shape
        chance = 0.5 + 0.5 * np.tanh(self.estimate / 2)
        gradient = PRIOR_GAMES * (0.5 - chance)
        information = PRIOR_GAMES * (chance * (1 - chance))[:, :, None] * np.eye(bots)
        first = (np.arange(count) * bots)[:, None, None]
        odds = np.take_along_axis(np.exp(self.estimate), ranked.reshape(count, -1), axis=1)
        odds = odds.reshape(ranked.shape)
        for place in range(self.design.seats - 1):
            left, chances = ranked[:, :, place:], odds[:, :, place:]
            chances = chances / chances.sum(axis=2, keepdims=True)
            surprise = -chances
            surprise[:, :, 0] += 1
            gradient += np.bincount((left + first).ravel(), surprise.ravel(), gradient.size).reshape(
                count, -1
            )
            spread = chances[:, :, :, None] * (np.eye(left.shape[2]) - chances[:, :, None, :])
            cells = (left + first)[:, :, :, None] * bots + left[:, :, None, :]
            sums = np.bincount(cells.ravel(), spread.ravel(), information.size)
            information += sums.reshape(information.shape)
        return gradient, information


@dataclass(frozen=True)
class Held:
    """How one tournament's statements compare with the truth."""

    ratings: float
    """The share of intervals that hold the strength, of those that there are."""
    differences: float
    none: float
    """The share of bots without an interval."""
    sure: float
    """The share of pairs of equal bots whose order is called more likely than 95%."""
    very_sure: float
    """The same with 99%."""
    loss: float
    """Elo lost on average by believing the order of a pair."""
    off: Floats
    ratios: ErrorRatios


def order_loss(estimated: Floats, true: Floats) -> Floats:
    """Return the mean true difference of the pairs, [..., pair], where a pair in the right order counts 0."""
    loss: Floats = np.where(estimated * true < 0, np.abs(true), 0.0).mean(axis=-1)
    return loss


def order_losses(design: Design, by_chance: ChosenByChance, *, count: int, seed: int) -> Floats:
    """Play a design so often; return what each tournament's final order costs a pair, in Elo."""
    first, second = np.triu_indices(len(design.elos), 1)
    truth, losses = np.array(design.elos), []
    for begin in range(0, count, SIDE_BY_SIDE):
        played = Tournaments(
            design, count=min(SIDE_BY_SIDE, count - begin), seed=seed + begin, by_chance=by_chance
        )
        played.play()
        elos, _ = played.estimates()
        losses.append(order_loss(elos[:, first] - elos[:, second], truth[first] - truth[second]))
    return np.concatenate(losses)


def held(design: Design, ratings: Ratings, ratios: ErrorRatios) -> Held:
    """Compare the ratings of a tournament with the truth."""
    truth = np.array(design.elos) - np.mean(design.elos)
    elos, compared = np.array([line.elo for line in ratings.lines]), ratings.comparisons
    off = elos - elos.mean() - truth
    margins = np.array([half_width(line) for line in ratings.lines])
    pairs = np.triu_indices(len(truth), 1)
    true, low, high = (truth[:, None] - truth)[pairs], compared.lows[pairs], compared.highs[pairs]
    known = ~np.isnan(low)
    likely = np.maximum(compared.los, 1 - compared.los)[pairs][known & (true == 0)]
    return Held(
        ratings=share((np.abs(off) <= margins)[~np.isnan(margins)]),
        differences=share(((low <= true) & (true <= high))[known]),
        none=float(np.mean(np.isnan(margins))),
        sure=share(likely > 0.95),
        very_sure=share(likely > 0.99),
        loss=float(order_loss(compared.elos[pairs], true)),
        off=off,
        ratios=ratios,
    )


def share(holds: NDArray[np.bool_]) -> float:
    """Return the share of what holds; not a number of nothing."""
    return float(holds.mean()) if len(holds) else math.nan


def measure(design: Design, *, count: int, seed: int) -> tuple[list[Held], list[Held]]:
    """Play a design so often; return what holds with errors as they are, and with those of replays."""
    played = Tournaments(design, count=count, seed=seed)
    played.play()
    plain, replayed = [], []
    for number in range(count):
        games, of = (
            played.games(number),
            PlayedTournament(design.config, design.format.rounds, design.config.bots),
        )
        ratings = rate(games)
        plain.append(held(design, ratings, FIXED_SCHEDULE))
        if not isinstance(design.format, RandomRounds):
            elos = {line.bot: line.elo for line in ratings.lines}
            ratios = error_ratios([of], elos, ratings.covariance)
            replayed.append(held(design, rate(games, error_ratios=partial(_known, ratios)), ratios))
    return plain, replayed


def _known(ratios: ErrorRatios, _elos: Mapping[str, float], _covariance: Floats) -> ErrorRatios:
    return ratios


def main() -> None:
    """Print what is measured of each design whose name holds a text."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schedules", description=__doc__)
    parser.add_argument("--tournaments", type=int, default=200, help="of each design")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="text that the names of the designs hold")
    parser.add_argument(
        "--order", action="store_true", help="measure the order by the share of random rounds"
    )
    options = parser.parse_args()
    chosen = [design for design in designs() if options.only in design.name]
    if options.order:
        print_orders(chosen, count=options.tournaments, seed=options.seed)
    else:
        print_intervals(chosen, count=options.tournaments, seed=options.seed)


def print_orders(chosen: Sequence[Design], *, count: int, seed: int) -> None:
    """Print a row for each adaptive design: the loss of the order and its standard error, by share."""
    print(f"{'loss of the order, Elo a pair; random rounds:':<62}{''.join(f'{name:>15}' for name in SHARES)}")
    for design in chosen:
        if isinstance(design.format, Adaptive) and len(set(design.elos)) > 1:
            print(f"{design.name:<62}", end="", flush=True)
            for by_chance in SHARES.values():
                losses = order_losses(design, by_chance, count=count, seed=seed)
                loss = f"{losses.mean():.2f} ±{losses.std() / math.sqrt(len(losses)):.2f}"
                print(f"{loss:>15}", end="", flush=True)
            print()


def print_intervals(chosen: Sequence[Design], *, count: int, seed: int) -> None:
    """Print two rows for each design, without and with the errors of replays."""
    print(
        f"{'design':<62}{'ratings':>9}{'SE':>6}{'diffs':>7}{'none':>6}{'>95%':>7}{'>99%':>7}{'SD':>7}{'loss':>6}{'SE':>6}"
        f"{'ratios':>14}{'CPU':>7}"
    )
    for design in chosen:
        started = time.process_time()
        plain, replayed = measure(design, count=count, seed=seed)
        seconds = time.process_time() - started
        print(f"{design.name:<62}{row(plain)}{seconds:>6.0f}s", flush=True)
        if replayed:
            print(f"{'  with replays':<62}{row(replayed)}", flush=True)


def row(results: Sequence[Held]) -> str:
    """Return the means of a design's tournaments, of those with intervals where it is about these."""
    losses = np.array([one.loss for one in results])
    deviation = math.sqrt(float(np.mean(np.array([one.off for one in results]) ** 2)))
    ratings, error = mean_and_error([one.ratings for one in results])
    differences, sure, very_sure = (
        mean_and_error(shares)[0]
        for shares in (
            [one.differences for one in results],
            [one.sure for one in results],
            [one.very_sure for one in results],
        )
    )
    return (
        f"{ratings:>9.1%}{error:>6.1%}{differences:>7.1%}{np.mean([one.none for one in results]):>6.1%}"
        f"{sure:>7.1%}{very_sure:>7.1%}"
        f"{deviation:>7.1f}{losses.mean():>6.2f}{losses.std() / math.sqrt(len(losses)):>6.2f}"
        f"{np.mean([one.ratios.ratings for one in results]):>7.2f}"
        f"{np.mean([one.ratios.differences for one in results]):>7.2f}"
    )


def mean_and_error(shares: Sequence[float]) -> tuple[float, float]:
    """Return the mean of the shares that are numbers, and its standard error."""
    known = [value for value in shares if not math.isnan(value)]
    if not known:
        return math.nan, math.nan
    return float(np.mean(known)), float(np.std(known)) / math.sqrt(len(known))


if __name__ == "__main__":
    main()
