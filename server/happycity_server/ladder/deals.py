"""Plays the deals of the ladder: all rotations of each, side by side, on the server's places."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

import structlog

from happycity import Ending, VoidReason
from happycity_server.places.places import Places
from happycity_tournament.games import FinishedGame, Fixture
from happycity_tournament.ladder.config import LadderConfig
from happycity_tournament.ladder.entries import Deal
from happycity_tournament.running.runner import MAX_ATTEMPTS
from happycity_tournament.running.terms import Terms
from happycity_tournament.schedule import bot_seeds
from happycity_tournament.storage import StoreError

_log = structlog.get_logger()


class DealEnd(Enum):
    """How the playing of a deal has ended."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    """The server stops, or the store has failed: it may be played on."""
    FAILED = "failed"
    """A game of it was voided again and again, by the arena's fault."""


@dataclass(slots=True, eq=False)
class PlayedDeal:
    """A deal that is being played, and what has become of it."""

    deal: Deal
    bots: tuple[str, ...]
    """The bots of its versions, in their order."""
    missing: tuple[int, ...]
    """The rotations that are to be played, one at least."""
    end: DealEnd = DealEnd.INTERRUPTED
    forfeited: set[str] = field(default_factory=set)
    """The bots that have forfeited a game of it, also by a goodbye: it spoils the games of others, too."""

    def fixture(self, rotation: int) -> Fixture:
        """Return the game of a rotation."""
        order = self.bots[rotation:] + self.bots[:rotation]
        deal = self.deal
        seeds = bot_seeds(f"ladder {deal.deal_seed} {deal.id}", bots=order)
        return Fixture(deal.id, 0, rotation, deal.deal_seed, order, seeds)


class Deals:
    """The deals that are being played."""

    def __init__(self, config: LadderConfig, places: Places, on_end: Callable[[PlayedDeal], None]) -> None:
        """Play at the server's places; `on_end` is called with each deal that is played no longer."""
        self._config = config
        self._places = places
        self._on_end = on_end
        self._tasks: dict[int, asyncio.Task[None]] = {}  # by deal
        self.by_bot: Counter[str] = Counter()
        """How many deals each bot plays."""

    def __len__(self) -> int:
        """Return how many deals are being played."""
        return len(self._tasks)

    def __contains__(self, deal_id: object) -> bool:
        """Return whether a deal is being played."""
        return deal_id in self._tasks

    def __iter__(self) -> Iterator[int]:
        """Yield the ids of the deals that are being played."""
        return iter(self._tasks)

    def begin(self, deal: Deal, bots: Sequence[str], *, played: Collection[int] = ()) -> None:
        """Play a deal between bots, in the order of its versions, except for rotations that were played."""
        missing = tuple(rotation for rotation in range(len(bots)) if rotation not in played)
        playing = PlayedDeal(deal, tuple(bots), missing)
        task = asyncio.create_task(self._play(playing))
        self._tasks[deal.id] = task
        self.by_bot.update(playing.bots)
        task.add_done_callback(lambda _: self._note_end(playing))

    async def wait_closed(self) -> None:
        """Wait until no deal is being played."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    def _note_end(self, playing: PlayedDeal) -> None:
        del self._tasks[playing.deal.id]
        self.by_bot.subtract(playing.bots)
        for bot in playing.bots:
            if not self.by_bot[bot]:
                del self.by_bot[bot]
        self._on_end(playing)

    async def _play(self, playing: PlayedDeal) -> None:
        board = self._config.board(playing.deal.board)
        terms = Terms(
            tournament_id=0,
            game=board.game,
            time=self._config.time,
            policy=self._config.policy,
            concurrency=self._config.deals_at_once * board.players,
        )
        games = [self._play_game(playing, rotation, terms) for rotation in playing.missing]
        ends = await asyncio.gather(*games, return_exceptions=True)
        problem = next((end for end in ends if isinstance(end, BaseException)), None)
        if problem is not None:  # nobody awaits this task, so its failure ends here
            trace = None if isinstance(problem, StoreError) else problem
            _log.error("ladder_deal_interrupted", deal=playing.deal.id, problem=str(problem), exc_info=trace)
            return
        worst_first = (DealEnd.FAILED, DealEnd.INTERRUPTED, DealEnd.FINISHED)
        playing.end = next(end for end in worst_first if end in ends)

    async def _play_game(self, playing: PlayedDeal, rotation: int, terms: Terms) -> DealEnd:
        """Play a game, and again if it is voided, until it is stored."""
        fixture = playing.fixture(rotation)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            played = await self._places.play(fixture, terms)
            if isinstance(played, FinishedGame):
                playing.forfeited.update(
                    bot
                    for bot, seat in zip(played.bots, played.seats, strict=True)
                    if seat.ending is not Ending.FINISHED
                )
                return DealEnd.FINISHED
            if played in (VoidReason.SHUTDOWN, VoidReason.STOPPED):
                return DealEnd.INTERRUPTED
            fields = {"deal": playing.deal.id, "rotation": rotation, "attempt": attempt}
            _log.warning("ladder_game_voided", **fields, reason=played.value)
        return DealEnd.FAILED
