"""Simulate ladders with bots of known strength, and measure whether their ratings hold.

Bots come, drift, and bring new versions that are other bots; the ladder's own pairing chooses the deals and
its beliefs rate them. Results follow the Plackett-Luce model, with luck that the games of a deal share.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from happycity import BotInfo
from happycity_ladder.beliefs import Beliefs
from happycity_ladder.entries import RatedDeal, Rating, Version
from happycity_ladder.ladder_config import Board, LadderConfig
from happycity_ladder.leaderboard import LeaderboardLine, Score, is_provisional, owners
from happycity_ladder.pairing import Entrant, PairingRound
from happycity_tournament.games import BotProfile
from happycity_tournament.ratings.columns import Floats, Ints
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT
from tools.benchmarks.models import places_of

DAY = 86400.0
WEEK = 7 * DAY
_TICK = DAY / 24


@dataclass(frozen=True, kw_only=True)
class World:
    """What is simulated on one board; strengths are in Elo above the anchor."""

    players: int = 4
    guests: int = 12
    mean: float = 0.0
    """The mean strength of the guests."""
    spread: float = 150.0
    """The standard deviation of their strengths."""
    house: tuple[float, ...] = ()
    """The strengths of the bots of the house besides the anchor."""
    weeks: float = 6.0
    deals: float = 50.0
    """Deals of a guest in a week."""
    drift: float = 10.0
    """Elo by which every guest drifts in a week, as a standard deviation."""
    version_days: float = 21.0
    """Mean time between two versions of a guest."""
    change: tuple[float, float] = (25.0, 70.0)
    """Mean and standard deviation of what a new version changes, in Elo."""
    luck: float = 0.75
    """Scale of the noise of each single game; the rest of it is the deal's. 1: games are independent."""
    hopper: int | None = None
    """New versions of the same strength, 0, that one more guest brings, each once the last one is ranked."""
    alts: int = 0
    """More guests, of strength 0, that are all of one owner."""
    newcomer: float | None = None
    """The strength of one more guest, which comes in the middle of the time."""


@dataclass
class SimulatedBot:
    """A bot and its present version."""

    elo: float
    house: bool = False
    drifts: bool = True
    owner: str = ""
    """"" for an owner of its own."""
    arrival: float = 0.0
    version: int = 0
    playing: int = 0
    waiting_since: float = 0.0


@dataclass
class SimulatedYear:
    """What ratings said, week by week, and what was true."""

    errors: list[float] = field(default_factory=list)
    """Estimate less truth, in Elo."""
    stated: list[float] = field(default_factory=list)
    """Stated standard errors."""
    ranked: list[bool] = field(default_factory=list)
    best: float = -np.inf
    """The highest lower end of an interval that the hopper was ranked by."""
    newcomer: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Error and stated error of the newcomer by the number of its deals."""
    seconds: float = 0.0
    deals: int = 0

    def held(self, *, ranked: bool) -> float:
        """Return the share of 95% intervals that hold the truth."""
        errors, stated = np.array(self.errors), np.array(self.stated)
        return float((np.abs(errors) <= 1.96 * stated)[np.array(self.ranked) | (not ranked)].mean())


class Simulation:
    """A board of a ladder in a world."""

    def __init__(self, world: World, *, seed: int) -> None:
        self.world = world
        self.measured = SimulatedYear()
        board = Board(players=world.players)
        self._config = LadderConfig(boards=(board,), anchor_elo=0.0)
        self.beliefs = Beliefs(world.players, self._config)
        self._board = board.name
        self._rng, self._lot = np.random.default_rng(seed), random.Random(seed)
        self._bots = list(self._make_bots())
        self._by_version: dict[int, SimulatedBot] = {}
        self._playing: list[tuple[int, ...]] = []
        self._hops = 0
        self._finished = 0

    def _make_bots(self) -> Iterator[SimulatedBot]:
        world = self.world
        for elo in (0.0, *world.house):
            yield SimulatedBot(elo, house=True, drifts=False)
        for elo in self._rng.normal(world.mean, world.spread, world.guests).tolist():
            yield SimulatedBot(elo)
        if world.hopper is not None:
            yield SimulatedBot(0.0, drifts=False)
        for _ in range(world.alts):
            yield SimulatedBot(0.0, drifts=False, owner="alts")
        if world.newcomer is not None:
            yield SimulatedBot(world.newcomer, drifts=False, arrival=world.weeks * WEEK / 2)

    def run(self) -> SimulatedYear:
        """Simulate all weeks."""
        world = self.world
        ticks = round(world.weeks * WEEK / _TICK)
        per_tick = world.deals * world.guests / world.players / (WEEK / _TICK)
        for tick in range(1, ticks + 1):
            now = tick * _TICK
            self._change(now)
            self._begin(now, int(self._rng.poisson(per_tick)))
            self._finish(now)
            if tick * _TICK % (WEEK / 2) == 0 and now >= 2 * WEEK:
                self._measure(now)
        return self.measured

    def best_of_owner(self, now: float) -> tuple[float, float] | None:
        """Return the highest lower end of the ranked alts, of each alone and of all at once, if any is."""
        own = [bot for bot in self._bots if bot.owner]
        lines = [
            line_of(bot.version, self.beliefs.rating(bot.version, now), self._config)
            for bot in own
            if bot.version
        ]
        found = owners(lines)
        return (max(line.rating.low for line in lines if line.rank), found[0].low) if found else None

    def _change(self, now: float) -> None:
        """Let bots drift and bring new versions."""
        world = self.world
        for number, bot in enumerate(self._bots):
            if bot.arrival > now:
                continue
            if bot.version == 0:
                self._bring(bot, now, is_anchor=number == 0)
            elif bot.drifts:
                bot.elo += float(self._rng.normal(0, world.drift * np.sqrt(_TICK / WEEK)))
                if self._rng.random() < _TICK / (world.version_days * DAY):
                    bot.elo += float(self._rng.normal(*world.change))
                    self._bring(bot, now)
        if world.hopper is not None and now >= world.weeks * WEEK / 2:
            self._hop(now)

    def _hop(self, now: float) -> None:
        """Note where the hopper is ranked, then let it bring another version."""
        hopper = self._bots[1 + len(self.world.house) + self.world.guests]
        rating = self.beliefs.rating(hopper.version, now)
        if rating.deals and not is_provisional(rating, self._config):
            self.measured.best = max(self.measured.best, rating.low)
            if self._hops < (self.world.hopper or 0):
                self._hops += 1
                self._bring(hopper, now)

    def _bring(self, bot: SimulatedBot, now: float, *, is_anchor: bool = False) -> None:
        before, bot.version = bot.version or None, len(self._by_version) + 1
        self._by_version[bot.version] = bot
        bot.waiting_since = now
        self.beliefs.enter(bot.version, now, before=before, house=bot.house, anchor=is_anchor)

    def _begin(self, now: float, limit: int) -> None:
        entrants = [
            Entrant(
                version=bot.version,
                bot=str(number),
                owner="the house" if bot.house else bot.owner or str(number),
                house=bot.house,
                room=10 if bot.house else max(0, 2 - bot.playing),
                waiting_since=bot.waiting_since,
            )
            for number, bot in enumerate(self._bots)
            if bot.version
        ]
        beliefs = {self._board: self.beliefs}
        pairing = PairingRound(self._config, entrants, beliefs, now=now, rng=self._lot)
        for deal in pairing.deals(limit):
            self._playing.append(deal.versions)
            for version in deal.versions:
                self._by_version[version].playing += 1

    def _finish(self, now: float) -> None:
        """End some of the deals that are played, and rate them."""
        ended = (self._rng.random(len(self._playing)) < 0.7).tolist()
        over = [versions for versions, end in zip(self._playing, ended, strict=True) if end]
        self._playing = [versions for versions, end in zip(self._playing, ended, strict=True) if not end]
        if not over:
            return
        elos = np.array([[self._by_version[version].elo for version in versions] for versions in over])
        places = draw_deals(elos / ELO_PER_LOGIT, self.world.luck, self._rng).tolist()
        for versions, rankings in zip(over, places, strict=True):
            self._finished += 1
            deal = RatedDeal(
                finished=self._finished,
                finished_at=now,
                versions=versions,
                places=tuple(map(tuple, rankings)),
            )
            started = time.process_time()
            self.beliefs.add(deal)
            self.measured.seconds += time.process_time() - started
            self.measured.deals += 1
            for version in versions:
                self._by_version[version].playing -= 1
                self._by_version[version].waiting_since = now
        self._note_newcomer(now)

    def _note_newcomer(self, now: float) -> None:
        if self.world.newcomer is not None and self._bots[-1].version:
            rating = self.beliefs.rating(self._bots[-1].version, now)
            error = rating.elo - self.world.newcomer
            self.measured.newcomer.setdefault(rating.deals, (error, rating.error))

    def _measure(self, now: float) -> None:
        for bot in self._bots:
            rating = self.beliefs.rating(bot.version, now) if bot.version else None
            if not bot.house and rating is not None and rating.deals:
                self.measured.errors.append(rating.elo - bot.elo)
                self.measured.stated.append(rating.error)
                self.measured.ranked.append(not is_provisional(rating, self._config))


def line_of(version: int, rating: Rating, config: LadderConfig) -> LeaderboardLine:
    """Return the line of a bot of the owner "alts", which may be ranked."""
    provisional = is_provisional(rating, config)
    return LeaderboardLine(
        rank=0 if provisional or not rating.deals else 1,
        version=Version(
            id=version,
            bot=str(version),
            profile=BotProfile(BotInfo()),
            owner="alts",
            house=False,
            first_at=0.0,
            last_at=0.0,
        ),
        rating=rating,
        provisional=provisional,
        inactive=False,
        score=Score(),
    )


def draw_deals(strengths: Floats, luck: float, rng: np.random.Generator) -> Ints:
    """Draw the places of deals in all rotations, [deal, rotation, bot], from log strengths [deal, bot].

    Each game alone is exactly Plackett-Luce: its noise is Gumbel's, `luck` times another Gumbel number plus
    a part that belongs to the deal's seats (Cardell 1997), the log of a positive stable number, which is
    drawn as Kanter (1975) does.
    """
    deals, players = strengths.shape
    shared = np.zeros((deals, players))
    if luck < 1:
        angle, exponential = rng.uniform(0, np.pi, shared.shape), rng.exponential(size=shared.shape)
        shared = luck * (np.log(np.sin(luck * angle)) - np.log(np.sin(angle)) / luck)
        shared += (1 - luck) * (np.log(np.sin((1 - luck) * angle)) - np.log(exponential))
    seats = (np.arange(players) - np.arange(players)[:, None]) % players  # [rotation, bot]
    noise = shared[:, seats] + luck * rng.gumbel(size=(deals, players, players))
    results = (strengths[:, None, :] + noise).reshape(-1, players)
    return places_of(results).reshape(noise.shape)


HOUSE = (-300.0, -600.0)
WORLDS = {
    **{
        f"{players} seats, guests {mean:+g}, anchor alone": World(players=players, mean=mean, weeks=weeks)
        for players in (4, 2)
        for mean, weeks in ((0.0, 6.0), (500.0, 6.0), (-500.0, 6.0), (900.0, 12.0), (-900.0, 12.0))
    },
    "4 seats, guests +900, house at +300 and +600": World(mean=900.0, house=(300.0, 600.0)),
    "4 seats, guests -900, house at -300 and -600": World(mean=-900.0, house=HOUSE),
    **{
        f"{players} seats, drift {drift:g} a week": World(players=players, drift=drift, house=HOUSE)
        for players in (4, 2)
        for drift in (0.0, 20.0, 40.0)
    },
}
"""Where intervals are to hold."""
NEWCOMER = World(players=2, house=HOUSE, newcomer=700.0)
HOPPER = World(guests=8, house=HOUSE, weeks=8.0, deals=100.0, hopper=50)
ALTS = World(guests=12, house=HOUSE, weeks=4.8, deals=50.0, version_days=1e9, drift=0.0)
"""720 deals of 12 guests, and of the alts of one more owner."""
MANY = World(guests=1000, house=HOUSE, weeks=2.5, deals=30.0, version_days=1e9)


def intervals(title: str, measured: Sequence[SimulatedYear]) -> str:
    """Return a line of how intervals held, in all worlds together."""
    errors, stated = (
        np.concatenate([getattr(each, name) for each in measured]) for name in ("errors", "stated")
    )
    ranked = np.concatenate([each.ranked for each in measured])
    text = f"{title}: {100 * ranked.mean():.0f}% ranked"
    for which, kept in (("ranked", ranked), ("all", np.full(len(ranked), fill_value=True))):
        if kept.any():
            held = (np.abs(errors) <= 1.96 * stated)[kept].mean()
            root = float(np.sqrt((errors[kept] ** 2).mean()))
            text += f"; {which}: {100 * held:.1f}% hold, RMSE {root:.0f} Elo"
    seconds = sum(each.seconds for each in measured) / sum(each.deals for each in measured)
    return f"{text}; {1e3 * seconds:.2f} ms a deal"


def simulated(world: World, seeds: int) -> list[SimulatedYear]:
    """Simulate a world some times."""
    return [Simulation(world, seed=seed).run() for seed in range(seeds)]


def main() -> None:
    """Simulate all worlds and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="worlds of each kind (%(default)s)")
    parser.add_argument("--only", default="", help="the beginning of the lines to print")
    options = parser.parse_args()
    for name, world in WORLDS.items():
        if name.startswith(options.only):
            print(intervals(name, simulated(world, options.seeds)), flush=True)
    if "newcomer".startswith(options.only):
        for deals in (20, 40, 80):
            known = [each.newcomer.get(deals) for each in simulated(NEWCOMER, options.seeds)]
            errors, stated = np.array([point for point in known if point is not None]).T
            said = f"{errors.mean():+.0f} Elo on average, {stated.mean():.0f} stated"
            print(f"newcomer of +700 at 2 seats after {deals} deals: {said}", flush=True)
    if "hopper".startswith(options.only):
        for hops in (0, 50):
            best = [each.best for each in simulated(replace(HOPPER, hopper=hops), options.seeds)]
            print(f"hopper with {hops} versions: ranked at {np.mean(best):+.0f} Elo at its best", flush=True)
    if "alts".startswith(options.only):
        print("| bots of one owner, all of strength 0 | best lower end | above 0 | all at once | above 0 |")
        print("|---:|---:|---:|---:|---:|")
        for alts in (1, 10, 50):
            ends_by_world = list[tuple[float, float]]()
            for seed in range(options.seeds):
                simulation = Simulation(replace(ALTS, alts=alts), seed=seed)
                simulation.run()
                if (found := simulation.best_of_owner(ALTS.weeks * WEEK)) is not None:
                    ends_by_world.append(found)
            cells = (
                f"{np.mean(ends):+.0f} | {sum(end > 0 for end in ends)} of {options.seeds}"
                for ends in zip(*ends_by_world, strict=True)
            )
            print(f"| {alts} | {' | '.join(cells)} |", flush=True)
    if "many".startswith(options.only):
        print(intervals("many: 1,000 guests", simulated(MANY, 1)), flush=True)
