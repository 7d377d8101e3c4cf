"""Decisions of recorded games, for tests of a bot: `happycity ask GAME@DECISION --out FILE` writes them."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

from google.protobuf.message import DecodeError

from happycity import ConfigError, Move
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import config_of, move_of
from happycity_client.bot import BotFactory, GameStarted, check_bot
from happycity_client.decision import Decision


def read_decision(path: Path | str) -> tuple[GameStarted, Decision]:
    """Return the start of a game and a decision of it, with all that happened before.

    The file is a `PlayResponse` of the contract, what a server sends to a bot that begins at this decision.

    Raises:
        ConfigError: the file can't be read, or has something else.
    """
    batch = read_batch(path)
    return started_of(batch.games_started[0]), Decision(batch.decisions[0])


def read_batch(path: Path | str) -> play.PlayResponse:
    """Return the message of a file, which has one start and one decision; errors are as above."""
    try:
        batch = play.PlayResponse.FromString(Path(path).read_bytes())
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from None
    except DecodeError:
        batch = play.PlayResponse()
    if (len(batch.games_started), len(batch.decisions)) != (1, 1):
        advice = "happycity ask GAME@DECISION --out FILE"
        raise ConfigError(f"{path} is not a decision as this writes it: {advice}")
    return batch


def started_of(message: play.GameStarted) -> GameStarted:
    """Return the start of a game by its message."""
    config, bots = config_of(message.config), tuple(message.bots)
    return GameStarted(message.match_id, config, message.seat, bots, message.seed)


def ask(bot: BotFactory, path: Path | str) -> Move:
    """Make a bot for the game of a file, and return the move that it chooses there.

    Raises:
        ConfigError: see `read_decision`.
        IllegalChoiceError: the choice is not a move; so does the bot raise its own errors.
    """
    check_bot(bot)
    started, decision = read_decision(path)
    choice = bot(started).choose(decision)
    if inspect.iscoroutine(choice):
        choice = asyncio.run(choice)
    return move_of(decision.message.moves[decision.position_of(choice)])
