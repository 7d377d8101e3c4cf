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

from happycity import HappyCityError
from happycity.v1 import match_service_pb2
from happycity.v1 import tournament_service_pb2 as pb
from happycity.v1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.wire import config_message
from happycity_tournament.display import Display
from happycity_tournament.processes import Process, ProcessError, start_bot, start_builtin_bots, start_server
from happycity_tournament.runner import TournamentConfig

if TYPE_CHECKING:  # in the generated stub's types only
    from happycity.v1.tournament_service_pb2_grpc import TournamentServiceAsyncStub

REACH_SECONDS = 5.0


class ServerError(HappyCityError):
    """The server can't be reached, or refused what was asked."""


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
    store: str
    """Database URL for the server that is started."""
    logs: Path
    """Folder for the output of all processes."""
    processes: int
    """Among how many processes the reference bots are shared out."""


async def carry_out(plan: Plan, display: Display) -> pb.WatchTournamentResponse:
    """Play the tournament and return its last update.

    Raises:
        ProcessError: the server or a bot didn't get to the first game.
        ServerError: the server can't be reached, or it refused the tournament.
    """
    async with AsyncExitStack() as stack:
        address = plan.server
        if address is None:
            server, address = await start_server(plan.store, logs=plan.logs)
            stack.push_async_callback(server.stop)
        stub = await stack.enter_async_context(_dial(address))
        bots = await _start_bots(plan, address, stack)
        with _translated(address):
            created = await stub.CreateTournament(pb.CreateTournamentRequest(config=_message(plan.config)))
            tournament_id = created.tournament.tournament_id
            with _stopping(stub, tournament_id, display):
                return await _follow(stub, tournament_id, bots, display)


async def _start_bots(plan: Plan, address: str, stack: AsyncExitStack) -> list[Process]:
    bots: list[Process] = []

    def own(bot: Process) -> None:
        stack.push_async_callback(bot.stop)
        bots.append(bot)

    for number in range(plan.processes):
        share = plan.builtin[number :: plan.processes]
        if share:
            own(await start_builtin_bots(share, server=address, logs=plan.logs))
    for name, command in plan.commands:
        own(await start_bot(name, command, server=address, logs=plan.logs))
    return bots


async def _follow(
    stub: TournamentServiceAsyncStub, tournament_id: int, bots: Sequence[Process], display: Display
) -> pb.WatchTournamentResponse:
    """Show the tournament until it is over.

    A bot's process that ends is an error before the first game, and a remark after it.
    """
    updates = stub.WatchTournament(pb.WatchTournamentRequest(tournament_id=tournament_id))
    exits = {asyncio.create_task(bot.wait()): bot for bot in bots}
    last = pb.WatchTournamentResponse()
    reading = asyncio.ensure_future(updates.read())
    try:
        while True:
            done, _ = await asyncio.wait((reading, *exits), return_when=asyncio.FIRST_COMPLETED)
            for ended in [task for task in exits if task in done]:
                bot = exits.pop(ended)
                request = pb.GetTournamentRequest(tournament_id=tournament_id)
                if (await stub.GetTournament(request)).tournament.state == pb.TOURNAMENT_STATE_WAITING:
                    raise ProcessError(bot.obituary())
                display.remark(f"{bot.obituary()}; its seats are forfeited")
            if reading in done:
                update = reading.result()
                if not isinstance(update, pb.WatchTournamentResponse):
                    return last
                display.update(update)
                last = update
                reading = asyncio.ensure_future(updates.read())
    finally:
        for task in (reading, *exits):
            task.cancel()


@asynccontextmanager
async def _dial(address: str) -> AsyncIterator[TournamentServiceAsyncStub]:
    """Give a stub for a server that answers.

    Raises:
        ServerError: none does.
    """
    async with grpc.aio.insecure_channel(address) as channel:
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
            raise ServerError(f"the connection to the server {address} was lost: {error.details()}") from None
        raise ServerError(f"the server {address} refused: {error.details()}") from None


@contextmanager
def _stopping(stub: TournamentServiceAsyncStub, tournament_id: int, display: Display) -> Iterator[None]:
    """Let the first Ctrl-C end the tournament in good order; a second one breaks it off."""
    if sys.platform == "win32":  # has no such handlers; a Ctrl-C breaks off there
        yield
        return
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    stops: list[asyncio.Future[pb.StopTournamentResponse]] = []

    def stop() -> None:
        if stops:
            task.cancel()
            return
        display.remark("stopping: running games are finished; Ctrl-C again breaks them off")
        request = pb.StopTournamentRequest(tournament_id=tournament_id)
        stops.append(asyncio.ensure_future(stub.StopTournament(request)))

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        for future in stops:
            future.cancel()


def _message(config: TournamentConfig) -> pb.TournamentConfig:
    return pb.TournamentConfig(
        bots=config.bots,
        game=config_message(config.game),
        rounds=config.rounds,
        seed=config.seed,
        time_control=match_service_pb2.TimeControl(
            connect_ms=round(config.connect_seconds * 1000), decision_ms=round(config.decision_seconds * 1000)
        ),
        failure_policy=match_service_pb2.FailurePolicy(max_strikes=config.max_strikes),
        concurrency=config.concurrency,
    )
