"""Keeps a bot connected, and plays its games."""

from __future__ import annotations

import asyncio
import logging
import random
import signal
import sys
from collections.abc import Awaitable
from importlib.metadata import version

import grpc

from happycity import HappyCityError
from happycity.v1 import play_service_pb2 as play
from happycity.wire import PROTOCOL_VERSION
from happycity_client.backoff import Backoff
from happycity_client.connection import Parting, connect
from happycity_client.errors import ConnectionFailedError
from happycity_client.outbox import Outbox
from happycity_client.player import BotFactory, Player
from happycity_client.settings import RECONNECT_SECONDS, Settings

if sys.platform == "win32":
    _new_event_loop = None
else:
    import uvloop

    _new_event_loop = uvloop.new_event_loop

_log = logging.getLogger("happycity_client")


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
    wait_seconds: float = 0.0,
    reconnect_seconds: float = RECONNECT_SECONDS,
) -> None:
    """Play with `bot` until the server parts for good, or until the process is told to stop; then return.

    Whatever isn't given comes from the environment; see `Settings.gather`. The name is the class's by
    default.

    If there is no server to play on, or it refuses the bot, one line says so and the process exits with
    status 2.
    """
    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.INFO)
    try:
        settings = Settings.gather(
            default_name=getattr(bot, "__name__", "bot"),
            name=name,
            server=server,
            token=token,
            games=games,
            tls=tls,
            ca=ca,
            cert=cert,
            key=key,
            wait_seconds=wait_seconds,
            reconnect_seconds=reconnect_seconds,
        )
        run_until_stopped(play_games(bot, settings))
    except HappyCityError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None


def run_until_stopped(games: Awaitable[None]) -> None:
    """Run `games` on the fastest event loop there is, until its end, SIGINT or SIGTERM."""

    async def main() -> None:
        task = asyncio.ensure_future(games)
        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            _log.info("stopped")

    with asyncio.Runner(loop_factory=_new_event_loop) as runner:
        runner.run(main())


async def play_games(bot: BotFactory, settings: Settings, *, rng: random.Random | None = None) -> None:
    """Play all games that the server offers, until it parts for good.

    A connection that is lost is made again, and the games go on. When this is cancelled, it says goodbye
    to the server.

    Args:
        bot: makes the bot of each game.
        settings: where and as whom.
        rng: the randomness of the pauses between attempts to connect.

    Raises:
        ConfigError: the settings make no sense.
        ConnectionFailedError: there is no server, it refuses the bot, or it didn't come back.
    """
    outbox = Outbox()
    player = Player(bot, settings.name, outbox)
    try:
        await _Session(settings, player, outbox, Backoff(rng or random.Random())).run()
    finally:
        await player.close()


class _Session:
    """One connection after the other, until one of them ends for good."""

    def __init__(self, settings: Settings, player: Player, outbox: Outbox, backoff: Backoff) -> None:
        self._settings = settings
        self._player = player
        self._outbox = outbox
        self._backoff = backoff
        self._credentials = settings.credentials()
        self._token = ""  # to resume with
        self._shut_down = False  # whether the server that spoke last said that it shuts down
        self._clock = asyncio.get_running_loop().time
        self._deadline = self._clock() + settings.wait_seconds
        self._searching = False  # whether it was logged that the server is gone

    async def run(self) -> None:
        while (parting := await self._connect()).code is not grpc.StatusCode.OK:
            if not parting.passing:
                raise self._refused(parting)
            pause = max(self._backoff.next(), parting.retry_after)
            if self._clock() + pause >= self._deadline:
                self._give_up(parting)
                return
            if not self._searching:
                _log.warning("%s: %s; trying again", self._settings.name, parting.details)
                self._searching = True
            await asyncio.sleep(pause)

    async def _connect(self) -> Parting:
        """Play on one connection; return how it ended."""
        hello = play.Hello(
            name=self._settings.name,
            protocol_version=PROTOCOL_VERSION,
            max_games=self._settings.games,
            software=f"happycity-python/{version('happycity')}",
            resume_token=self._token,
            games=self._player.games if self._token else (),
        )
        async with connect(self._settings, self._credentials, self._player, self._outbox) as connection:
            parting = await connection.run(hello)
        if connection.welcome is not None:
            self._token = connection.welcome.resume_token
            self._deadline = self._clock() + self._settings.reconnect_seconds
            self._searching = False
        if connection.was_of_use:  # a server that only welcomes and drops bots is not to be hammered
            self._backoff.reset()
        if connection.welcome is not None or parting.reason:
            self._shut_down = parting.reason == "SHUTTING_DOWN"
        return parting

    def _refused(self, parting: Parting) -> ConnectionFailedError:
        where, who = self._settings.server, self._settings.name
        return ConnectionFailedError(
            f"{where} ended the session of {who!r}: {parting.details}", reason=parting.reason
        )

    def _give_up(self, parting: Parting) -> None:
        """Return if the server parted in good order, else raise what a person should read."""
        if self._shut_down:
            _log.info("%s: the server has shut down", self._settings.name)
            return
        advice = (
            "is the server running there, and does it use TLS with a certificate of that CA?"
            if self._settings.encrypted
            else "is the server running there? (start one with: happycity serve)"
        )
        raise ConnectionFailedError(
            f"no connection to {self._settings.server}: {parting.details or parting.code.name}; {advice}",
            reason=parting.reason,
        )
