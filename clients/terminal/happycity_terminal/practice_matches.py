"""Practice matches: unrated games of a bot against a server's own bots, or against itself."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from happycity import Config, Mode, SeatResult
from happycity.v1 import match_service_pb2 as pb
from happycity.wire.match import duration_message, result_of
from happycity.wire.messages import config_message
from happycity_runtime.event_loop import running
from happycity_tournament.client.connection import Connection, ServerError, connect
from happycity_tournament.client.run_folder import RemoteServer
from happycity_tournament.lineup import Lineup

AT_ONCE = 4
"""Practice matches that are asked for at once; a server allows as many by default."""
CONNECT_SECONDS = 30.0
"""How long a bot may take to connect."""
PAUSE_SECONDS = 0.1
"""The pause between two attempts where the server names none."""
USUAL_SECONDS = 3.0
"""The time in which a bot that was just started is expected to connect."""
MAX_SEED = 2**32 - 1


@dataclass(frozen=True, slots=True)
class PracticeGame:
    """A practice match that is over."""

    match_id: int
    deal: int
    """The number by which the deal was asked for."""
    bots: tuple[str, ...]
    """The bots' names by seat."""
    seat: int
    """The seat of the bot that practised, the first of its seats if it played against itself."""
    seats: tuple[SeatResult, ...]
    """By seat: points, place, how the seat ended, and more."""

    @property
    def own(self) -> SeatResult:
        """How the game ended for the bot that practised."""
        return self.seats[self.seat]


@dataclass(frozen=True, slots=True, kw_only=True)
class PracticePlan:
    """What is to be practised, and where."""

    server: RemoteServer
    """With the bot's token."""
    lineup: Lineup
    """The bot, and how it is started if it is."""
    against: tuple[str, ...]
    """The bots in the other seats: the server's own bots, or the bot itself."""
    games: int
    seed: int | None
    """The number of the first deal; None: a random one."""
    mode: Mode
    decision_seconds: float | None
    """The time for each decision, at most 600; None: the server's default."""

    @property
    def bot(self) -> str:
        """The bot that practises."""
        return self.lineup.names[0]


@dataclass(slots=True)
class PracticeMatches:
    """Sets practice matches up for a bot that has a connection of its own, or is about to have one."""

    plan: PracticePlan
    remark: Callable[[str], object]
    """Is called with a line for people when something is waited for."""
    _remarked: set[str] = field(default_factory=set)

    async def play(self) -> AsyncGenerator[PracticeGame, None]:
        """Play the games of the plan, and yield each when it is over.

        The bots change seats from game to game, and each deal is played in every rotation of the seats before
        the next one. Where the server's quota is used up, the next match waits.

        Raises:
            ConfigError: a setting can't be used, or there can't be that many players.
            ServerError: the server refuses, can't be reached, or aborted a match.
        """
        plan, server = self.plan, self.plan.server
        bots = (plan.bot, *plan.against)
        config = Config(players=len(bots), mode=plan.mode)
        first = random.SystemRandom().randint(0, MAX_SEED) if plan.seed is None else plan.seed
        async with connect(server.address, server.access) as opened:
            slots = asyncio.Semaphore(AT_ONCE)
            deadline = asyncio.get_running_loop().time() + CONNECT_SECONDS

            async def play_one(number: int) -> PracticeGame:
                deal, turn = (first + number // len(bots)) % (MAX_SEED + 1), number % len(bots)
                seated = (*bots[-turn:], *bots[:-turn]) if turn else bots
                request = pb.CreatePracticeMatchRequest(config=config_message(config), bots=seated, seed=deal)
                if plan.decision_seconds is not None:
                    request.decision_time.CopyFrom(duration_message(plan.decision_seconds))
                async with slots:
                    match_id = await self._created(opened, request, deadline)
                    match = await opened.call(
                        opened.matches.WaitMatch, pb.WaitMatchRequest(match_id=match_id)
                    )
                if not match.HasField("result"):
                    raise ServerError(f"the server {server.address} aborted match {match_id}")
                return PracticeGame(match_id, deal, seated, seated.index(plan.bot), result_of(match.result))

            async with running(*map(play_one, range(plan.games))) as tasks:
                for task in asyncio.as_completed(tasks):
                    yield await task

    async def _created(
        self, opened: Connection, request: pb.CreatePracticeMatchRequest, deadline: float
    ) -> int:
        """Set a match up, as soon as the quota allows it and the bots are there; return its match id."""
        while True:
            try:
                return (await opened.call(opened.matches.CreatePracticeMatch, request)).match_id
            except ServerError as error:
                reason, pause = error.details.reason, error.details.retry_seconds
                left, text, is_usual = deadline - asyncio.get_running_loop().time(), str(error), False
                if reason == "BOTS_MISSING" and left > 0:
                    pause, text = PAUSE_SECONDS, f"{self.plan.bot} is not connected yet"
                    is_usual = left > CONNECT_SECONDS - USUAL_SECONDS  # a program that starts
                elif reason not in ("RATE_LIMITED", "TOO_MANY_OPEN"):
                    raise
                is_usual |= reason == "TOO_MANY_OPEN"  # the wait for a place
                if not is_usual and reason not in self._remarked:
                    self._remarked.add(reason)
                    self.remark(f"waiting: {text}")
                await asyncio.sleep(pause or PAUSE_SECONDS)
