"""Stores with made-up games, for what no small tournament shows."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.tournament.games import finished

from happycity import Config, Ending
from happycity.match import seat_results
from happycity.records.record import FORMAT, Json
from happycity.rules.scoring import Outcome, rank
from happycity_tournament.config import RandomRounds, TournamentConfig, TournamentState
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.schedule import schedule_of
from happycity_tournament.storage.store import Store

START = 1_795_000_000.0
"""When all these tournaments began, in Unix time."""


@dataclass(frozen=True)
class League:
    """A tournament in which the earlier bots are the better ones."""

    bots: Sequence[str]
    seats: int = 4
    rounds: int = 12
    playing: Sequence[str] | None = None
    """The bots that get games; None: all."""
    ending: Callable[[int, str], Ending] = lambda match_id, bot: Ending.FINISHED
    """How a game ends for a bot."""
    reason: str = ""
    """Why seats are forfeited."""
    timed: bool = False
    """Whether records have times."""
    with_records: bool = True
    seed: int = 7

    @property
    def config(self) -> Json:
        """What the tournament consists of, as a store has it; the names may be ones that no server takes."""
        return {**self._config(len(self.bots)).json(), "bots": list(self.bots)}

    def store(self, path: Path) -> str:
        url = f"sqlite:///{path}"
        with Store.create(url) as store:
            self.add_to(store)
        return url

    def add_to(
        self, store: Store, *, state: TournamentState = TournamentState.FINISHED, games: int | None = None
    ) -> int:
        games_total = self.rounds * (len(self.bots) // self.seats) * self.seats
        tournament_id = store.create_tournament(self.config, games_total=games_total, created_at=START)
        store.add_games(list(self.games(tournament_id, store.next_match_id()))[:games])
        store.set_state(tournament_id, state)
        return tournament_id

    def games(self, tournament_id: int, first_id: int = 1) -> Iterator[tuple[FinishedGame, str | None]]:
        playing = self.bots if self.playing is None else self.playing
        if not playing:
            return
        config = self._config(len(playing))
        names = dict(zip(config.bots, playing, strict=True))
        for stage in schedule_of(config).stages():
            for match_id, fixture in enumerate(stage, start=first_id):
                bots = tuple(names[bot] for bot in fixture.bots)
                yield self._game(replace(fixture, bots=bots), match_id, tournament_id)
                first_id = match_id + 1

    def _config(self, count: int) -> TournamentConfig:
        bots = tuple(f"bot-{number}" for number in range(count))
        game = Config(players=self.seats)
        return TournamentConfig(bots=bots, game=game, format=RandomRounds(rounds=self.rounds), seed=self.seed)

    def _game(self, fixture: Fixture, match_id: int, tournament_id: int) -> tuple[FinishedGame, str | None]:
        rng = random.Random(f"points {match_id}")
        strengths = [len(self.bots) - self.bots.index(bot) for bot in fixture.bots]
        points = tuple(round(40 * rng.random() * (1 + strength / len(self.bots))) for strength in strengths)
        nothing = (0,) * self.seats
        outcome = Outcome(
            points=points,
            coins=nothing,
            inhabitants=points,
            hearts=(1,) * self.seats,
            ranks=rank([(own,) for own in points]),
        )
        endings = [self.ending(match_id, bot) for bot in fixture.bots]
        reasons = ["" if ending is Ending.FINISHED else self.reason for ending in endings]
        game = replace(
            finished(fixture, match_id=match_id, tournament_id=tournament_id, decisions=10 * self.seats),
            seats=seat_results(outcome, endings, reasons),
            created_at=START + match_id - 1,
            started_at=START + match_id - 0.5,
            finished_at=START + match_id,
        )
        return game, json.dumps(self._record(game)) if self.with_records else None

    def _record(self, game: FinishedGame) -> Json:
        """Make a record that has all its keys; it can't be replayed."""
        moves = [{"seat": seat, "move": "keep"} for _ in range(10) for seat in range(self.seats)]
        record: Json = {
            "format": FORMAT,
            "config": {"players": self.seats, "mode": "family", "scoring": "product"},
            "deal": {"seed": game.deal_seed},
            "moves": moves,
            "outcome": {
                "points": [seat.points for seat in game.seats],
                "coins": [seat.coins for seat in game.seats],
                "inhabitants": [seat.inhabitants for seat in game.seats],
                "hearts": [seat.hearts for seat in game.seats],
                "ranks": [seat.rank for seat in game.seats],
            },
            "endings": [seat.ending.value for seat in game.seats],
        }
        if self.timed:
            rng = random.Random(f"times {game.match_id}")
            think = [round(rng.lognormvariate(8 + number % self.seats, 1)) for number in range(len(moves))]
            record["clock"] = {"think_us": think, "round_trip_us": [400] * self.seats}
        return record
