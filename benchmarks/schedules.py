"""`python -m benchmarks.schedules`: whether intervals hold where games are chosen by earlier results.

Every tournament is drawn game by game between bots of known strength (Plackett-Luce). Many are played side by
side; the estimates by which an adaptive one chooses its games are those of the full likelihood.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

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
    return made


class Tournaments:
    """Many tournaments of a design, played side by side."""

    def __init__(self, design: Design, *, count: int, seed: int) -> None:
        self.design = design
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
            elif isinstance(chosen, RandomRounds) or round_is_random(number, opening=opening):
                drawn = [[int(bot[3:]) for bot in lineup] for lineup in next(random_rounds)]
                self._play(np.broadcast_to(np.array(drawn), (self.count, *np.shape(drawn))))
            else:
                elos, errors = self._estimates()
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

    def _estimates(self) -> tuple[Floats, Floats]:
        """Return the most likely strengths, and the errors of their differences, in Elo."""
        ranked = np.concatenate(self.rounds, axis=1)
        for _ in range(3):  # from the last round's, they are near
            gradient, information = self._derivatives(ranked)
            self.estimate += np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
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
    """The share of intervals that hold the strength."""
    differences: float
    sure: float
    """The share of pairs of equal bots whose order is called more likely than 95%."""
    very_sure: float
    """The same with 99%."""
    loss: float
    """Elo lost on average by believing the order of a pair."""
    off: Floats
    ratios: ErrorRatios


def held(design: Design, ratings: Ratings, ratios: ErrorRatios) -> Held:
    """Compare the ratings of a tournament with the truth."""
    truth = np.array(design.elos) - np.mean(design.elos)
    elos, compared = np.array([line.elo for line in ratings.lines]), ratings.comparisons
    off = elos - elos.mean() - truth
    margins = np.array([half_width(line) for line in ratings.lines])
    pairs = np.triu_indices(len(truth), 1)
    true = (truth[:, None] - truth)[pairs]
    likely = np.maximum(compared.los, 1 - compared.los)[pairs][true == 0]
    return Held(
        ratings=float(np.mean(np.abs(off) <= margins)),
        differences=float(np.mean((compared.lows[pairs] <= true) & (true <= compared.highs[pairs]))),
        sure=float(np.mean(likely > 0.95)) if len(likely) else math.nan,
        very_sure=float(np.mean(likely > 0.99)) if len(likely) else math.nan,
        loss=float(np.mean(np.where(compared.elos[pairs] * true < 0, np.abs(true), 0.0))),
        off=off,
        ratios=ratios,
    )


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
    """Print two rows for each design whose name holds a text, without and with the errors of replays."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schedules", description=__doc__)
    parser.add_argument("--tournaments", type=int, default=200, help="of each design")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="text that the names of the designs hold")
    options = parser.parse_args()
    print(
        f"{'design':<62}{'ratings':>9}{'SE':>6}{'diffs':>7}{'>95%':>7}{'>99%':>7}{'SD':>7}{'loss':>6}"
        f"{'ratios':>14}{'CPU':>7}"
    )
    for design in designs():
        if options.only in design.name:
            started = time.process_time()
            plain, replayed = measure(design, count=options.tournaments, seed=options.seed)
            seconds = time.process_time() - started
            print(f"{design.name:<62}{row(plain)}{seconds:>6.0f}s", flush=True)
            if replayed:
                print(f"{'  with replays':<62}{row(replayed)}", flush=True)


def row(results: Sequence[Held]) -> str:
    """Return the means of a design's tournaments."""
    shares = np.array([one.ratings for one in results])
    deviation = math.sqrt(float(np.mean(np.array([one.off for one in results]) ** 2)))
    return (
        f"{shares.mean():>9.1%}{shares.std() / math.sqrt(len(results)):>6.1%}"
        f"{np.mean([one.differences for one in results]):>7.1%}"
        f"{np.mean([one.sure for one in results]):>7.1%}{np.mean([one.very_sure for one in results]):>7.1%}"
        f"{deviation:>7.1f}{np.mean([one.loss for one in results]):>6.2f}"
        f"{np.mean([one.ratios.ratings for one in results]):>7.2f}"
        f"{np.mean([one.ratios.differences for one in results]):>7.2f}"
    )


if __name__ == "__main__":
    main()
