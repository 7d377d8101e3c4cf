"""`python -m benchmarks.ladder_year`: a year of a ladder in virtual time, with bots of known strength.

Bots come, bring new versions, drift and leave. Results are drawn from the Davidson-Luce model, with luck that
the games of a deal share. The ladder's own pairing chooses the deals and its beliefs rate them; for
comparison an oracle that knows all strengths chooses as many deals, and so does the lot.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from happycity_ladder.beliefs import Beliefs, Joint
from happycity_ladder.entries import RatedDeal, Rating
from happycity_ladder.ladder_config import Board, LadderConfig
from happycity_ladder.pairing import Entrant, Lineup, Pairing
from happycity_tournament.ratings.columns import Floats, Ints
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

DAY = 86400.0
HOUSE = {"planner": 0.0, "search": 120.0, "greedy": -80.0, "random": -600.0}
"""The strengths of the house, in Elo above the anchor, which is the first one."""
SCHEDULES = ("ladder", "oracle", "lot")

_TICK = 3600.0
_ENDS = 0.7  # of the deals that are played, so many end in a tick
_LOG_DELTAS = np.log([1.0, 0.1, 0.05, 0.05, 0.05])


@dataclass(frozen=True, kw_only=True)
class Year:
    """What is simulated."""

    bots: int = 200
    games: int = 2_000_000
    days: float = 365.0
    boards: tuple[Board, ...] = (Board(players=4, weight=3.0), Board(players=2, weight=1.0))
    spread: float = 200.0
    """Standard deviation of the bots' strengths on all boards alike, in Elo."""
    board_spread: float = 60.0
    """The same of what differs from board to board."""
    version_days: float = 21.0
    """Mean time between two versions of a bot."""
    improvement: tuple[float, float] = (25.0, 70.0)
    """Mean and standard deviation of what a new version changes, in Elo."""
    drift: float = 14.0
    """Elo by which every second bot drifts in a week; the others don't."""
    residual: float = 0.75
    """Scale of what differs between the games of a deal, beside 1 for independent games."""
    lead: float = 0.0
    """Elo that the anchor has over all others, beside the usual."""
    measured_after: float = 28.0
    """Days after which measurements begin, one a week."""


@dataclass
class Bot:
    """A bot and its present version."""

    number: int
    arrival: float
    departure: float
    elos: dict[str, float]
    """By board, above the anchor."""
    drifts: bool
    house: bool = False
    version: int = 0
    before: int | None = None
    next_version: float = float("inf")
    playing: int = 0
    waiting_since: float = 0.0

    @property
    def name(self) -> str:
        """Its name, which is its owner's too."""
        return f"bot{self.number}"


@dataclass
class Measured:
    """How far ratings were from the truth."""

    errors: list[float] = field(default_factory=list)
    """Estimate less truth, in Elo."""
    stated: list[float] = field(default_factory=list)
    """The standard errors that were stated."""
    losses: list[float] = field(default_factory=list)
    """Week by week, the mean over pairs of their true distance in Elo, 0 where their order is right."""
    seconds: float = 0.0
    """CPU seconds of the beliefs."""
    pairing_seconds: float = 0.0
    deals: int = 0
    games: int = 0
    state_bytes: int = 0
    by_board: Counter[str] = field(default_factory=Counter)
    dispersions: dict[str, float] = field(default_factory=dict)

    def ratio(self, kept: Callable[[float], bool]) -> float:
        """Return the root mean squared error as a multiple of the stated one."""
        errors, stated = self._kept(kept)
        return float(np.sqrt((errors**2).mean() / (stated**2).mean()))

    def rmse(self, kept: Callable[[float], bool]) -> float:
        """Return the root mean squared error, in Elo."""
        return float(np.sqrt((self._kept(kept)[0] ** 2).mean()))

    def coverage(self, kept: Callable[[float], bool]) -> float:
        """Return the share of 95% intervals that hold the truth."""
        errors, stated = self._kept(kept)
        return float((np.abs(errors) < 1.96 * stated).mean())

    def share(self, kept: Callable[[float], bool]) -> float:
        """Return the share of ratings that are kept."""
        return sum(map(kept, self.stated)) / len(self.stated)

    @property
    def loss(self) -> float:
        """Mean Elo lost by the order of a pair."""
        return float(np.mean(self.losses))

    def _kept(self, kept: Callable[[float], bool]) -> tuple[Floats, Floats]:
        pairs = [
            (error, stated) for error, stated in zip(self.errors, self.stated, strict=True) if kept(stated)
        ]
        return np.array([error for error, _ in pairs]), np.array([stated for _, stated in pairs])


class Oracle(Beliefs):
    """Beliefs that rate like others, but show the pairing the true strengths."""

    def __init__(self, board: Board, config: LadderConfig, true_elo: Callable[[Board, int], float]) -> None:
        super().__init__(board.players, config)
        self._board, self._true_elo = board, true_elo

    def joint(self, versions: Sequence[int], at: float) -> Joint:
        """Return the true strengths, with the doubt that there would be without the oracle."""
        elos = np.array([self._true_elo(self._board, version) for version in versions])
        return super().joint(versions, at)._replace(elos=elos)


class Simulation:
    """A ladder's year. The world is the same for all schedules of a seed."""

    def __init__(self, year: Year, schedule: str, *, seed: int) -> None:
        self.year = year
        self.config = LadderConfig(boards=year.boards)
        self.beliefs: dict[str, Beliefs] = {
            board.name: Oracle(board, self.config, self._true_elo)
            if schedule == "oracle"
            else Beliefs(board.players, self.config)
            for board in year.boards
        }
        self.measured = Measured()
        self._schedule = schedule
        self._world, self._results = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
        self._lot = random.Random(seed)
        self._pairing = Pairing(self.config)
        self._bots = self._make_bots()
        self._by_version: dict[int, Bot] = {}
        self._versions = self._finished = 0
        self._playing: list[Lineup] = []

    def _true_elo(self, board: Board, version: int) -> float:
        return self._by_version[version].elos[board.name]

    def run(self, progress: Callable[[float], None] = lambda share: None) -> Measured:
        """Simulate the year."""
        ticks = round(self.year.days * DAY / _TICK)
        weights = np.array([board.weight for board in self.year.boards])
        players = np.array([board.players for board in self.year.boards])
        deals = self.year.games / float(weights @ players / weights.sum())
        for tick in range(1, ticks + 1):
            now = tick * _TICK
            self._change(now)
            begun = self._begin(now, round(deals * tick / ticks) - round(deals * (tick - 1) / ticks))
            self._playing += begun
            self._finish(now)
            if tick % round(7 * DAY / _TICK) == 0:
                progress(tick / ticks)
                if now >= self.year.measured_after * DAY:
                    self._measure(now)
        self.measured.state_bytes = sum(len(beliefs.dump()) for beliefs in self.beliefs.values())
        self.measured.dispersions = {name: beliefs.dispersion for name, beliefs in self.beliefs.items()}
        return self.measured

    def _make_bots(self) -> list[Bot]:
        year, world, names = self.year, self._world, [board.name for board in self.year.boards]
        bots = [
            Bot(-number, 0.0, float("inf"), dict.fromkeys(names, elo), drifts=False, house=True)
            for number, elo in enumerate((elo - year.lead * (elo != 0) for elo in HOUSE.values()), start=1)
        ]
        for number in range(1, year.bots + 1):
            strength = world.normal(-50.0 - year.lead, year.spread)
            arrival = max(0.0, world.uniform(-0.6, 0.8)) * year.days * DAY
            stays = world.exponential(year.days * DAY)
            elos = {name: strength + world.normal(0, year.board_spread) for name in names}
            bots.append(Bot(number, arrival, arrival + stays, elos, drifts=number % 2 == 0))
        return bots

    def _present(self, now: float) -> list[Bot]:
        return [bot for bot in self._bots if bot.arrival <= now < bot.departure]

    def _change(self, now: float) -> None:
        """Let bots come, change and drift for a tick."""
        step = self.year.drift * np.sqrt(_TICK / (7 * DAY))
        for bot in self._bots:
            steps, change = (
                self._world.normal(0, step, len(bot.elos)),
                self._world.normal(*self.year.improvement),
            )
            pause = self._world.exponential(self.year.version_days * DAY)
            if not bot.arrival <= now < bot.departure:
                continue
            if bot.drifts:
                bot.elos = {
                    name: elo + by for (name, elo), by in zip(bot.elos.items(), steps.tolist(), strict=True)
                }
            if bot.version == 0 or now >= bot.next_version:
                if bot.version:
                    bot.elos = {name: elo + change for name, elo in bot.elos.items()}
                self._versions += 1
                bot.before, bot.version = bot.version or None, self._versions
                bot.next_version = float("inf") if bot.house else now + pause
                bot.waiting_since = now
                self._by_version[bot.version] = bot
                for beliefs in self.beliefs.values():
                    beliefs.enter(
                        bot.version, now, before=bot.before, house=bot.house, anchor=bot.number == -1
                    )

    def _begin(self, now: float, limit: int) -> list[Lineup]:
        present = self._present(now)
        started = time.process_time()
        if self._schedule == "lot":
            lineups = list(self._by_lot(present, limit))
        else:
            entrants = [
                Entrant(
                    version=bot.version,
                    bot=bot.name,
                    owner="the house" if bot.house else bot.name,
                    house=bot.house,
                    room=10 if bot.house else max(0, self._room(limit, present) - bot.playing),
                    waiting_since=bot.waiting_since,
                )
                for bot in present
            ]
            lineups = self._pairing.lineups(entrants, self.beliefs, now=now, rng=self._lot, limit=limit)
        self.measured.pairing_seconds += time.process_time() - started
        for lineup in lineups:
            for version in lineup.versions:
                self._by_version[version].playing += 1
        return lineups

    def _room(self, limit: int, present: Sequence[Bot]) -> int:
        """Return how many deals a bot may play at once, so that the wanted number of deals fits."""
        seats = limit * max(board.players for board in self.year.boards)
        return 1 + 2 * -(-seats // max(1, len(present)))

    def _by_lot(self, present: Sequence[Bot], limit: int) -> Iterator[Lineup]:
        """Yield tables that begin with each guest in turn, with anybody."""
        guests = [bot for bot in present if not bot.house]
        for number in range(limit):
            board = self._lot.choices(self.year.boards, [board.weight for board in self.year.boards])[0]
            head = guests[(self._finished + number) % len(guests)]
            others = [bot for bot in present if bot is not head]
            members = [head, *self._lot.sample(others, board.players - 1)]
            self._lot.shuffle(members)
            yield Lineup(board.name, tuple(bot.version for bot in members))

    def _finish(self, now: float) -> None:
        """End some of the deals that are played, and rate them."""
        ended = self._results.random(len(self._playing)) < _ENDS
        over = [lineup for lineup, end in zip(self._playing, ended.tolist(), strict=True) if end]
        self._playing = [lineup for lineup, end in zip(self._playing, ended.tolist(), strict=True) if not end]
        for board in self.year.boards:
            lineups = [lineup.versions for lineup in over if lineup.board == board.name]
            if lineups:
                self._rate(board, lineups, now)

    def _rate(self, board: Board, lineups: Sequence[tuple[int, ...]], now: float) -> None:
        elos = np.array(
            [[self._by_version[version].elos[board.name] for version in lineup] for lineup in lineups]
        )
        places = draw_deals(elos / ELO_PER_LOGIT, self.year.residual, self._results).tolist()
        started = time.process_time()
        for versions, rankings in zip(lineups, places, strict=True):
            self._finished += 1
            deal = RatedDeal(
                finished=self._finished,
                finished_at=now,
                versions=versions,
                places=tuple(map(tuple, rankings)),
            )
            self.beliefs[board.name].add(deal)
        self.measured.seconds += time.process_time() - started
        self.measured.deals += len(lineups)
        self.measured.games += len(lineups) * board.players
        self.measured.by_board[board.name] += len(lineups)
        for version in (version for lineup in lineups for version in lineup):
            self._by_version[version].playing -= 1
            self._by_version[version].waiting_since = now + _TICK  # it is free when the next tick begins

    def _measure(self, now: float) -> None:
        for name, beliefs in self.beliefs.items():
            known = [
                (rating, bot.elos[name])
                for bot in self._present(now)
                if not bot.house and (rating := beliefs.rating(bot.version, now)).deals
            ]
            self._compare(known)

    def _compare(self, known: Sequence[tuple[Rating, float]]) -> None:
        estimates = np.array([rating.elo - self.config.anchor_elo for rating, _ in known])
        stated, truth = np.array([rating.error for rating, _ in known]), np.array([elo for _, elo in known])
        self.measured.errors += (estimates - truth).tolist()
        self.measured.stated += stated.tolist()
        ranked = stated <= self.config.provisional_error
        true_gap = truth[ranked][:, None] - truth[ranked]
        wrong = true_gap * (estimates[ranked][:, None] - estimates[ranked]) < 0
        pairs = ranked.sum() * (ranked.sum() - 1)
        if pairs:
            self.measured.losses.append(float((np.abs(true_gap) * wrong).sum() / pairs))


def draw_deals(strengths: Floats, residual: float, rng: np.random.Generator) -> Ints:
    """Draw the places of deals in all rotations, [deal, rotation, bot], from log strengths [deal, bot].

    Each game alone is exactly Davidson-Luce. The sets that could take a place have utilities whose noise is
    Gumbel's: a part that belongs to the seats and the deal, plus `residual` times another Gumbel number
    (Cardell 1997).
    """
    deals, players = strengths.shape
    sets = [chosen for order in range(1, players + 1) for chosen in combinations(range(players), order)]
    numbers = {chosen: number for number, chosen in enumerate(sets)}
    members = np.array([[bot in chosen for bot in range(players)] for chosen in sets])
    orders = members.sum(axis=1)
    logs = strengths @ (members / orders[:, None]).T + _LOG_DELTAS[orders - 1]
    luck = _shared_noise((deals, players, len(sets)), residual, rng)
    places = np.zeros((deals, players, players), dtype=np.int64)
    for rotation in range(players):
        seats = [numbers[tuple(sorted((bot - rotation) % players for bot in chosen))] for chosen in sets]
        left = np.ones((deals, players), dtype=bool)
        for stage in range(players):
            possible = ~((~left) @ members.T)
            noise = luck[:, stage, seats] + residual * rng.gumbel(size=(deals, len(sets)))
            taken = members[np.where(possible, logs + noise, -np.inf).argmax(axis=1)] & left
            places[:, rotation][taken] = np.repeat(players - left.sum(axis=1) + 1, taken.sum(axis=1))
            left &= ~taken
    return places


def _shared_noise(shape: tuple[int, ...], residual: float, rng: np.random.Generator) -> Floats:
    """Return numbers that make Gumbel's together with `residual` Gumbel's: logs of positive stable numbers.

    The stable numbers are drawn as Kanter (1975) does.
    """
    if residual >= 1:
        return np.zeros(shape)
    angle, exponential = rng.uniform(0, np.pi, shape), rng.exponential(size=shape)
    logs = np.log(np.sin(residual * angle)) - np.log(np.sin(angle)) / residual
    logs += (1 / residual - 1) * (np.log(np.sin((1 - residual) * angle)) - np.log(exponential))
    noise: Floats = residual * logs
    return noise


def everybody(stated: float) -> bool:
    """Keep every rating."""
    return stated >= 0


def lines(name: str, measured: Measured, *, provisional: float) -> list[str]:
    """Return the figures of a schedule, one a line."""

    def ranked(stated: float) -> bool:
        return stated <= provisional

    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    shares = ", ".join(f"{board} {count}" for board, count in measured.by_board.items())
    dispersions = ", ".join(f"{board} {value:.2f}" for board, value in measured.dispersions.items())
    return [
        f"{name}: {measured.games} games in {measured.deals} deals ({shares}; dispersion {dispersions})",
        *(
            f"  ratings, {which} ({100 * measured.share(kept):.0f}%): RMSE {measured.rmse(kept):.1f} Elo,"
            f" {measured.ratio(kept):.3f} x the stated error; 95% intervals hold"
            f" {100 * measured.coverage(kept):.1f}%"
            for which, kept in (("ranked", ranked), ("all", everybody))
        ),
        f"  order: {measured.loss:.3f} Elo lost a pair",
        f"  {1e3 * measured.seconds / measured.deals:.3f} ms CPU a deal for ratings,"
        f" {1e3 * measured.pairing_seconds / measured.deals:.3f} for pairing;"
        f" beliefs {measured.state_bytes / 1e6:.2f} MB, process {memory:.0f} MB",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate the year for each schedule and print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ladder_year", description=__doc__)
    parser.add_argument("--games", type=int, default=Year.games, help="games of the year (%(default)s)")
    parser.add_argument("--bots", type=int, default=Year.bots, help="guests (%(default)s)")
    parser.add_argument("--lead", type=float, default=0.0, help="Elo that the anchor is stronger by")
    parser.add_argument("--seed", type=int, default=1, help="fixes everything random (%(default)s)")
    parser.add_argument(
        "--schedule", choices=SCHEDULES, action="append", help="only this one; may be repeated"
    )
    options = parser.parse_args(arguments)
    losses: dict[str, float] = {}
    for name in options.schedule or SCHEDULES:
        year = Year(bots=options.bots, games=options.games, lead=options.lead)
        simulation = Simulation(year, name, seed=options.seed)
        measured = simulation.run(lambda share, name=name: show_progress(name, share))  # type: ignore[misc]
        losses[name] = measured.loss
        print("\n".join(lines(name, measured, provisional=simulation.config.provisional_error)), flush=True)
    if {"ladder", "oracle"} <= set(losses):
        print(f"order error: {losses['ladder'] / losses['oracle']:.3f} x the oracle's")
    return 0


def show_progress(name: str, share: float) -> None:
    """Show how much of the year is over; Ctrl-C stops it."""
    print(f"\r{name}: {100 * share:.0f}% of the year; Ctrl-C stops ", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
