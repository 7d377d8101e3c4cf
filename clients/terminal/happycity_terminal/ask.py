"""What `happycity ask` does: put recorded decisions to a bot, and say where it differs from the record."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import sys
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from happycity.errors import ConfigError, HappyCityError
from happycity.records.playback import Playback, Step
from happycity.records.record import Json, loads
from happycity.text.board import Style
from happycity_check.asked_bot import BotFailedError, asked_bot
from happycity_check.recorded_match import RecordedMatch
from happycity_runtime import event_loop
from happycity_runtime.child import Child, split_command
from happycity_terminal.replies import Reply, ReplyKind, reply_json, reply_line, summary
from happycity_terminal.screen import write
from happycity_terminal.show import seat_of
from happycity_tournament.cli.addresses import find_game, find_run, game_arguments
from happycity_tournament.cli.json import write_json
from happycity_tournament.client.run_folder import Run
from happycity_tournament.games import FinishedGame
from happycity_tournament.lineup import BotEntry, Lineup

_STDERR = 2
DIFFERS = 1
"""The exit status if the bot chose something else, or failed."""

_GAME_AND_DECISION = re.compile(r"(\d+)@(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedDecisions:
    """Which decisions are put to which bot."""

    game: FinishedGame
    record: Json
    playback: Playback
    seat: int
    entry: BotEntry
    directory: Path
    """Where the bot is started."""
    decisions: Sequence[int]

    @property
    def bot(self) -> str:
        """The bot's name in the game."""
        return self.game.bots[self.seat]

    @property
    def heading(self) -> str:
        """What is asked, in one line."""
        count = len(self.decisions)
        what = f"decision {self.decisions[0]}" if count == 1 else f"{count} decisions"
        return (
            f"{self.bot} (seat {self.seat + 1}) is asked {what} of game {self.game.match_id}; no clock runs"
        )


def ask(
    source: str | None,
    game: str | None,
    *,
    bot: str | None,
    every: bool,
    as_json: bool,
) -> None:
    """Put decisions of a game to a bot; exit with 1 if it differs from the record or fails."""
    source, game, decision = _split(source, game)
    folder, _ = game_arguments(source, game)
    found, record = find_game(source, game)
    run = find_run(folder)
    question = asked_decisions(found, loads(record), run, bot=bot, decision=decision, every=every)
    if not found.bot_seeds:
        typer.echo("the seed of the bot's own randomness isn't known here; it is 0", err=True)
    replies: list[Reply] = []
    if not as_json:
        write([((question.heading, Style.TITLE),)])
    try:
        event_loop.run(_until_stopped(_put(question, replies, as_json=as_json)))
    except asyncio.CancelledError:
        typer.echo("stopped", err=True)
        raise typer.Exit(event_loop.EXIT_STOPPED) from None
    if as_json:
        content: Json = {
            "game": found.match_id,
            "bot": question.bot,
            "seat": question.seat,
            "decisions": list(map(reply_json, replies)),
        }
        write_json(content)
    else:
        write([((summary(replies), Style.TITLE),)])
    if any(reply.kind in (ReplyKind.DIFFERS, ReplyKind.FAILED) for reply in replies):
        raise typer.Exit(DIFFERS)


def asked_decisions(
    game: FinishedGame,
    record: Json,
    run: Run | None,
    *,
    bot: str | None,
    decision: int | None,
    every: bool,
) -> AskedDecisions:
    """Return what is asked of whom; what can be checked is checked before anything is started.

    Raises:
        ConfigError: the seat, the decision or the program can't be used, or isn't clear.
    """
    if every and decision is not None:
        raise ConfigError("--all: it asks the whole game; leave the decision out")
    playback = Playback.of_record(record, bots=game.bots, match_id=game.match_id)
    named, command = _named_bot(bot or "", game.bots)
    chosen = seat_of(playback, named or None)
    if chosen is None:
        chosen = only_seat(playback, run, decision)
    entry, directory = _entry(game.bots[chosen], command, run)
    Lineup(bots=(entry,), directory=directory).check()
    own = [step.decision_id for step in playback.steps if step.view.seat == chosen and not step.is_last]
    return AskedDecisions(
        game=game,
        record=record,
        playback=playback,
        seat=chosen,
        entry=entry,
        directory=directory,
        decisions=own if every else [_decision(playback, chosen, own, decision)],
    )


def _split(source: str | None, game: str | None) -> tuple[str | None, str | None, int | None]:
    """Return source, game and decision of `[SOURCE] [GAME[@DECISION]]`."""
    last = source if game is None else game
    match = _GAME_AND_DECISION.fullmatch(last or "")
    if match is None:
        return source, game, None
    return None if game is None else source, match[1], int(match[2][:9])


def _named_bot(text: str, bots: Sequence[str]) -> tuple[str, str]:
    """Return the bot (or its seat) and the command of `NAME`, `COMMAND` or `NAME=COMMAND`, "" if absent."""
    name, _, command = text.partition("=")
    if name in bots or name.isdecimal():
        return name, command
    is_command = not text or shutil.which(split_command(text)[0]) is not None or set(text) & set(" /")
    return ("", text) if is_command else (text, "")


def only_seat(playback: Playback, run: Run | None, decision: int | None) -> int:
    """Return the seat whose decision was named, else that of the only program of the run in the game."""
    if decision is not None:
        return _step(playback, decision).view.seat
    programs = {name for name, _ in run.lineup.commands} if run is not None else set()
    seats = [seat for seat, bot in enumerate(playback.bots) if bot in programs]
    if len(seats) == 1:
        return seats[0]
    raise ConfigError(f"--bot: say which bot's decisions are asked, of {', '.join(playback.bots)}")


def _step(playback: Playback, decision: int) -> Step:
    count = len(playback.steps) - 1
    if not 1 <= decision <= count:
        raise ConfigError(f"GAME@DECISION: there is no decision {decision}; the game has {count}")
    return playback.steps[decision - 1]


def _entry(name: str, command: str, run: Run | None) -> tuple[BotEntry, Path]:
    """Return how the bot is started, and where: by the command, else as the run started it."""
    if command:
        return BotEntry(name=name, command=command), Path.cwd()
    bots = () if run is None else run.lineup.bots
    entry = next((entry for entry in bots if entry.name == name and not entry.join), None)
    if run is None or entry is None:
        raise ConfigError(f'--bot: give the command that starts it, as in --bot "{name}=COMMAND"')
    if entry.builtin is not None:
        entry = BotEntry(name=name, command=f"{sys.executable} -m happycity bot {name}={entry.builtin}")
    return entry, run.lineup.directory


def _decision(playback: Playback, seat: int, own: Sequence[int], decision: int | None) -> int:
    """Return the named decision; else the first that the seat's bot did not answer, else its first."""
    name = playback.bots[seat]
    if not own:
        raise ConfigError(f"{name} has no decision in this game")
    if decision is not None:
        other = _step(playback, decision).view.seat
        if other != seat:
            near = min(own, key=lambda number: abs(number - decision))
            owner = playback.bots[other]
            raise ConfigError(
                f"GAME@DECISION: decision {decision} is one of {owner}; the nearest of {name} is {near}"
            )
        return decision
    steps = [playback.steps[number - 1] for number in own]
    return next((step.decision_id for step in steps if not playback.was_answered(step)), own[0])


async def _until_stopped(main: Coroutine[Any, Any, None]) -> None:
    """Run `main`; SIGTERM cancels it, and SIGINT does if the bot doesn't get it too, else the second one."""
    task = asyncio.ensure_future(main)
    presses = iter([sys.stdin.isatty()])

    def interrupt() -> None:
        if not next(presses, False):  # the first Ctrl-C at the terminal is the bot's, or its debugger's
            task.cancel()

    with (
        event_loop.on_stop_signal(task.cancel, (signal.SIGTERM,)),
        event_loop.on_stop_signal(interrupt, (signal.SIGINT,)),
    ):
        await task


async def _put(question: AskedDecisions, replies: list[Reply], *, as_json: bool) -> None:
    """Put the decisions one after the other, up to the first at which the bot fails."""
    game = question.game
    match = RecordedMatch(
        game.match_id,
        question.record,
        bots=game.bots,
        seat=question.seat,
        bot_seed=game.bot_seeds[question.seat] if game.bot_seeds else 0,
    )
    steps = [question.playback.steps[number - 1] for number in question.decisions]
    waiting = iter(steps)

    def start(environment: Mapping[str, str]) -> Child:
        """Start the bot in the foreground of this terminal, with JSON alone on the standard output."""
        return Child.start(
            split_command(question.entry.command or ""),
            environment=environment,
            stdin=None,
            stdout=_STDERR if as_json else None,
            stderr=None,
            directory=question.directory,
            foreground=True,
        )

    try:
        async with asked_bot(start, name=question.bot, match=match) as bot:
            for step in waiting:
                reply = Reply(step=step, was_answered=question.playback.was_answered(step))
                try:
                    move, metrics, think = await bot.choose(step.decision_id)
                    reply = replace(reply, move=move, metrics=metrics, think_seconds=think)
                except BotFailedError as error:
                    reply = replace(reply, failure=str(error))
                replies.append(reply)
                if not as_json:
                    write([reply_line(reply, game.bots)])
                if reply.failure:
                    return
            await bot.end()
    except BotFailedError as error:
        raise HappyCityError(f"{question.bot}: {error}") from None
