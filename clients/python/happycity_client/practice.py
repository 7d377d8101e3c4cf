"""Practice matches: unrated games of a bot against the server's own bots, or against itself."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import grpc

from happycity import Config, HappyCityError, Mode, Scoring, SeatResult
from happycity.match import one_line
from happycity.v1 import match_service_pb2 as pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire import (
    STATUS_METADATA,
    StatusDetails,
    config_message,
    decode_status,
    duration_message,
    result_of,
)
from happycity_client.client import play
from happycity_client.player import BotFactory
from happycity_client.settings import Settings

AT_ONCE = 4
"""Practice matches that are asked for at once; a server allows as many by default."""
CONNECT_SECONDS = 30.0
"""How long a bot may take to connect."""
PAUSE_SECONDS = 0.1
"""The pause between two attempts where the server names none."""
MAX_SEED = 2**32 - 1

_log = logging.getLogger("happycity_client")


class PracticeError(HappyCityError):
    """A server refuses practice, or can't be reached."""

    def __init__(self, text: str, *, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason
        """The server's reason as in the contract, such as "NOT_HOUSE_BOT"; "" if it gave none."""


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


async def practise(
    bot: BotFactory,
    settings: Settings,
    *,
    against: Sequence[str],
    games: int = 10,
    seed: int | None = None,
    mode: Mode = Mode.FAMILY,
    scoring: Scoring = Scoring.PRODUCT,
    decision_seconds: float | None = None,
) -> list[PracticeGame]:
    """Connect a bot, let it play practice matches, and return them in the order in which they ended.

    The arguments and errors are those of `practice_games`, the errors of `play` besides.
    """

    async def collect() -> list[PracticeGame]:
        found = practice_games(
            settings,
            against=against,
            games=games,
            seed=seed,
            mode=mode,
            scoring=scoring,
            decision_seconds=decision_seconds,
        )
        return [game async for game in found]

    playing, collecting = asyncio.create_task(play(bot, settings)), asyncio.create_task(collect())
    try:
        await asyncio.wait((playing, collecting), return_when=asyncio.FIRST_COMPLETED)
        if not collecting.done():
            await playing  # raises why it ended
            raise PracticeError(f"{settings.server} ended the session before the last game")
        return collecting.result()
    finally:
        for task in (playing, collecting):
            task.cancel()
        await asyncio.wait((playing, collecting))


async def practice_games(
    settings: Settings,
    *,
    against: Sequence[str],
    games: int = 10,
    seed: int | None = None,
    mode: Mode = Mode.FAMILY,
    scoring: Scoring = Scoring.PRODUCT,
    decision_seconds: float | None = None,
    remark: Callable[[str], object] = _log.info,
) -> AsyncGenerator[PracticeGame, None]:
    """Set up practice matches of a bot that plays on a connection of its own, and yield each when it is over.

    The bot and its opponents change seats from game to game, and each deal is played in every rotation of the
    seats before the next one. Where the server's quota is used up, the next match waits.

    Args:
        settings: the server, and name and token of the bot, which has to connect within `CONNECT_SECONDS`.
        against: the bots in the other seats: bots of the house, or the bot itself.
        games: how many matches to play.
        seed: number of the first deal, at most `MAX_SEED`; None: a random one.
        mode: the rules of the game.
        scoring: how points are made.
        decision_seconds: the time for each decision, at most 600; None: the server's default.
        remark: is called with a line for people when something is waited for.

    Raises:
        ConfigError: a setting can't be used, or there can't be so many players.
        PracticeError: the server refuses, can't be reached, or broke a match off.
    """
    bots = (settings.name, *against)
    config = Config(players=len(bots), mode=mode, scoring=scoring)
    first = random.SystemRandom().randint(0, MAX_SEED) if seed is None else seed
    async with settings.access.channel(settings.server) as channel:
        caller = _Caller(settings, MatchServiceStub(channel), decision_seconds, remark)
        slots = asyncio.Semaphore(AT_ONCE)

        async def play_one(number: int) -> PracticeGame:
            deal, turn = (first + number // len(bots)) % (MAX_SEED + 1), number % len(bots)
            async with slots:
                return await caller.played(config, (*bots[-turn:], *bots[:-turn]) if turn else bots, deal)

        tasks = [asyncio.create_task(play_one(number)) for number in range(games)]
        try:
            for task in asyncio.as_completed(tasks):
                yield await task
        finally:
            for pending in tasks:
                pending.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class _Caller:
    """Calls a server's match service for a bot."""

    def __init__(
        self,
        settings: Settings,
        matches: Any,
        decision_seconds: float | None,
        remark: Callable[[str], object],
    ) -> None:
        self._settings = settings
        self._matches = matches
        self._decision_time = None if decision_seconds is None else duration_message(decision_seconds)
        self._remark = remark
        self._remarked: set[str] = set()
        self._deadline = asyncio.get_running_loop().time() + CONNECT_SECONDS

    async def played(self, config: Config, bots: tuple[str, ...], deal: int) -> PracticeGame:
        """Play one match."""
        request = pb.CreatePracticeMatchRequest(
            config=config_message(config), bots=bots, seed=deal, decision_time=self._decision_time
        )
        match_id = await self._created(request)
        watch = pb.WatchMatchRequest(match_id=match_id, end_only=True)
        try:
            call = self._matches.WatchMatch(watch, metadata=self._settings.access.metadata)
            end = [response async for response in call][-1].end
        except grpc.aio.AioRpcError as error:
            raise self._refused(error, _details(error)) from None
        if not end.HasField("result"):
            raise PracticeError(f"{self._settings.server} broke the match {match_id} off")
        return PracticeGame(match_id, deal, bots, bots.index(self._settings.name), result_of(end.result))

    async def _created(self, request: pb.CreatePracticeMatchRequest) -> int:
        """Set a match up, as soon as the quota allows it and the bots are there; return its id."""
        while True:
            try:
                call = self._matches.CreatePracticeMatch(request, metadata=self._settings.access.metadata)
                return int((await call).match.match_id)
            except grpc.aio.AioRpcError as error:
                details = _details(error)
                pause = self._pause(details)
                if pause is None:
                    raise self._refused(error, details) from None
                self._remark_once(details.reason, f"waiting: {one_line(error.details() or '')}")
                await asyncio.sleep(pause)

    def _pause(self, details: StatusDetails) -> float | None:
        """Return the seconds until the next attempt; None if another one is pointless."""
        if details.reason == "BOTS_MISSING":
            return PAUSE_SECONDS if asyncio.get_running_loop().time() < self._deadline else None
        if details.reason in ("RATE_LIMITED", "TOO_MANY_OPEN"):
            return details.retry_seconds or PAUSE_SECONDS
        return None

    def _remark_once(self, reason: str, text: str) -> None:
        """Say what is waited for; the usual wait for a place says nothing."""
        if reason != "TOO_MANY_OPEN" and reason not in self._remarked:
            self._remarked.add(reason)
            self._remark(text)

    def _refused(self, error: grpc.aio.AioRpcError, details: StatusDetails) -> PracticeError:
        text = one_line(error.details() or error.code().name)
        return PracticeError(f"{self._settings.server}: {text}", reason=details.reason)


def _details(error: grpc.aio.AioRpcError) -> StatusDetails:
    encoded = dict(error.trailing_metadata() or ()).get(STATUS_METADATA, b"")
    return decode_status(encoded) if isinstance(encoded, bytes) else StatusDetails()
