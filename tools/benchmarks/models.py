"""Leagues of bots with known strengths: who played whom, on which deals, and who came where.

What a seat reaches in a game is the bot's strength, the luck of its cards, which all games of the deal share,
and noise of the game's own. With Gumbel noise and no luck this is the model of the ratings (Yellott 1977).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from happycity_tournament.config import TournamentConfig
from happycity_tournament.games import Result
from happycity_tournament.ratings.columns import Floats, Games, GamesBuilder, Ints, TableColumns
from happycity_tournament.ratings.likelihood import choices_of, fit
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT
from happycity_tournament.schedule import schedule_of

TRUTH_DEALS = 60_000
"""The number of deals that say what ratings estimate where games are not drawn from the model."""


@dataclass(frozen=True)
class League:
    """Bots and how their games come out."""

    elos: Sequence[float]
    luck: float = 0.0
    """The standard deviation, in logits, of what a seat's cards in a deal add."""
    noise: Literal["gumbel", "normal"] = "gumbel"
    """Both have the same variance, pi^2 / 6."""
    step: float = 0.0
    """Results are rounded to multiples of it, in logits, so that places are shared; 0: never."""
    seat_effects: Sequence[float] = ()
    """What each seat adds, in Elo; nothing if there are none."""
    seating: Literal["rotated", "repeated", "single"] = "rotated"
    """A deal is played in every rotation of its bots, as often without rotating them, or once."""
    weights: Sequence[float] | None = None
    """How often each bot is drawn, relative to the others; None is all equally often."""

    @property
    def bots(self) -> tuple[str, ...]:
        """The bots' names."""
        return tuple(f"bot-{number}" for number in range(len(self.elos)))

    @property
    def is_model(self) -> bool:
        """Whether the ratings' model is true, so that they estimate `elos`."""
        return not (self.luck or self.step or self.seat_effects) and self.noise == "gumbel"

    def games(self, deals: Mapping[int, int], rng: np.random.Generator) -> Games:
        """Play this number of deals at tables of each size, between bots that are drawn."""
        tables, first = {}, 0
        for seats, count in deals.items():
            tables[seats] = self.play(self._lineups(seats, count, rng), rng, first_deal=first)
            first += count
        return Games(self.bots, tables)

    def play(self, lineups: Ints, rng: np.random.Generator, *, first_deal: int = 0) -> TableColumns:
        """Play one deal for each lineup, [deal, seat], in all its seatings."""
        deals, seats = lineups.shape
        rotations = {"rotated": range(seats), "repeated": [0] * seats, "single": [0]}[self.seating]
        bots = np.stack([np.roll(lineups, -rotation, axis=1) for rotation in rotations], axis=1)
        bots = bots.reshape(-1, seats)
        cards = np.repeat(self.luck * rng.normal(size=(deals, seats)), len(rotations), axis=0)
        numbers = np.repeat(np.arange(first_deal, first_deal + deals), len(rotations))
        return TableColumns(bots, self.places(bots, cards, rng), numbers)

    def places(self, bots: Ints, cards: Floats, rng: np.random.Generator) -> Ints:
        """Return who came where in games, [game, seat], with these cards in logits."""
        effects = np.array(self.seat_effects or [0.0] * bots.shape[1])
        results = (np.array(self.elos)[bots] + effects) / ELO_PER_LOGIT + cards
        if self.noise == "normal":
            results = results + np.pi / np.sqrt(6) * rng.normal(size=bots.shape)
        else:
            results = results + rng.gumbel(size=bots.shape)
        return places_of(np.round(results / self.step) if self.step else results)

    def truth(self, seats: int) -> Floats:
        """Return what ratings at tables of this size estimate, in Elo from the bots' mean."""
        if self.is_model:
            elos = np.array(self.elos, dtype=np.float64)
        else:
            games = self.games({seats: TRUTH_DEALS}, np.random.default_rng(0))
            elos = ELO_PER_LOGIT * fit(choices_of(games)).strengths
        distances: Floats = elos - elos.mean()
        return distances

    def _lineups(self, seats: int, deals: int, rng: np.random.Generator) -> Ints:
        keys = rng.gumbel(size=(deals, len(self.elos)))
        if self.weights is not None:
            keys += np.log(self.weights)
        return np.argsort(-keys, axis=1)[:, :seats]


def places_of(results: Floats) -> Ints:
    """Return the places of games, [game, seat], by what their seats reached; equal ones share a place."""
    places: Ints = 1 + (results[:, None, :] > results[:, :, None]).sum(axis=2)
    return places


def played(config: TournamentConfig, league: League, rng: np.random.Generator) -> Games:
    """Play the schedule of a format that is fixed, or Swiss, between bots of a league, in the same order."""
    schedule, builder = schedule_of(config), GamesBuilder(config.bots)
    numbers = {bot: number for number, bot in enumerate(config.bots)}
    for stage in schedule.stages():
        games = list(stage)
        deals = sorted({game.deal_seed for game in games})
        cards = league.luck * rng.normal(size=(len(deals), config.game.players))
        bots = np.array([[numbers[bot] for bot in game.bots] for game in games])
        own = cards[np.searchsorted(deals, [game.deal_seed for game in games])]
        for game, places in zip(games, league.places(bots, own, rng).tolist(), strict=True):
            result = Result(0, None, game.position, game.deal_seed, game.bots, places)
            schedule.add(result)
            builder.extend([result])
    return builder.build()
