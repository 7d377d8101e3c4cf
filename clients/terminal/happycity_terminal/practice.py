"""What `happycity practice` does: starts a bot, plays practice matches, and shows them.

Practice matches are unrated games of a bot against a server's own bots, or against itself.
"""

from __future__ import annotations

import asyncio
import random
import statistics
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console

from happycity import Config, Mode, SeatResult
from happycity.errors import ConfigError, suggestion
from happycity.records.record import Json
from happycity.text.words import plural
from happycity.v1 import match_service_pb2 as pb
from happycity.wire.match import duration_message, result_of
from happycity.wire.messages import config_message
from happycity_client.matches import match_at_end
from happycity_runtime.event_loop import EXIT_STOPPED, run_until_stopped, running
from happycity_tournament.cli.json import write_json
from happycity_tournament.cli.tables import print_lines
from happycity_tournament.client.connection import Connection, ServerError, check_names_are_free, connect
from happycity_tournament.client.processes import Process, ProcessError, start_command
from happycity_tournament.client.run_folder import RemoteServer, new_folder
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

_HEAD = f"{'game':>8} {'deal':>11} {'seat':>5} {'place':>6} {'points':>7}  others"


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
                    match = await match_at_end(partial(opened.call, opened.matches.GetMatch), match_id)
                if not match.outcome.HasField("result"):
                    raise ServerError(f"the server {server.address} aborted match {match_id}")
                return PracticeGame(
                    match_id, deal, seated, seated.index(plan.bot), result_of(match.outcome.result)
                )

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


@dataclass(slots=True)
class _Results:
    """The games so far."""

    plan: PracticePlan
    games: list[PracticeGame] = field(default_factory=list)

    def means(self) -> tuple[float, dict[str, float]]:
        """Return the bot's mean place, and each bot's mean points, the practising bot's first."""
        points: defaultdict[str, list[int]] = defaultdict(list)
        for game in self.games:
            points[self.plan.bot].append(game.own.points)
            for seat, name in enumerate(game.bots):
                if name != self.plan.bot:
                    points[name].append(game.seats[seat].points)
        place = statistics.fmean(game.own.place for game in self.games)
        return place, {name: statistics.fmean(of_bot) for name, of_bot in points.items()}

    def worst(self) -> PracticeGame:
        """Return the game with the worst place; of several the one with the fewest points."""
        return max(self.games, key=lambda game: (game.own.place, -game.own.points))

    def lines(self) -> list[str]:
        """Return the results for people."""
        if not self.games:
            return ["no game was finished"]
        place, points = self.means()
        seats = len(self.plan.against) + 1
        own = points.pop(self.plan.bot)
        others = "".join(f"; {name} {mean:.2f}" for name, mean in points.items())
        return [
            f"{len(self.games)} of {plural(self.plan.games, 'game')} of {self.plan.bot}: mean place "
            f"{place:.2f} of {seats}, {own:.2f} points a game{others}",
            f"the worst one: happycity show {self.plan.server.url} {self.worst().match_id}",
        ]

    def json(self) -> Json:
        """Return the results for programs; means are null without a game."""
        place, points = self.means() if self.games else (None, {})
        return {
            "server": self.plan.server.address,
            "bot": self.plan.bot,
            "against": list(self.plan.against),
            "mode": self.plan.mode.value,
            "mean_place": place,
            "mean_points": points,
            "games": [
                {
                    "match": game.match_id,
                    "deal": game.deal,
                    "bots": list(game.bots),
                    "seat": game.seat,
                    "points": [seat.points for seat in game.seats],
                    "places": [seat.place for seat in game.seats],
                    "endings": [seat.ending.word for seat in game.seats],
                    "reasons": [seat.reason for seat in game.seats],
                }
                for game in self.games
            ],
        }


def practise(plan: PracticePlan, *, as_json: bool) -> int:
    """Play the games of a plan and show them; return the exit status.

    Raises:
        ConfigError: there is no such bot in the house.
        ProcessError: the bot's program ended.
        ServerError: no server answers, or it refuses.
    """
    results = _Results(plan)
    out, progress = Console(), Console(stderr=True)
    status = 0
    try:
        run_until_stopped(_play(plan, results, out=None if as_json else out, progress=progress))
    except asyncio.CancelledError:
        status = EXIT_STOPPED
    if as_json:
        write_json(results.json())
    else:
        print_lines(out, *results.lines())
    return status


async def _play(plan: PracticePlan, results: _Results, *, out: Console | None, progress: Console) -> None:
    """Play all games, and show each when it is over."""
    await _check_opponents(plan)
    against = ", ".join(plan.against)
    hint = f"{plural(plan.games, 'practice game')} of {plan.bot} against {against} on {plan.server.address}"
    matches = PracticeMatches(plan, remark=lambda text: print_lines(progress, text))
    with progress.status(f"{hint}; Ctrl-C stops it") as status:
        if not progress.is_terminal:
            print_lines(progress, f"{hint}; Ctrl-C stops it")
        async with _program(plan) as program:
            if program is not None:
                print_lines(progress, f"what {plan.bot} prints: {program.log}")
            async with aclosing(matches.play()) as found:
                while (game := await _next(found, program, results)) is not None:
                    if out is not None:
                        print_lines(out, *([] if results.games else [_HEAD]), _line(game, plan.bot))
                    results.games.append(game)
                    status.update(f"{len(results.games)} of {plural(plan.games, 'game')}; Ctrl-C stops it")


async def _next(
    found: AsyncIterator[PracticeGame], program: Process | None, results: _Results
) -> PracticeGame | None:
    """Return the next game, None after the last; the bot's program may not end before."""
    reading = asyncio.ensure_future(anext(found, None))
    async with running(reading, *([program.wait()] if program else ())) as tasks:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if program is not None and not reading.done():
            raise ProcessError(program.exit_summary(has_played=bool(results.games)))
        return reading.result()


async def _check_opponents(plan: PracticePlan) -> None:
    """Refuse opponents that aren't there, before a program is started."""
    async with connect(plan.server.address, plan.server.access) as connection:
        house = [bot.name for bot in await connection.bots(house=True)]
        if plan.bot in house:
            raise ConfigError(
                f"--bot, --join: {plan.bot!r} is itself a bot of the house; name one of your own"
            )
        await check_names_are_free(connection, plan.lineup.started, flag="--bot")
    for name in plan.against:
        if name not in (*house, plan.bot):
            hint = suggestion(name[:80], house) if house else "the server has none (happycity serve --house)"
            raise ConfigError(
                f"--against: {name[:80]!r} is not a bot of the house at {plan.server.address}; {hint}"
            )


@asynccontextmanager
async def _program(plan: PracticePlan) -> AsyncIterator[Process | None]:
    """Start the bot's program, if there is one, and end it."""
    commands = dict(plan.lineup.commands)
    if plan.bot not in commands:
        yield None
        return
    access = plan.server.access
    program = start_command(
        plan.bot,
        commands[plan.bot],
        tokens={plan.bot: access.token} if access.token else {},
        environment={"HAPPYCITY_SERVER": plan.server.address, **access.environment},
        folder=new_folder(),
        directory=Path.cwd(),
    )
    try:
        yield program
    finally:
        await program.stop()


def _line(game: PracticeGame, bot: str) -> str:
    own = game.own
    others = [
        f"{name} {result.points}"
        for seat, (name, result) in enumerate(zip(game.bots, game.seats, strict=True))
        if seat != game.seat
    ]
    forfeits = [
        f"{name}: {result.ending.word}{f' ({result.reason})' if result.reason else ''}"
        for name, result in zip(game.bots, game.seats, strict=True)
        if result.forfeited
    ]
    return (
        f"{game.match_id:>8} {game.deal:>11} {game.seat + 1:>5} {own.place:>6} {own.points:>7}  "
        + "; ".join([", ".join(others), *forfeits])
    )
