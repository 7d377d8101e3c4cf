"""What `happycity show` does: find a game, and show it on the screen, as text or as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

import typer

from happycity.errors import ConfigError, HappyCityError, suggestion
from happycity.records.playback import Playback
from happycity.records.record import Json, loads
from happycity.text.board import LEGEND, Line, Style
from happycity.v1 import match_service_pb2 as pb
from happycity.wire.watch import add_to_playback
from happycity_runtime import event_loop
from happycity_terminal.frames import end_json, frame, result_lines, step_json, title
from happycity_terminal.screen import is_terminal, text_width, write
from happycity_tournament.cli.addresses import find_game, game_arguments, server_playing
from happycity_tournament.client.connection import ServerError, connect
from happycity_tournament.client.run_folder import RemoteServer
from happycity_tournament.games import FinishedGame


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which decisions are shown, and how."""

    first: int | None = None
    """The first decision, from 1; None: the first of all, and on a page the end."""
    seat: str | None = None
    """Only decisions of this bot, or of the seat with this number from 1; on a page the seat in front."""
    as_json: bool = False
    """Whether JSON is printed."""


def show(source: str | None, game: str | None, selection: Selection) -> None:
    """Show a finished game."""
    _, _, playback = find_finished(source, game)
    seat, first = seat_of(playback, selection.seat), selection.first or 1
    if first > len(playback.steps):
        raise ConfigError(f"--from: {first}: the game has {len(playback.steps) - 1} decisions")
    if selection.as_json or not is_terminal():
        printer = Printer(playback, selection, seat)
        printer.print_steps(len(playback.steps))
        printer.print_end()
        return
    from happycity_terminal.viewer import GameViewer  # not needed in a pipe

    event_loop.run(GameViewer(playback, first=first - 1, seat=seat).run())


def find_finished(source: str | None, game: str | None) -> tuple[FinishedGame, str, Playback]:
    """Return a game with its record, as `find_game` does; say how to look at one that is being played."""
    try:
        found, record = find_game(source, game)
    except ServerError as error:
        if error.details.reason != "MATCH_RUNNING":
            raise
        raise HappyCityError(f"{error}; look at a running game with: happycity show --follow") from None
    return found, record, Playback.of_record(loads(record), bots=found.bots, match_id=found.match_id)


def follow(source: str | None, game: str | None, selection: Selection) -> None:
    """Show a game from its beginning, then live to its end."""
    source, match_id = game_arguments(source, game)
    server = server_playing(source)
    try:
        event_loop.run_until_stopped(_follow(server, match_id, selection))
    except asyncio.CancelledError:
        raise typer.Exit(event_loop.EXIT_STOPPED) from None


async def _follow(server: RemoteServer, match_id: int | None, selection: Selection) -> None:
    async with connect(server.address, server.access) as opened:
        match_id = match_id or await opened.newest_running_game()
        if match_id is None:
            nothing = f"no game is being played on {opened.address}"
            raise ConfigError(f"{nothing}; name a finished one without --follow")
        bots = await opened.bots_of_game(match_id)
        playback = Playback(bots=bots, match_id=match_id)
        async with aclosing(opened.watch_game(match_id)) as messages:
            if selection.as_json or not is_terminal():
                await _print_live(playback, messages, selection)
            else:
                await _view_live(playback, messages, selection)


async def _view_live(
    playback: Playback, messages: AsyncIterator[pb.WatchMatchResponse], selection: Selection
) -> None:
    from happycity_terminal.viewer import GameViewer  # not needed in a pipe

    add_to_playback(playback, await anext(messages))
    viewer = GameViewer(playback, seat=seat_of(playback, selection.seat))

    async def add() -> None:
        async for message in messages:
            add_to_playback(playback, message)
            viewer.grown()

    await viewer.run(add())


async def _print_live(
    playback: Playback, messages: AsyncIterator[pb.WatchMatchResponse], selection: Selection
) -> None:
    printer = Printer(playback, selection, seat_of(playback, selection.seat))
    async for message in messages:
        add_to_playback(playback, message)
        complete = len(playback.steps) - (0 if playback.steps and playback.steps[-1].is_last else 1)
        printer.print_steps(complete)
    printer.print_end()


def seat_of(playback: Playback, text: str | None) -> int | None:
    """Return the seat of a bot's name, or of a number from 1; ConfigError if there is none, or several."""
    if text is None:
        return None
    seats = [seat for seat, bot in enumerate(playback.bots) if bot == text]
    if len(seats) == 1:
        return seats[0]
    count = len(playback.bots)
    if not seats and text.isdecimal() and len(text) == 1 and 1 <= int(text) <= count:
        return int(text) - 1
    if seats:
        numbers = ", ".join(str(seat + 1) for seat in seats)
        raise ConfigError(f"--bot: {text} has the seats {numbers}; name one by its number")
    raise ConfigError(f"--bot: no bot {text[:64]!r} plays; {suggestion(text[:64], playback.bots)}")


class Printer:
    """Prints the decisions of a game one after the other, as text or as JSON."""

    def __init__(self, playback: Playback, selection: Selection, seat: int | None) -> None:
        self._playback = playback
        self._selection = selection
        self._seat = seat
        self._next = (selection.first or 1) - 1
        self._printed = False
        self._width = text_width()

    def print_steps(self, count: int) -> None:
        """Print those of the first `count` steps that are selected and not printed yet."""
        for index in range(self._next, count):
            step = self._playback.steps[index]
            if self._seat in (None, step.view.seat) or step.is_last:
                self._print(index)
        self._next = max(self._next, count)
        sys.stdout.flush()

    def print_end(self) -> None:
        """Print how the game ended, if its last position didn't."""
        if self._selection.as_json:
            _print_json(end_json(self._playback))
        elif self._playback.void_reason is not None:
            write(result_lines(self._playback, self._width))
        sys.stdout.flush()

    def _print(self, index: int) -> None:
        playback = self._playback
        step = playback.steps[index]
        if self._selection.as_json:
            _print_json(step_json(playback, step))
            return
        if not self._printed:
            write([LEGEND, ()])
        self._printed = True
        rule = f"--- {title(playback, step)} ".ljust(self._width, "-")
        lines: list[Line] = [((rule, Style.TITLE),), (), *frame(playback, index, self._width), ()]
        write(lines)


def _print_json(content: Json) -> None:
    sys.stdout.write(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")
