"""A simulated day of a ladder: quotas bound how much is played, and leave room for who is new."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pytest
from tools.benchmarks.ladder_year import Simulation, World, draw_deals

from happycity_ladder.beliefs import Beliefs
from happycity_ladder.entries import RatedDeal
from happycity_ladder.ladder_config import LadderConfig, Quotas
from happycity_ladder.leaderboard import USUAL_GAP, is_provisional
from happycity_ladder.pairing import Entrant, PairingRound
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT

DAY = 86400.0
HOUSE = {1: 0.0, 2: -300.0, 3: -600.0}
"""Strengths of the bots of the house in Elo; the first one is the anchor."""


DEFAULT_STEPS = {1: 0.0, 2: -204.0, 3: -351.0}
"""The same of the default house, as docs/bots.md has them."""
FIRST_BOTS = (-520.0,) * 4
"""Guests with the bot of the README, which is about 170 Elo weaker than greedy."""


class Day:
    """A day of guests that are always connected; the last one comes at noon.

    A bot plays at most `deals_per_bot` deals in a tick, which has some seconds. A bot that changes at noon is
    another version from then on, of the same strength.
    """

    def __init__(
        self,
        config: LadderConfig,
        guests: Sequence[float],
        tick: float,
        *,
        house: Mapping[int, float] = HOUSE,
        seed: int = 1,
    ) -> None:
        self.config, self.board = config, config.boards[0]
        self.beliefs = Beliefs(self.board.players, config)
        self.house, self.elos = house, {**house, **dict(enumerate(guests, start=len(house) + 1))}
        self.newcomer = max(self.elos)
        self.changing: int | None = None
        self.begun = Counter[int]()
        """By version, whose number is that of the bot, or 100 more."""
        self.ranked_after = 0.0
        """Seconds from noon until the newcomer had a rank."""
        self._tick, self._rng, self._finished = tick, np.random.default_rng(seed), 0

    def play(self) -> int:
        """Play the day; return the number of its games."""
        lot = random.Random(1)
        for bot in self.house:
            self.beliefs.enter(bot, 0.0, house=True, anchor=bot == 1)
        for tick in range(1, int(DAY / self._tick)):
            now = tick * self._tick
            entrants = [self._entrant(bot, now) for bot in self.elos if bot < self.newcomer or now >= DAY / 2]
            beliefs = {self.board.name: self.beliefs}
            pairing = PairingRound(self.config, entrants, beliefs, now=now, rng=lot)
            if deals := pairing.deals(self.config.deals_at_once):
                self._rate([deal.versions for deal in deals], now)
            rating = self.beliefs.rating(self.newcomer, now)
            if not self.ranked_after and rating.deals and not is_provisional(rating, self.config):
                self.ranked_after = now - DAY / 2
        return self._finished * self.board.players

    def errors(self) -> list[float]:
        """Return the standard errors of the guests at the end of the day."""
        return [self.beliefs.rating(bot, DAY).error for bot in self.elos if bot not in self.house]

    def _entrant(self, bot: int, now: float) -> Entrant:
        house, has_changed = bot in self.house, bot == self.changing and now >= DAY / 2
        version = bot + 100 if has_changed else bot
        begun = {self.board.name: self.begun[version]}
        owner, room = ("house", 100) if house else (str(bot), self.config.deals_per_bot)
        return Entrant(
            version=version,
            bot=str(bot),
            owner=owner,
            house=house,
            room=room,
            waiting_since=0.0,
            begun=begun,
            earlier_versions=int(has_changed),
        )

    def _rate(self, deals: list[tuple[int, ...]], now: float) -> None:
        elos = np.array([[self.elos[version % 100] for version in versions] for versions in deals])
        for versions, places in zip(deals, draw_deals(elos / ELO_PER_LOGIT, 0.75, self._rng), strict=True):
            self._finished += 1
            self.begun.update(versions)
            for version in versions:
                self.beliefs.enter(version, now, before=version - 100 if version > 100 else None)
            rows = tuple(map(tuple, places.tolist()))
            self.beliefs.add(
                RatedDeal(finished=self._finished, finished_at=now, versions=versions, places=rows)
            )


@pytest.mark.level(1)
@pytest.mark.parametrize(
    ("guests", "config", "tick"),
    [
        (6, LadderConfig(quotas=Quotas(games_per_day=400, exact_error=40.0)), 300.0),
        pytest.param(25, LadderConfig(), 120.0, marks=pytest.mark.level(2)),
    ],
)
def test_quotas_bound_a_day(guests: int, config: LadderConfig, tick: float) -> None:
    """No guest begins more than its quota, a newcomer is soon ranked, and exact bots play less."""
    day = Day(config, np.random.default_rng(2).normal(0.0, 150.0, guests + 1).tolist(), tick)
    games = day.play()
    begun = [day.begun[bot] * day.board.players for bot in day.elos if bot not in HOUSE]
    assert max(begun) <= config.quotas.games_per_day
    assert games <= (guests + 1) * config.quotas.games_per_day
    assert 0 < day.ranked_after < 3600
    exact_error = config.quotas.exact_error
    exact = [number for number, error in zip(begun, day.errors(), strict=True) if error < exact_error]
    assert exact
    assert np.mean(exact) < 0.9 * config.quotas.games_per_day


@pytest.mark.level(1)
@pytest.mark.parametrize("seed", range(2))
def test_default_ladder_ranks_first_bots_in_a_day(seed: int) -> None:
    """With quota and house as they are by default, one that comes at noon too; a changed bot plays on."""
    config = LadderConfig(quotas=Quotas(exact_error=0.0))
    day = Day(config, FIRST_BOTS, 900.0, house=DEFAULT_STEPS, seed=seed)
    steps = [before - after for before, after in pairwise((*DEFAULT_STEPS.values(), FIRST_BOTS[0]))]
    assert max(steps) < USUAL_GAP
    day.changing = 4
    day.play()
    ratings = [day.beliefs.rating(bot, DAY) for bot in (*range(4, 8), 104)]
    assert not any(is_provisional(rating, config) for rating in ratings)
    quota = config.quotas.games_per_day
    assert day.begun[104] * day.board.players == quota / 2


@pytest.mark.nightly
@pytest.mark.parametrize("world", [World(mean=500.0), World(drift=40.0), World(players=2, drift=0.0)])
def test_ranked_intervals_hold(world: World) -> None:
    """At some distance from the anchor, and however fast strengths move; bounds allow for few worlds."""
    measured = [Simulation(world, seed=seed).run() for seed in range(4)]
    held = [each.held(ranked=True) for each in measured if any(each.ranked)]
    assert np.mean(held) > 0.85


@pytest.mark.nightly
def test_a_strong_newcomer_is_soon_known() -> None:
    """At two seats a bot that is 700 Elo above the field isn't rated far too low after 80 deals."""
    world = World(players=2, house=(-300.0, -600.0), newcomer=700.0)
    after = [Simulation(world, seed=seed).run().newcomer for seed in range(4)]
    errors = [points[max(points)][0] for points in after if max(points, default=0) >= 80]
    assert np.mean(errors) > -60
