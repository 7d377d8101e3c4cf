"""Plays a tournament as a client: starts server and bots, creates the tournament, follows it to its end.

Raises a ProcessError if the server or a bot ends too early, a BotsMissingError if bots don't connect, and a
ServerError if the server can't be reached, does not come back, or refuses.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from happycity.errors import HappyCityError
from happycity.text.words import plural
from happycity_runtime.child import describe_status
from happycity_runtime.commands import remark
from happycity_runtime.event_loop import end_tasks, on_stop_signal
from happycity_runtime.files import private_files
from happycity_runtime.installation import missing_packages
from happycity_runtime.tokens import Role
from happycity_runtime.transport import Access
from happycity_tournament.client.connection import Connection, UnavailableError, check_names_are_free, connect
from happycity_tournament.client.processes import (
    BotProgram,
    ProcessError,
    ReferenceBots,
    ServerProcess,
    start_all_reference_bots,
    start_command,
    start_server,
)
from happycity_tournament.client.run_folder import (
    STORE_FILE,
    TOKENS_FILE,
    OwnServer,
    RemoteServer,
    Run,
    ServerChoice,
    own_store,
    without_password,
)
from happycity_tournament.client.tokens import BotTokens, IssuedTokens, tokens_of_environment
from happycity_tournament.client.watch import TournamentWatch
from happycity_tournament.config import STOP_SECONDS, TournamentConfig, TournamentState
from happycity_tournament.lineup import Lineup
from happycity_tournament.play.runner import DID_YOU_MEAN
from happycity_tournament.play.snapshot import Snapshot, load_snapshot

if TYPE_CHECKING:
    from happycity_tournament.storage.store import Store

RETURN_SECONDS = 60.0
"""The time in which a server that others run has to come back."""
RELEASE_SECONDS = 15.0
"""The time in which another server on the store, such as that of a run just killed, has to end."""
RELEASE_PAUSE_SECONDS = 0.2
NOTHING_LEFT = "nothing is left to play: the tournament is finished"
REFRESH_SECONDS = 1.0
"""The time after which a tournament is shown again in which nothing changes."""

_T = TypeVar("_T")


class ProgressView:
    """Is informed of the progress of a session; this one prints lines to the standard error."""

    def remark(self, text: str) -> None:
        """Show a line."""
        remark(text)

    def update(self, snapshot: Snapshot) -> None:
        """Show the tournament as it is now; by default nothing is done."""


class BotsMissingError(HappyCityError):
    """A tournament was stopped before its first game, because bots are missing."""

    def __init__(self, text: str, *, waited: float) -> None:
        super().__init__(text)
        self.waited = waited
        """Seconds for which they were waited for."""
        self.is_misspelt = DID_YOU_MEAN in text
        """Whether one of them seems to be there under another name."""


class ServerEndedError(ProcessError):
    """A run's own server ended, or gave the tournament up, before its last game."""


_Handler = Callable[[], object]


@contextmanager
def _stop_handlers() -> Iterator[list[_Handler]]:
    """Give a list of functions that stop signals call, each once; else they cancel the current task."""
    task, handlers = asyncio.current_task(), list[_Handler]()
    assert task is not None

    def handle() -> None:
        (handlers.pop() if handlers else task.cancel)()

    with on_stop_signal(handle):
        yield handlers


@dataclass(slots=True)
class ServerSession:
    """A server on which games are played, and the bots that were started for them."""

    connection: Connection
    environment: Mapping[str, str]
    """How bots on this machine reach it."""
    tokens: BotTokens
    patience: float
    """Seconds for which it may be gone."""
    stop_handlers: list[_Handler]
    shared: bool = False
    """Whether others run it, so that bots of theirs may be connected."""
    connect_seconds: float | None = None
    """How long the bots of a resumed tournament are waited for; None: as its configuration says."""
    restarts: int = 0
    """How often a process of bots that ends is started again."""
    bots: list[BotProgram] = field(default_factory=list)
    """The processes of bots that the session has started; they end with it."""
    commands: dict[str, BotProgram] = field(default_factory=dict)
    """Those of them that play one bot each, by its name."""
    worker_restarts: Mapping[str, int] = field(default_factory=dict)
    """How often each program of bots beside the server's workers was started again so far."""
    web: str = ""
    """Where the server's pages are; "" if it has none, or that isn't known."""
    observer_token: str = ""
    """The token that opens them, where the server belongs to the run."""

    async def start_bots(self, lineup: Lineup, folder: Path, view: ProgressView) -> None:
        """Start the bots of a lineup, and show how the others connect.

        ConfigError if a program is connected already under the name of a bot that would be started.
        """
        self.restarts = lineup.restarts
        if self.shared:
            await check_names_are_free(self.connection, lineup.started)
        for name in () if self.shared else lineup.joining:  # guests of others have settings of their own
            variables = {**self.environment, "HAPPYCITY_NAME": name}
            if token := self.tokens([name]).get(name):
                variables["HAPPYCITY_TOKEN"] = token
            view.remark(f"{name} connects with: {' '.join(map('='.join, variables.items()))}")
        tokens = self.tokens(lineup.started)
        if not self.bots:
            self.bots += start_all_reference_bots(
                lineup, tokens=tokens, environment=self.environment, folder=folder
            )
        for bot in self.bots:
            if isinstance(bot, ReferenceBots):
                bot.connect(self.environment["HAPPYCITY_SERVER"])
        for name, command in lineup.commands:
            self.commands[name] = start_command(
                name,
                command,
                tokens=tokens,
                environment=self.environment,
                folder=folder,
                directory=lineup.directory,
            )
            self.bots.append(self.commands[name])

    async def play(self, tournament_id: int, view: ProgressView) -> Snapshot:
        """Follow a tournament to its end; the first stop signal ends it early in good order."""
        if self.web:
            token = f"?token={self.observer_token}" if self.observer_token else ""
            view.remark(f"watch: {self.web}/tournaments/{tournament_id}{token}")
        watch = TournamentWatch(self.connection, tournament_id, patience=self.patience, remark=view.remark)
        stopping: list[asyncio.Task[None]] = []

        async def stop_watched() -> None:
            running = plural((await watch.stop()).games_running, "running game")
            view.remark(
                f"stopping: {running} to be finished in at most {STOP_SECONDS:g} s; Ctrl-C again aborts them"
            )

        def stop() -> None:
            stopping.append(asyncio.create_task(stop_watched()))

        self.stop_handlers.append(stop)
        try:
            last = await self._follow(watch, view)
        finally:
            for task in stopping:
                task.cancel()
        if last.state is TournamentState.STOPPED and not last.games and last.remarks:
            silent = [self.commands[bot].exit_summary() for bot in last.missing_bots if bot in self.commands]
            assert last.config is not None
            waited = self.connect_seconds or last.config.time.connect_seconds
            raise BotsMissingError("; ".join([*last.remarks, *silent]), waited=waited)
        return replace(last, remarks=(*last.remarks, *self._restarted()))

    def _restarted(self) -> Iterator[str]:
        """Yield a line for each process of bots that was started again."""
        for bot in self.bots:
            if bot.restarts:
                yield f"{bot.name} was started again {plural(bot.restarts, 'time')} (output: {bot.log})"
        for name, restarts in self.worker_restarts.items():
            yield f"{name} was started again {plural(restarts, 'time')} beside workers"

    async def _follow(self, watch: TournamentWatch, view: ProgressView) -> Snapshot:
        """Show a tournament until it is over, and return it; no process may end while it waits for bots."""
        exits = {asyncio.create_task(bot.wait()): bot for bot in self.bots}
        async with aclosing(watch.snapshots()) as snapshots:
            last, reading = None, asyncio.ensure_future(anext(snapshots, None))
            try:
                while True:
                    done, _ = await asyncio.wait(
                        (reading, *exits), timeout=REFRESH_SECONDS, return_when=asyncio.FIRST_COMPLETED
                    )
                    if not done and last is not None:  # how long a bot is waited for changes by itself
                        view.update(replace(last, incidents=()))
                    for ended in [task for task in exits if task in done]:
                        bot = exits.pop(ended)
                        waiting = last is None or last.state is TournamentState.WAITING
                        if waiting and await watch.is_waiting():
                            raise ProcessError(bot.exit_summary(has_played=False))
                        if await self._started_again(bot, view):
                            exits[asyncio.create_task(bot.wait())] = bot
                    if reading in done:
                        snapshot = reading.result()
                        if snapshot is None:
                            assert last is not None  # the first one is sent at once
                            return last
                        view.update(snapshot)
                        last, reading = snapshot, asyncio.ensure_future(anext(snapshots, None))
            finally:
                await end_tasks(reading, *exits)

    async def _started_again(self, bot: BotProgram, view: ProgressView) -> bool:
        """Start a process of bots again that has ended, unless that was done often enough; return whether.

        Otherwise the bots leave, so that no game waits for them.
        """
        summary = bot.exit_summary()
        # The server may notice later than this process that the program is gone. One that has not gone then
        # is another program of that name, which is to stay.
        if others := await self.connection.still_connected(bot.bots):
            view.remark(f"{summary}; another program plays as {', '.join(others)}")
            return False
        if bot.restarts < self.restarts:
            await bot.restart()
            view.remark(f"{summary}; it is started again")
            return True
        tokens = self.tokens(bot.bots)
        assert bot.child.status is not None
        reason = f"its program ended with {describe_status(bot.child.status)}"
        for name in bot.bots:
            await self.connection.leave(name, token=tokens.get(name, ""), reason=reason)
        view.remark(f"{summary}; its seats are forfeited")
        return False


async def play_new(
    config: TournamentConfig,
    *,
    folder: Path,
    venue: ServerChoice,
    lineup: Lineup,
    view: ProgressView,
    web: bool = True,
) -> Snapshot:
    """Create a tournament and play it; return it as it ended.

    With `web` a server of the run's own has pages, if what they need is installed. The first stop signal lets
    running games end, a second one cancels this task.
    """
    with private_files(), _stop_handlers() as stop_handlers:
        async with _server_session(venue, folder, lineup, stop_handlers, view, web=web) as session:
            await session.start_bots(lineup, folder, view)
            if isinstance(venue, OwnServer):
                # For the end of the run. While the bots start, nobody waits for SQLAlchemy.
                storing = "happycity_tournament.storage.store"
                asyncio.get_running_loop().run_in_executor(None, import_module, storing)
            created = await session.connection.create(config)
            Run(
                folder=folder,
                tournament_id=created.tournament_id,
                created_at=created.created_at,
                venue=venue,
                lineup=lineup,
            ).save()
            return await session.play(created.tournament_id, view)


async def resume_run(run: Run, view: ProgressView, *, connect_seconds: float | None = None) -> Snapshot:
    """Play what is missing of a run's tournament; see `play_new`. One that is finished starts nothing.

    Bots that the lineup doesn't start connect by themselves. All are waited for `connect_seconds`, by default
    as long as the run said.
    """
    with private_files(), _stop_handlers() as stop_handlers:
        if isinstance(run.venue, OwnServer):
            await _wait_for_release(run.venue.store, view)
            if finished := _read(run.venue.store, lambda store: _finished(store, run.tournament_id)):
                view.remark(NOTHING_LEFT)
                return finished
        async with _server_session(
            run.venue, run.folder, run.lineup, stop_handlers, view, web=True
        ) as session:
            session.connect_seconds = connect_seconds
            resumed = await session.connection.resume(run.tournament_id, connect_seconds=connect_seconds)
            if resumed.state is TournamentState.FINISHED:
                view.remark(NOTHING_LEFT)
            else:
                await session.start_bots(run.lineup, run.folder, view)
            return await session.play(run.tournament_id, view)


def unstored_problem(store: str, snapshot: Snapshot) -> str:
    """Return why a tournament that was just played is not in its store; "" if it is."""
    from happycity_tournament.storage.errors import StoreError  # noqa: PLC0415 - as in `_read`

    try:
        games = _read(store, lambda opened: opened.progress(snapshot.tournament_id).games)
    except StoreError as error:
        return str(error)
    missing = snapshot.games - games
    return f"database {without_password(store)} lacks {missing} of these games" if missing > 0 else ""


def with_stored_history(store: str, snapshot: Snapshot) -> Snapshot:
    """Return a snapshot with the history of its test from the store that it was played into."""
    stored = _read(store, lambda opened: load_snapshot(opened, snapshot.tournament_id))
    return replace(snapshot, test_history=stored.test_history)


CORES_OF_A_PLACE = 2
"""Cores that a process that plays games keeps busy together with its bots."""


def default_workers(lineup: Lineup, games: int, concurrency: int) -> int:
    """Return how many workers a run has by default.

    A place that plays fewer games than it may play at once is not worth its start. Programs of others may not
    expect to be started more than once.
    """
    if len(lineup.reference_bots) < len(lineup.bots):
        return 0
    return max(0, min(_cores() // CORES_OF_A_PLACE, games // concurrency) - 1)


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@asynccontextmanager
async def _server_session(
    venue: ServerChoice,
    folder: Path,
    lineup: Lineup,
    stop_handlers: list[_Handler],
    view: ProgressView,
    *,
    web: bool = False,
) -> AsyncIterator[ServerSession]:
    """Give the server of a venue; a run's own one is started, and admits only this session and its bots.

    With a server of the run's own, the reference bots of the lineup are started too, so that they import what
    they need while the server does. Its workers start all bots of the lineup by themselves.
    """
    if isinstance(venue, RemoteServer):
        async with _remote_session(venue, None, stop_handlers, patience=RETURN_SECONDS) as session:
            yield session
        return
    tokens = IssuedTokens(folder / TOKENS_FILE)
    tokens.path.unlink(missing_ok=True)
    organiser = tokens.for_role(Role.ORGANISER)
    web = web and not missing_packages("web")
    pages = tokens.for_role(Role.OBSERVER) if web else ""
    issued = tokens.of((*lineup.started, *lineup.hosted))
    server = start_server(venue, lineup, tokens=tokens.path, folder=folder, web=web)
    bots = start_all_reference_bots(lineup, tokens=issued, environment={}, folder=folder)
    remarking: asyncio.Task[None] | None = None
    try:
        remote = RemoteServer(address=await server.address(), access=Access(token=organiser))
        with remote.announced(folder):
            # Nobody starts it again if it ends.
            async with _remote_session(remote, tokens.of, stop_handlers, patience=0.0) as session:
                session.bots.extend(bots)
                remarking = asyncio.create_task(_show_remarks(server, view))
                session.web, session.observer_token = server.web, pages
                session.worker_restarts = server.restarts
                yield session
    except UnavailableError as error:
        raise ServerEndedError(await server.lost_summary(str(error))) from None
    finally:
        await server.stop()
        await asyncio.gather(*(process.stop() for process in bots))
        if remarking is not None:
            await remarking


async def _show_remarks(server: ServerProcess, view: ProgressView) -> None:
    async for text in server.remarks():
        view.remark(text)


@asynccontextmanager
async def _remote_session(
    server: RemoteServer, tokens: BotTokens | None, stop_handlers: list[_Handler], *, patience: float
) -> AsyncIterator[ServerSession]:
    async with connect(server.address, server.access) as connection:
        session = ServerSession(
            connection=connection,
            environment={"HAPPYCITY_SERVER": server.address, **server.access.environment},
            tokens=tokens or tokens_of_environment,
            shared=tokens is None,
            web=os.environ.get("HAPPYCITY_WEB", "").rstrip("/") if tokens is None else "",
            patience=patience,
            stop_handlers=stop_handlers,
        )
        try:
            yield session
        finally:
            await asyncio.gather(*(bot.stop() for bot in session.bots))


@asynccontextmanager
async def open_server_session(
    lineup: Lineup, folder: Path, *, hosted: Path | None = None, view: ProgressView | None = None
) -> AsyncIterator[ServerSession]:
    """Give a server of one's own with the bots of a lineup, which ends with the context.

    It plays the submissions of the folder `hosted`, if there is one. The end of a server of before on its
    store, such as one that was just killed, is waited for.
    """
    view, venue = view or ProgressView(), OwnServer(store=own_store(folder), hosted=hosted)
    with private_files():
        if (folder / STORE_FILE).exists():
            await _wait_for_release(venue.store, view)
        async with _server_session(venue, folder, lineup, [], view) as session:
            await session.start_bots(lineup, folder, view)
            yield session


async def _wait_for_release(store: str, view: ProgressView) -> None:
    """Wait until no server uses a store; if one stays, the start of the next server fails."""
    clock = asyncio.get_running_loop().time
    deadline, remarked = clock() + RELEASE_SECONDS, False
    while await asyncio.to_thread(_read, store, lambda opened: opened.is_claimed()) and clock() < deadline:
        if not remarked:
            remarked = True
            view.remark("another server still uses the store; waiting for its end")
        await asyncio.sleep(RELEASE_PAUSE_SECONDS)


def _finished(store: Store, tournament_id: int) -> Snapshot | None:
    """Return a tournament of a store if it is finished."""
    is_finished = store.require_tournament(tournament_id).state is TournamentState.FINISHED
    return load_snapshot(store, tournament_id) if is_finished else None


def _read(store: str, read: Callable[[Store], _T]) -> _T:
    # Imported here: the games of a run need not wait until SQLAlchemy is imported.
    from happycity_tournament.storage.store import Store  # noqa: PLC0415

    with Store.existing(store) as opened:
        return read(opened)
