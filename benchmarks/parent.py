"""`python -m benchmarks.parent`: how many games a second one server can schedule, store and count.

The runner, the standings and the store are the real ones; the matches are instant, as if any number of
workers played them. Each game has a compressed record of a random game that was really played. Prints games a
second, and the CPU microseconds of a game in the event loop and in all threads.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from benchmarks.__main__ import additions
from happycity import Config, Deal, Game, SeatResult, VoidReason
from happycity.match import seat_results
from happycity.records.record import Recorder, clock_json
from happycity.runtime.event_loop import run
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.play.progress import TournamentStatus
from happycity_tournament.play.runner import TournamentRun
from happycity_tournament.play.terms import Terms
from happycity_tournament.schedule import schedule_of
from happycity_tournament.storage import AsyncStore, Store, pack

GAMES = 20_000
BOTS = 8
REPEATS = 3


class InstantHost:
    """A `MatchHost` whose games are over as soon as they begin, but stored like all others."""

    places = 1

    def __init__(self, store: AsyncStore) -> None:
        self.change_listeners: list[Callable[[], None]] = []
        self._store = store
        self._match_id = 0
        self._results = [_played(seed) for seed in range(50)]

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        """Return that no bot is missing."""
        return []

    def connected(self) -> list[str]:
        """Return that nobody else is there."""
        return []

    async def wait_for_any(self, bots: Sequence[str]) -> None:
        """Wait for nobody."""

    async def play(self, fixture: Fixture, terms: Terms) -> FinishedGame | VoidReason:
        """Store a game that was played before as the one of the fixture."""
        self._match_id += 1
        seats, decisions, record = self._results[self._match_id % len(self._results)]
        now = time.time()
        game = FinishedGame(
            match_id=self._match_id,
            tournament_id=terms.tournament_id,
            position=fixture.position,
            deal_seed=fixture.deal_seed,
            config=terms.game,
            bots=fixture.bots,
            bot_seeds=fixture.bot_seeds,
            seats=seats,
            decisions=decisions,
            created_at=now,
            started_at=now,
            finished_at=now,
        )
        await self._store.save(game, record)
        return game

    def disqualify(self, bot: str, tournament_id: int, text: str) -> None:
        """Do nothing: no game runs."""

    def drop_waiting(self, tournament_id: int) -> None:
        """Do nothing: no game waits."""


def _played(seed: int) -> tuple[tuple[SeatResult, ...], int, bytes]:
    """Play a random game; return its results, its number of decisions and its compressed record."""
    rng, deal = random.Random(seed), Deal.shuffle(Config(), seed=seed)
    game, recorder = Game(deal), Recorder(deal)
    while game.outcome is None:
        move = rng.choice(game.legal_moves)
        recorder.add(game, move)
        game.apply(move)
    think = [rng.randrange(200, 20_000) for _ in recorder.moves]
    clock = clock_json(think_us=think, round_trip_us=[0] * 4)
    return seat_results(game.outcome), len(recorder.moves), pack(lambda: recorder.record(game, clock=clock))


async def tournament(url: str, games: int) -> tuple[float, float, float]:
    """Play a tournament; return wall seconds, and CPU seconds of the event loop and of all threads."""
    bots = tuple(f"bot-{number}" for number in range(BOTS))
    config = TournamentConfig(bots=bots, game=Config(), format=RandomRounds(rounds=games // BOTS), seed=1)
    with Store.create(url) as store:
        store.claim()
        async with AsyncStore(store) as async_store:
            schedule = schedule_of(config)
            tournament_id = store.create_tournament(
                config.json(), games_total=schedule.total_games, created_at=0.0
            )
            status = TournamentStatus(tournament_id, config, schedule, created_at=0.0)
            host = InstantHost(async_store)
            started, loop, threads = time.perf_counter(), time.thread_time(), _cpu_seconds()
            await TournamentRun(status, host=host, store=async_store).run()
            assert status.complete
            assert store.progress(tournament_id).games == schedule.total_games
            return time.perf_counter() - started, time.thread_time() - loop, _cpu_seconds() - threads


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Play the tournament some times and print each time, and the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=GAMES)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--store", help="URL of an empty database; a SQLite file by default")
    arguments = parser.parse_args()
    rates = []
    for _ in range(arguments.repeats):
        with tempfile.TemporaryDirectory() as folder:
            url = arguments.store or f"sqlite:///{Path(folder)}/games.sqlite"
            wall, loop, threads = run(tournament(url, arguments.games))
        rates.append(arguments.games / wall)
        print(
            f"{rates[-1]:,.0f} games/s; CPU us a game: event loop {loop / arguments.games * 1e6:.1f}, "
            f"all threads {threads / arguments.games * 1e6:.1f}; plain loop {additions():.1f} M additions/s",
            flush=True,
        )
    print(f"median {median(rates):,.0f} games/s")


if __name__ == "__main__":
    main()
