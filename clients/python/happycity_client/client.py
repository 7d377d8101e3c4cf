"""Plays a bot's games over the stream of PlayService."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from happycity import ConfigError, HappyCityError, Move
from happycity.v1 import play_service_pb2 as play
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire import (
    PROTOCOL_VERSION,
    config_of,
    endings_of,
    event_of,
    move_of,
    outcome_of,
    view_of,
)
from happycity_client.bot import Bot, Decision, GameOver, GameStart

if sys.platform == "win32":
    _new_event_loop = None
else:
    import uvloop

    _new_event_loop = uvloop.new_event_loop

DEFAULT_SERVER = "127.0.0.1:50051"
DEFAULT_GAMES = 8
"""Few, so that a bot that takes a second for a move answers all of them in time."""
SEND_SECONDS = 0.005
"""Answers wait so long for company at most, when a bot is busy with a batch of decisions."""

BotFactory = Callable[[GameStart], Bot]

_log = logging.getLogger("happycity_client")


class ConnectionFailedError(HappyCityError):
    """The server can't be reached, refused the bot, or went away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where and as whom a bot plays."""

    name: str
    server: str = DEFAULT_SERVER
    token: str = ""
    games: int = DEFAULT_GAMES
    """Games at once at most; 0 leaves it to the server."""

    @classmethod
    def gather(
        cls, *, default_name: str, name: str | None, server: str | None, token: str | None, games: int | None
    ) -> Settings:
        """Fill in what isn't given: from the environment, else by default.

        The environment's HAPPYCITY_NAME, HAPPYCITY_SERVER, HAPPYCITY_TOKEN and HAPPYCITY_GAMES are read
        here and nowhere else.
        """
        environ = os.environ
        return cls(
            name=name or environ.get("HAPPYCITY_NAME") or default_name,
            server=server or environ.get("HAPPYCITY_SERVER") or DEFAULT_SERVER,
            token=token or environ.get("HAPPYCITY_TOKEN") or "",
            games=games if games is not None else _games(environ.get("HAPPYCITY_GAMES")),
        )


def _games(text: str | None) -> int:
    if not text:
        return DEFAULT_GAMES
    if not text.isdecimal():
        raise ConfigError(f"HAPPYCITY_GAMES: {text!r} is not a number of games")
    return int(text)


def run(
    bot: BotFactory,
    *,
    name: str | None = None,
    server: str | None = None,
    token: str | None = None,
    games: int | None = None,
) -> None:
    """Play with `bot` until the server parts, or until the process is told to stop; then return.

    Whatever isn't given comes from the environment: HAPPYCITY_NAME, HAPPYCITY_SERVER (host:port),
    HAPPYCITY_TOKEN, HAPPYCITY_GAMES. The name is the class's by default.

    If there is no server to play on, one line says so and the process exits with status 2.
    """
    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.INFO)
    try:
        settings = Settings.gather(
            default_name=getattr(bot, "__name__", "bot"), name=name, server=server, token=token, games=games
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


async def play_games(bot: BotFactory, settings: Settings) -> None:
    """Play all games that the server offers, until it parts.

    Raises:
        ConnectionFailedError: there is no server, it refuses the bot, or it went away without a word.
    """
    metadata = (("authorization", f"Bearer {settings.token}"),) if settings.token else ()
    async with grpc.aio.insecure_channel(settings.server) as channel:
        stream = PlayServiceStub(channel).Play(metadata=metadata)
        try:
            await _Player(bot, stream, settings).run()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
            await _explain(stream, settings, error)


async def _explain(stream: _Stream, settings: Settings, error: Exception) -> None:
    """Return if the server parted in good order, else raise what a person should read."""
    code, details = await stream.code(), await stream.details()
    if code is grpc.StatusCode.UNAVAILABLE and await _reason(stream) == "SHUTTING_DOWN":
        _log.info("%s: the server has shut down", settings.name)
        return
    if code is grpc.StatusCode.UNAVAILABLE:
        advice = "is the server running there? (start one with: happycity serve)"
        raise ConnectionFailedError(
            f"no connection to {settings.server}: {details or error}; {advice}"
        ) from None
    raise ConnectionFailedError(
        f"{settings.server} ended the session of {settings.name!r}: {details}"
    ) from None


async def _reason(stream: _Stream) -> str:
    """Return the typed reason of the stream's end, or ""."""
    for key, value in await stream.trailing_metadata():
        if key == "grpc-status-details-bin":
            return _reason_in(value if isinstance(value, bytes) else value.encode())
    return ""


def _reason_in(details: bytes) -> str:
    info = ErrorInfo()
    for detail in Status.FromString(details).details:
        if detail.Unpack(info):
            return str(info.reason)
    return ""


_Stream = grpc.aio.StreamStreamCall[play.PlayRequest, play.PlayResponse]


class _Player:
    """All games of one stream."""

    def __init__(self, factory: BotFactory, stream: _Stream, settings: Settings) -> None:
        self._factory = factory
        self._stream = stream
        self._settings = settings
        self._bots: dict[int, Bot] = {}
        self._answers = play.PlayRequest()
        self._writing = asyncio.Lock()
        self._thinking: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        hello = play.Hello(
            name=self._settings.name,
            protocol_version=PROTOCOL_VERSION,
            max_games=self._settings.games,
            software=f"happycity-python/{version('happycity')}",
        )
        await self._stream.write(play.PlayRequest(hello=hello))
        try:
            while isinstance(response := await self._stream.read(), play.PlayResponse):
                await self._take(response)
        finally:
            for task in self._thinking:
                task.cancel()
            await asyncio.gather(*self._thinking, return_exceptions=True)
        # The status tells whether the server parted in good order.
        if await self._stream.code() is not grpc.StatusCode.OK:
            raise asyncio.InvalidStateError("the stream ended")

    async def _take(self, response: play.PlayResponse) -> None:
        """Deal with a batch, in the order that the contract demands."""
        if response.HasField("welcome"):
            _log.info("%s: connected to %s", self._settings.name, self._settings.server)
        for started in response.games_started:
            self._start(started)
        await self._decide(response)
        for over in response.games_over:
            self._end(over)
        for notice in response.notices:
            game = f"game {notice.game_id}: " if notice.game_id else ""
            _log.warning("%s: %s%s", self._settings.name, game, notice.text)

    async def _decide(self, response: play.PlayResponse) -> None:
        sent = time.perf_counter()
        for message in response.decisions:
            bot = self._bots.get(message.game_id)
            if bot is None:
                continue  # given up already
            self._choose(bot, message)
            if time.perf_counter() - sent > SEND_SECONDS:
                await self._send()
                sent = time.perf_counter()
        await self._send()

    async def _send(self) -> None:
        # One write at a time; answers given meanwhile go together in the next.
        async with self._writing:
            if self._answers.ByteSize():
                answers, self._answers = self._answers, play.PlayRequest()
                await self._stream.write(answers)

    def _choose(self, bot: Bot, message: play.Decision) -> None:
        decision = _decision(message)
        try:
            choice = bot.choose(decision)
            if isinstance(choice, Move):
                self._answer(message, decision, choice)
            else:
                self._await(choice, message, decision)
        except Exception as error:  # noqa: BLE001 - the boundary to the author's code
            self._give_up(message.game_id, error)

    def _await(self, choice: Awaitable[Move], message: play.Decision, decision: Decision) -> None:
        """Let an asynchronous bot think beside its other games."""

        async def think() -> None:
            try:
                self._answer(message, decision, await choice)
            except Exception as error:  # noqa: BLE001 - the boundary to the author's code
                self._give_up(message.game_id, error)
            # If the stream is gone, whoever reads it says so.
            with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await self._send()

        task = asyncio.create_task(think())
        self._thinking.add(task)
        task.add_done_callback(self._thinking.discard)

    def _answer(self, message: play.Decision, decision: Decision, move: Move) -> None:
        try:
            index = decision.moves.index(move)
        except ValueError:
            legal = ", ".join(map(str, decision.moves))
            raise ValueError(f"the bot chose {move}, which is not legal ({legal})") from None
        self._answers.answers.add(game_id=message.game_id, decision_id=message.decision_id, move=index)

    def _give_up(self, game_id: int, error: Exception) -> None:
        """Resign a game in which the bot failed; its other games go on."""
        _log.error("%s: game %d is resigned: the bot failed", self._settings.name, game_id, exc_info=error)
        self._bots.pop(game_id, None)
        self._answers.resigns.add(game_id=game_id, reason=repr(error)[:200])

    def _start(self, started: play.GameStarted) -> None:
        start = GameStart(
            game_id=started.game_id,
            config=config_of(started.config),
            seat=started.seat,
            bots=tuple(started.bots),
            seed=started.seed,
        )
        try:
            self._bots[started.game_id] = self._factory(start)
        except Exception as error:  # noqa: BLE001 - the boundary to the author's code
            self._give_up(started.game_id, error)

    def _end(self, message: play.GameOver) -> None:
        bot = self._bots.pop(message.game_id, None)
        if bot is None or not message.HasField("result"):
            return
        result = message.result
        over = GameOver(
            game_id=message.game_id,
            outcome=outcome_of(result.outcome),
            places=tuple(result.places),
            endings=endings_of(result),
        )
        try:
            bot.game_over(over)
        except Exception:  # noqa: BLE001 - the boundary to the author's code
            _log.exception("%s: game %d: game_over failed", self._settings.name, message.game_id)


def _decision(message: play.Decision) -> Decision:
    return Decision(
        game_id=message.game_id,
        seat=message.seat,
        moves=tuple([move_of(move) for move in message.moves]),
        view=partial(view_of, message.view),
        events=lambda: tuple([event_of(event) for event in message.events]),
        time_left=message.clock.time_left_ms / 1000 if message.clock.time_left_ms else None,
    )
