"""Games between bots of known strength, drawn from the Davidson-Luce model; tests use them too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from happycity_tournament.ratings.columns import Floats, Games, Ints, TableColumns
from happycity_tournament.ratings.statistics import ELO_PER_LOGIT


@dataclass(frozen=True)
class League:
    """Bots and tables with known parameters, in Elo."""

    elos: Sequence[float]
    seat_effects: Mapping[int, Sequence[float]] = field(default_factory=dict)
    """By table size; 0 where it isn't given."""
    deltas: Mapping[int, float] = field(default_factory=dict)
    """How likely so many are to share a place (the model's delta); nobody does if it isn't given."""
    luck: float = 0.0
    """The standard deviation, in logits, of what a seat's cards in a deal add."""
    seating: Literal["rotated", "repeated", "single"] = "rotated"
    """A deal is played in every rotation of its bots, as often without rotating them, or once."""
    weights: Sequence[float] | None = None
    """How often each bot is drawn, relative to the others; None is all equally often."""

    @property
    def bots(self) -> tuple[str, ...]:
        """The bots' names."""
        return tuple(f"bot {number}" for number in range(len(self.elos)))

    def games(self, deals: Mapping[int, int], rng: np.random.Generator) -> Games:
        """Play so many deals at tables of each size."""
        tables, first = {}, 0
        for seats, count in deals.items():
            tables[seats] = self._table(seats, count, rng, first_deal=first)
            first += count
        return Games(self.bots, tables)

    def _table(self, seats: int, deals: int, rng: np.random.Generator, *, first_deal: int) -> TableColumns:
        lineups = self._lineups(seats, deals, rng)
        cards = self.luck * rng.normal(size=(deals, seats))
        rotations = {"rotated": range(seats), "repeated": [0] * seats, "single": [0]}[self.seating]
        bots = np.stack([np.roll(lineups, -rotation, axis=1) for rotation in rotations], axis=1)
        bots = bots.reshape(-1, seats)
        effects = np.array(self.seat_effects.get(seats, [0.0] * seats))
        strengths = (np.array(self.elos)[bots] + effects) / ELO_PER_LOGIT
        strengths += np.repeat(cards, len(rotations), axis=0)
        numbers = np.repeat(np.arange(first_deal, first_deal + deals), len(rotations))
        return TableColumns(bots, draw_places(strengths, self.deltas, rng), numbers)

    def _lineups(self, seats: int, deals: int, rng: np.random.Generator) -> Ints:
        keys = rng.gumbel(size=(deals, len(self.elos)))
        if self.weights is not None:
            keys += np.log(self.weights)
        return np.argsort(-keys, axis=1)[:, :seats]


def draw_places(strengths: Floats, deltas: Mapping[int, float], rng: np.random.Generator) -> Ints:
    """Draw the places of games, [game, seat], from log strengths: choice after choice, as the model says."""
    games, seats = strengths.shape
    sets = [
        chosen
        for order in range(1, seats + 1)
        if order == 1 or deltas.get(order, 0) > 0
        for chosen in combinations(range(seats), order)
    ]
    members = np.array([[seat in chosen for seat in range(seats)] for chosen in sets])
    orders = members.sum(axis=1)
    logs = strengths @ (members / orders[:, None]).T
    logs += np.log([1.0 if order == 1 else deltas[order] for order in orders.tolist()])
    places = np.zeros((games, seats), dtype=np.int64)
    left = np.ones((games, seats), dtype=bool)
    for _ in range(seats):
        possible = ~((~left) @ members.T)
        keys = np.where(possible, logs + rng.gumbel(size=logs.shape), -np.inf)
        taking = members[keys.argmax(axis=1)] & left
        places[taking] = (1 + seats - left.sum(axis=1))[np.nonzero(taking)[0]]
        left &= ~taking
    return places


def columns(games: Sequence[tuple[Sequence[int], Sequence[int], int]], bots: Sequence[str]) -> Games:
    """Make games of (bots by seat, places by seat, deal)."""
    tables = {}
    for seats in sorted({len(seated) for seated, _, _ in games}):
        rows = [row for row in games if len(row[0]) == seats]
        tables[seats] = TableColumns(
            bots=np.array([seated for seated, _, _ in rows], dtype=np.int64),
            places=np.array([places for _, places, _ in rows], dtype=np.int64),
            deals=np.array([deal for _, _, deal in rows], dtype=np.int64),
        )
    return Games(tuple(bots), tables)
