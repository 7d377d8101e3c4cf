"""Stores with made-up games, for what no small tournament shows."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from happycity.records import FINISHED, FORMAT, Json
from happycity_tournament.results import Fixture, GameResult
from happycity_tournament.schedule import fixtures
from happycity_tournament.store import Store, StoredGame

NEWS = 1_795_000_000.0
"""When all these tournaments began."""


@dataclass(frozen=True)
class League:
    """A tournament in which the earlier bots are the better ones."""

    bots: Sequence[str]
    seats: int = 4
    rounds: int = 12
    playing: Sequence[str] | None = None
    """Who gets games; None is everybody."""
    ending: Callable[[int, str], str] = lambda game, bot: FINISHED
    """How a game, by its number, ends for a bot."""
    timed: bool = False
    """Whether records tell times."""
    with_records: bool = True
    with_bots: bool = True
    """Whether records name the bots."""

    def store(self, path: Path) -> str:
        """Write a store and return its URL."""
        url = f"sqlite:///{path}"
        with Store(url) as store:
            self.add_to(store)
        return url

    def add_to(self, store: Store) -> int:
        """Add the tournament to a store and return its id."""
        config = {"bots": list(self.bots), "players": self.seats, "rounds": self.rounds, "seed": 7}
        number = store.create_tournament(config, NEWS)
        first = store.next_game_id()
        playing = self.playing if self.playing is not None else self.bots
        if playing:
            drawn = fixtures(bots=playing, seats=self.seats, rounds=self.rounds, seed=7)
            store.add_games([self._game(fixture, id, number) for id, fixture in enumerate(drawn, first)])
        store.set_state(number, "finished")
        return number

    def _game(self, fixture: Fixture, id: int, tournament: int) -> StoredGame:
        result = self._result(fixture, id)
        record = json.dumps(self._record(result, id)) if self.with_records else None
        return StoredGame.of(result, id=id, tournament_id=tournament, finished_at=NEWS + id, record=record)

    def _result(self, fixture: Fixture, id: int) -> GameResult:
        rng = random.Random(f"points {id}")
        strengths = [len(self.bots) - self.bots.index(bot) for bot in fixture.bots]
        points = tuple(round(40 * rng.random() * (1 + strength / len(self.bots))) for strength in strengths)
        endings = tuple(self.ending(id, bot) for bot in fixture.bots)
        ranked = [(ending == FINISHED, score) for ending, score in zip(endings, points, strict=True)]
        return GameResult(
            fixture=fixture,
            points=points,
            coins=(0,) * self.seats,
            places=tuple(1 + sum(other > own for other in ranked) for own in ranked),
            endings=endings,
            decisions=10 * self.seats,
            seconds=0.5,
        )

    def _record(self, result: GameResult, id: int) -> Json:
        """Make a record that has all its keys; nobody could replay it."""
        moves = [{"seat": seat, "move": "keep"} for _ in range(10) for seat in range(self.seats)]
        ones = [1] * self.seats
        outcome = {
            "points": list(result.points),
            "coins": list(result.coins),
            "inhabitants": list(result.points),
        }
        record: Json = {
            "format": FORMAT,
            "config": {"players": self.seats, "mode": "family", "scoring": "product"},
            "deal": {"seed": result.fixture.deal_seed},
            "moves": moves,
            "outcome": {**outcome, "hearts": ones, "ranks": list(result.places)},
            "endings": list(result.endings),
        }
        if self.with_bots:
            record["bots"] = list(result.fixture.bots)
        if self.timed:
            rng = random.Random(f"times {id}")
            think = [round(rng.lognormvariate(8 + number % self.seats, 1)) for number in range(len(moves))]
            record["clock"] = {"think_us": think, "round_trip_us": [time + 400 for time in think]}
        return record
