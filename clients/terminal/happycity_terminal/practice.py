"""What `happycity practice` does: starts a bot, plays practice matches, and shows them."""

from __future__ import annotations

import asyncio
import statistics
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from happycity.errors import ConfigError, suggestion
from happycity.records.record import Json
from happycity.text.words import plural
from happycity_runtime.event_loop import EXIT_STOPPED, run_until_stopped, running
from happycity_terminal.practice_matches import PracticeGame, PracticeMatches, PracticePlan
from happycity_tournament.cli.json import write_json
from happycity_tournament.cli.tables import print_lines
from happycity_tournament.client.connection import check_names_are_free, connect
from happycity_tournament.client.processes import Process, ProcessError, start_command
from happycity_tournament.client.run_folder import new_folder

_HEAD = f"{'game':>8} {'deal':>11} {'seat':>5} {'place':>6} {'points':>7}  others"


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
