"""Keeps a bot connected, and plays its games."""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

from happycity import BotInfo, HappyCityError
from happycity_client.bot import BotFactory, check_bot
from happycity_client.errors import ConnectionFailedError, ProtocolError
from happycity_client.pauses import Pauses
from happycity_client.player import Player
from happycity_client.session import ClientSession
from happycity_client.settings import RECONNECT_SECONDS, Settings
from happycity_runtime import event_loop


def run(
    bot: BotFactory,
    *,
    name: str | None = None,
    server: str | None = None,
    token: str | None = None,
    games: int | None = None,
    reconnect: float = RECONNECT_SECONDS,
    info: BotInfo | None = None,
) -> None:
    """Play with `bot` until the server ends the session for good, or until the process gets a signal to stop.

    What isn't given comes from the environment; see `Settings.from_env`. The name is the class's by
    default. `info` is what the bot says of itself; the language is filled in. `reconnect` is how many seconds
    to look for a server that was lost.

    If the bot can't play, one line says why, and the process exits: with status 1 if the server broke the
    protocol, else with 2.
    """
    try:
        check_bot(bot)
        default_name = getattr(bot, "__name__", "bot")
        settings = Settings.from_env(
            default_name, name=name, server=server, token=token, games=games, reconnect=reconnect, info=info
        )
        run_until_stopped(play(bot, settings))
    except KeyboardInterrupt:  # before `play` listens for signals
        raise SystemExit(event_loop.EXIT_STOPPED) from None
    except HappyCityError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(1 if isinstance(error, ProtocolError) else 2) from None


def run_until_stopped(games: Coroutine[Any, Any, None]) -> None:
    """Run `games` on the fastest event loop there is, until its end, SIGINT or SIGTERM.

    What a bot's author has to know is logged to the standard error, unless the program logs already.
    """
    line = "%(asctime)s %(levelname)s %(bot)s%(message)s"
    formatter = logging.Formatter(line, datefmt="%Y-%m-%dT%H:%M:%SZ", defaults={"bot": ""})
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    try:
        event_loop.run_until_stopped(games)
    except asyncio.CancelledError:
        logging.getLogger("happycity_client").info("stopped")


async def play(
    bot: BotFactory, settings: Settings, *, on_connected: Callable[[], object] = lambda: None
) -> None:
    """Play all games that the server offers, until it ends the session for good.

    A connection that is lost is made again, and the games go on. When this is cancelled, it says goodbye
    to the server. `on_connected` is called whenever the server has welcomed the bot.

    Raises:
        ConfigError: a setting can't be used.
        ConnectionFailedError: there is no server, it refuses the bot, it didn't come back, or it broke the
            protocol.
    """
    player, token = Player(bot, settings.name), None
    pauses, has_shut_down = Pauses(settings.reconnect), False
    try:
        while True:
            session = ClientSession(settings, player, on_connected)
            try:
                await session.run(token)
                return
            except ConnectionFailedError as caught:
                error = caught
            if session.welcome is not None:
                token = session.welcome.resume_token
            if session.welcome is not None or error.reason:
                has_shut_down = session.shutting_down
            if token is None or error.retry_seconds is None:
                raise error
            now, delay = time.monotonic(), error.retry_seconds
            pause = pauses.next(now, messages=session.handled, delay=delay, share=random.random())
            if pause is None:
                if has_shut_down:
                    player.log.info("the server has shut down")
                    return
                lost_for = now - pauses.lost_at
                if lost_for < 1.0:
                    raise error
                text = f"no connection to {settings.target.address} for {lost_for:.0f} s: {error}"
                raise ConnectionFailedError(text, reason=error.reason)
            if session.welcome is not None:
                player.log.warning("%s; trying again", error)
            await asyncio.sleep(pause)
    finally:
        await player.close()
