"""What `happycity ask` does: put recorded decisions to a bot, and say where it differs from the record."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import sys
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer

from happycity.errors import ConfigError, HappyCityError
from happycity.records.playback import Playback, Step
from happycity.records.record import Json, loads
from happycity.text.board import Style
from happycity.v1 import play_service_pb2 as play
from happycity_check.asked_bot import BotFailedError, asked_bot
from happycity_check.recorded_match import RecordedMatch
from happycity_client import Decision
from happycity_client.recorded import read_batch
from happycity_runtime import event_loop
from happycity_runtime.child import Child, split_command
from happycity_runtime.files import replacing
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

DECISION_SUFFIX = ".decision"
"""The end of the name of a file with one decision."""

_GAME_AND_DECISION = re.compile(r"(\d+)@(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedDecisions:
    """Which decisions are put to the bot of a seat."""

    started: play.GameStarted
    decisions: Sequence[tuple[play.Decision, Reply]]
    """The messages, each with what the record has, and without the reply."""
    over: play.GameOver | None
    """How the game ended; None if it isn't known."""
    command: str
    """What starts the bot; "" if the run says it."""

    @property
    def bot(self) -> str:
        """The bot's name in the game."""
        return self.started.bots[self.started.seat]

    @property
    def heading(self) -> str:
        """What is asked, in one line."""
        count, started = len(self.decisions), self.started
        what = f"decision {self.decisions[0][0].decision_id}" if count == 1 else f"{count} decisions"
        return (
            f"{self.bot} (seat {started.seat + 1}) is asked {what} of game {started.match_id}; no clock runs"
        )


def ask(
    source: str | None, game: str | None, *, bot: str | None, every: bool, as_json: bool, out: Path | None
) -> None:
    """Put decisions of a game to a bot; exit with 1 if it differs from the record or fails.

    With `out`, write the decision to a file instead, for the tests of the bot.
    """
    run = None
    if source is not None and source.endswith(DECISION_SUFFIX) and game is None and out is None:
        question = _decision_of_file(Path(source), bot)
    else:
        source, game, decision = _split(source, game)
        folder, _ = game_arguments(source, game)
        found, record = find_game(source, game)
        run = find_run(folder)
        question = asked_decisions(found, loads(record), run, bot=bot, decision=decision, every=every)
        if not found.bot_seeds:
            typer.echo("the seed of the bot's own randomness isn't known here; it is 0", err=True)
    if out is not None:
        _write_decision(question, out)
        return
    entry, directory = _entry(question.bot, question.command, run)
    Lineup(bots=(entry,), directory=directory).check()
    replies: list[Reply] = []
    if not as_json:
        write([((question.heading, Style.TITLE),)])
    try:
        putting = _put(question, entry.command or "", directory, replies, as_json=as_json)
        event_loop.run(_until_stopped(putting))
    except asyncio.CancelledError:
        typer.echo("stopped", err=True)
        raise typer.Exit(event_loop.EXIT_STOPPED) from None
    if as_json:
        started, decisions = question.started, [*map(reply_json, replies)]
        write_json(
            {"game": started.match_id, "bot": question.bot, "seat": started.seat, "decisions": decisions}
        )
    else:
        write([((summary(replies), Style.TITLE),)])
    if any(reply.kind in (ReplyKind.DIFFERS, ReplyKind.FAILED) for reply in replies):
        raise typer.Exit(DIFFERS)


def asked_decisions(
    game: FinishedGame, record: Json, run: Run | None, *, bot: str | None, decision: int | None, every: bool
) -> AskedDecisions:
    """Return what is asked of whom; ConfigError if the seat or the decision can't be used, or isn't clear."""
    if every and decision is not None:
        raise ConfigError("--all: it asks the whole game; leave the decision out")
    playback = Playback.of_record(record, bots=game.bots, match_id=game.match_id)
    named, command = _named_bot(bot or "", game.bots)
    chosen = seat_of(playback, named or None)
    if chosen is None:
        chosen = only_seat(playback, run, decision)
    own = [step.decision_id for step in playback.steps if step.view.seat == chosen and not step.is_last]
    numbers = own if every else [_decision(playback, chosen, own, decision)]
    seed = game.bot_seeds[chosen] if game.bot_seeds else 0
    match = RecordedMatch(game.match_id, record, bots=game.bots, seat=chosen, bot_seed=seed)
    messages = (match.decision(number, after=last) for last, number in pairwise((0, *numbers)))
    steps = (playback.steps[number - 1] for number in numbers)
    replies = (Reply(step=step, was_answered=playback.was_answered(step)) for step in steps)
    return AskedDecisions(
        started=match.started(),
        decisions=[*zip(messages, replies, strict=True)],
        over=match.over(),
        command=command,
    )


def _decision_of_file(path: Path, bot: str | None) -> AskedDecisions:
    """Return the decision of a file that `_write_decision` wrote, as one that was not answered."""
    batch = read_batch(path)
    decision = Decision(batch.decisions[0])
    options = tuple((move, decision.coins(move)) for move in decision.moves)
    step = Step(decision_id=decision.decision_id, view=decision.view, events=decision.events, options=options)
    return AskedDecisions(
        started=batch.games_started[0],
        decisions=[(decision.message, Reply(step=step, was_answered=False))],
        over=None,
        command=_named_bot(bot or "", batch.games_started[0].bots)[1],
    )


def _write_decision(question: AskedDecisions, out: Path) -> None:
    """Write the only decision to a file, with the start of its game; say what may be chosen there."""
    if len(question.decisions) != 1:
        raise ConfigError("--out: it takes one decision, without --all: GAME@DECISION")
    ((message, reply),) = question.decisions
    batch = play.PlayResponse(games_started=[question.started], decisions=[message])
    with replacing(out) as path:
        path.write_bytes(batch.SerializeToString(deterministic=True))
    moves = ", ".join(move.text for move, _ in reply.step.options)
    where = f"decision {message.decision_id} of game {message.match_id}, round {reply.step.view.round}"
    typer.echo(f"{out}: {where}: {question.bot} has a choice of {moves}")


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


async def _put(
    question: AskedDecisions, command: str, directory: Path, replies: list[Reply], *, as_json: bool
) -> None:
    """Put the decisions one after the other, up to the first at which the bot fails."""

    def start(environment: Mapping[str, str]) -> Child:
        """Start the bot in the foreground of this terminal, with JSON alone on the standard output."""
        return Child.start(
            split_command(command),
            environment=environment,
            stdin=None,
            stdout=_STDERR if as_json else None,
            stderr=None,
            directory=directory,
            foreground=True,
        )

    try:
        async with asked_bot(start, name=question.bot, started=question.started) as bot:
            for message, reply in question.decisions:
                try:
                    move, metrics, think = await bot.choose(message)
                    replies.append(replace(reply, move=move, metrics=metrics, think_seconds=think))
                except BotFailedError as error:
                    replies.append(replace(reply, failure=str(error)))
                if not as_json:
                    write([reply_line(replies[-1], question.started.bots)])
                if replies[-1].failure:
                    return
            if question.over is not None:
                await bot.end(question.over)
    except BotFailedError as error:
        raise HappyCityError(f"{question.bot}: {error}") from None
