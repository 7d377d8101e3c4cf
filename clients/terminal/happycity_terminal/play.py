"""What `happycity play` does: seat a person in a game, by the protocol that bots speak."""

from __future__ import annotations

import asyncio
import logging
import random
import shutil
from collections.abc import Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import typer
from prompt_toolkit import print_formatted_text
from prompt_toolkit.formatted_text import FormattedText

from happycity import Config, ConfigError, HappyCityError, Mode, TimeControl
from happycity.match import check_bot_name
from happycity.records.playback import Playback
from happycity.rules.deals import MAX_PLAYERS
from happycity.text.board import Line
from happycity.wire.watch import add_to_playback
from happycity_client import Settings, play
from happycity_runtime import event_loop
from happycity_runtime.commands import remark
from happycity_runtime.transport import Access
from happycity_terminal.keyboard import keyboard
from happycity_terminal.person import LeaveError, PersonBot
from happycity_terminal.screen import STYLE, color_depth, is_terminal, styled, text_width, write
from happycity_tournament.client.connection import Connection, ServerError, connect
from happycity_tournament.client.processes import Process, ProcessError
from happycity_tournament.client.run_folder import STORE_FILE, RemoteServer, new_folder, own_store
from happycity_tournament.client.session import open_server_session
from happycity_tournament.lineup import Lineup, bot_entries
from happycity_tournament.storage.store import Store

_UNTIMED = TimeControl(connect_seconds=30.0, no_clock=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class GamePlan:
    """The game that a person wants to play, or to watch."""

    name: str
    """The person's name at the table."""
    against: str
    """Reference bots, separated by commas, as `--bots` takes them; on a server any bots' names."""
    commands: Sequence[str]
    """Programs to play against, as `--bot` takes them."""
    mode: Mode
    seats: int | None
    """Seats at the table; None: one for each bot, and the person's if he plays."""
    seed: int
    """Chooses the deal and the seats."""

    def table(self, opponents: Sequence[str]) -> list[str]:
        """Return who sits in which seat; opponents fill several seats if there are more."""
        if self.name in opponents:
            raise ConfigError(f"--name: a bot at the table is called {self.name} too; choose another name")
        seats = min(len(opponents) + 1, MAX_PLAYERS) if self.seats is None else self.seats
        if not opponents:
            raise ConfigError("--against, --bot: name the bots to play against")
        bots = list(islice(cycle(opponents), seats - 1))
        bots.insert(random.Random(self.seed).randrange(seats), self.name)
        return bots


def play_game(plan: GamePlan, server: str | None) -> None:
    """Let a person play one game; exit with 130 if it is left before its end."""
    check_bot_name(plan.name)
    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.ERROR)  # a dialogue is not a log
    game = _play_alone(plan) if server is None else _play_on(RemoteServer.at(server), plan)
    try:
        event_loop.run_until_stopped(game)
    except (asyncio.CancelledError, LeaveError):
        typer.echo("you left before the end", err=True)
        raise typer.Exit(event_loop.EXIT_STOPPED) from None


async def _play_alone(plan: GamePlan) -> None:
    """Play on a server that is started for this game, and that ends with it."""
    lineup = Lineup(bots=bot_entries(plan.against, plan.commands, (), flag="--against"))
    table = plan.table(lineup.names)
    lineup.check()
    folder = new_folder()
    remark(f"starting a server and {', '.join(lineup.names)}; Ctrl-C ends the game")
    try:
        async with open_server_session(lineup, folder) as session:
            token = session.tokens([plan.name])[plan.name]
            settings = Settings(
                name=plan.name, server=session.connection.address, games=1, access=Access(token=token)
            )
            await _PersonSeat(session.connection, settings, session.bots).play(plan, table)
    finally:
        keep_played(folder, "the game")  # also one that the others have finished


async def _play_on(server: RemoteServer, plan: GamePlan) -> None:
    """Play on a server that runs already, against bots that are connected there."""
    if plan.commands:
        raise ConfigError(
            "--bot: has no effect with --server; connect the bot there, and name it in --against"
        )
    opponents = [name for name in map(str.strip, plan.against.split(",")) if name]
    table = plan.table(opponents)
    settings = Settings(name=plan.name, server=server.address, games=1, access=server.access)
    async with connect(server.address, server.access) as connection:
        match_id = await _PersonSeat(connection, settings, ()).play(plan, table)
    typer.echo(f"look at the game again with: happycity show {server.url} {match_id}")


@dataclass(frozen=True, slots=True)
class _PersonSeat:
    """A person's place on a server."""

    connection: Connection
    settings: Settings
    processes: Sequence[Process]
    """The bots that were started for the game."""

    async def play(self, plan: GamePlan, table: Sequence[str]) -> int:
        """Play one game to its end; return its match id."""
        person = PersonBot(keyboard(), _show, width=text_width())
        async with event_loop.running(play(person.begin, self.settings)) as (session,):
            match_id = await self._set_up(plan, table)
            await self._until(person, session)
        if person.has_resigned:
            await self._finish_without(person, match_id)
        return match_id

    async def _set_up(self, plan: GamePlan, table: Sequence[str]) -> int:
        """Set up a match without clocks; where the person may not, a practice match with its clocks."""
        config = Config(players=len(table), mode=plan.mode)
        try:
            return await self.connection.create_match(config, table, seed=plan.seed, time=_UNTIMED)
        except ServerError as error:
            if error.details.reason != "PERMISSION_DENIED":
                raise
        match_id = await self.connection.create_practice_match(config, table, seed=plan.seed)
        typer.echo("a practice match: this server's clocks run, so answer in time", err=True)
        return match_id

    async def _until(self, person: PersonBot, session: asyncio.Future[None]) -> None:
        """Wait for the end of the game, the session or a bot's process."""
        exits = {asyncio.create_task(process.wait()): process for process in self.processes}
        async with event_loop.running(*exits):
            waiting: list[asyncio.Future[Any]] = [person.over, session, *exits]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if person.over.done():
                return person.over.result()
            if session.done():
                session.result()
                raise HappyCityError("the server ended the game")
            ended = next(process for task, process in exits.items() if task.done())
            raise ProcessError(ended.exit_summary())

    async def _finish_without(self, person: PersonBot, match_id: int) -> None:
        """Show how the game ends for the others."""
        playback = Playback()
        async with aclosing(self.connection.watch_game(match_id)) as messages:
            with suppress(ServerError):  # some callers may not watch
                async for message in messages:
                    add_to_playback(playback, message)
        person.show_result(playback.results)


def keep_played(folder: Path, what: str) -> None:
    """Say how to look at the games in a run's folder; remove a folder without any."""
    with suppress(HappyCityError), Store.existing(own_store(folder)) as store:
        if store.games(1):
            typer.echo(f"look at {what} again with: happycity show {folder / STORE_FILE}")
            return
    shutil.rmtree(folder, ignore_errors=True)


def _show(lines: Iterable[Line]) -> None:
    if is_terminal():
        print_formatted_text(FormattedText(styled(lines)), style=STYLE, color_depth=color_depth(), end="")
    else:
        write(lines)
