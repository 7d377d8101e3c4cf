"""Runs a tournament from the outside: starts processes, creates it by RPC, follows it to its end."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from happycity.v1 import tournament_service_pb2 as pb
from happycity_tournament.access import dial, translated
from happycity_tournament.display import Display
from happycity_tournament.messages import tournament_config_message
from happycity_tournament.plan import Plan
from happycity_tournament.processes import Process, ProcessError, start_bot, start_builtin_bots, start_server
from happycity_tournament.stored import in_use, show_stored
from happycity_tournament.watch import ServerLostError, Watch

if TYPE_CHECKING:  # in the generated stub's types only
    from happycity.v1.tournament_service_pb2_grpc import TournamentServiceAsyncStub

RETURN_SECONDS = 60.0
"""For how long a server that was lost is given time to come back."""
RELEASE_SECONDS = 15.0
"""For how long another server on the store, such as that of a run just killed, is given time to end."""
RELEASE_PAUSE_SECONDS = 0.2

_OVER = (pb.TOURNAMENT_STATE_FINISHED, pb.TOURNAMENT_STATE_STOPPED)


async def carry_out(plan: Plan, display: Display) -> pb.WatchTournamentResponse:
    """Play the tournament, or what is missing of it, and return its last update.

    Raises:
        ProcessError: the server or a bot didn't get to the first game, or the server ended before the last.
        ServerError: the server can't be reached, didn't come back, or refused the tournament.
    """
    async with AsyncExitStack() as stack:
        if plan.server is not None:
            return await _play(plan, plan.server, display, stack, patience=RETURN_SECONDS)
        if plan.tournament_id is not None:
            await _wait_for_release(plan.store, display)
        server, address = await start_server(plan.store, logs=plan.logs)
        stack.push_async_callback(server.stop)
        try:
            # A server that others run may be started again; this one is not.
            return await _play(replace(plan, address=address), address, display, stack, patience=0.0)
        except ServerLostError:
            raise ProcessError(
                f"{await server.epitaph()}; the games that were finished are in {plan.where}{_advice(plan)}"
            ) from None


async def bring(plan: Plan, display: Display, *, joined: Callable[[], None]) -> pb.WatchTournamentResponse:
    """Start a plan's bots, let them join its tournament, which is being played, and follow that to its end.

    Args:
        plan: knows the tournament and its server.
        display: shows how it goes.
        joined: called when the bots are in.

    Raises:
        ProcessError: a bot didn't get as far.
        ServerError: the server can't be reached, didn't come back, or refused.
    """
    assert plan.server is not None
    assert plan.tournament_id is not None
    async with AsyncExitStack() as stack:
        _cancelled_by_sigterm(stack)
        stub = await stack.enter_async_context(dial(plan.server, plan.access))
        with translated(plan.server):
            bots = await _start_bots(plan, plan.server, stack)
            request = pb.AddBotsRequest(tournament_id=plan.tournament_id, bots=plan.names)
            await _unless_one_ends(bots, stub.AddBots(request, metadata=plan.access.metadata))
            joined()
            watch = Watch(
                stub,
                plan.tournament_id,
                metadata=plan.access.metadata,
                patience=RETURN_SECONDS if plan.address is None else 0.0,
                remark=display.remark,
            )
            try:
                return await _follow(watch, bots, display)
            except ServerLostError:
                # A run's own server ends with the run, perhaps before the last update was here.
                last = await _end_of_run(plan, display)
                if last is None:
                    raise
                return last


async def _end_of_run(plan: Plan, display: Display) -> pb.WatchTournamentResponse | None:
    """Return how a run's tournament ended, as its store tells it; None if it didn't, or isn't a run's."""
    if plan.address is None or plan.tournament_id is None:
        return None
    await _wait_for_release(plan.store, display)
    last = await asyncio.to_thread(show_stored, plan.store, plan.tournament_id)
    return last if last.tournament.state in _OVER else None


async def _unless_one_ends(bots: Sequence[Process], call: Awaitable[object]) -> None:
    """Wait for a call's answer.

    Raises:
        ProcessError: a bot's process ended before that.
        AioRpcError: it was refused.
    """
    answer = asyncio.ensure_future(call)
    exits = {asyncio.create_task(bot.wait()): bot for bot in bots}
    try:
        await asyncio.wait((answer, *exits), return_when=asyncio.FIRST_COMPLETED)
        for ended, bot in exits.items():
            if ended.done():
                raise ProcessError(bot.obituary())
        await answer
    finally:
        for task in (answer, *exits):
            task.cancel()


def _cancelled_by_sigterm(stack: AsyncExitStack) -> None:
    """Let SIGTERM do what Ctrl-C does, or bots would be left behind; for as long as `stack` lasts."""
    if sys.platform == "win32":  # has no such handlers
        return
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    stack.callback(loop.remove_signal_handler, signal.SIGTERM)


def _advice(plan: Plan) -> str:
    command = plan.resume_command
    return f"; go on with: {command}" if command else ""


async def _wait_for_release(store: str, display: Display) -> None:
    """Wait until no server uses the store; one that doesn't go is the next server's to complain of.

    Nothing tells that a lock of another process is free, so it is tried.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + RELEASE_SECONDS
    told = False
    while await asyncio.to_thread(in_use, store) and loop.time() < deadline:
        if not told:
            told = True
            display.remark("another server still uses the store; waiting for its end")
        await asyncio.sleep(RELEASE_PAUSE_SECONDS)


async def _play(
    plan: Plan, address: str, display: Display, stack: AsyncExitStack, *, patience: float
) -> pb.WatchTournamentResponse:
    """Play the tournament on a server that is there; what is started for it ends with `stack`."""
    stub = await stack.enter_async_context(dial(address, plan.access))
    with translated(address):
        tournament, bots = await _begin(plan, stub, address, stack)
        watch = Watch(
            stub,
            tournament.tournament_id,
            metadata=plan.access.metadata,
            patience=patience,
            remark=display.remark,
        )
        with _stopping(watch, display):
            return await _follow(watch, bots, display)


async def _begin(
    plan: Plan, stub: TournamentServiceAsyncStub, address: str, stack: AsyncExitStack
) -> tuple[pb.Tournament, list[Process]]:
    """Start the bots, and set the tournament up or have it resumed; one that is over needs no bots."""
    metadata = plan.access.metadata
    if plan.tournament_id is not None:
        resuming = pb.ResumeTournamentRequest(tournament_id=plan.tournament_id)
        resumed = (await stub.ResumeTournament(resuming, metadata=metadata)).tournament
        over = resumed.state == pb.TOURNAMENT_STATE_FINISHED
        if plan.address is not None:
            plan.save(plan.tournament_id)
        return resumed, [] if over else await _start_bots(plan, address, stack)
    assert plan.config is not None
    bots = await _start_bots(plan, address, stack)
    creating = pb.CreateTournamentRequest(config=tournament_config_message(plan.config))
    created = (await stub.CreateTournament(creating, metadata=metadata)).tournament
    plan.save(created.tournament_id)
    return created, bots


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
        own(await start_bot(name, command, environment=environment, logs=plan.logs, directory=plan.directory))
    return bots


async def _follow(watch: Watch, bots: Sequence[Process], display: Display) -> pb.WatchTournamentResponse:
    """Show the tournament until it is over.

    A bot's process that ends is an error while the tournament waits for its bots, and a remark after it.
    """
    began = False
    updates = watch.updates()
    exits = {asyncio.create_task(bot.wait()): bot for bot in bots}
    last = pb.WatchTournamentResponse()
    reading = asyncio.ensure_future(anext(updates, None))
    try:
        while True:
            done, _ = await asyncio.wait((reading, *exits), return_when=asyncio.FIRST_COMPLETED)
            for ended in [task for task in exits if task in done]:
                bot = exits.pop(ended)
                if not began and await watch.waiting():
                    raise ProcessError(bot.obituary())
                display.remark(f"{bot.obituary()}; its seats are forfeited")
            if reading in done:
                update = reading.result()
                if update is None:
                    return last
                display.update(update)
                last = update
                began = began or update.tournament.state != pb.TOURNAMENT_STATE_WAITING
                reading = asyncio.ensure_future(anext(updates, None))
    finally:
        for task in (reading, *exits):
            task.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await updates.aclose()


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
