"""Keeps a bot connected, and plays its games."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import grpc

from happycity import BotInfo, HappyCityError
from happycity.runtime import event_loop
from happycity.v1 import play_service_pb2 as protocol
from happycity.wire import bot_info_message
from happycity_client.backoff import Backoff
from happycity_client.connection import StreamStatus, connect
from happycity_client.log import log_to_stderr
from happycity_client.outbox import Outbox
from happycity_client.player import BotFactory, Player
from happycity_client.settings import RECONNECT_SECONDS, Settings
from happycity_client.workers import WorkerStreams

_log = logging.getLogger("happycity_client")


class ConnectionFailedError(HappyCityError):
    """The server can't be reached, refused the bot, or went away for too long."""

    def __init__(self, text: str, *, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason
        """The server's reason as in the contract, such as "REPLACED"; "" if it gave none."""


def run(
    bot: BotFactory,
    *,
    name: str | None = None,
    server: str | None = None,
    token: str | None = None,
    games: int | None = None,
    tls: bool | None = None,
    ca: str | None = None,
    cert: str | None = None,
    key: str | None = None,
    insecure: bool | None = None,
    wait_seconds: float = 0.0,
    reconnect_seconds: float = RECONNECT_SECONDS,
    info: BotInfo | None = None,
) -> None:
    """Play with `bot` until the server ends the session for good, or until the process gets a signal to stop.

    Whatever isn't given comes from the environment; see `Settings.from_env`. The name is the class's by
    default. `info` is what the bot says of itself; the language is filled in.

    If there is no server to play on, or it refuses the bot, one line says so and the process exits with
    status 2.
    """
    log_to_stderr()
    try:
        settings = Settings.from_env(
            default_name=getattr(bot, "__name__", "bot"),
            name=name,
            server=server,
            token=token,
            games=games,
            tls=tls,
            ca=ca,
            cert=cert,
            key=key,
            insecure=insecure,
            wait_seconds=wait_seconds,
            reconnect_seconds=reconnect_seconds,
            info=info,
        )
        run_until_stopped(play(bot, settings))
    except HappyCityError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None


def run_until_stopped(games: Coroutine[Any, Any, None]) -> None:
    """Run `games` on the fastest event loop there is, until its end, SIGINT or SIGTERM."""
    try:
        event_loop.run_until_stopped(games)
    except asyncio.CancelledError:
        _log.info("stopped")


async def play(
    bot: BotFactory, settings: Settings, *, on_connected: Callable[[], object] = lambda: None
) -> None:
    """Play all games that the server offers, until it ends the session for good.

    A connection that is lost is made again, and the games go on. When this is cancelled, it says goodbye
    to the server. A bot that plays any number of games at once also plays at the workers of the server.
    `on_connected` is called whenever the server has taken the bot in.

    Raises:
        ConfigError: a setting can't be used.
        ConnectionFailedError: there is no server, it refuses the bot, or it didn't come back.
    """
    outbox = Outbox()
    player = Player(bot, settings.name, outbox)
    workers = WorkerStreams(lambda address: _play_at_worker(bot, settings, address, workers), settings)
    session = _Session(settings, player, outbox, Backoff(random.Random()))

    def greet(welcome: protocol.Welcome) -> None:
        workers.follow(welcome.worker_addresses)
        on_connected()

    session.on_welcome = greet
    try:
        await session.run()
    finally:
        await asyncio.gather(player.close(), workers.close())


async def _play_at_worker(bot: BotFactory, settings: Settings, address: str, workers: WorkerStreams) -> None:
    """Play at a worker for as long as the server names it, however long it is away.

    The server plays the games of a lost worker elsewhere, where they begin again. So they are voided when the
    worker was away for as long as a server may be, or when the stream ends before the bot leaves the server.
    """
    outbox = Outbox()
    player = Player(bot, settings.name, outbox)
    patient = replace(settings, server=address, wait_seconds=math.inf, reconnect_seconds=math.inf)
    session = _Session(patient, player, outbox, Backoff(random.Random()))
    session.void_seconds = settings.reconnect_seconds
    try:
        await session.run()
    finally:
        if not workers.closing:
            player.void_all()
        await player.close()


class _Session:
    """One connection after the other, until one of them ends for good."""

    def __init__(self, settings: Settings, player: Player, outbox: Outbox, backoff: Backoff) -> None:
        self._settings = settings
        self._player = player
        self._outbox = outbox
        self._backoff = backoff
        self.on_welcome: Callable[[protocol.Welcome], None] = lambda welcome: None
        """Is called whenever the server has taken the bot in."""
        self.void_seconds = math.inf
        """All games are voided when the connection was lost for so long."""
        self._token = ""  # to resume with
        self._shut_down = False  # whether the server that spoke last said that it shuts down
        self._clock = asyncio.get_running_loop().time
        self._deadline = self._clock() + settings.wait_seconds
        self._void_at = math.inf
        self._searching = False  # whether it was logged that the server is gone

    async def run(self) -> None:
        while (status := await self._connect()).code is not grpc.StatusCode.OK:
            if not status.retryable:
                raise self._refused(status)
            pause = max(self._backoff.next(), status.details.retry_seconds)
            if self._clock() + pause >= self._deadline:
                self._give_up(status)
                return
            if self._clock() + pause >= self._void_at:
                self._player.void_all()
            if not self._searching:
                _log.warning("%s: %s; trying again", self._settings.name, status.text)
                self._searching = True
            await asyncio.sleep(pause)

    async def _connect(self) -> StreamStatus:
        """Play on one connection; return how it ended."""
        hello = protocol.Hello(
            name=self._settings.name,
            max_games=self._settings.games or None,
            software=f"happycity-python/{version('happycity')}",
            resume_token=self._token,
            match_ids=self._player.match_ids if self._token else (),
            info=bot_info_message(self._settings.info),
        )
        async with connect(self._settings, self._player, self._outbox) as connection:
            connection.on_welcome = self.on_welcome
            status = await connection.run(hello)
        if connection.welcome is not None:
            self._token = connection.welcome.resume_token
            self._deadline = self._clock() + self._settings.reconnect_seconds
            self._void_at = self._clock() + self.void_seconds
            self._searching = False
        if connection.made_progress:  # a server that only welcomes and drops bots is not to be hammered
            self._backoff.reset()
        if connection.welcome is not None or status.details.reason:
            self._shut_down = status.details.reason == "SHUTTING_DOWN"
        return status

    def _refused(self, status: StreamStatus) -> ConnectionFailedError:
        server, name = self._settings.server, self._settings.name
        return ConnectionFailedError(
            f"{server} ended the session of {name!r}: {status.text}", reason=status.details.reason
        )

    def _give_up(self, status: StreamStatus) -> None:
        """Return if the server ended the session in good order, else raise what a person should read."""
        if self._shut_down:
            _log.info("%s: the server has shut down", self._settings.name)
            return
        if status.details.reason:  # it is there, but refuses for longer than the bot is to try
            raise self._refused(status)
        advice = (
            "is the server running there, and does it use TLS with a certificate of that CA?"
            if self._settings.access.encrypted
            else "is the server running there? (start one with: happycity serve)"
        )
        raise ConnectionFailedError(
            f"no connection to {self._settings.server}: {status.text}; {advice}",
            reason=status.details.reason,
        )
