"""A host whose games follow from their fixtures alone, and tournaments that are played on it."""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence

from tests.tournament.games import finished

from happycity import Ending, VoidReason
from happycity_tournament.config import TournamentConfig, TournamentState
from happycity_tournament.games import FinishedGame, Fixture, Position
from happycity_tournament.play.match_spec import MatchSpec
from happycity_tournament.play.progress import TournamentStatus, load_unfinished
from happycity_tournament.play.runner import TournamentRun
from happycity_tournament.schedule import schedule_of
from happycity_tournament.storage.async_store import AsyncStore

Fault = Callable[[Fixture, int], VoidReason | None]
"""Says for a game and the number of its attempt, from 1, why it is voided; None if it isn't."""

MATCH_IDS = itertools.count(1)


def random_game(fixture: Fixture) -> FinishedGame:
    """Make a result, always the same for a game, in which names late in the alphabet do better."""
    rng = random.Random(repr(fixture))
    letters = ["abcdefghijklm".index(bot[0]) for bot in fixture.bots]
    return finished(fixture, points=[8 * letter + rng.randrange(60) for letter in letters])


class Host:
    """A `MatchHost` whose short games end first, whatever the order in which they begin."""

    def __init__(
        self,
        store: AsyncStore,
        *,
        result_of: Callable[[Fixture], FinishedGame] = random_game,
        fault: Fault = lambda *_: None,
        connected: bool = True,
    ) -> None:
        """Take a store.

        Args:
            store: where the games are kept.
            result_of: makes a game.
            fault: says which games are voided.
            connected: whether the bots are there from the beginning; else once `arrival` is set.
        """
        self.places = 1
        self.change_listeners: list[Callable[[], None]] = []
        self.attempts: Counter[Position] = Counter()
        self.finished: list[Position] = []
        self.disqualified: dict[Position, tuple[str, ...]] = {}
        """By game, who was disqualified when it began."""
        self.notified: list[str] = []
        self.waits: list[tuple[tuple[str, ...], float]] = []
        self.after_game: Callable[[], None] = lambda: None
        self.room: int | None = None
        """The number of games for which the bots have room; later ones wait until they are dropped."""
        self._dropped = asyncio.Event()
        self.missing: tuple[str, ...] = ()
        """The bots that don't connect."""
        self.others: list[str] = []
        """The bots that are connected, where others are missing."""
        self.arrival = asyncio.Event()
        if connected:
            self.arrival.set()
        self._store = store
        self._result_of = result_of
        self._fault = fault

    async def wait_for(self, bots: Sequence[str], seconds: float) -> list[str]:
        self.waits.append((tuple(bots), seconds))
        return [bot for bot in bots if bot in self.missing]

    def connected(self) -> list[str]:
        return self.others

    async def wait_for_any(self, bots: Sequence[str]) -> None:
        await self.arrival.wait()

    async def play(self, spec: MatchSpec) -> FinishedGame | VoidReason:
        assert spec.position is not None
        fixture = Fixture(*spec.position, spec.deal.seed, spec.bots, spec.bot_seeds)
        disqualified = spec.disqualified
        self.disqualified.setdefault(fixture.position, tuple(sorted(disqualified)))
        self.attempts[fixture.position] += 1
        if self.room is not None and self.attempts.total() > self.room:
            await self._dropped.wait()
            return VoidReason.STOPPED
        for _ in range(random.Random(repr(fixture)).randrange(5)):
            await asyncio.sleep(0)  # lets others go first
        if (reason := self._fault(fixture, self.attempts[fixture.position])) is not None:
            return reason
        result = self._result_of(fixture)
        endings = [
            Ending.DISQUALIFIED if bot in disqualified else seat.ending
            for bot, seat in zip(fixture.bots, result.seats, strict=True)
        ]
        game = finished(
            fixture,
            points=[seat.points for seat in result.seats],
            endings=endings,
            match_id=next(MATCH_IDS),
            tournament_id=spec.tournament_id,
        )
        await self._store.save(game, "{}")
        self.finished.append(fixture.position)
        self.after_game()
        return game

    def disqualify(self, bot: str, tournament_id: int, text: str) -> None:
        assert text.startswith(f"disqualified from tournament {tournament_id}: {bot} ")
        self.notified.append(bot)

    def drop_waiting(self, tournament_id: int) -> None:
        self.room = None
        self._dropped.set()

    def void_slow_matches(self, tournament_id: int, seconds: float) -> None:
        pass


def new_run(store: AsyncStore, host: Host, config: TournamentConfig) -> TournamentRun:
    schedule = schedule_of(config)
    tournament_id = store.store.create_tournament(
        config.json(), games_total=schedule.total_games, created_at=0.0
    )
    status = TournamentStatus(tournament_id, config, schedule, created_at=0.0)
    return TournamentRun(status, host=host, store=store)


def resumed_run(store: AsyncStore, host: Host, tournament_id: int) -> TournamentRun:
    """Continue a tournament, as a server does that starts."""
    status, missing = load_unfinished(store.store, tournament_id)
    return TournamentRun(status, host=host, store=store, missing=missing)


async def played(
    store: AsyncStore, config: TournamentConfig, host: Host | None = None, *, after: int | None = None
) -> TournamentRun:
    """Play a tournament to its end, or interrupt it when `after` games are finished."""
    host = host or Host(store)
    run = new_run(store, host, config)
    if after is not None:
        host.after_game = lambda: run.interrupt() if len(host.finished) >= after else None
    await run.run()
    return run


async def continued(store: AsyncStore, tournament_id: int, host: Host | None = None) -> TournamentRun:
    """Continue a tournament, as a server does that starts, to its end."""
    run = resumed_run(store, host or Host(store), tournament_id)
    await run.run()
    return run


async def undisturbed(store: AsyncStore, config: TournamentConfig) -> TournamentStatus:
    run = await played(store, config)
    assert run.status.state is TournamentState.FINISHED
    return run.status


def counted_games(store: AsyncStore, status: TournamentStatus) -> list[Fixture]:
    """Return what was played and counts: in a test, the blocks up to its decision."""
    games = [game.fixture for game in store.store.results(status.tournament_id)]
    return [fixture for fixture in games if status.test is None or fixture.round <= status.test.blocks]
