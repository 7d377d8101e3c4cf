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

from happycity import ConfigError, Mode
from happycity.errors import suggestion
from happycity.records import Json
from happycity.runtime.event_loop import run_until_stopped
from happycity.runtime.transport import Access
from happycity_client import PracticeGame, Settings, practice_games
from happycity_tournament.arena.connection import connect
from happycity_tournament.arena.lineup import Lineup
from happycity_tournament.arena.processes import Process, ProcessError, start_command
from happycity_tournament.arena.run_folder import new_folder
from happycity_tournament.cli.console import show
from happycity_tournament.cli.json import write_json
from happycity_tournament.cli.play import BROKEN_OFF

_HEAD = f"{'game':>8} {'deal':>11} {'seat':>5} {'place':>6} {'points':>7}  others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What is to be practised, and where."""

    server: str
    access: Access
    """With the bot's token."""
    lineup: Lineup
    """The bot, and how it is started if it is."""
    against: tuple[str, ...]
    games: int
    seed: int | None
    mode: Mode

    @property
    def bot(self) -> str:
        """The bot that practises."""
        return self.lineup.names[0]


@dataclass(slots=True)
class _Results:
    """The games so far."""

    session: Session
    games: list[PracticeGame] = field(default_factory=list)

    def means(self) -> tuple[float, dict[str, float]]:
        """Return the bot's mean place, and each bot's mean points, the practising bot's first."""
        points: defaultdict[str, list[int]] = defaultdict(list)
        for game in self.games:
            points[self.session.bot].append(game.own.points)
            for seat, name in enumerate(game.bots):
                if name != self.session.bot:
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
        seats = len(self.session.against) + 1
        own = points.pop(self.session.bot)
        others = "".join(f"; {name} {mean:.2f}" for name, mean in points.items())
        return [
            f"{len(self.games)} of {self.session.games} games of {self.session.bot}: mean place {place:.2f} "
            f"of {seats}, {own:.2f} points a game{others}",
            f"the worst one: happycity show {self.worst().match_id} --server {self.session.server}",
        ]

    def json(self) -> Json:
        """Return the results for programs; means are null without a game."""
        place, points = self.means() if self.games else (None, {})
        return {
            "server": self.session.server,
            "bot": self.session.bot,
            "against": list(self.session.against),
            "mode": self.session.mode.value,
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


def practise(session: Session, *, as_json: bool) -> int:
    """Play a session's games and show them; return the exit status.

    Raises:
        ConfigError: there is no such bot in the house.
        PracticeError: the server refuses.
        ProcessError: the bot's program ended.
        ServerError: no server answers.
    """
    results = _Results(session)
    out, progress = Console(), Console(stderr=True)
    status = 0
    try:
        run_until_stopped(_play(session, results, out=None if as_json else out, progress=progress))
    except asyncio.CancelledError:
        status = BROKEN_OFF
    if as_json:
        write_json(results.json())
    else:
        show(out, *results.lines())
    return status


async def _play(session: Session, results: _Results, *, out: Console | None, progress: Console) -> None:
    """Play all games, and show each when it is over."""
    await _check_opponents(session)
    against = ", ".join(session.against)
    hint = f"{session.games} practice games of {session.bot} against {against} on {session.server}"
    settings = Settings(name=session.bot, server=session.server, access=session.access)
    with progress.status(f"{hint}; Ctrl-C stops it") as status:
        if not progress.is_terminal:
            show(progress, f"{hint}; Ctrl-C stops it")
        async with _program(session) as program:
            if program is not None:
                show(progress, f"what {session.bot} prints: {program.log}")
            found = practice_games(
                settings,
                against=session.against,
                games=session.games,
                seed=session.seed,
                mode=session.mode,
                remark=lambda text: show(progress, text),
            )
            async with aclosing(found):
                while (game := await _next(found, program)) is not None:
                    if out is not None:
                        show(out, *([] if results.games else [_HEAD]), _line(game, session.bot))
                    results.games.append(game)
                    status.update(f"{len(results.games)} of {session.games} games; Ctrl-C stops it")


async def _next(found: AsyncIterator[PracticeGame], program: Process | None) -> PracticeGame | None:
    """Return the next game, None after the last; the bot's program may not end before."""
    reading = asyncio.ensure_future(anext(found, None))
    ended = None if program is None else asyncio.create_task(program.wait())
    try:
        await asyncio.wait([reading, *([ended] if ended else [])], return_when=asyncio.FIRST_COMPLETED)
        if program is not None and not reading.done():
            raise ProcessError(program.exit_summary())
        return reading.result()
    finally:
        for task in filter(None, (reading, ended)):
            task.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def _check_opponents(session: Session) -> None:
    """Refuse opponents that aren't there, before a program is started."""
    async with connect(session.server, session.access) as connection:
        house = [bot.name for bot in await connection.bots(house=True)]
    if session.bot in house:
        raise ConfigError(
            f"--bot, --join: {session.bot!r} is itself a bot of the house; name one of your own"
        )
    for name in session.against:
        if name not in (*house, session.bot):
            hint = suggestion(name[:80], house) if house else "the server has none (happycity serve --house)"
            raise ConfigError(f"--against: {name[:80]!r} is no bot of the house at {session.server}; {hint}")


@asynccontextmanager
async def _program(session: Session) -> AsyncIterator[Process | None]:
    """Start the bot's program, if there is one, and end it."""
    commands = dict(session.lineup.commands)
    if session.bot not in commands:
        yield None
        return
    access = session.access
    program = start_command(
        session.bot,
        commands[session.bot],
        tokens={session.bot: access.token} if access.token else {},
        environment={"HAPPYCITY_SERVER": session.server, **access.environment},
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
