"""What `happycity play --watch` does: play one game between bots, and show its moves and its result."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import aclosing, suppress
from itertools import count
from pathlib import Path

import typer

from happycity import Config, ConfigError, TimeControl
from happycity.records.playback import Playback
from happycity.records.record import loads
from happycity.rules.deals import MAX_PLAYERS, MIN_PLAYERS
from happycity.wire.watch import add_to_playback
from happycity_runtime import event_loop
from happycity_runtime.commands import remark
from happycity_terminal.frames import answer, end_json, result_lines
from happycity_terminal.play import GamePlan
from happycity_terminal.screen import is_terminal, text_width, write
from happycity_tournament.cli.json import write_json
from happycity_tournament.client.connection import ServerError, connect
from happycity_tournament.client.run_folder import (
    OwnServer,
    RemoteServer,
    discarded_unless_begun,
    new_folder,
    own_store,
)
from happycity_tournament.client.session import ProgressView, play_new
from happycity_tournament.config import RandomRounds, SeatOrders, TournamentConfig, TournamentState
from happycity_tournament.lineup import BotEntry, Lineup, bot_entries
from happycity_tournament.play.snapshot import Snapshot
from happycity_tournament.standings.digest import digests
from happycity_tournament.storage.store import Store

_CONNECT_SECONDS = 30.0
_LOOK_SECONDS = 0.05
"""How often it is looked whether the game has begun."""


def table_of(entries: Sequence[BotEntry], seats: int | None) -> Lineup:
    """Return the bots of a table; in seats that are left, the reference bots sit again under other names.

    ConfigError if the bots don't fit, or can't be started.
    """
    bots = list(entries)
    wanted = len(bots) if seats is None else seats
    if not MIN_PLAYERS <= wanted <= MAX_PLAYERS:
        raise ConfigError(
            f"--against, --bot: a table takes {MIN_PLAYERS} to {MAX_PLAYERS} bots, not {wanted}"
        )
    if len(bots) > wanted:
        raise ConfigError(f"--seats: {len(bots)} bots don't fit at a table of {wanted}")
    reference = [entry for entry in entries if entry.builtin is not None]
    if len(bots) < wanted and not reference:
        raise ConfigError(f"--seats: there is no reference bot to fill the table of {wanted}; add --against")
    taken = {entry.name for entry in bots}
    for number in range(wanted - len(bots)):
        again = reference[number % len(reference)]
        name = next(name for copy in count(2) if (name := f"{again.name}-{copy}") not in taken)
        taken.add(name)
        bots.append(again.model_copy(update={"name": name}))
    lineup = Lineup(bots=tuple(bots))
    lineup.check()
    return lineup


def play_match(plan: GamePlan, *, no_clock: bool, as_json: bool) -> None:
    """Play the game without the person, in a new run's folder; exit with 130 if it is aborted."""
    lineup = table_of(bot_entries(plan.against, plan.commands, (), flag="--against"), plan.seats)
    config = TournamentConfig(
        bots=lineup.names,
        game=Config(players=len(lineup.names), mode=plan.mode),
        format=RandomRounds(rounds=1, seat_orders=SeatOrders.SINGLE),
        seed=plan.seed,
        time=TimeControl(connect_seconds=_CONNECT_SECONDS, no_clock=no_clock),
    )
    folder = new_folder()
    remark(f"playing on seed {plan.seed}; output: {folder}/; Ctrl-C stops it")
    game = _WatchedGame(lineup, folder, watch=not as_json)
    try:
        with discarded_unless_begun(folder):
            last = event_loop.run(game.play(config))
    except (asyncio.CancelledError, KeyboardInterrupt):
        last = None
    if last is None or last.state is not TournamentState.FINISHED:
        typer.echo("the game was aborted", err=True)
        raise typer.Exit(event_loop.EXIT_STOPPED)
    playback = _stored(folder)
    if as_json:
        write_json({"run": str(folder), "seed": plan.seed, **end_json(playback)})
        return
    game.print_answers(playback)
    write(result_lines(playback, text_width()))
    for line in digests(last.standings, last.disqualified, folder):
        typer.echo(line)
    programs = {name for name, _ in lineup.commands}
    for bot, seat in zip(playback.bots, playback.results, strict=True):
        if seat.forfeited and bot in programs:
            typer.echo(f"ask {bot} again with: happycity ask {folder} --bot {bot}")
    typer.echo(f"look at it with: happycity show {folder}")
    if is_terminal():
        from happycity_terminal.viewer import GameViewer  # not needed in a pipe

        event_loop.run(GameViewer(playback).run())


class _WatchedGame(ProgressView):
    """A game that is being played; observes its session."""

    def __init__(self, lineup: Lineup, folder: Path, *, watch: bool) -> None:
        self._lineup = lineup
        self._folder = folder
        self._begun = asyncio.Event()
        self._watches = watch
        self._printed = 0

    def print_answers(self, playback: Playback) -> None:
        """Print the decisions that were answered and are not printed yet, a line each."""
        for step in playback.steps[self._printed :]:
            if step.move is None:
                break
            self._printed += 1
            sys.stdout.write(f"{step.decision_id:>4}  round {step.view.round:<2}  {answer(playback, step)}\n")
        sys.stdout.flush()

    def update(self, snapshot: Snapshot) -> None:
        """Note that the game has begun."""
        if snapshot.state is not TournamentState.WAITING:
            self._begun.set()

    async def play(self, config: TournamentConfig) -> Snapshot:
        """Play the game, and print its moves as they come if it is watched."""
        venue = OwnServer(store=own_store(self._folder))
        session = play_new(config, folder=self._folder, venue=venue, lineup=self._lineup, view=self)
        playing = asyncio.create_task(session)
        async with event_loop.running(playing, self._print_live(playing)):
            return await playing

    async def _print_live(self, playing: asyncio.Task[Snapshot]) -> None:
        """Print the moves of the running game; the rest follows from its record if the server ends first."""
        await self._begun.wait()
        server = RemoteServer.of_run(self._folder)
        if not self._watches or server is None:
            return
        with suppress(ServerError):
            async with connect(server.address, server.access) as connection:
                while (match_id := await connection.newest_running_game()) is None:
                    await asyncio.wait((playing,), timeout=_LOOK_SECONDS)
                playback = Playback(bots=await connection.bots_of_game(match_id), match_id=match_id)
                async with aclosing(connection.watch_game(match_id)) as messages:
                    async for message in messages:
                        add_to_playback(playback, message)
                        self.print_answers(playback)


def _stored(folder: Path) -> Playback:
    """Return the only game of a run."""
    with Store.existing(own_store(folder)) as store:
        (game,) = store.games(1)
        record = store.record(game.match_id)
    assert record is not None  # the server stores every game with its record
    return Playback.of_record(loads(record), bots=game.bots, match_id=game.match_id)
