"""Runs a tournament from the outside: starts processes, creates it by RPC, follows it to its end."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

from happycity.v1 import tournament_service_pb2 as pb
from happycity.v1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.wire import config_message, failure_policy_message, time_control_message
from happycity_tournament.access import Access
from happycity_tournament.config import TournamentConfig
from happycity_tournament.display import Display
from happycity_tournament.processes import Process, ProcessError, start_bot, start_builtin_bots, start_server
from happycity_tournament.watch import ServerError, ServerLostError, Watch

if TYPE_CHECKING:  # in the generated stub's types only
    from happycity.v1.tournament_service_pb2_grpc import TournamentServiceAsyncStub

REACH_SECONDS = 5.0
RETURN_SECONDS = 60.0
"""For how long a server that was lost is given time to come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A tournament and the processes that it takes."""

    config: TournamentConfig
    builtin: tuple[str, ...]
    """Reference bots to start, `NAME` or `NAME=BOT`."""
    commands: tuple[tuple[str, str], ...]
    """Other bots to start: name and command."""
    server: str | None
    """Address of a running server; None starts one."""
    access: Access
    """How to be let in by a running server."""
    store: str
    """Database URL for the server that is started."""
    logs: Path
    """Folder for the output of all processes."""
    processes: int
    """Among how many processes the reference bots are shared out."""


async def carry_out(plan: Plan, display: Display) -> pb.WatchTournamentResponse:
    """Play the tournament and return its last update.

    Raises:
        ProcessError: the server or a bot didn't get to the first game, or the server ended before the last.
        ServerError: the server can't be reached, didn't come back, or refused the tournament.
    """
    async with AsyncExitStack() as stack:
        if plan.server is not None:
            return await _play(plan, plan.server, display, stack, patience=RETURN_SECONDS)
        server, address = await start_server(plan.store, logs=plan.logs)
        stack.push_async_callback(server.stop)
        try:
            # A server that others run may be started again; this one is not.
            return await _play(plan, address, display, stack, patience=0.0)
        except ServerLostError:
            raise ProcessError(
                f"{await server.epitaph()}; the games that were finished are in {plan.store}"
            ) from None


async def _play(
    plan: Plan, address: str, display: Display, stack: AsyncExitStack, *, patience: float
) -> pb.WatchTournamentResponse:
    """Play the tournament on a server that is there; what is started for it ends with `stack`."""
    stub = await stack.enter_async_context(_dial(address, plan.access))
    bots = await _start_bots(plan, address, stack)
    with _translated(address):
        request = pb.CreateTournamentRequest(config=_message(plan.config))
        metadata = plan.access.metadata
        created = await stub.CreateTournament(request, metadata=metadata)
        watch = Watch(
            stub,
            created.tournament.tournament_id,
            metadata=metadata,
            patience=patience,
            remark=display.remark,
        )
        with _stopping(watch, display):
            return await _follow(watch, bots, display)


async def _start_bots(plan: Plan, address: str, stack: AsyncExitStack) -> list[Process]:
    bots: list[Process] = []

    def own(bot: Process) -> None:
        stack.push_async_callback(bot.stop)
        bots.append(bot)

    environment = {"HAPPYCITY_SERVER": address, **plan.access.environment}
    for number in range(plan.processes):
        share = plan.builtin[number :: plan.processes]
        if share:
            own(await start_builtin_bots(share, environment=environment, logs=plan.logs))
    for name, command in plan.commands:
        own(await start_bot(name, command, environment=environment, logs=plan.logs))
    return bots


async def _follow(watch: Watch, bots: Sequence[Process], display: Display) -> pb.WatchTournamentResponse:
    """Show the tournament until it is over.

    A bot's process that ends is an error before the first game, and a remark after it.
    """
    updates = watch.updates()
    exits = {asyncio.create_task(bot.wait()): bot for bot in bots}
    last = pb.WatchTournamentResponse()
    reading = asyncio.ensure_future(anext(updates, None))
    try:
        while True:
            done, _ = await asyncio.wait((reading, *exits), return_when=asyncio.FIRST_COMPLETED)
            for ended in [task for task in exits if task in done]:
                bot = exits.pop(ended)
                if await watch.before_first_game():
                    raise ProcessError(bot.obituary())
                display.remark(f"{bot.obituary()}; its seats are forfeited")
            if reading in done:
                update = reading.result()
                if update is None:
                    return last
                display.update(update)
                last = update
                reading = asyncio.ensure_future(anext(updates, None))
    finally:
        for task in (reading, *exits):
            task.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await updates.aclose()


@asynccontextmanager
async def _dial(address: str, access: Access) -> AsyncIterator[TournamentServiceAsyncStub]:
    """Give a stub for a server that answers.

    Raises:
        ConfigError: it can't be dialled in this way.
        ServerError: none does.
    """
    async with access.channel(address) as channel:
        try:
            await asyncio.wait_for(channel.channel_ready(), REACH_SECONDS)
        except TimeoutError:
            raise ServerError(
                f"no server answers at {address}; start one with: happycity serve --listen {address}"
            ) from None
        yield TournamentServiceStub(channel)


@contextmanager
def _translated(address: str) -> Iterator[None]:
    try:
        yield
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            raise ServerLostError(
                f"the connection to the server {address} was lost: {error.details()}"
            ) from None
        raise ServerError(f"the server {address} refused: {error.details()}") from None


@contextmanager
def _stopping(watch: Watch, display: Display) -> Iterator[None]:
    """Let the first Ctrl-C end the tournament in good order; a second one breaks it off."""
    if sys.platform == "win32":  # has no such handlers; a Ctrl-C breaks off there
        yield
        return
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    stops: list[asyncio.Task[None]] = []

    def stop() -> None:
        if stops:
            task.cancel()
            return
        display.remark("stopping: running games are finished; Ctrl-C again breaks them off")
        stops.append(asyncio.create_task(watch.stop()))

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        for stopping in stops:
            stopping.cancel()


def _message(config: TournamentConfig) -> pb.TournamentConfig:
    return pb.TournamentConfig(
        bots=config.bots,
        game=config_message(config.game),
        rounds=config.rounds,
        seed=config.seed,
        time_control=time_control_message(config.time),
        failure_policy=failure_policy_message(config.policy),
        concurrency=config.concurrency,
    )
